# `make run` and `make test` are all a fresh Debian 12 needs besides Go, gcc,
# git and root; `make help` lists the rest.

SHELL := /bin/bash
GO    ?= go
ARGS  ?=

# Pinned: a newer linter finds newer faults. Used by `make lint` only.
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.9.0

# The version bus/segdv1/segd.pb.go was made with. Used by `make generate` only.
PROTOC_GEN_GO := google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12

# What packages and checks them. Used by `make package` and `make deploy-test` only.
NFPM        := github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.41.0
HELM        := helm.sh/helm/v3/cmd/helm@v3.17.0
KUBECONFORM := github.com/yannh/kubeconform/cmd/kubeconform@v0.6.7
COMPOSE     := github.com/compose-spec/compose-go/v2/cmd@v2.4.7

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
# The version comes from above, so the build asks git nothing (and works in a
# checkout that belongs to another user).
BUILD   := $(GO) build -buildvcs=false -ldflags "-X main.version=$(VERSION)"

# Packages whose tests also run under the race detector. What links OpenCV is
# left out: the detector does not see into C++, and building it twice is slow.
RACE = ./bus/... ./config/... ./features ./mask/... ./metrics/... ./pipeline/... ./solver/... ./tracker/... ./web/...

.DEFAULT_GOAL := help
.PHONY: help setup build run test generate lint fuzz interop screenshot bench peers package package-arm64 package-test deploy-test clean

help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install what is missing (Debian packages)
	@scripts/setup

build: setup ## build bin/segd
	@mkdir -p bin
	$(BUILD) -o bin/segd ./cmd/segd

run: build ## build and run the demo; make run ARGS="--for 30s"
	@bin/segd demo $(ARGS)

test: setup ## set up, then every check and every test
	@scripts/test $(RACE)

generate: ## write generated code again
	@scripts/setup generate
	GOBIN=$(CURDIR)/bin $(GO) install $(PROTOC_GEN_GO)
	PATH=$(CURDIR)/bin:$$PATH $(GO) generate ./...

lint: ## golangci-lint, the pinned version
	$(GO) run $(GOLANGCI) run ./...

fuzz: setup ## fuzz what reads bytes of others, a minute each; FUZZTIME=10s is shorter
	@scripts/fuzz

interop: ## segd with programs that are not ours: GStreamer, FFmpeg, Chromium
	@scripts/setup interop
	@$(MAKE) --no-print-directory build
	@$(GO) run -buildvcs=false ./scripts/interop $(INTEROP)

screenshot: ## take docs/images/page.png of the running demo, headless
	@scripts/setup screenshot
	@$(MAKE) --no-print-directory build
	@scripts/screenshot --frames 85 # by then the person walks alone

bench: setup ## every benchmark
	$(GO) test -run '^$$' -bench . -benchmem ./...

# Each peer is a program of its own, talked to through pipes: the max-flow library
# is under the GPL, and nothing of it is linked into segd. PEERS is passed on, for
# instance PEERS="-only cut".
peers: ## compare speed with BK's max-flow and LIBLINEAR; docs/benchmarks.md
	@scripts/setup peers
	@mkdir -p bin
	@$(CXX) -std=c++17 -O3 -DNDEBUG -w $$(pkg-config --cflags maxflow) -o bin/peer-bk scripts/peers/theirs/bk.cpp
	@$(CXX) -std=c++17 -O3 -Wall -o bin/peer-liblinear scripts/peers/theirs/liblinear.cpp -llinear
	@$(GO) build -buildvcs=false -o bin/peers ./scripts/peers
	@bin/peers $(PEERS)

package: setup ## a .deb and a tarball in dist/, for this machine's architecture
	@scripts/setup package
	@GO="$(GO)" NFPM="$(GO) run $(NFPM)" scripts/package "$(VERSION)"

package-arm64: build ## the same for arm64, cross-compiled in a Debian root of its own
	@scripts/setup package package-test
	@ARCH=arm64 GO="$(GO)" NFPM="$(GO) run $(NFPM)" scripts/package "$(VERSION)"

package-test: package ## install the .deb in a fresh Debian 12, run the demo and the service, remove it
	@scripts/setup package-test
	@scripts/packagetest

deploy-test: build ## check the Helm chart, the compose file and the Dockerfiles
	@scripts/setup deploy-test
	GOBIN=$(CURDIR)/bin $(GO) install $(HELM)
	GOBIN=$(CURDIR)/bin $(GO) install $(KUBECONFORM)
	GOBIN=$(CURDIR)/bin/compose $(GO) install $(COMPOSE)
	@GO="$(GO)" HELM=$(CURDIR)/bin/helm KUBECONFORM=$(CURDIR)/bin/kubeconform COMPOSE=$(CURDIR)/bin/compose/cmd scripts/deploytest

clean: ## remove what was built
	rm -rf bin dist
