# Packages and flags of a target: make test PKG=./certify/... ARGS=-short
PKG  ?= ./...
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help test lint fmt race coverage soak bench build demo results ci notices vulncheck clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

test: ## all tests, with the Python and the data that they need
	@.ci/test $(ARGS) $(PKG)

lint: ## golangci-lint, as .golangci.yml says
	@tools=$$(.ci/tools) && "$$tools/golangci-lint" run $(ARGS) $(PKG)

fmt: ## gofumpt and the order of imports, in place
	@tools=$$(.ci/tools) && "$$tools/golangci-lint" fmt $(ARGS) $(PKG)

race: ## tests under the race detector, the long ones left out
	go test -race -short -shuffle=on -timeout 20m $(ARGS) $(PKG)

coverage: ## 2,000 runs of each kind of job against the truth, and every mutant of the program; an hour
	go test ./pipeline -run '^(TestCoverage|TestReferenceRowsMayBeAnything|TestMutantsAreCaught)$$' -count=1 -v -timeout 6h -runs 2000 -mutants $(ARGS)

soak: ## jobs and brokers killed at more moments than make test does, and ten million rows; minutes
	@.ci/test ./cmd/pacsgp ./ingest/kafkalog -run '^Test(KilledAtRandom|BrokerKilled|MemoryIsFlat|Members|StreamKilled|StreamOutlivesItsBroker|StreamIsFlat|ScheduleKilledThenRunAgain|ScheduleOfATopicKilledThenRunAgain|ScoreKilledThenRunAgain|ScoreOfATopicKilled|ScoreOfATopicToALakeKilled|ScoreToATopicKilled|ScoreToATopicKilledAtEveryRequest|ScoreWhileThePointerMoves)$$' -count=1 -timeout 4h -soak $(ARGS)

bench: ## beside OpenBLAS, MKL, PyTorch, GPyTorch and pyarrow; bench/README.md
	go run ./bench $(ARGS)

build: ## the static binary ./pacsgp
	CGO_ENABLED=0 go build -trimpath -o pacsgp $(ARGS) ./cmd/pacsgp

demo: ## from generated rows to a verified certificate, in a minute
	go run ./cmd/pacsgp demo $(ARGS)

results: ## the runs on real data behind docs/results.md
	go run ./cmd/results $(ARGS)

ci: ## all that must hold before a change lands
	@.ci/run

notices: ## THIRD_PARTY.txt, from the modules that are linked
	@.ci/notices

vulncheck: ## known vulnerabilities; needs the network, not part of ci
	go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 $(ARGS) $(PKG)

clean: ## remove what make has built here
	rm -rf .venv bench/peers/.venv pacsgp
