package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/ingest/demo"
)

// The parts, as -only takes them, and what is done first.
const (
	partCard     = "card"
	partFeatures = "features"
	partDavis    = "davis"
	partCameras  = "cameras"
	partMemory   = "memory"
	partFallAway = "fallaway"
)

var parts = []string{partFeatures, partDavis, partCameras, partMemory, partFallAway}

type options struct {
	segd, library, clip, gpu string
	davis, sequences         string
	davisGiven               bool // by a flag
	cameras                  numbers
	measured                 time.Duration
	frames                   int
	only, ways               names
	json                     string // file, standard output if empty
}

// numbers are whole, from 1 on, separated by commas.
type numbers []int

func (n *numbers) String() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint([]int(*n)), " ", ","), "[]")
}

func (n *numbers) Set(s string) error {
	*n = nil
	for text := range strings.SplitSeq(s, ",") {
		v, err := strconv.Atoi(text)
		if err != nil || v < 1 {
			return fmt.Errorf("%q; want whole numbers from 1 on, separated by commas", text)
		}
		*n = append(*n, v)
	}
	return nil
}

// names are some of those that there are, separated by commas; none are all.
type names struct{ all, chosen []string }

func (n *names) String() string { return strings.Join(n.chosen, ",") }

func (n *names) Set(s string) error {
	n.chosen = strings.Split(s, ",")
	for _, c := range n.chosen {
		if !slices.Contains(n.all, c) {
			return fmt.Errorf("%q; want of %s, separated by commas", c, strings.Join(n.all, ", "))
		}
	}
	return nil
}

func (n *names) want(name string) bool { return len(n.chosen) == 0 || slices.Contains(n.chosen, name) }

// Exit statuses.
const (
	statusPassed = 0
	statusFailed = 1
	statusNoCard = 2
)

func main() {
	dnn.ChildMain() // does not return in the child that tries a model
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	asChild(ctx)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

func parse(args []string, stderr io.Writer) (options, error) {
	opt := options{cameras: numbers{1, 2, 4, 8, 16, 32}, only: names{all: parts}}
	for _, w := range ways {
		if w.card() {
			opt.ways.all = append(opt.ways.all, w.Name)
		}
	}
	fs := flag.NewFlagSet("gputest", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&opt.segd, "segd", "bin/segd", "the `program`")
	fs.StringVar(&opt.library, "engine-library", "", "ONNX Runtime's shared `library`, for the card and for the processor (default where segd finds it)")
	fs.StringVar(&opt.clip, "clip", demo.FindClip(), "`video` whose frames are used")
	fs.StringVar(&opt.gpu, "gpu", "0", "nvidia-smi's `number` or UUID of the first card that CUDA sees")
	fs.StringVar(&opt.davis, "davis", "../shared/data/davis", "`folder` with JPEGImages/480p and Annotations/480p; J is left out if it is not there, and without a card unless the flag is given")
	fs.StringVar(&opt.sequences, "sequences", "all", "of it, separated by commas")
	fs.Var(&opt.cameras, "cameras", "`numbers` of cameras, separated by commas")
	fs.DurationVar(&opt.measured, "for", 20*time.Second, "measure cameras for this long")
	fs.IntVar(&opt.frames, "frames", 10000, "forwards while memory is looked at")
	fs.Var(&opt.only, "only", "`parts`: "+strings.Join(parts, ", ")+"; the first is done in any case (default all)")
	fs.Var(&opt.ways, "ways", "`ways` to the card: "+strings.Join(opt.ways.all, ", ")+"; one that is named and not there is a failure (default those there are)")
	fs.StringVar(&opt.json, "json", "", "`file` for the figures (default standard output)")
	if err := fs.Parse(args); err != nil {
		return opt, err
	}
	fs.Visit(func(f *flag.Flag) { opt.davisGiven = opt.davisGiven || f.Name == "davis" })
	if fs.NArg() > 0 || opt.measured < time.Second || opt.frames < leastForwards {
		return opt, fmt.Errorf("arguments %q, -for %v, -frames %d; want none, 1s or more, and %d or more", fs.Args(), opt.measured, opt.frames, leastForwards)
	}
	return opt, nil
}

// report is what is printed as JSON.
type report struct {
	Status   string           `json:"status"` // "passed", "failed" or "not on a card"
	Card     *card            `json:"card,omitempty"`
	OpenCV   dnn.Build        `json:"opencv"`
	Features []*featureReport `json:"features"`
	Davis    []*davisReport   `json:"davis,omitempty"`
	// CamerasWay is the way by which the cameras' pictures were computed: the fastest.
	CamerasWay string           `json:"cameras_way,omitempty"`
	Cameras    []*camerasReport `json:"cameras,omitempty"`
	Memory     []*memoryReport  `json:"memory,omitempty"`
	FallAway   []*awayReport    `json:"fall_away,omitempty"`
	Failed     []string         `json:"failed,omitempty"`
	NotDone    []string         `json:"not_done,omitempty"`
}

// run returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	opt, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return statusPassed
	}
	if err == nil {
		t := &test{options: opt, stderr: stderr, report: report{OpenCV: dnn.OpenCV()}}
		t.all(ctx)
		status := t.end()
		if err = t.write(stdout); err == nil {
			return status
		}
	}
	fmt.Fprintf(stderr, "gputest: %v\n", err)
	return statusFailed
}

// write prints the report.
func (t *test) write(stdout io.Writer) error {
	data, err := json.MarshalIndent(t.report, "", "  ")
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if t.options.json != "" {
		return os.WriteFile(t.options.json, data, 0o644)
	}
	_, err = stdout.Write(data)
	return err
}
