package arch

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/segd/segd"

// grant says what one package may import besides the standard library: packages
// of this module by folder, other modules by path prefix.
type grant struct {
	internal []string
	modules  []string
	// tests are granted to _test.go files only, on top of the above.
	tests []string
	// cgo grants C code of the package's own.
	cgo bool
	// without are packages of the standard library that have no business here.
	without []string
}

// Modules, each of which belongs to few packages.
const (
	astiav   = "github.com/asticode/go-astiav"
	cenkalti = "github.com/cenkalti/backoff/v5"
	cobra    = "github.com/spf13/cobra"
	digest   = "github.com/icholy/digest"
	gonum    = "gonum.org/v1/gonum"
	onnxrt   = "github.com/yalue/onnxruntime_go"
	sdaemon  = "github.com/coreos/go-systemd/v22/daemon"
	fsnotify = "github.com/fsnotify/fsnotify"
	hdr      = "github.com/HdrHistogram/hdrhistogram-go"
	mochi    = "github.com/mochi-mqtt/server/v2"
	nats     = "github.com/nats-io"
	ipv4     = "golang.org/x/net/ipv4"
	charsets = "golang.org/x/net/html/charset"
	paho     = "github.com/eclipse/paho.golang"
	pflag    = "github.com/spf13/pflag"
	pion     = "github.com/pion"
	progress = "github.com/schollz/progressbar/v3"
	prom     = "github.com/prometheus/client_golang"
	protobuf = "google.golang.org/protobuf"
	schema   = "github.com/santhosh-tekuri/jsonschema/v6"
	xcrypto  = "golang.org/x/crypto"
	term     = "golang.org/x/term"
	testify  = "github.com/stretchr/testify"
	xcpu     = "golang.org/x/sys/cpu"
	websock  = "github.com/coder/websocket"
	xrate    = "golang.org/x/time/rate"
	xsync    = "golang.org/x/sync"
	yaml     = "github.com/goccy/go-yaml"
)

var rtsp = []string{"github.com/bluenviron/gortsplib/v5", "github.com/bluenviron/mediacommon/v2", "github.com/pion/rtp", "github.com/pion/rtcp"}

// numbersOnly keeps the outside world out of the mathematics: a solver that can
// log or dial is one that cannot be tested by its numbers alone.
var numbersOnly = []string{"log", "log/slog", "net", "net/http", "os", "os/exec", "time/tzdata"}

// table is what each package may import: the standard library, what its row
// grants, and nothing else.
var table = map[string]grant{
	"api":                              {},
	"web/alerts":                       {internal: []string{"internal/limit"}, tests: []string{"docs"}},
	"annotation":                       {tests: []string{"internal/memtest"}, without: numbersOnly},
	"objects/marking":                  {internal: []string{"annotation", "features", "objects", "objects/track", "tracker"}, without: numbersOnly},
	"mask":                             {},
	"objects/privacy":                  {internal: []string{"mask", "objects/zones"}, without: numbersOnly},
	"objects/privacy/hider":            {internal: []string{"features", "objects", "objects/privacy", "tracker"}, tests: []string{"mask"}, without: numbersOnly},
	"objects":                          {internal: []string{"annotation", "tracker"}, without: numbersOnly},
	"objects/track":                    {internal: []string{"features/coco", "internal/assignment"}, tests: []string{gonum}, without: numbersOnly},
	"objects/rules":                    {internal: []string{"objects/zones"}, without: numbersOnly},
	"objects/zones":                    {internal: []string{"internal/limit", "mask"}, without: numbersOnly},
	"bus/segdv1":                       {modules: []string{protobuf}},
	"pipeline/checkpoint":              {internal: []string{"annotation", "pipeline/checkpoint/checkpointv1", "features", "internal/wirelimit", "objects", "objects/track", "tracker", "objects/zones"}, modules: []string{"github.com/klauspost/compress/zstd", protobuf}, without: numbersOnly, tests: []string{"internal/limit", "internal/memtest"}},
	"pipeline/checkpoint/checkpointv1": {modules: []string{protobuf}},
	"ingest/codec":                     {internal: []string{"internal/files"}, modules: []string{"github.com/bluenviron/mediacommon/v2/pkg/codecs", astiav}, cgo: true},
	"ingest":                           {internal: []string{"ingest/cameraurl", "ingest/codec", "internal/buffers", "internal/coalesce", "internal/files", "internal/pause", "internal/redact"}, modules: append([]string{cenkalti, digest}, rtsp...), tests: []string{"ingest/demo", "internal/freeport", "internal/netfault", "internal/waitfor"}, without: []string{"reflect"}},
	"ingest/cameraurl":                 {internal: []string{"internal/redact"}},
	"web/whip":                         {internal: []string{"ingest", "ingest/codec", "internal/limit", "internal/listen", "api", "internal/redact", "outputs/restream"}, modules: []string{pion}, tests: []string{"bus/segdv1", "internal/freeport", "internal/waitfor", protobuf}},
	"outputs/restream":                 {internal: []string{"bus/segdv1", "ingest/codec", "outputs/draw", "internal/limit", "internal/listen", "internal/rtspguard"}, modules: rtsp, tests: []string{"internal/docs", "internal/waitfor", "mask", protobuf}},
	"outputs/recording":                {internal: []string{"bus/segdv1", "ingest", "ingest/codec", "internal/coalesce"}, modules: []string{"github.com/bluenviron/mediacommon/v2", protobuf}, tests: []string{"internal/waitfor"}},
	"features":                         {internal: []string{"features/coco", "internal/buffers", "internal/rowsum"}, modules: []string{gonum, xcpu}, tests: []string{"internal/cores", "internal/memtest"}},
	"features/coco":                    {without: numbersOnly},
	"features/dnn":                     {internal: []string{"features", "features/coco", "internal/buffers", "internal/files", "internal/rowsum"}, modules: []string{gonum, onnxrt, protobuf + "/encoding/protowire"}, cgo: true, tests: []string{"internal/memtest"}},
	"solver":                           {internal: []string{"solver/internal/workers"}, tests: []string{"solver/kernel", "solver/loss", "solver/mrf", "solver/solvertest"}, without: numbersOnly},
	"solver/solvertest":                {internal: []string{"solver", "solver/kernel", "solver/loss", "solver/mrf"}, without: numbersOnly},
	"solver/internal/workers":          {without: numbersOnly},
	"solver/kernel":                    {internal: []string{"solver/internal/workers"}, modules: []string{gonum}, without: numbersOnly},
	"solver/loss":                      {without: numbersOnly},
	"solver/mrf":                       {modules: []string{gonum}, without: numbersOnly},
	"bus":                              {internal: []string{"api", "bus/segdv1", "internal/files", "internal/keypair", "internal/limit", "internal/listen", "internal/outbox", "internal/pause", "internal/redact", "internal/wirelimit", "mask"}, modules: []string{nats, protobuf, xsync}, tests: []string{"internal/memtest", "internal/docs", "internal/freeport", "internal/waitfor"}},
	"bus/bustest":                      {internal: []string{"bus", "bus/segdv1", "mask"}, modules: []string{protobuf}},
	"outputs/mqtt":                     {internal: []string{"bus/segdv1", "internal/files", "internal/keypair", "internal/outbox", "internal/pause"}, modules: []string{paho, protobuf}, tests: []string{"internal/freeport", "internal/keypair/keypairtest", "internal/netfault", "internal/waitfor", mochi}},
	"outputs/webhook":                  {internal: []string{"bus/segdv1", "internal/files", "internal/keypair", "internal/outbox", "internal/pause"}, modules: []string{protobuf}, tests: []string{"internal/waitfor"}},
	"metrics":                          {internal: []string{"bus", "features", "fleet", "ingest", "ingest/codec", "objects", "objects/zones", "outputs/mqtt", "outputs/recording", "outputs/restream", "outputs/webhook", "pipeline", "tracker", "web"}, modules: []string{prom}},
	"web":                              {internal: []string{"bus/segdv1", "ingest/codec", "web/boxlink", "outputs/draw", "outputs/recording", "internal/coalesce", "internal/keypair", "internal/limit", "internal/listen", "internal/outbox", "api", "web/internal/thumbnail", "objects/privacy", "objects/zones"}, modules: []string{protobuf, websock}, tests: []string{"internal/docs", "internal/keypair/keypairtest", "internal/waitfor", "mask", schema}},
	"cameras":                          {internal: []string{"annotation", "api", "bus", "config", "fleet", "ingest", "ingest/cameraurl", "ingest/codec", "internal/files", "internal/limit", "internal/plain", "internal/redact", "internal/sealed", "ingest/onvif", "pipeline/set", "objects/privacy", "objects/zones"}, modules: []string{xsync}, tests: []string{"cmd/segd/cli/clitest", "ingest/onvif/onviftest", schema}},
	"config":                           {internal: []string{"bus/segdv1", "features/coco", "ingest/cameraurl", "internal/files", "internal/limit", "internal/listen", "internal/nearest", "internal/redact", "objects/track", "outputs/webhook", "objects/rules", "objects/zones"}, modules: []string{yaml}},
	"ingest/onvif":                     {internal: []string{"internal/redact"}, modules: []string{digest, ipv4}, tests: []string{"internal/freeport", "internal/waitfor", "ingest/onvif/onviftest"}},
	"pipeline":                         {internal: []string{"annotation", "api", "bus/segdv1", "pipeline/checkpoint", "features", "ingest", "internal/buffers", "internal/coalesce", "internal/pause", "internal/plain", "objects/marking", "objects", "pipeline/internal/accuracy", "pipeline/internal/guard", "pipeline/internal/keeper", "pipeline/internal/mailbox", "pipeline/internal/memory", "pipeline/internal/message", "pipeline/internal/pending", "pipeline/internal/rolling", "pipeline/set", "objects/privacy", "objects/privacy/hider", "objects/track", "tracker", "objects/rules", "objects/zones"}, modules: []string{protobuf, xrate}, tests: []string{"bus/bustest", "ingest/demo", "features/dnn", "github.com/klauspost/compress/zstd", "ingest/codec", "internal/cores", "mask"}},
	"deploy":                           {},
	"docs":                             {},
	"ingest/demo":                      {internal: []string{"ingest/codec", "internal/rtspguard"}, modules: rtsp, tests: []string{"internal/waitfor"}},
	"clients":                          {tests: []string{"bus/segdv1", protobuf}},
	"clients/examples":                 {},
	"clients/examples/subscribe-go":    {internal: []string{"bus", "bus/segdv1", "mask"}},
	"internal/arch":                    {},
	"cmd/segd/cli":                     {internal: []string{"annotation", "bus", "config", "features/dnn", "ingest", "internal/nearest", "internal/plain"}, modules: []string{cobra, pflag, progress, term}},
	"cmd/segd/client":                  {internal: []string{"annotation", "api", "bus", "bus/segdv1", "pipeline/checkpoint", "config", "fleet", "cmd/segd/backup", "cmd/segd/cli", "cmd/segd/configured", "outputs/draw", "internal/files", "cmd/segd/record", "internal/sealed"}, modules: []string{cobra, protobuf, websock}, tests: []string{"ingest/codec", "cmd/segd/cli/clitest", "cmd/segd/client/clienttest", "internal/waitfor", "mask", nats}},
	"cmd/segd/client/clienttest":       {internal: []string{"bus/segdv1", "internal/waitfor", "mask"}, modules: []string{nats}},
	"cmd/segd/configured":              {internal: []string{"bus", "config", "features", "features/dnn", "cmd/segd/cli", "outputs/mqtt", "pipeline", "outputs/webhook"}},
	"internal/assignment":              {without: numbersOnly},
	"cmd/segd/backup":                  {internal: []string{"bus", "pipeline/checkpoint"}, tests: []string{"internal/memtest"}},
	"internal/buffers":                 {without: numbersOnly},
	"internal/cores":                   {without: numbersOnly},
	"cmd/segd-tools/dataset":           {internal: []string{"annotation", "bus", "bus/segdv1", "ingest/codec", "outputs/draw", "internal/files", "cmd/segd/record", "mask"}, modules: []string{charsets, protobuf, yaml}},
	"outputs/draw":                     {internal: []string{"bus/segdv1", "mask"}},
	"cmd/segd-tools":                   {internal: []string{"annotation", "bus/segdv1", "cmd/segd-tools/dataset", "cmd/segd-tools/measure", "cmd/segd/cli", "cmd/segd/client", "cmd/segd/man", "internal/files", "internal/pause"}, modules: []string{cobra}, tests: []string{"cmd/segd/cli/clitest", "cmd/segd/client/clienttest", "cmd/segd/daemon", "features/dnn", "internal/waitfor", nats, protobuf, websock}},
	"cmd/segd-tools/measure":           {internal: []string{"annotation", "bus", "bus/segdv1", "config", "ingest/demo", "features", "features/dnn", "ingest", "ingest/codec", "cmd/segd/cli", "cmd/segd/configured", "internal/files", "cmd/segd-tools/measure/crowd", "internal/pause", "internal/resident"}, modules: []string{cobra, prom, "github.com/prometheus/client_model", "github.com/prometheus/common"}, tests: []string{"cmd/segd/cli/clitest", "internal/waitfor"}},
	"cmd/segd-tools/measure/crowd":     {internal: []string{"ingest/codec", "mask"}, tests: []string{"ingest/demo", "features", "features/dnn"}},
	"cmd/segd/man":                     {internal: []string{"cmd/segd/cli"}, modules: []string{cobra}},
	"cmd/segd/record":                  {internal: []string{"ingest/codec"}},
	"internal/resident":                {},
	"web/internal/thumbnail":           {internal: []string{"bus/segdv1", "ingest/codec", "outputs/draw", "mask"}},
	"cmd/segd/setup":                   {internal: []string{"bus", "cameras", "config", "ingest/demo", "deploy", "features/dnn", "ingest", "ingest/cameraurl", "ingest/codec", "cmd/segd/cli", "cmd/segd/configured", "internal/files", "internal/plain", "internal/redact", "outputs/mqtt", "outputs/recording", "ingest/onvif", "outputs/webhook"}, modules: []string{cobra, term, xcpu}, tests: []string{"internal/freeport", "ingest/onvif/onviftest"}},
	"internal/docs":                    {},
	"internal/sealed":                  {internal: []string{"internal/files"}, modules: []string{xcrypto}},
	"internal/keypair":                 {internal: []string{"internal/files"}, tests: []string{"internal/keypair/keypairtest"}},
	"internal/files":                   {internal: []string{"internal/limit"}},
	"internal/limit":                   {modules: []string{xrate}},
	"internal/rtspguard":               {internal: []string{"internal/limit"}, modules: []string{xrate}},
	"web/boxlink":                      {internal: []string{"internal/limit", "internal/listen", "api"}, tests: []string{"internal/waitfor", websock}},
	"internal/listen":                  {},
	"internal/memtest":                 {},
	"internal/freeport":                {},
	"internal/waitfor":                 {},
	"internal/netfault":                {tests: []string{"internal/waitfor"}},
	"fleet":                            {modules: []string{nats}, tests: []string{"internal/netfault", "internal/waitfor"}},
	"internal/pause":                   {modules: []string{cenkalti}},

	"internal/coalesce":          {without: numbersOnly},
	"internal/nearest":           {without: numbersOnly},
	"internal/rowsum":            {modules: []string{gonum, xcpu}, without: numbersOnly},
	"internal/outbox":            {without: numbersOnly},
	"internal/perceptron":        {without: numbersOnly},
	"internal/plain":             {without: numbersOnly},
	"internal/redact":            {},
	"internal/wirelimit":         {modules: []string{protobuf}, tests: []string{"bus/segdv1", "pipeline/checkpoint/checkpointv1"}, without: numbersOnly},
	"deploy/prometheus":          {tests: []string{yaml}},
	"cmd/segd":                   {internal: []string{"cmd/segd/cli", "cmd/segd/client", "cmd/segd/daemon", "cmd/segd/man", "cmd/segd/setup"}, modules: []string{cobra}, tests: []string{"api", "bus", "bus/bustest", "bus/segdv1", "cameras", "cmd/segd/cli/clitest", "cmd/segd/daemon/daemontest", "config", "features", "features/dnn", "fleet", "ingest", "ingest/codec", "ingest/demo", "ingest/onvif", "internal/freeport", "internal/waitfor", "mask", "objects/marking", "outputs/draw", "pipeline", "web", "web/boxlink", "web/whip", nats, pion, protobuf, websock}},
	"cmd/segd/daemon":            {internal: []string{"annotation", "api", "bus", "bus/segdv1", "cameras", "cmd/segd/cli", "cmd/segd/configured", "config", "docs", "features", "features/dnn", "fleet", "ingest", "ingest/cameraurl", "ingest/codec", "ingest/demo", "internal/cores", "internal/files", "internal/limit", "internal/listen", "internal/plain", "metrics", "objects/privacy", "outputs/mqtt", "outputs/recording", "outputs/restream", "outputs/webhook", "pipeline", "pipeline/set", "tracker", "web", "web/alerts", "web/boxlink", "web/whip"}, modules: []string{cobra, fsnotify, prom, sdaemon, xsync}, tests: []string{"cmd/segd/cli/clitest", "cmd/segd/daemon/daemontest", "internal/freeport", "internal/resident", "internal/waitfor", "objects", "objects/zones"}},
	"cmd/segd/daemon/daemontest": {internal: []string{"ingest/codec", "ingest/demo"}},

	"cmd/segd/cli/clitest":         {internal: []string{"cmd/segd/cli", "internal/waitfor"}, modules: []string{cobra}},
	"internal/keypair/keypairtest": {},
	"ingest/onvif/onviftest":       {modules: []string{digest}},
	"pipeline/internal/accuracy":   {internal: []string{"annotation", "api", "bus/segdv1", "mask"}, without: numbersOnly},
	"pipeline/internal/guard":      {internal: []string{"features"}, without: numbersOnly},
	"pipeline/internal/keeper":     {internal: []string{"annotation", "bus/segdv1", "pipeline/checkpoint", "ingest", "pipeline/internal/guard", "pipeline/internal/memory"}, without: numbersOnly, tests: []string{"mask", "objects"}},
	"pipeline/internal/mailbox":    {without: numbersOnly},
	"pipeline/internal/memory":     {internal: []string{"annotation", "bus/segdv1", "ingest/codec", "pipeline/checkpoint", "mask", "objects", "tracker"}, without: numbersOnly},
	"pipeline/internal/message":    {internal: []string{"bus/segdv1", "features", "ingest", "mask", "objects", "tracker", "objects/rules", "objects/zones"}, modules: []string{protobuf}, tests: []string{"bus/bustest"}, without: numbersOnly},
	"pipeline/internal/pending":    {internal: []string{"annotation", "api", "bus/segdv1"}, without: numbersOnly},
	"pipeline/set":                 {internal: []string{"pipeline/internal/guard"}, without: numbersOnly},
	"pipeline/internal/rolling":    {modules: []string{hdr}, without: numbersOnly},

	// The laboratory, a module of its own: nothing else may import it.
	"lab/baseline":               {internal: []string{"solver"}, tests: []string{"lab/clique", "solver/kernel", "solver/loss", "solver/solvertest"}, without: numbersOnly},
	"lab/clique":                 {tests: []string{"solver", gonum}, without: numbersOnly},
	"lab/gaussian":               {internal: []string{"solver/kernel"}, without: numbersOnly},
	"lab/loss":                   {internal: []string{"solver/loss"}, tests: []string{"solver", "solver/solvertest"}, without: numbersOnly},
	"lab/lp":                     {cgo: true, without: numbersOnly},
	"lab/davis":                  {internal: []string{"annotation", "lab/internal/clip", "lab/internal/stats", "features", "lab/internal/offline", "internal/resident", "objects/marking", "mask", "tracker"}, tests: []string{"lab/internal/clip/cliptest"}},
	"lab/moons":                  {internal: []string{"lab/internal/stats", "lab/lp", "solver", "lab/baseline", "lab/clique", "lab/gaussian", "solver/kernel", "solver/loss"}, modules: []string{xsync}},
	"lab/mot":                    {internal: []string{"annotation", "lab/internal/stats", "features", "internal/assignment", "lab/internal/offline", "objects/marking", "objects/privacy", "objects/privacy/hider", "objects/track", "tracker", "objects/zones"}, tests: []string{"mask"}},
	"lab/foreground":             {internal: []string{"features", "lab/internal/clip", "lab/internal/offline", "lab/internal/stats", "objects/marking", "tracker"}, tests: []string{"mask"}},
	"lab/scribbles":              {internal: []string{"annotation", "lab/internal/clip", "lab/internal/stats", "features", "lab/internal/offline", "mask", "lab/baseline", "solver/mrf", "tracker"}, tests: []string{"features/dnn", "lab/internal/clip/cliptest"}},
	"lab/soak":                   {internal: []string{"annotation", "lab/internal/clip", "lab/internal/stats", "features", "lab/internal/offline", "internal/resident", "objects/marking", "mask", "objects", "tracker"}, tests: []string{"lab/internal/clip/cliptest", "objects/track"}},
	"lab/ssl":                    {internal: []string{"internal/resident", "lab/internal/npy", "lab/internal/stats", "solver", "lab/baseline", "lab/clique", "lab/gaussian", "solver/kernel", "lab/loss"}, modules: []string{xsync}, tests: []string{"lab/internal/npy/npytest"}},
	"lab/internal/clip":          {internal: []string{"lab/internal/offline"}, tests: []string{"lab/internal/clip/cliptest"}},
	"lab/internal/offline":       {internal: []string{"annotation", "features", "ingest", "objects/marking", "objects", "tracker"}, tests: []string{"ingest/codec"}},
	"lab/internal/npy":           {tests: []string{"lab/internal/npy/npytest"}},
	"lab/internal/stats":         {},
	"lab/internal/clip/cliptest": {},
	"lab/internal/npy/npytest":   {},
	"lab/cmd/boxtrain":           {internal: []string{"annotation", "features", "features/dnn", "internal/perceptron", "tracker"}},
	"lab/cmd/cutpersons":         {internal: []string{"ingest/demo", "features", "features/dnn", "cmd/segd-tools/measure/crowd", "lab/internal/offline", "objects/marking", "tracker"}},
	"lab/cmd/moonsplot":          {internal: []string{"lab/moons"}, modules: []string{"gonum.org/v1/plot"}},
	"lab/cmd/peers":              {internal: []string{"features", "features/dnn", "internal/assignment", "lab/davis", "lab/mot", "solver", "solver/kernel", "solver/loss", "solver/mrf"}},
	"lab/cmd/segd-lab":           {internal: []string{"annotation", "config", "features", "features/dnn", "cmd/segd/cli", "cmd/segd/configured", "outputs/draw", "lab/internal/offline", "cmd/segd/record", "lab/davis", "lab/foreground", "lab/moons", "lab/mot", "lab/scribbles", "lab/soak", "lab/ssl", "objects/marking", "mask", "objects/privacy", "objects/track", "tracker", "objects/zones"}, modules: []string{cobra}, tests: []string{"ingest/codec", "cmd/segd/cli/clitest"}},

	// The tracker, from the bottom up.
	"tracker/internal/scratch":     {without: numbersOnly},
	"tracker/internal/scenetest":   {internal: []string{"features"}},
	"tracker/internal/labeling":    {without: numbersOnly},
	"tracker/internal/cosine":      {modules: []string{gonum, xcpu}, without: numbersOnly},
	"tracker/internal/picture":     {internal: []string{"features", "internal/buffers", "solver/mrf", "tracker/internal/cosine", "tracker/internal/scratch"}, tests: []string{"tracker/internal/scenetest"}, without: numbersOnly},
	"tracker/internal/outline":     {internal: []string{"annotation", "features", "mask", "solver/mrf", "tracker/internal/cosine", "tracker/internal/picture", "tracker/internal/scratch"}, tests: []string{"tracker/internal/scenetest"}, without: numbersOnly},
	"tracker/internal/history":     {internal: []string{"annotation", "features", "tracker/internal/labeling"}, tests: []string{"tracker/internal/scenetest"}, without: numbersOnly},
	"tracker/internal/trackstate":  {internal: []string{"tracker/internal/picture", "tracker/internal/scratch"}, tests: []string{"features", "tracker/internal/scenetest"}, without: numbersOnly},
	"tracker/internal/propagation": {internal: []string{"tracker/internal/cosine", "tracker/internal/labeling", "tracker/internal/trackstate", "tracker/internal/picture", "tracker/internal/scratch"}, tests: []string{"features", "tracker/internal/scenetest"}, without: numbersOnly},
	"tracker/internal/recall":      {internal: []string{"features", "tracker/internal/propagation", "tracker/internal/cosine", "tracker/internal/trackstate", "tracker/internal/picture", "tracker/internal/scratch"}, tests: []string{"tracker/internal/scenetest"}, without: numbersOnly},
	"tracker/internal/seed":        {internal: []string{"annotation", "features", "internal/buffers", "solver/mrf", "tracker/internal/propagation", "tracker/internal/cosine", "tracker/internal/labeling", "internal/perceptron", "tracker/internal/picture", "tracker/internal/scratch"}, tests: []string{"tracker/internal/scenetest"}, without: numbersOnly},
	"tracker/internal/window":      {internal: []string{"internal/buffers", "solver", "solver/kernel", "solver/loss", "solver/mrf", "tracker/internal/propagation", "tracker/internal/labeling", "tracker/internal/picture", "tracker/internal/scratch", "tracker/internal/seed"}, tests: []string{"annotation", "features", "tracker/internal/scenetest"}, without: numbersOnly},
	"tracker":                      {internal: []string{"annotation", "features", "internal/buffers", "mask", "tracker/internal/propagation", "tracker/internal/trackstate", "tracker/internal/outline", "tracker/internal/history", "tracker/internal/picture", "tracker/internal/recall", "tracker/internal/scratch", "tracker/internal/seed", "tracker/internal/window"}, tests: []string{"tracker/internal/scenetest"}},
}

// nested are the modules of their own: segd's go.mod does not know them, so that nothing of segd can
// import them. lab has the experiments. The table leaves the others out: deploy/grafana makes files and
// imports nothing of segd; e2e looks at segd from outside, at any part of it.
var nested = []string{"deploy/grafana", "e2e", "lab"}

// listed are those of nested that the table has.
var listed = []string{"lab"}

// anyTest is granted to every _test.go file, testify to those that are not of libraries.
var anyTest = []string{"go.uber.org/goleak", "github.com/google/go-cmp"}

// inside is where a file of root's lies.
func inside(root, file string) string {
	return filepath.ToSlash(strings.TrimPrefix(file, root+string(filepath.Separator)))
}

// read returns the imports of each folder's Go files, those of tests apart. It
// reads every file but those of modules that are not listed, whatever its build tags: a tag is no
// way round the table.
func read(t *testing.T, root string) (code, tests map[string]map[string]bool) {
	t.Helper()
	code, tests = map[string]map[string]bool{}, map[string]map[string]bool{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if file != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin") {
				return filepath.SkipDir
			}
			if folder := inside(root, file); slices.Contains(nested, folder) && !slices.Contains(listed, folder) {
				return filepath.SkipDir
			}
			return nil
		}
		if name == "go.mod" && filepath.Dir(file) != filepath.Clean(root) && !slices.Contains(listed, inside(root, filepath.Dir(file))) {
			t.Errorf("%s is a module that the table does not know: say in nested why it is one", file)
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		rel, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		into := code
		if strings.HasSuffix(name, "_test.go") {
			into = tests
		}
		folder := filepath.ToSlash(rel)
		if into[folder] == nil {
			into[folder] = map[string]bool{}
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			into[folder][imported] = true
		}
		return nil
	})
	require.NoError(t, err)
	return code, tests
}

// faults are the imports of one package that it is not granted.
func faults(folder string, imports map[string]bool, r grant, test bool) []string {
	var out []string
	for _, imported := range slices.Sorted(maps.Keys(imports)) {
		if allowed(folder, imported, r, test) {
			continue
		}
		out = append(out, imported)
	}
	return out
}

func allowed(folder, imported string, r grant, test bool) bool {
	if inside, ok := strings.CutPrefix(imported, module); ok {
		inside = strings.TrimPrefix(inside, "/")
		if test && (inside == folder || slices.Contains(r.tests, inside)) {
			return true
		}
		return slices.Contains(r.internal, inside)
	}
	first, _, _ := strings.Cut(imported, "/")
	if !strings.Contains(first, ".") { // the standard library, or "C"
		return (imported != "C" || r.cgo) && (test || !slices.Contains(r.without, imported))
	}
	granted := r.modules
	if test {
		granted = slices.Concat(granted, r.tests, anyTest)
		if !slices.Contains(libraries, folder) {
			granted = append(granted, testify)
		}
	}
	return slices.ContainsFunc(granted, func(m string) bool {
		return imported == m || strings.HasPrefix(imported, m+"/")
	})
}

// The nested modules are there, and segd's own module does not require them.
func TestNested(t *testing.T) {
	root, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	for _, folder := range nested {
		text, err := os.ReadFile(filepath.Join("../..", folder, "go.mod"))
		if err != nil || !strings.HasPrefix(string(text), "module "+module+"/"+folder+"\n") {
			t.Errorf("%s is no module of its own: %v", folder, err)
		}
		assert.NotContains(t, string(root), module+"/"+folder, "segd's go.mod requires %s", folder)
	}
}

func TestTable(t *testing.T) {
	code, tests := read(t, "../..")
	folders := map[string]bool{}
	for folder := range code {
		folders[folder] = true
	}
	for folder := range tests {
		folders[folder] = true
	}
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		r, ok := table[folder]
		if !ok {
			t.Errorf("%s is not in the table: add what it may import", folder)
			continue
		}
		for _, imported := range faults(folder, code[folder], r, false) {
			t.Errorf("%s may not import %s", folder, imported)
		}
		for _, imported := range faults(folder, tests[folder], r, true) {
			t.Errorf("the tests of %s may not import %s", folder, imported)
		}
		for _, granted := range r.internal {
			if !code[folder][module+"/"+granted] {
				t.Errorf("%s is granted %s and does not import it", folder, granted)
			}
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(table)) {
		if !folders[folder] {
			t.Errorf("the table has %s, which does not exist", folder)
		}
	}
}

// outside is what a package may not reach, be it by way of others: the page compiles no more than it shows, what decides
// which cameras run no more than that, and the daemon's program neither works on data sets nor measures.
var outside = map[string][]string{
	"web":      {module + "/tracker", module + "/solver", module + "/pipeline", cobra},
	"cameras":  {module + "/tracker", module + "/solver", module + "/pipeline", cobra, module + "/web"},
	"cmd/segd": {module + "/cmd/segd-tools/dataset", module + "/cmd/segd-tools/measure", module + "/cmd/segd-tools/measure/crowd"},
}

func TestWalls(t *testing.T) {
	code, _ := read(t, "../..")
	for _, from := range slices.Sorted(maps.Keys(outside)) {
		if code[from] == nil {
			t.Errorf("there is no %s", from)
		}
		seen := map[string]bool{}
		var visit func(folder string)
		visit = func(folder string) {
			for imported := range code[folder] {
				inside, ours := strings.CutPrefix(imported, module+"/")
				if slices.Contains(outside[from], imported) {
					t.Errorf("%s reaches %s, by %s", from, imported, folder)
				}
				if ours && !seen[inside] {
					seen[inside] = true
					visit(inside)
				}
			}
		}
		visit(from)
	}
}

func TestAllowed(t *testing.T) {
	r := grant{internal: []string{"mask"}, modules: []string{gonum}, tests: []string{"ingest/demo"}, without: []string{"os"}}
	for _, tt := range []struct {
		imported string
		test     bool
		want     bool
	}{
		{"fmt", false, true},
		{"os", false, false},
		{"os", true, true},
		{"C", false, false},
		{"unsafe", false, true},
		{module + "/mask", false, true},
		{module + "/web", false, false},
		{module + "/web", true, false},
		{module + "/ingest/demo", false, false},
		{module + "/ingest/demo", true, true},
		{module + "/here", true, true}, // an external test imports what it tests
		{module, false, false},
		{gonum + "/mat", false, true},
		{gonum + "x/mat", false, false},
		{nats, false, false},
		{"go.uber.org/goleak", false, false},
		{"go.uber.org/goleak", true, true},
	} {
		assert.Equal(t, tt.want, allowed("here", tt.imported, r, tt.test), "allowed(%q, test=%v)", tt.imported, tt.test)
	}
}
