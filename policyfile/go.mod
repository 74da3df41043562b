module github.com/stint-go/stint/policyfile

go 1.26.0

require (
	github.com/stint-go/stint v0.0.0
	go.yaml.in/yaml/v3 v3.0.6
)

replace github.com/stint-go/stint => ..
