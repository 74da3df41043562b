module github.com/stint-go/stint/adapters/client

go 1.26

require (
	github.com/dunglas/httpsfv v1.1.2
	github.com/stint-go/stint v0.0.0
)

replace github.com/stint-go/stint => ../..
