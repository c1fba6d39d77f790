package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"text/tabwriter"
	"time"
)

// davisReport is J of the sequences by a way, and how far it is from the first's.
type davisReport struct {
	Way        string  `json:"way"`
	MeanJ      float64 `json:"mean_j"`
	Difference float64 `json:"mean_j_difference"`
	// Largest is that of a sequence, Sequence its name.
	Largest  float64 `json:"sequence_j_difference"`
	Sequence string  `json:"sequence,omitempty"`
	MS       float64 `json:"ms_per_frame"`
	GPU      *gpuUse `json:"gpu,omitempty"`

	sequences map[string]float64 // J of each
}

// davisLimit is how long the sequences may take by a way. All 50 of DAVIS-2016 are 3,455 frames.
const davisLimit = time.Hour

// davisFigures are those of `segd eval davis --json` that are read.
type davisFigures struct {
	MeanJ     *float64 `json:"mean_j"`
	MS        float64  `json:"mean_ms_per_frame"`
	Sequences []struct {
		Name string  `json:"name"`
		J    float64 `json:"j"`
	} `json:"sequences"`
}

// measureDavis follows the sequences by a way.
func measureDavis(ctx context.Context, opt options, w way) (r *davisReport, watched, err error) {
	args := append([]string{"eval", "davis", "--root", opt.davis, "--sequences", opt.sequences, "--json"}, w.flags(opt.library)...)
	gpu := ""
	if w.card() {
		gpu = opt.gpu
	}
	var f davisFigures
	use, watched, err := segd(ctx, opt.segd, args, davisLimit, gpu, 0, &f)
	if err != nil {
		return nil, watched, err
	}
	if f.MeanJ == nil || len(f.Sequences) == 0 {
		return nil, watched, errors.New("segd eval davis tells no mean_j of any sequences; want both")
	}
	r = &davisReport{Way: w.Name, MeanJ: *f.MeanJ, MS: f.MS, GPU: use, sequences: map[string]float64{}}
	for _, s := range f.Sequences {
		r.sequences[s.Name] = s.J
	}
	return r, watched, nil
}

// compare notes how far J is from another's. Other sequences are an error: their mean says nothing.
func (r *davisReport) compare(with *davisReport) error {
	if len(r.sequences) != len(with.sequences) {
		return fmt.Errorf("it followed %d sequences; want %d as %s", len(r.sequences), len(with.sequences), with.Way)
	}
	for name, j := range with.sequences {
		mine, ok := r.sequences[name]
		if !ok {
			return fmt.Errorf("it did not follow %s; want the sequences of %s", name, with.Way)
		}
		if by := math.Abs(mine - j); by > r.Largest {
			r.Largest, r.Sequence = by, name
		}
	}
	r.Difference = math.Abs(r.MeanJ - with.MeanJ)
	return nil
}

// faults are what is wrong with J.
func (r *davisReport) faults(w way, with string) []string {
	if !(r.Difference <= w.mostJ()) {
		return []string{fmt.Sprintf("mean J differs by %.4f from that of %s; want %g at most", r.Difference, with, w.mostJ())}
	}
	return nil
}

func tellDavis(w io.Writer, rows []*davisReport) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "davis\tmean J\tdifference\tlargest of a sequence\t\tms/frame\tcard %%\n")
	for _, r := range rows {
		use := new(gpuUse)
		if r.GPU != nil {
			use = r.GPU
		}
		fmt.Fprintf(t, "%s\t%.4f\t%.4f\t%.4f\t%s\t%.0f\t%s\n", r.Way, r.MeanJ, r.Difference, r.Largest, r.Sequence, r.MS, figure(use.UtilizationMean))
	}
	return t.Flush()
}
