# Roundsman. `make help` lists the targets. Needs Go, make and (for the version stamp) git; everything
# else is fetched through the Go module proxy, once, into .tools/bin.

GO ?= go
SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# Without Go everything below would fail in words of make's. These targets need none.
ifneq ($(filter-out help version clean clean-tools,$(or $(MAKECMDGOALS),help)),)
ifeq ($(shell command -v $(GO) 2>/dev/null),)
$(error $(GO) was not found: install Go (https://go.dev/dl), put it on PATH, or name it: make GO=/usr/local/go/bin/go $(MAKECMDGOALS))
endif
endif

# --- What is built -----------------------------------------------------------------------------------

MODULE  := github.com/roundsman/roundsman
# Facts for debuggers cost a tenth of a compilation, and the linker drops them. `make test DWARF= TEST_LINK=` keeps them.
DWARF   ?= -gcflags=all=-dwarf=false
# Collecting garbage less often saves compilers a tenth of their time. Tests, and the servers they start, inherit it.
MEMORY  := GOGC=$${GOGC:-400}
# Every compilation of this file has the same flags, so each package is compiled once for all tools, and the
# build cache also serves a clone in another directory.
export GOFLAGS := $(strip $(filter-out -trimpath $(DWARF),$(shell $(GO) env GOFLAGS 2>/dev/null)) -trimpath $(DWARF))
# Modules of their own below the root: `./...` does not reach into them, so every gate visits each.
NESTED  := $(patsubst %/go.mod,%,$(wildcard devserver/go.mod examples/*/go.mod))
MODULES := . $(NESTED)

# A clone without tags gives the commit, a tree without git gives "dev".
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w
# The binary that goes on every node, in bytes: 0.4 MB are the console, 0.5 the replay of ADR 109. `make check` fails above it.
MAX_BINARY_BYTES := 50100000

# --- How it is tested --------------------------------------------------------------------------------

# The race detector needs cgo; Go switches cgo off by itself where there is no C compiler. Only packages that
# can race are tested with it, see tools/testrun/racy.go; `make race` tests all.
RACE         ?= $(if $(filter 1,$(shell $(GO) env CGO_ENABLED 2>/dev/null)),-race)
# devserver/ is tested without it: Go would compile the whole Temporal server a second time, instrumented,
# which costs more than all other tests together. internal/cli mostly waits for servers, as end-to-end packages do, and the detector
# would double its CPU time; `make race` has it. `make test WITHOUT_RACE=` tests both with it.
WITHOUT_RACE ?= devserver internal/cli
TEST_TIMEOUT ?= 60m
# A third of the time of a link, and half with the race detector, is for a debugger, see DWARF. tools/testrun keeps what was linked.
TEST_LINK    ?= '-ldflags=-s -w'
# Packages that are tested at once on two cores: some unit packages wait for servers.
# Two end-to-end packages with four tests each keep both cores busy; with three, waits of tests ran out.
UNIT_PACKAGES ?= 4
# A step of tests begins when so many packages of the steps before are left: the last ones wait for servers.
OVERLAP       ?= 2
E2E_PACKAGES  ?= 2
E2E_PARALLEL  ?= 4
TESTFLAGS    ?=
# Packages for `make test` and `make lint`, e.g. PKG=./dag/...
PKG          ?= ./...
# Commit that `make test-changed` compares with.
BASE         ?= $(shell git merge-base HEAD main 2>/dev/null | grep -v "^$$(git rev-parse HEAD)" || echo HEAD~1)
# Cases of each property test: rapid reads RAPID_CHECKS, in every test binary, and so does testsuite.Sized. Nothing else scales a test.
CHECKS       ?= 10
# File that collects the times of steps and packages; .ci/run prints it as a table.
REPORT       ?=
ARGS         ?=
ONLY         ?=

# --- Pinned tools: the file name carries version and toolchain, so an upgrade of either rebuilds ------

GOLANGCI_LINT_VERSION := v2.15.0
WORKFLOWCHECK_VERSION := v0.6.0
GOVULNCHECK_VERSION   := v1.8.0
OAPI_CODEGEN_VERSION  := v2.5.1
# The plugin for messages is of the module's own version of protobuf, see docs/adr/0040.
PROTOC_GEN_GO_VERSION      := v1.36.12
PROTOC_GEN_GO_GRPC_VERSION := v1.6.0

GOVERSION     := $(shell $(GO) env GOVERSION 2>/dev/null)
TOOLS         := $(CURDIR)/.tools/bin
GOLANGCI_LINT := $(TOOLS)/golangci-lint-$(GOLANGCI_LINT_VERSION)-$(GOVERSION)
WORKFLOWCHECK := $(TOOLS)/workflowcheck-$(WORKFLOWCHECK_VERSION)-$(GOVERSION)
GOVULNCHECK   := $(TOOLS)/govulncheck-$(GOVULNCHECK_VERSION)-$(GOVERSION)
OAPI_CODEGEN  := $(TOOLS)/oapi-codegen-$(OAPI_CODEGEN_VERSION)-$(GOVERSION)

# $(call install,package,version): build a tool outside this module and name it by version. The
# temporary directory keeps an interrupted build from passing for a finished one.
define install
	@mkdir -p $(TOOLS)/tmp
	@echo "building $(notdir $@) (once; golangci-lint takes a few minutes)"
	@GOBIN=$(TOOLS)/tmp GOFLAGS= GOTOOLCHAIN=local CGO_ENABLED=0 $(GO) install $(1)@$(2)
	@mv $(TOOLS)/tmp/$(notdir $(1)) $@
endef

$(GOLANGCI_LINT):
	$(call install,github.com/golangci/golangci-lint/v2/cmd/golangci-lint,$(GOLANGCI_LINT_VERSION))
$(WORKFLOWCHECK):
	$(call install,go.temporal.io/sdk/contrib/tools/workflowcheck,$(WORKFLOWCHECK_VERSION))
$(GOVULNCHECK):
	$(call install,golang.org/x/vuln/cmd/govulncheck,$(GOVULNCHECK_VERSION))

$(OAPI_CODEGEN):
	$(call install,github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen,$(OAPI_CODEGEN_VERSION))

PROTO_PLUGINS := $(TOOLS)/proto-$(PROTOC_GEN_GO_VERSION)-$(PROTOC_GEN_GO_GRPC_VERSION)

$(PROTO_PLUGINS):
	@mkdir -p $@.tmp
	@GOBIN=$@.tmp GOFLAGS= GOTOOLCHAIN=local CGO_ENABLED=0 $(GO) install google.golang.org/protobuf/cmd/protoc-gen-go@$(PROTOC_GEN_GO_VERSION)
	@GOBIN=$@.tmp GOFLAGS= GOTOOLCHAIN=local CGO_ENABLED=0 $(GO) install google.golang.org/grpc/cmd/protoc-gen-go-grpc@$(PROTOC_GEN_GO_GRPC_VERSION)
	@mv $@.tmp $@

##@ Use

.PHONY: dev
dev: export SUBMAKE = $(MAKE)
dev: ## Build and run everything on this machine: Temporal, Web UI, control plane, two workers (ARGS="--once --json")
	@GO="$(GO)" TEMPORAL_ADDRESS="$(TEMPORAL_ADDRESS)" exec sh tools/dev.sh $(ARGS)

# npm, the compiler and the download of modules run at once: together they keep two cores busy.
.PHONY: build
build: ## Build bin/roundsman and bin/roundsman-devserver
	@$(MAKE) $(if $(findstring jobserver,$(MAKEFLAGS)),,-j3) web bin/roundsman bin/roundsman-devserver

# The console is embedded if it was built before bin/roundsman. It needs Node.js; everything else does not.
NODE_MAJOR   := $(shell node -p 'process.versions.node.split(".")[0]' 2>/dev/null)
HAS_NODE     := $(shell [ "$(NODE_MAJOR)" -ge 20 ] 2>/dev/null && command -v npm)
WEB_SOURCES  := $(shell find web/src web/public web/index.html web/vite.config.ts web/tsconfig.json -type f ! -name openapi.d.ts 2>/dev/null)
WITHOUT_NODE := no Node.js 20 or newer: this build has no console, the rest is complete

.PHONY: web
web: $(if $(HAS_NODE),internal/edge/console/assets/app/index.html) ## Build the console, where Node.js is; `build` does it
	@$(if $(HAS_NODE),:,echo "web: $(WITHOUT_NODE)")

web/node_modules/.package-lock.json: web/package.json web/package-lock.json
	@npm --prefix web ci --silent && touch $@

internal/edge/console/assets/app/index.html: web/node_modules/.package-lock.json docs/openapi.yaml $(WEB_SOURCES)
	@npm --prefix web run --silent build -- --logLevel error && touch $@

.PHONY: web-check
web-check: ## Types and lint of the console, and its size; skipped where Node.js is missing
	@$(if $(HAS_NODE),$(MAKE) web web-size && npm --prefix web run --silent check,echo "web-check: skipped, no Node.js 20 or newer")

# LOAD is how many processes compute beside the page that waits for events.
FIGURES := whole latency idle sizes heap typed
.PHONY: web-figures
web-figures: build ## Console: every page at three widths in both themes, an idle minute, a tab that stays open (minutes)
	@cd web && FULL=1 node --test --test-concurrency=1 $(FIGURES:%=test/%.test.mjs)

# All that a browser loads, as it travels. Issue after issue adds a little: this says when it is too much.
MAX_WEB_BYTES := 400000
# What the first page needs: itself, what it names, and the font of all text.
MAX_FIRST_PAGE_BYTES := 110000

.PHONY: web-size
web-size:
	@bytes=$$(cd internal/edge/console/assets/app && { find . -name '*.gz' -exec cat {} +; find . -type f ! -name '*.gz' -exec gzip -9c {} +; } | wc -c); echo "web-size: the console is $$bytes of $(MAX_WEB_BYTES) bytes, compressed"; \
	[ $$bytes -le $(MAX_WEB_BYTES) ]
	@bytes=$$(cd internal/edge/console/assets/app && { gzip -9c index.html assets/inter-*.woff2; for file in $$(grep -o 'assets/[^"]*' index.html); do cat $$file.gz; done; } | wc -c); echo "web-size: its first page is $$bytes of $(MAX_FIRST_PAGE_BYTES) bytes, compressed"; \
	[ $$bytes -le $(MAX_FIRST_PAGE_BYTES) ]

# Registries may lack the database of vulnerabilities: those answer with an error, not with a verdict.
.PHONY: web-audit
web-audit: ## npm audit of the console's dependencies; says so where the registry has no answer
ifeq ($(HAS_NODE),)
	@echo "web-audit: skipped, no Node.js 20 or newer"
else
	@answer=$$(npm --prefix web audit --audit-level=high 2>&1); code=$$?; \
	if echo "$$answer" | grep -qE 'audit endpoint returned an error|ECONN|ENOTFOUND|ETIMEDOUT'; then echo "web-audit: skipped, the registry has no answer"; \
	else echo "$$answer"; exit $$code; fi
endif

.PHONY: screenshots
screenshots: build ## Take pictures of every page of the console: light, dark, 390 px (docs/images/console)
	@npm --prefix web run --silent screenshots

# The first build compiles everything that bin/roundsman links while npm still works on the console, and before
# bin/roundsman-devserver, which shares half of its packages.
FIRST := $(if $(wildcard bin/roundsman),,packages)

.PHONY: packages
packages:
	@$(MEMORY) GO="$(GO)" sh tools/gobuild.sh roundsman -trimpath .

# Listing the packages of the server downloads its modules, while others compile.
.PHONY: modules
modules:
	@$(GO) list -C devserver -deps ./cmd/roundsman-devserver >/dev/null 2>&1 || :

# Go itself knows what is out of date, so it is always asked.
.PHONY: bin/roundsman
bin/roundsman: | $(FIRST) web
	@$(MEMORY) $(GO) build -trimpath -ldflags "$(LDFLAGS) -X $(MODULE)/internal/lib/buildinfo.stamped=$(VERSION)" -o $@ ./cmd/roundsman

# Linking 80 MB takes Go seconds even when only the version stamp differs, so this one is built when its own
# module changed. Its stamp is the version of that moment.
DEVSERVER_SOURCES := $(shell find devserver -name '*.go' ! -name '*_test.go') devserver/go.mod devserver/go.sum
bin/roundsman-devserver: $(DEVSERVER_SOURCES) | $(FIRST) $(FIRST:packages=modules)
	@$(MEMORY) GO="$(GO)" sh tools/gobuild.sh roundsman-devserver -C devserver -trimpath -ldflags "$(LDFLAGS) -X $(MODULE)/devserver.stamped=$(VERSION)" -o ../$@ ./cmd/roundsman-devserver
	@touch $@

##@ Test

# End-to-end packages start servers and processes of their own and wait for them. They run without the race
# detector, whose slowness would be measured instead of Roundsman. The packages they drive have their own tests
# under it. `make lint` runs all of vet, so the tests do not repeat a part of it.
E2E := $(MODULE)/testsuite/
# These begin first, in this order: a package that takes minutes and begins last prolongs the step by its time. nodee2e and fleete2e have
# tests that only wait for minutes, so packages that compute follow them.
SLOWEST := consolee2e nodee2e testsuite/e2e fleete2e gatewaye2e weede2e internal/cli activities/command workers dag/spec
TESTRUN = $(MEMORY) RAPID_CHECKS=$(CHECKS) $(GO) run ./tools/testrun -go "$(GO)" $(if $(REPORT),-report $(REPORT))

# With the race detector a process sleeps for a second before it exits: races of goroutines that still run are found then. There are
# 115 test binaries and the processes that they start; `make race` keeps the second.
.PHONY: test
test: export GORACE := atexit_sleep_ms=50 $(GORACE)
test: $(if $(filter ./...,$(PKG)),build) ## All tests of all modules: unit, workflow, replay, end to end (PKG=./dag/... TESTFLAGS=-v CHECKS=1000)
	@[ "$(strip $(PKG))" = ./... ] || ! $(GO) list -deps -test $(strip $(PKG)) | grep -q '^$(MODULE)/testsuite$$' || $(MAKE) build
	@test -n "$(RACE)" || echo "no C compiler found: testing without the race detector"
	@$(TESTRUN) $(RACE) -without-race "$(WITHOUT_RACE)" -modules "$(if $(filter ./...,$(PKG)),$(MODULES),.)" -packages "$(strip $(PKG))" \
		-ends '^$(E2E)[a-z]*e2e$$' -apart '^TestInBrowser$$' -slowest "$(SLOWEST)" -ends-flags "-p $(E2E_PACKAGES) -parallel $(E2E_PARALLEL)" -unit-flags "-p $(UNIT_PACKAGES)" -overlap $(OVERLAP) \
		-- $(TEST_LINK) -vet=off -shuffle=on -timeout $(TEST_TIMEOUT) $(TESTFLAGS)

.PHONY: test-changed
test-changed: ## Unit tests of what changed since BASE and of its importers; end-to-end packages only if they changed themselves
	@packages=$$(GO="$(GO)" sh tools/changed.sh $(BASE)) || exit 1; \
	if [ -z "$$packages" ]; then echo "test-changed: no package changed since $(BASE)"; else $(MAKE) test PKG="$$packages"; fi

.PHONY: property
property: CHECKS = 10000
property: build ## Property tests with 10,000 cases each, random runs and full sizes against the server, for the night (CHECKS=100000)
	@$(TESTRUN) -packages "$$($(RAPID_PACKAGES))" -- -vet=off -shuffle=on -timeout 8h $(TESTFLAGS)
	@$(TESTRUN) -packages "$(E2E)e2e $(E2E)fleete2e" -ends . -- -vet=off -shuffle=on -timeout 8h -run 'Random|Hundred|Thousand' $(TESTFLAGS)

.PHONY: race
race: ## Unit tests with the race detector, also of the packages that have nothing to race, for the night
	@$(TESTRUN) -packages "$$($(GO) list ./... | grep -v '^$(E2E)[a-z]*e2e$$')" -- -race $(TEST_LINK) -vet=off -shuffle=on -timeout $(TEST_TIMEOUT) $(TESTFLAGS)

# End-to-end packages are not about many cases.
RAPID_PACKAGES = $(GO) list -f '{{$$p := .ImportPath}}{{range .TestImports}}{{if eq . "pgregory.net/rapid"}}{{$$p}}{{"\n"}}{{end}}{{end}}{{range .XTestImports}}{{if eq . "pgregory.net/rapid"}}{{$$p}}{{"\n"}}{{end}}{{end}}' ./... | grep -v /testsuite/ | sort -u

.PHONY: bench
bench: build ## Benchmarks as JSON lines (ONLY=fanout)
	@$(GO) run ./bench $(if $(ONLY),-only $(ONLY)) $(ARGS)

.PHONY: history
history: build ## Record the replay histories again, against the real server
	@$(GO) test ./testsuite/replay -run TestRecord -count=1 -record

##@ Gates

# `make test` runs internal/arch and testsuite/replay too, so they are no gates of their own.
# lint comes last: it uses all CPUs, the others one.
GATES := tidy-check workflowcheck vulncheck proto-check clients size lint

.PHONY: check
check: ## Every gate; continues after a failure, so that one run shows all of them
	@export $(MEMORY); failed=; for gate in $(GATES); do \
		begun=$$(date +%s); $(MAKE) $$gate || failed="$$failed $$gate"; \
		[ -z "$(REPORT)" ] || echo "step $$(($$(date +%s) - begun)) - check: $$gate" >>"$(REPORT)"; \
	done; \
	[ -z "$$failed" ] || { echo "make check: failed:$$failed; 'make fmt tidy' repairs formatting and go.mod"; exit 1; }; \
	echo "make check: all gates passed ($(GATES))"

.PHONY: lint
lint: $(GOLANGCI_LINT) ## golangci-lint, tests included (PKG=./dag/... for a part)
	@status=0; for module in $(if $(filter ./...,$(PKG)),$(MODULES),.); do \
		echo "lint: $$module"; \
		(cd $$module && $(GOLANGCI_LINT) run --allow-serial-runners --config $(CURDIR)/.golangci.yaml $(PKG)) || status=1; \
	done; exit $$status

.PHONY: fmt
fmt: $(GOLANGCI_LINT) ## Format all Go code
	@for module in $(MODULES); do (cd $$module && $(GOLANGCI_LINT) fmt --config $(CURDIR)/.golangci.yaml); done

.PHONY: tidy
tidy: ## go mod tidy in every module
	@for module in $(MODULES); do $(GO) mod tidy -C $$module || exit 1; done

.PHONY: tidy-check
tidy-check: ## Fail if go mod tidy would change anything
	@status=0; for module in $(MODULES); do \
		diff=$$($(GO) mod tidy -C $$module -diff) || { echo "$$diff" | grep '^[-+]' | head -n 40; echo "tidy: $$module/go.mod is not tidy; run 'make tidy'"; status=1; }; \
	done; exit $$status

.PHONY: workflowcheck
workflowcheck: $(WORKFLOWCHECK) ## Workflow code must be deterministic
	@GO="$(GO)" sh tools/workflowcheck.sh $(WORKFLOWCHECK) $$($(WORKFLOW_PACKAGES))

# What a workflow function can reach from its own package; facts of what they import are computed on the way.
WORKFLOW_PACKAGES = $(GO) list -f '{{range .Imports}}{{if eq . "go.temporal.io/sdk/workflow"}}{{$$.ImportPath}}{{"\n"}}{{end}}{{end}}' ./...

.PHONY: vulncheck
vulncheck: $(GOVULNCHECK) ## Known vulnerabilities in what is called; skipped where the database does not answer
	@GO="$(GO)" sh tools/vulncheck.sh $(GOVULNCHECK) $(MODULES)

.PHONY: arch
arch: ## Import rules, sizes, package docs, ADR of every dependency
	@$(GO) test -count=1 ./internal/arch

.PHONY: replay
replay: ## Replay every recorded history
	@if [ -d testsuite/replay ]; then $(GO) test -count=1 ./testsuite/replay/...; \
	else echo "replay: no testsuite/replay"; exit 1; fi

.PHONY: proto-check
proto-check: ## The generated code of internal/seaweedfs is that of its protos; skipped without protoc
	@if command -v protoc >/dev/null; then $(MAKE) $(PROTO_PLUGINS) && PROTO_PLUGINS=$(PROTO_PLUGINS) $(GO) test -count=1 -run Generated ./internal/seaweedfs; \
	else echo "proto-check: no protoc (Debian: apt install protobuf-compiler), nothing compared"; fi

.PHONY: clients
clients: $(OAPI_CODEGEN) bin/roundsman ## Clients that two generators make of docs/openapi.yaml compile: Go, and TypeScript where Node.js is
	@GO="$(GO)" sh tools/clients.sh $(OAPI_CODEGEN) $(CURDIR)/bin/roundsman

.PHONY: size
size: ## bin/roundsman must stay small enough to go on every node
	@if [ ! -f bin/roundsman ]; then echo "size: bin/roundsman is not built, nothing to measure"; exit 0; fi; \
	bytes=$$(wc -c <bin/roundsman); echo "size: bin/roundsman $$bytes of $(MAX_BINARY_BYTES) bytes"; \
	[ $$bytes -le $(MAX_BINARY_BYTES) ] || { echo "size: too big; 'go tool nm -size -sort size' shows what grew"; exit 1; }

##@ Other

.PHONY: proto
proto: $(PROTO_PLUGINS) ## Generate internal/seaweedfs/*pb again; needs protoc (Debian: protobuf-compiler)
	@PLUGINS=$(PROTO_PLUGINS) sh internal/seaweedfs/generate.sh

.PHONY: tools
tools: $(GOLANGCI_LINT) $(WORKFLOWCHECK) $(GOVULNCHECK) $(OAPI_CODEGEN) ## Build the pinned tools into .tools/bin

.PHONY: version
version: ## Print the version that a build would carry
	@echo $(VERSION)

.PHONY: clean
clean: ## Remove what was built; `make clean-tools` removes the pinned tools too
	@rm -rf bin dist coverage coverage.* internal/edge/console/assets/app

.PHONY: clean-tools
clean-tools:
	@rm -rf .tools

.PHONY: help
help: ## This list
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-zA-Z_-]+:.*## / {printf "  %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
