# The only door: run, build, test, check, gen, bench, soak. `make help` lists them.

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
TOOLS   := bin/tools
export PATH := $(CURDIR)/$(TOOLS):$(PATH)

.PHONY: help run needs build web webapp cross test test-go test-modules test-ts test-web measure test-kill test-faults test-powercut test-walk test-fuzz test-older test-schema test-mutants test-release test-newcomer conformance check gen verify-gen cover bench bench-compare vuln deps cluster release site clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

run: needs build ## build and start a server on ./data
	./bin/skein serve

needs:
	@GO="$(GO)" tools/needs.sh run

build: webapp ## bin/skein, the server with the web app, and bin/skein-lab, which measures it; static
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o bin/ ./cmd/skein ./cmd/skein-lab

# The web app is built anew when its sources, or those of the SDKs in it, changed. Without Node the server is built
# without it, and says so to who opens it (docs/adr/0009-web-app.md).
WEBAPP := internal/webapp/dist
WEB_SOURCES = $(shell git ls-files -co --exclude-standard web sdk/typescript/src sdk/react/src internal/api/openapi.json)
webapp:
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory $(WEBAPP)/index.html; \
	else echo "npm is not here: this builds a server without the web app"; fi

# What a package of npm needs is installed once for each state of its lock file.
NPM_CI := npm ci --no-audit --no-fund --silent
%/node_modules/.package-lock.json: %/package-lock.json
	cd $* && $(NPM_CI) && touch node_modules/.package-lock.json

$(WEBAPP)/index.html: $(WEB_SOURCES) web/node_modules/.package-lock.json
	cd web && npm run build --silent

web: web/node_modules/.package-lock.json ## the web app, into internal/webapp/dist, where the server takes it from; needs Node 20.19 or later
	cd web && npm run build --silent

# Everything that a release consists of, of the commit that is checked out (docs/releases.md). The tool is a module of
# its own. PLATFORMS_RELEASED=linux/amd64 makes a part of it, RELEASE_FLAGS=--dirty one of a tree with changes.
PLATFORMS_RELEASED ?=
RELEASE_FLAGS ?=
release: web ## what a release consists of, into bin/release: the same bytes for the same commit anywhere; takes Go, git and Node
	@rm -rf bin/release
	$(GO) run -C tools/release . --root ../.. --out ../../bin/release --platforms "$(PLATFORMS_RELEASED)" $(RELEASE_FLAGS)

site: tools/site/node_modules/.package-lock.json ## the documents as pages, into bin/site; a link that leads nowhere is an error
	cd tools/site && npm test --silent && npm run build --silent

NODES ?= 3
cluster: build ## NODES nodes over a PostgreSQL of their own on this machine, until Ctrl-C; more: deploy/cluster.sh --help
	@NODES=$(NODES) deploy/cluster.sh

# Tests need more than the server: a C compiler, PostgreSQL's programs, Python, Chromium, Firefox, Node (tools/needs.sh says why
# each). What is missing is installed on Debian and Ubuntu, if one says yes (YES=1; so does root without a terminal); what is there needs no root. What
# test/clients needs besides it takes from npm's and Python's registries, once, into bin/.clients.
deps:
	@tools/needs.sh test

# Tests wait for disks, clocks and each other more than they compute: one package more than there are cores.
PACKAGES ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# The longest first, so that none of them runs alone at the end.
LONGEST := ./test/e2e ./cmd/skein-lab ./internal/directory/postgres ./internal/journal/postgres ./internal/journal/pebble ./internal/api
# SQLite in Go is one large translation from C: it and its C library are compiled without the race detector, which
# would be half of the CPU time of whatever uses it (TestSessions and its like of internal/account: 5.5 s, now 2.9 s);
# its Go driver, and all else, is compiled with it. With -trimpath what one clone has compiled is of use
# to the next; -w leaves out what only a debugger needs.
RACE := -race -gcflags='modernc.org/...=-d=checkptr=0' -gcflags='modernc.org/sqlite/lib=-race=false' \
	-gcflags='modernc.org/libc/...=-race=false' -trimpath -ldflags=-w
# One suite after the other: beside browsers nodes miss each other's signs of life, and what they did is unknown then.
test: deps ## all tests, with the race detector; a suite that fails does not keep the others from being run
	$(MAKE) --keep-going --no-print-directory test-ts test-web test-modules test-go
	@echo "make test: every suite passed"

test-go: deps $(TOOLS)/gotestsum ## the tests in Go
	$(TOOLS)/gotestsum --format pkgname-and-test-fails -- $(RACE) -timeout 25m -p $(PACKAGES) $(LONGEST) ./...
	$(GO) test -tags skein_next -run '^TestNext' ./internal/directory

# Modules of their own, each for what it needs and nobody else: a real provider of OpenID Connect; a real S3-compatible
# server; a real authority for certificates; what a collector of OpenTelemetry reads; Helm, Prometheus and actionlint,
# which read our files; the tool that makes releases (make test-release tries out a whole one).
MODULES := test/oidc test/s3 test/acme test/otlp test/deploy tools/release
test-modules: deps ## the tests in Go of the modules beside the server's
	@failed=; for m in $(MODULES); do echo "$$m"; $(GO) test -C $$m -timeout 5m ./... || failed="$$failed $$m"; done; \
	test -z "$$failed" || { echo "failed:$$failed"; exit 1; }

# The SDK in TypeScript: installs what its tests need, from its lock file, and runs them; the scenarios of
# sdk/conformance among them, against bin/skein-lab. Needs Node 20 or later.
test-ts: build sdk/typescript/node_modules/.package-lock.json sdk/react/node_modules/.package-lock.json web/node_modules/.package-lock.json ## the tests of sdk/typescript, sdk/react and web
	cd sdk/typescript && npm test --silent
	cd sdk/react && npm test --silent
	cd web && npm test --silent

# The web app in real browsers against bin/skein: two desks and a phone, faults, attacks, accessibility. Needs Chromium.
test-web: build test/web/node_modules/.package-lock.json ## the web app in Chromium
	cd test/web && npm test --silent

measure: build test/web/node_modules/.package-lock.json sdk/typescript/node_modules/.package-lock.json ## figures of the web app in Chromium, as JSON; about ten minutes, on a machine that is quiet
	cd sdk/typescript && npm run build --silent
	node test/web/measure.mjs

cover: deps ## coverage of internal/ by all tests
	$(GO) test -coverpkg=./internal/... -coverprofile=bin/cover.out ./... >/dev/null
	@$(GO) tool cover -func=bin/cover.out | tail -1

KILLS ?= 50
test-kill: build ## kill -9 the server KILLS times under load; nothing acknowledged is lost
	$(GO) run ./test/faults kill --rounds $(KILLS)

FAULTS ?= 20
test-faults: build ## hurt a cluster FAULTS times each: kill, freeze, cut off nodes and database; exchange nodes for the next version; put older copies of a server in its place; kill its clients; needs root, about an hour
	$(GO) run ./test/faults putback --bin bin/skein --rounds $(FAULTS)
	$(GO) run ./test/faults sdk-killed --bin bin/skein --rounds $(FAULTS)
	$(GO) run ./test/faults sdk-killed --postgres --bin bin/skein --rounds $(FAULTS)
	$(GO) run ./test/faults kill --postgres --bin bin/skein --rounds $(FAULTS)
	$(GO) run ./test/faults cluster --bin bin/skein --fault all --rounds $(FAULTS)

POWERCUTS ?= 10
test-powercut: ## cut the power (ext4 without its journal); must pass, and must fail without fsync. Needs root.
	$(GO) run ./test/faults powercut --rounds $(POWERCUTS)

WALK ?= 200000
CRASHES ?= 100
test-walk: deps ## WALK random operations of five devices on each store, with CRASHES, against a model; about half an hour each
	$(GO) run ./test/walk --operations $(WALK) --crashes $(CRASHES) --store pebble
	$(GO) run ./test/walk --operations $(WALK) --crashes $(CRASHES) --store postgres

FUZZTIME ?= 60s
test-fuzz: ## every fuzz target for FUZZTIME
	$(GO) run ./test/fuzzall -time $(FUZZTIME)

# The commit before protocol 1.0.
OLDER ?= 9110a66
test-older: build ## a client built from the commit OLDER against this server: it works, or is told version_unsupported
	$(GO) run ./test/older --bin bin/skein --commit $(OLDER)

# A second build in another directory, with a build cache of its own, must give the same bytes; then what came out is tried
# out: the programs, the image in a chroot, the packages. Needs root for the chroot. Everything is compiled twice.
test-release: release ## a release built twice, compared and tried out; needs root
	$(GO) run -C tools/release ./tryout --root ../.. --release ../../bin/release --platforms "$(PLATFORMS_RELEASED)" $(TRYOUT_FLAGS)

# NEWCOMER="--env GOPROXY=… --ca FILE" for a network of one's own: go run ./test/newcomer --help
NEWCOMER ?=
test-newcomer: ## the README on a bare Debian (debootstrap), timed: clone, make run, register, first message; needs root and debootstrap
	$(GO) run ./test/newcomer $(NEWCOMER)

# Needs Python 3 and, the first time, the package registry.
SCHEMATIME ?= 300
test-schema: build ## schemathesis against a live server for SCHEMATIME seconds: nothing fails, nothing that fits the document is refused
	python3 test/schema/run.py --seconds $(SCHEMATIME)

conformance: build ## play every transcript, mistake and promise of the protocol against servers of their own; against another one: bin/skein-lab conformance --server URL
	./bin/skein-lab conformance --all

MUTANTS ?= .
test-mutants: deps ## plant bugs, one at a time; a test must find each within seconds. MUTANTS=<regexp> chooses some
	$(GO) run ./test/mutants -run '$(MUTANTS)'

PLATFORMS := linux/arm64 darwin/arm64 windows/amd64 freebsd/amd64
COMMA := ,
SPACE := $(subst ,, )
check: $(TOOLS)/staticcheck $(TOOLS)/buf verify-gen ## formatting, linters, generated files, contract
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo "run gofmt"; exit 1; }
	$(GO) vet ./...
	$(GO) vet -tags skein_nosync ./internal/journal/...
	$(GO) vet -tags skein_next ./internal/journal/... ./internal/directory/...
	$(GO) run ./test/platforms $(subst $(SPACE),$(COMMA),$(PLATFORMS)) ./cmd/... ./sdk/go/... ./server
	staticcheck ./...
	$(GO) mod tidy -e -diff
	$(GO) mod verify >/dev/null
	buf lint
	@$(MAKE) --no-print-directory sdk/typescript/node_modules/.package-lock.json sdk/react/node_modules/.package-lock.json web/node_modules/.package-lock.json
	cd sdk/typescript && npm run build --silent
	cd sdk/react && npm run check --silent
	cd web && npm run check --silent
	@if git rev-parse -q --verify origin/main >/dev/null; then buf breaking --against '.git#ref=origin/main'; fi
	$(GO) test ./test/house

gen: $(TOOLS)/buf $(TOOLS)/protoc-gen-go $(TOOLS)/protoc-gen-go-vtproto ## write the generated files
	buf generate
	$(GO) run ./proto/codesgen
	$(GO) run ./proto/descriptorgen
	$(GO) run ./proto/openapigen -buf $(TOOLS)/buf
	$(GO) run ./cmd/skein config doc > docs/skein.toml

verify-gen: gen
	@git diff --exit-code --stat -- wire internal/im proto internal/api docs sdk/typescript/src || { echo "generated files were not up to date; they are now: commit them"; exit 1; }

# Of a PostgreSQL server, if you name one: what a message, a login and a silent
# client cost it. POSTGRES=postgres://user:password@host/database, of a user who may
# create databases; with shared_preload_libraries=pg_stat_statements also in queries.
POSTGRES ?=
bench: build ## the scenarios with their tables, about fourteen minutes; one alone: bin/skein-lab bench --help
	./bin/skein-lab bench chat --floor
	./bin/skein-lab bench chat --codec json --no-half --steps 0
	./bin/skein-lab bench chat --transport tcp --no-half --steps 0
	./bin/skein-lab bench chat --users 10000 --no-half --steps 0
	./bin/skein-lab bench broadcast
	./bin/skein-lab bench online
	./bin/skein-lab bench resume --connections 10000 --conversations 10
	./bin/skein-lab bench bytes
	./bin/skein-lab bench store
	./bin/skein-lab bench idle
	./bin/skein-lab bench backup --messages 500000
	./bin/skein-lab bench stall
	@test -z "$(POSTGRES)" || ./bin/skein-lab bench chat --postgres "$(POSTGRES)" --no-half
	@test -z "$(POSTGRES)" || ./bin/skein-lab bench stall --postgres "$(POSTGRES)"
	@test -z "$(POSTGRES)" || ./bin/skein-lab bench idle --postgres "$(POSTGRES)" --connections 2000 --duration 60s

BASE ?= HEAD~1
# More of its options, as COMPARE="--set search.index=off".
COMPARE ?=
bench-compare: build ## CPU time and allocations per message against BASE=<commit>, in turns in one run
	@rm -rf bin/base && git worktree prune && git worktree add --detach bin/base $(BASE) >/dev/null
	@cd bin/base && CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w" -o ../skein-base ./cmd/skein; built=$$?; cd ../.. && git worktree remove --force bin/base && exit $$built
	./bin/skein-lab bench compare bin/skein-base $(COMPARE)

cross: ## compile and link the server for the other platforms; check only looks whether it would compile
	@for p in $(PLATFORMS); do \
		echo "$$p"; \
		GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0 $(GO) build -o /dev/null ./cmd/skein || exit 1; \
	done

vuln: $(TOOLS)/govulncheck ## known vulnerabilities in dependencies (asks the vulnerability database)
	govulncheck ./...

clean: ## remove what was built
	rm -rf bin

# Tools are pinned in tools/go.mod and built from there.
$(TOOLS)/%: tools/go.mod tools/go.sum
	@mkdir -p $(TOOLS)
	$(GO) build -C tools -o ../$@ $$(awk -v t=/$*$$ '$$1 ~ t {print $$1}' tools/go.mod | head -1)
