# Everything here is a short name for a script or a go command that can as well
# be typed. Works with any make and any POSIX shell, from a clone or a tarball.

.PHONY: help demo test lint docs bench fuzz

help: ## print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-6s %s\n", $$1, $$2 }' Makefile

demo: ## watch a Gin application limit real requests
	@echo "building the demo: the first time takes about a minute"
	@go run ./examples/demo

test: ## run all tests of all modules, installing the servers they need; FLAGS="-race -run Name" go to go test
	@sh scripts/servers.sh
	@sh scripts/test.sh $(FLAGS)

lint: ## gofmt, vet, staticcheck and the house rules
	@sh scripts/lint.sh

docs: ## copy the snippets of compiled files into the pages, then check pages and house rules
	@go run ./tools/house -write

bench: ## measure this library beside its peers (ROUNDS=5 LAYERS="A B"); about 15 minutes
	@sh bench/bench.sh $(or $(OUT),out) $(or $(ROUNDS),5)

fuzz: ## run every fuzz target for FUZZTIME (10s)
	@sh scripts/fuzz.sh
