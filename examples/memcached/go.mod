module github.com/stint-go/stint/examples/memcached

go 1.26.0

require (
	github.com/bradfitz/gomemcache v0.0.0-20260422231931-4d751bb6e37c
	github.com/stint-go/stint v0.0.0
	github.com/stint-go/stint/backends/memcached v0.0.0
)

replace (
	github.com/stint-go/stint => ../..
	github.com/stint-go/stint/backends/memcached => ../../backends/memcached
)
