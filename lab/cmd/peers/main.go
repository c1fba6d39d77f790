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
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

type options struct {
	bk, liblinear, train      string // programs
	masks, superpixels        string // likewise
	davis, ssl                string // folders; what is not there is left out
	only                      string // comparison, all if empty
	detections, truth, result string // files; what is not said is left out
	out                       string // folder, none if empty
	frames                    frameRange
	score                     float64
	every                     int // frames
	sequences, workers        int
	budget                    time.Duration
	seed                      uint64
}

// report is what goes to stdout: medians of ratios ours/theirs, and of masks, superpixels and tracks
// each side's figures.
type report struct {
	Cut         *cutReport          `json:"cut,omitempty"`
	LIBLINEAR   *fitReport          `json:"liblinear,omitempty"`
	Masks       *maskReport         `json:"masks,omitempty"`
	Superpixels []*superpixelReport `json:"superpixels,omitempty"`
	Tracks      *trackReport        `json:"tracks,omitempty"`
}

// comparisons are what -only takes.
var comparisons = []string{"cut", "liblinear", "masks", "superpixels", "tracks"}

func (opt *options) wants(comparison string) bool { return opt.only == "" || opt.only == comparison }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func parse(args []string, stderr io.Writer) (options, error) {
	var opt options
	fs := flag.NewFlagSet("peers", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&opt.bk, "bk", "bin/peer-bk", "the program of theirs/bk.cpp")
	fs.StringVar(&opt.liblinear, "liblinear", "bin/peer-liblinear", "the program of theirs/liblinear.cpp")
	fs.StringVar(&opt.train, "train", "liblinear-train", "LIBLINEAR's own program, which theirs/liblinear.cpp has to agree with")
	fs.StringVar(&opt.masks, "masks", "bin/peer-masks", "the program of theirs/masks.cpp")
	fs.StringVar(&opt.superpixels, "slic", "bin/peer-superpixels", "the program of theirs/superpixels.cpp")
	fs.StringVar(&opt.davis, "davis", "../shared/data/davis", "`folder` with JPEGImages/480p and Annotations/480p; if it is not there, frames are drawn for the cuts, and masks and superpixels are left out")
	fs.StringVar(&opt.ssl, "ssl", "../shared/data/ssl", "`folder` of the SSL benchmark; if it is not there, only synthetic data is used")
	fs.StringVar(&opt.only, "only", "", strings.Join(comparisons, ", ")+"; all if empty")
	fs.StringVar(&opt.detections, "detections", "", "`file` of a video's detections in MOTChallenge's format; tracks are left out without it")
	fs.StringVar(&opt.truth, "truth", "", "its true boxes, MOTChallenge's gt.txt; tracks are left out without it")
	fs.StringVar(&opt.result, "result", "", "what segd found in it, the `file` that `segd eval mot --out` writes")
	fs.StringVar(&opt.out, "out", "", "`folder` that SORT's boxes are written to, as results of MOTChallenge")
	fs.Var(&opt.frames, "frames", "`A-B`: first and last frame of tracks (default all of the detections)")
	fs.Float64Var(&opt.score, "score", 0.5, "least score of detections")
	fs.IntVar(&opt.every, "every", 10, "frames, of which one has sparse detections")
	fs.IntVar(&opt.sequences, "sequences", 8, "DAVIS sequences at most")
	fs.IntVar(&opt.workers, "workers", 1, "threads of our training; LIBLINEAR has one")
	fs.DurationVar(&opt.budget, "budget", 2*time.Second, "least time to spend on each comparison")
	fs.Uint64Var(&opt.seed, "seed", 1, "of whatever is drawn")
	if err := fs.Parse(args); err != nil {
		return opt, err
	}
	if fs.NArg() > 0 || opt.only != "" && !slices.Contains(comparisons, opt.only) || min(opt.sequences, opt.workers, opt.every) < 1 {
		return opt, fmt.Errorf("peers: arguments %q, -only %q, -sequences %d, -workers %d, -every %d; want none, one of \"\", %s, and at least 1", fs.Args(), opt.only, opt.sequences, opt.workers, opt.every, strings.Join(comparisons, ", "))
	}
	return opt, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	opt, err := parse(args, stderr)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "segd-peers-")
	if err != nil {
		return fmt.Errorf("peers: %w", err)
	}
	defer os.RemoveAll(dir)
	var r report
	if opt.wants("tracks") {
		if r.Tracks, err = compareTracks(opt, stderr); err != nil {
			return fmt.Errorf("peers: %w", err)
		}
	}
	if opt.wants("masks") {
		if r.Masks, err = compareMasks(ctx, opt, stderr); err != nil {
			return fmt.Errorf("peers: %w", err)
		}
	}
	if opt.wants("superpixels") {
		if r.Superpixels, err = compareSuperpixels(ctx, opt, stderr); err != nil {
			return fmt.Errorf("peers: %w", err)
		}
	}
	// Inputs of the others are large and live, so that a collection would be long; and
	// the other side has none.
	debug.SetGCPercent(400)
	if opt.wants("cut") {
		if r.Cut, err = compareCuts(ctx, opt, dir, stderr); err != nil {
			return fmt.Errorf("peers: %w", err)
		}
	}
	if opt.wants("liblinear") {
		if r.LIBLINEAR, err = compareFits(ctx, opt, dir, stderr); err != nil {
			return fmt.Errorf("peers: %w", err)
		}
	}
	return json.NewEncoder(stdout).Encode(r)
}

// median of the values, which it sorts; the mean of the middle two of an even
// number. There is at least one.
func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// timing is what one side's repetitions took, in seconds. The least is what is left
// of it when other programs keep the machine busy; only medians are reported as
// ratios.
type timing struct{ median, least float64 }

func summary(seconds []float64) timing {
	return timing{median: median(seconds), least: slices.Min(seconds)}
}

// beside prints ours and theirs, in milliseconds, and their ratios.
func (t timing) beside(theirs timing) string {
	return fmt.Sprintf("%8.3f / %8.3f ms = %.2f (fastest %.3f / %.3f)",
		1e3*t.median, 1e3*theirs.median, t.median/theirs.median, 1e3*t.least, 1e3*theirs.least)
}

// inTurn runs both sides once unmeasured, then in turn, each as often first, until
// the budget is spent and at least seven times.
func inTurn(ctx context.Context, budget time.Duration, ours, theirs func() (float64, error)) (mine, other timing, err error) {
	var a, b []float64
	begin := time.Now()
	for k := 0; k < 8 || time.Since(begin) < budget; k++ {
		if err := ctx.Err(); err != nil {
			return mine, other, err
		}
		sides := [2]func() (float64, error){ours, theirs}
		var spent [2]float64
		for turn := range sides {
			side := (turn + k) % 2
			if spent[side], err = sides[side](); err != nil {
				return mine, other, err
			}
		}
		if k > 0 {
			a, b = append(a, spent[0]), append(b, spent[1])
		}
	}
	return summary(a), summary(b), nil
}
