# Everything here is a short name for a script or a go command that can as well
# be typed. Works with any make and any POSIX shell, from a clone or a tarball.

.PHONY: help demo test lint docs bench fuzz faults bounds mutants figures

help: ## print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-7s %s\n", $$1, $$2 }' Makefile

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

faults: ## provoke every fault and attack of docs/RELIABILITY.md and print the scoreboard (RUNS=3); minutes
	@sh scripts/servers.sh
	@go run ./tools/faults -runs $(or $(RUNS),1) $(FLAGS)

mutants: ## plant the bugs of other limiters, one by one: a test must turn red for each; about 10 minutes
	@sh scripts/servers.sh
	@go run ./tools/mutants $(FLAGS)

bounds: ## random, edge-hugging and greedy clients against every strategy, beside an oracle; DECISIONS (10000000)
	@sh scripts/servers.sh
	@STINT_DECISIONS=$(or $(DECISIONS),10000000) go test -C internal/matrix -count=1 -timeout 30m -v -run '^TestBounds$$' .

figures: ## measure what docs/RELIABILITY.md states, on a machine that does nothing else; about 5 minutes
	@sh scripts/servers.sh
	@go run ./internal/matrix/figures $(FLAGS)
	@go test -C internal/matrix -count=1 -v -run '^TestAttack_(E1|F1)$$' . | sed -n 's/.*figure: \(.*\) = \(.*\) (\(.*\))$$/\1 (\3) \2/p' | sort -u
