# `make run` and `make test` are all a fresh Debian 12 needs besides Go, gcc,
# git and root; `make help` lists the rest.

SHELL := /bin/bash
GO    ?= go
ARGS  ?=

# Pinned: a newer linter finds newer faults. Used by `make lint` only.
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.9.0

# Used by `make vulncheck` only.
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0

# The version bus/segdv1/segd.pb.go was made with. Used by `make generate` only.
PROTOC_GEN_GO := google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12

# NATS' own program. Used by `make natsdocs` only.
NATSCLI := github.com/nats-io/natscli@v0.3.0

# What packages, what tells what is in an image, and what checks them. Used by `make package`,
# `make image`, `make deploy-test` and `make release` only.
NFPM        := github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.41.0
SYFT        := github.com/anchore/syft/cmd/syft@v1.57.0
HELM        := helm.sh/helm/v3/cmd/helm@v3.17.0
KUBECONFORM := github.com/yannh/kubeconform/cmd/kubeconform@v0.6.7
COMPOSE     := github.com/compose-spec/compose-go/v2/cmd@v2.4.7

# Version and commit come from here, so the build asks git nothing: it works in a checkout
# that belongs to another user, and in an image, where there is no .git.
VERSION ?= $(shell scripts/version)
COMMIT  ?= $(shell git rev-parse HEAD 2>/dev/null)
# OpenCV is linked where it is there, and as OPENCV=PREFIX where that is given.
TAGS     = $(shell OPENCV="$(OPENCV)" scripts/tags)
BUILD    = build -buildvcs=false -tags "$(TAGS)" -ldflags "-X main.version=$(VERSION) -X main.commit=$(COMMIT)"

# Packages whose tests also run under the race detector. What computes the network is
# left out: the detector does not see into C and C++, and the tests are slow.
RACE = ./annotation ./bus/... ./config/... ./features ./fleet ./ingest ./ingest/onvif ./internal/perceptron ./mask/... ./metrics/... ./objects/privacy/... ./objects/zones ./outputs/... ./pipeline/... ./solver/... ./tracker/... ./web/...

# Tests of e2e; what they keep, logs and pictures, goes to bin/e2e/TARGET. A target's
# variable takes further flags of go test, such as "-run TestPage/phone" or "-timeout 1h".
E2E = @rm -rf bin/e2e/$@ && mkdir -p bin/e2e/$@ && \
	$(GO) -C e2e test -buildvcs=false $$(scripts/modfile e2e) -tags "e2e $(TAGS)" -count 1 -v -artifacts -outputdir $(CURDIR)/bin/e2e/$@

.DEFAULT_GOAL := help
.PHONY: help setup build run test test-long generate lint vulncheck fuzz interop browser-test click-test accuracy-test api-test clients examples-test python-test mqtt-test history-test recording-test export-test proxy-test stream-test commands-test onvif-test outage endurance restart-test fleet-test fleet-sim chaos attack follow-test natsdocs observability rules-test pictures bench peers gpu-test train train-test model-test package package-arm64 apt-repo package-test debian13-test arm64-build image image-test release release-test deploy-test clean

help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install what is missing (Debian packages)
	@scripts/setup

build: setup ## build bin/segd, and beside it what it finds: segd-tools, and segd-lab for segd eval
	@mkdir -p bin
	$(GO) $(BUILD) $$(scripts/modfile) -o bin/ ./cmd/segd ./cmd/segd-tools
	$(GO) -C lab $(BUILD) $$(scripts/modfile lab) -o $(CURDIR)/bin/segd-lab ./cmd/segd-lab

run: build ## build and run the demo; make run ARGS="--for 30s"
	@bin/segd demo $(ARGS)

test: setup ## what every change must pass, in 4 minutes: gofmt, go vet, the short tests
	@scripts/test short

test-long: setup ## every test, and many once more under the race detector; 20 minutes
	@scripts/test long $(RACE)

generate: ## write generated code again
	@scripts/setup generate
	GOBIN=$(CURDIR)/bin $(GO) install $(PROTOC_GEN_GO)
	PATH=$(CURDIR)/bin:$$PATH $(GO) generate ./...
	$(GO) -C deploy/grafana generate ./...

lint: ## golangci-lint, the pinned version
	GOBIN=$(CURDIR)/bin $(GO) install $(GOLANGCI)
	bin/golangci-lint run --build-tags "$(TAGS)" ./...
	cd deploy/grafana && $(CURDIR)/bin/golangci-lint run ./...
	cd e2e && $(CURDIR)/bin/golangci-lint run --build-tags "e2e $(TAGS)" ./...
	cd lab && $(CURDIR)/bin/golangci-lint run --build-tags "$(TAGS)" ./...

# VULNCHECK="-db file:///FOLDER" asks a copy of the database.
vulncheck: setup ## known vulnerabilities that segd reaches; each is explained in docs/security.md
	GOBIN=$(CURDIR)/bin $(GO) install $(GOVULNCHECK)
	@scripts/vulncheck -tags "$(TAGS)" $(VULNCHECK)

fuzz: setup ## fuzz what reads bytes of others, a minute each; FUZZTIME=10s is shorter
	@scripts/fuzz

interop: CYCLES ?= 1000
interop: ## segd with programs that are not ours: GStreamer, FFmpeg, Chromium
	@scripts/setup interop
	@$(MAKE) --no-print-directory build
	$(E2E) -timeout 40m ./interop $(INTEROP)
	@# Tests that are longer here: packets lost, clocks, sizes, connections that come and go.
	SEGD_TEST_CYCLES=$(CYCLES) $(GO) test -count 1 -timeout 30m -run '^(TestCaptureTime|TestSizeChangeAndGarbage|TestNothingStays)$$' ./ingest
	SEGD_TEST_CYCLES=$(CYCLES) $(GO) test -count 1 -timeout 30m -run '^(TestLoss|TestNothingStays)$$' ./web/whip

api-test: build ## requests made from openapi.json against a running demo (schemathesis)
	@scripts/setup apitest
	@python3 -m venv bin/apitest
	@bin/apitest/bin/pip install --quiet --disable-pip-version-check -r e2e/api/requirements.txt
	$(E2E) -timeout 30m ./api $(APITEST)

clients: ## the packages for subscribers in Python and JavaScript, in dist/
	@scripts/setup clients
	@scripts/clients "$(VERSION)"

# EXAMPLES="-run TestPython" is passed on.
examples-test: clients build ## these packages, the examples and the READMEs' programs at a demo
	@scripts/setup examples
	@bin/clients/bin/python -m unittest discover -q -s clients/python/tests -p test_mask.py
	@cd clients/js && node --test test/mask.test.js
	$(E2E) -timeout 20m ./examples $(EXAMPLES)

# Python's modules go to bin/python-test. PYTHONTEST="-k notebook" goes to unittest at the demo.
python-test: build ## the package for Python, its examples and the notebook at a demo, with supervision and OpenCV
	@scripts/setup python
	@rm -rf bin/python-test
	@scripts/wheel "$(VERSION)" bin/python-test e2e/python/requirements.txt
	@bin/python-test/bin/pip install --quiet --disable-pip-version-check --no-index "segd[supervision]" # the pins suffice
	@cd clients/python/tests && $(CURDIR)/bin/python-test/bin/python -m unittest -q test_mask test_frame test_watch
	$(E2E) -timeout 20m ./python -args -- $(PYTHONTEST)

# Python's modules go to bin/onvif.
onvif-test: ## segd finds cameras of others: ipycam, and devices by WSDiscovery
	@scripts/setup onvif
	@$(MAKE) --no-print-directory build
	@python3 -m venv bin/onvif
	@bin/onvif/bin/pip install --quiet --disable-pip-version-check --no-deps -r e2e/onvif/requirements.txt
	$(E2E) -timeout 10m ./onvif $(ONVIFTEST)

# Python's modules, Home Assistant among them, go to bin/mqtt. MQTTTEST="-run TestDemo" is passed on.
mqtt-test: ## MQTT at Debian's Mosquitto; the discovery by Home Assistant's own code
	@scripts/setup mqtt
	@$(MAKE) --no-print-directory build
	@python3 -m venv bin/mqtt
	@bin/mqtt/bin/pip install --quiet --disable-pip-version-check --no-deps -r e2e/mqtt/requirements.txt
	$(E2E) -timeout 20m ./mqtt $(MQTTTEST)

# HISTORYTEST="-run TestFullDisk" is passed on. It mounts a small disk: root's.
history-test: ## events that are kept, and their pictures: the API, the page in Chromium, a restart, a full disk
	@scripts/setup browser
	@$(MAKE) --no-print-directory build
	$(E2E) -timeout 30m ./history $(HISTORYTEST)

# RECORDINGTEST="-run TestCost" is passed on.
recording-test: ## a camera's recorded video and its masks: FFmpeg, the API, the page in Chromium, a restart, a full disk, the cost
	@scripts/setup browser
	@$(MAKE) --no-print-directory build
	$(E2E) -timeout 30m ./recording $(RECORDINGTEST)

# Python's modules go to bin/export; PyTorch is Debian's. EXPORTTEST="-args -json" prints the figures.
export-test: ## data sets of the demo, read by tools of others
	@scripts/setup export
	@$(MAKE) --no-print-directory build
	@/usr/bin/python3 -m venv --system-site-packages bin/export
	@bin/export/bin/pip install --quiet --disable-pip-version-check --no-deps -r e2e/export/requirements.txt
	$(E2E) -timeout 20m ./export $(EXPORTTEST)

# PROXYTEST="-run TestProxy/Caddy" is passed on.
proxy-test: ## the page, the API and a publisher below a path of nginx and Caddy, as deploy/proxy has them
	@scripts/setup proxy
	@$(MAKE) --no-print-directory build
	$(E2E) -timeout 20m ./proxy $(PROXYTEST)

# STREAMTEST="-run TestStreams/Chromium -json" is passed on.
stream-test: ## cameras' streams: RTSP by FFmpeg and GStreamer, WHEP by GStreamer, Chromium and the page, and how late the pictures are
	@scripts/setup stream
	@$(MAKE) --no-print-directory build
	$(E2E) -timeout 20m ./streams $(STREAMTEST)

# COMMANDS="-run TestCommands/watch" is passed on.
commands-test: ## run the commands that README.md and docs/ name, as scripts
	@scripts/setup interop
	@$(MAKE) --no-print-directory build
	$(E2E) -timeout 20m ./commands ./harness $(COMMANDS)

rules-test: build ## a camera's rules on the demo's clip: their events on NATS and by webhook, and what segd check says of them
	$(E2E) -timeout 5m ./rules

outage: setup ## kill the NATS server for 20 s under load, and count
	$(GO) test ./bus -run TestOutage -count 1 -v -outage 20s

# ENDURANCE="-for 2m" is passed on.
endurance: ## ten minutes with a subscriber that reads nothing and a suspended page
	@scripts/setup browser
	@$(MAKE) --no-print-directory build
	$(E2E) -timeout 1h ./endurance $(ENDURANCE)

# RESTART="-kills 5 -json" is passed on; RESTARTTEST="-run TestReload" goes to go test.
restart-test: ## kill segd again and again, and look for the same objects; reload beside running cameras
	@scripts/setup interop
	@$(MAKE) --no-print-directory build
	$(E2E) -timeout 1h ./restart $(RESTARTTEST) -args $(RESTART)

# FLEET="-rounds 20 -json" is passed on. It steps the machine's clock: root's, on a machine with nothing else to do.
fleet-test: ## three boxes, eight cameras and three NATS servers, and one fault after another
	@scripts/setup interop
	@$(MAKE) --no-print-directory build
	$(E2E) -timeout 1h ./fleet -args $(FLEET)

# FLEETSIM="-boxes 10 -cameras 500 -for 1m -json" is passed on; see e2e/fleetsim for the other flags.
fleet-sim: setup ## boxes of a fleet that crash and join, 10,000 cameras without pictures
	$(E2E) -timeout 2h ./fleetsim -args $(FLEETSIM)

# CHAOS="-seed 2 -json" is passed on. It mounts a small disk and steps the machine's clock:
# root's, on a machine with nothing else to do.
chaos: ## a quarter of an hour of everything at once; then segd must be as it was
	@scripts/setup interop
	@$(MAKE) --no-print-directory build
	$(E2E) -timeout 1h ./chaos -args $(CHAOS)

# ATTACK="-json -for 2m -seed 1" is passed on; ATTACKTEST="-run TestAttack/inside" goes to go test.
attack: build ## try what nobody, subscribers, viewers and operators may not do; nothing of segd's may change
	$(E2E) -timeout 30m ./attack $(ATTACKTEST) -args $(ATTACK)

# TRUTH=FILE holds the true boxes. FOLLOWTEST="-run TestFollow/boxes -fps 2" is passed on.
follow-test: build ## follow the clip's persons in a running segd, and count; wants TRUTH=gt.txt
	$(E2E) -timeout 2h ./follow -truth "$(abspath $(TRUTH))" $(FOLLOWTEST)

# Not by go install: that asks for a list of versions, which not every proxy has.
natsdocs: setup ## run the examples of docs/nats.md by NATS' own program
	@$(MAKE) --no-print-directory build
	$(GO) mod download $(NATSCLI)
	$(GO) -C "$$($(GO) env GOMODCACHE)/$(NATSCLI)" build -o $(CURDIR)/bin/nats ./nats
	$(E2E) -timeout 20m ./natsdocs $(NATSDOCS)

observability: ## rules by promtool; every query of dashboards and alerts with data
	@scripts/setup observability
	@$(MAKE) --no-print-directory build
	$(E2E) -timeout 20m ./observability $(OBSERVABILITY)

browser-test: ## use the page of the demo as people do, in Chromium; pictures in bin/e2e
	@scripts/setup browser
	@$(MAKE) --no-print-directory build
	$(E2E) -timeout 30m ./browser ./page $(PAGETEST)

click-test: ## one click, or a tap, marks what is under the pointer; Shift takes pieces off and on
	@$(MAKE) --no-print-directory browser-test PAGETEST="-run TestPage/click"

accuracy-test: ## what is true of frozen frames is drawn in the page, and segd eval camera prints how good the masks are
	@$(MAKE) --no-print-directory browser-test PAGETEST="-run TestAccuracy"

# Both fail on a busy machine: where the demo does not publish its ten frames a second (nine while it is recorded), or drops one.
pictures: ## take docs/images/page.png and record docs/images/demo.webp of the running demo, headless
	@scripts/setup pictures
	@$(MAKE) --no-print-directory build
	@$(GO) -C e2e build -buildvcs=false -o $(CURDIR)/bin/screenshot ./cmd/screenshot
	@bin/screenshot -fps 9.8 -dropped 0 -after 195 -frames 5 -settle 1s -objects 5 # then most persons walk apart
	@bin/screenshot -fps 9 -dropped 0 -record 12s -rate 4 -out docs/images/demo.webp -after 100 -objects 4 -settle 0s -width 1040 -height 620

bench: setup ## every benchmark
	$(GO) test -tags "$(TAGS)" -run '^$$' -bench . -benchmem ./...
	$(GO) -C lab test -tags "$(TAGS)" -run '^$$' -bench . -benchmem ./...

# Each peer is a program of its own, talked to through pipes: the max-flow library
# is under the GPL, and nothing of it is linked into segd. PEERS is passed on, for
# instance PEERS="-only cut".
peers: ## compare with BK's max-flow, LIBLINEAR, OpenCV's flow, CSRT, GrabCut and SLIC, and SORT; lab/cmd/peers/README.md
	@scripts/setup peers
	@mkdir -p bin
	@$(CXX) -std=c++17 -O3 -DNDEBUG -w $$(pkg-config --cflags maxflow) -o bin/peer-bk lab/cmd/peers/theirs/bk.cpp
	@$(CXX) -std=c++17 -O3 -Wall -o bin/peer-liblinear lab/cmd/peers/theirs/liblinear.cpp -llinear
	@$(CXX) -std=c++17 -O3 -Wall -I/usr/include/opencv4 -o bin/peer-masks lab/cmd/peers/theirs/masks.cpp -lopencv_tracking -lopencv_video -lopencv_imgproc -lopencv_core
	@$(CXX) -std=c++17 -O3 -Wall -I/usr/include/opencv4 -o bin/peer-superpixels lab/cmd/peers/theirs/superpixels.cpp -lopencv_ximgproc -lopencv_imgproc -lopencv_core
	@$(GO) -C lab build -buildvcs=false -tags "$(TAGS)" -o $(CURDIR)/bin/peers ./cmd/peers
	@bin/peers $(PEERS)

# GPUTEST="-only memory -json card.json" is passed on. Its exit status is 2 where there is no card.
gpu-test: build ## what an NVIDIA card makes, how fast, and what when it fails; e2e/cmd/gputest/README.md
	@$(GO) -C e2e build -buildvcs=false -tags "$(TAGS)" -o $(CURDIR)/bin/gputest ./cmd/gputest
	@bin/gputest $(GPUTEST)

# Python's modules go to bin/train. TRAIN="--name segd-m128 --seed 2" is passed on; train/README.md.
train: DATA ?= bin/train-data
train: build ## train the feature model anew; DATA=FOLDER has the pictures, or gets them
	@scripts/setup train
	@python3 -m venv bin/train
	@bin/train/bin/pip install --quiet --disable-pip-version-check -r train/requirements.txt
	@mkdir -p "$(DATA)" && cd train && $(CURDIR)/bin/train/bin/python -m segdtrain.data fetch "$(abspath $(DATA))"
	@cd train && $(CURDIR)/bin/train/bin/python -m segdtrain --data "$(abspath $(DATA))" --out $(CURDIR)/bin/train-run $(TRAIN)
	@cd train && model=$(CURDIR)/bin/train-run/segd-p64.onnx; case "$(TRAIN)" in *segd-m128*) ;; *) $(CURDIR)/bin/train/bin/python -m segdtrain.masks --data "$(abspath $(DATA))" --model $$model --out $$model ;; esac

train-test: ## ten steps on made pictures, and what each demand of the objective asks for
	@scripts/setup train
	@python3 -m venv bin/train
	@bin/train/bin/pip install --quiet --disable-pip-version-check -r train/requirements.txt
	@cd train && $(CURDIR)/bin/train/bin/python -m pytest -q -W ignore tests $(TRAINTEST)

model-test: build ## networks as Ultralytics exports them, with random weights: segd model check tells what they are
	@scripts/setup train
	@python3 -m venv bin/train
	@bin/train/bin/pip install --quiet --disable-pip-version-check -r train/requirements.txt -r e2e/model/requirements.txt
	$(E2E) -timeout 10m ./model -args -python $(CURDIR)/bin/train/bin/python

# OPENCV=PREFIX takes the OpenCV there, as Dockerfile.cuda does.
package: setup ## a .deb and a tarball in dist/, for this machine's architecture
	@scripts/setup package
	@OPENCV="$(OPENCV)" GO="$(GO)" NFPM="$(GO) run $(NFPM)" scripts/package "$(VERSION)" "$(COMMIT)"

package-arm64: build ## the same for arm64, cross-compiled in a Debian root of its own
	@scripts/setup package package-test
	@ARCH=arm64 GO="$(GO)" NFPM="$(GO) run $(NFPM)" scripts/package "$(VERSION)" "$(COMMIT)"

# SIGN_KEY names a key of gpg's.
apt-repo: package ## an apt repository of the .debs in dist/, in dist/apt
	@scripts/setup apt-repo
	@SIGN_KEY="$(SIGN_KEY)" scripts/aptrepo

package-test: package ## install the .deb in a fresh Debian 12, run the demo and the service, remove it
	@scripts/setup package-test
	@scripts/packagetest

debian13-test: ## build and test in a fresh Debian 13: FFmpeg 7.1, no OpenCV; run the demo
	@scripts/setup package-test
	@GO="$(GO)" scripts/debian13test "$(VERSION)" "$(COMMIT)"

arm64-build: ## cross-compile for arm64 in a Debian root of its own, and run segd version by qemu
	@scripts/setup package-test qemu
	@GO="$(GO)" scripts/arm64build "$(VERSION)" "$(COMMIT)"

# IMAGE=cuda OPENCV=/opt/opencv-cuda makes the one for NVIDIA cards; see scripts/image.
IMAGE ?= cpu
image: ## a container image by buildah, IMAGE=cpu or cuda, and an archive of it in dist/
	@scripts/setup image
	@OPENCV="$(OPENCV)" SYFT="$(GO) run $(SYFT)" scripts/image "$(IMAGE)" "$(VERSION)" "$(COMMIT)"

image-test: ## build the image twice, compare, and try what is in it
	@scripts/setup image
	@OPENCV="$(OPENCV)" SYFT="$(GO) run $(SYFT)" scripts/imagetest "$(IMAGE)" "$(VERSION)" "$(COMMIT)"

# LEAVE_OUT="arm64 cuda" leaves those out; OPENCV=PREFIX as for the image; SIGN_KEY as for the repository.
release: ## packages, an apt repository, images, what is in them, how to install them, changes and checksums of the version in CHANGELOG.md
	@scripts/setup package package-test image clients apt-repo
	@LEAVE_OUT="$(LEAVE_OUT)" OPENCV="$(OPENCV)" SIGN_KEY="$(SIGN_KEY)" SYFT="$(GO) run $(SYFT)" scripts/release

# LEAVE_OUT=arm64 leaves that out.
release-test: ## make a release of the tree as it is, without CUDA, and install all of it in fresh Debians by its INSTALL.md
	@scripts/setup package package-test image clients apt-repo
	@LEAVE_OUT="cuda $(LEAVE_OUT)" SYFT="$(GO) run $(SYFT)" scripts/release --development
	@scripts/releasetest

deploy-test: build ## check the Helm chart, the compose files and the Dockerfiles
	@scripts/setup deploy-test
	GOBIN=$(CURDIR)/bin $(GO) install $(HELM)
	GOBIN=$(CURDIR)/bin $(GO) install $(KUBECONFORM)
	GOBIN=$(CURDIR)/bin/compose $(GO) install $(COMPOSE)
	@GO="$(GO)" HELM=$(CURDIR)/bin/helm KUBECONFORM=$(CURDIR)/bin/kubeconform COMPOSE=$(CURDIR)/bin/compose/cmd scripts/deploytest

clean: ## remove what was built
	rm -rf bin dist
