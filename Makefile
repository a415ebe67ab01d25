# Packages and flags of a target: make test PKG=./certify/... ARGS='-run Bound'
# Tests are short in make test, test-all and ci (go test -short), whole in make nightly;
# ARGS=-short=false makes them whole in make test.
PKG  ?= ./...
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help test test-all lint fmt bench compare build beam demo ci nightly notices release vulncheck clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

test: ## the short tests of all packages that need Go only
	@.ci/test -short $(ARGS) $(PKG)

test-all: ## the same with Python, Kafka, a store and a browser, which it sets up
	@.ci/test --all -short $(ARGS) $(PKG)

lint: ## golangci-lint, as .golangci.yml says
	@tools=$$(.ci/tools) && "$$tools/golangci-lint" run $(ARGS) $(PKG)

fmt: ## gofumpt and the order of imports, in place
	@tools=$$(.ci/tools) && "$$tools/golangci-lint" fmt $(ARGS) $(PKG)

bench: ## beside OpenBLAS, MKL, PyTorch, GPyTorch and pyarrow; bench/README.md
	-@$(MAKE) --no-print-directory bench/peers/.venv/made
	go -C bench run . $(ARGS)

bench/peers/.venv/made: bench/peers/requirements.txt
	rm -rf $(@D)
	$(or $(PYTHON),python3) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-input --only-binary :all: -r $<
	touch $@

compare: ## benchmarks of two commits in turns: OLD=v1.0 NEW=HEAD PKG=./model/...
	@.ci/compare $(OLD) $(or $(NEW),HEAD) $(PKG)

build: ## the static binary ./pacsgp
	CGO_ENABLED=0 go build -trimpath -o pacsgp $(ARGS) ./cmd/pacsgp

beam: ## the binary ./pacsgp-beam, a module of its own; .ci/module checks and tests it
	CGO_ENABLED=0 go -C engine/beam build -trimpath -o ../../pacsgp-beam $(ARGS) .

demo: ## from generated rows to a verified certificate, in a quarter of a minute
	go run ./cmd/pacsgp demo $(ARGS)

ci: ## all that must hold before a change lands; 8 minutes on two cores
	@.ci/run

nightly: ## what takes longer, in 90 minutes: PART=1 to 9, all, or that of the day
	@.ci/nightly $(PART)

notices: ## both THIRD_PARTY.txt, from the modules that are linked
	@.ci/notices

release: ## archives for four systems, checksums and the list of what is linked, in dist/
	@.ci/release

vulncheck: ## known vulnerabilities; needs the network, not part of ci
	go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 $(ARGS) $(PKG)

clean: ## remove what make has built here
	rm -rf .venv bench/peers/.venv dist pacsgp pacsgp-beam
