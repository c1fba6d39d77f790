# `make run` and `make test` are all a fresh Debian 12 needs besides Go, gcc,
# git and root; `make help` lists the rest.

SHELL := /bin/bash
GO    ?= go
ARGS  ?=

# Pinned: a newer linter finds newer faults. Used by `make lint` only.
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.9.0

# The version bus/segdv1/segd.pb.go was made with. Used by `make generate` only.
PROTOC_GEN_GO := google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
# The version comes from above, so the build asks git nothing (and works in a
# checkout that belongs to another user).
BUILD   := $(GO) build -buildvcs=false -ldflags "-X main.version=$(VERSION)"

# Packages whose tests also run under the race detector. What links OpenCV is
# left out: the detector does not see into C++, and building it twice is slow.
RACE = ./bus/... ./config/... ./features ./mask/... ./metrics/... ./pipeline/... ./solver/... ./tracker/... ./web/...

.DEFAULT_GOAL := help
.PHONY: help setup build run test generate lint fuzz interop browser-test api-test screenshot bench peers clean

help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

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

api-test: build ## requests made from openapi.json against a running demo (schemathesis)
	@scripts/setup apitest
	@scripts/apitest/run $(APITEST)

browser-test: ## use the page of the demo as people do, in Chromium; pictures in bin/pagetest
	@scripts/setup browser
	@$(MAKE) --no-print-directory build
	@$(GO) run -buildvcs=false ./scripts/pagetest $(PAGETEST)

screenshot: ## take docs/images/page.png of the running demo, headless
	@scripts/setup browser
	@$(MAKE) --no-print-directory build
	@scripts/screenshot --sequence 92 # then the two persons walk alone

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

clean: ## remove what was built
	rm -rf bin
