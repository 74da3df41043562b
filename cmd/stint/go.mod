module github.com/stint-go/stint/cmd/stint

go 1.26.0

require (
	github.com/bradfitz/gomemcache v0.0.0-20260422231931-4d751bb6e37c
	github.com/redis/go-redis/v9 v9.23.0
	github.com/spf13/cobra v1.10.2
	github.com/stint-go/stint v0.0.0
	github.com/stint-go/stint/backends/memcached v0.0.0
	github.com/stint-go/stint/backends/redis v0.0.0
	github.com/stint-go/stint/policyfile v0.0.0
	golang.org/x/term v0.47.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/spf13/pflag v1.0.9 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace (
	github.com/stint-go/stint => ../..
	github.com/stint-go/stint/backends/memcached => ../../backends/memcached
	github.com/stint-go/stint/backends/redis => ../../backends/redis
	github.com/stint-go/stint/policyfile => ../../policyfile
)
