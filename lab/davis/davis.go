package davis

import (
	"context"
	"fmt"
	"image"

	"github.com/segd/segd/features"
	"github.com/segd/segd/lab/internal/offline"
	"github.com/segd/segd/lab/internal/stats"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/tracker"
)

// Options say what to run. Root holds JPEGImages/480p and Annotations/480p.
type Options struct {
	Root      string
	Sequences []string // nil means all
	Model     features.Model
	ModelName string
	Features  features.Config
	Tracker   tracker.Config
	Perturb   Perturbation
	Repeat    int         // runs of each sequence under tiny changes; 0 means one as it is
	Backwards bool        // from the last frame to the first
	Stabilise bool        // copies with the object before a picture that stands, see Run
	Inset     image.Point // frame that sequences are shrunk into; zero leaves them as they are
	Seed      uint64      // of the perturbation and of the repeats' changes
	// Marks has each object begin with what it finds of it, in the first frame in which it does by a box
	// with an IoU of 0.3 or more with the true one; nil: with the first frame's true mask.
	Marks Detector
	// Beside are classes of which objects begin by themselves beside the object, and are followed, too, as a camera
	// does; none: nothing does.
	Beside   []string
	Progress func(done, total int) // frames; nil: it is not called
	// Frame is called after each frame; its error ends the run. nil: it is not called.
	Frame func(sequence string, index int, f Frame) error
}

// StageMS is where a frame's time goes, in milliseconds of wall time.
type StageMS = offline.StageMS

// Frame is one labelled frame, valid during the Frame callback. Image and
// Truth have changes and disturbance in them: where it hides the object, Truth is
// empty. Of a mosaic, Truth is of all objects and J their mean.
type Frame struct {
	Image  image.Image
	Truth  mask.RLE
	Result *tracker.Result
	J      float64
	Took   StageMS
}

// Report is the outcome, in the stable form `segd eval davis --json` prints.
// Means and medians are over Sequences; those in need of a perturbation are null
// without it. Seed is there if it was needed.
type Report struct {
	Mode      string     `json:"mode"`
	Model     string     `json:"model"`
	Perturb   string     `json:"perturb,omitempty"`
	Backwards bool       `json:"backwards,omitempty"`
	Stabilise bool       `json:"stabilise,omitempty"` // figures are of standing copies
	Inset     *Inset     `json:"inset,omitempty"`
	Repeat    *Repeat    `json:"repeat,omitempty"`
	Seed      *uint64    `json:"seed,omitempty"`
	Marks     string     `json:"marks,omitempty"`  // "detector", or none: true masks
	Beside    string     `json:"beside,omitempty"` // "detector", or none
	Sequences []Sequence `json:"sequences"`
	Skipped   []Skipped  `json:"skipped,omitempty"`

	// Reliability is how many masks have a J of 0.5 or more, by their scores, in all runs
	// but those that a perturbation is compared with.
	Reliability []Bin `json:"reliability"`

	// Of the sequences in which the camera stands, and of the others; null where there are none.
	Standing *ByCamera `json:"standing"`
	Moving   *ByCamera `json:"moving"`

	MeanJ           float64 `json:"mean_j"`
	MeanF           float64 `json:"mean_f"`
	MeanJDecay      float64 `json:"mean_j_decay"`
	MeanFDecay      float64 `json:"mean_f_decay"`
	MeanInstability float64 `json:"mean_instability"`
	MeanFalse       False   `json:"mean_false"`
	MeanMSPerFrame  float64 `json:"mean_ms_per_frame"`
	MeanStageMS     StageMS `json:"mean_stage_ms"`

	MeanJUndisturbed        *float64 `json:"mean_j_undisturbed,omitempty"`
	MeanJDrop               *float64 `json:"mean_j_drop,omitempty"`
	MedianFalseWhileCovered *float64 `json:"median_false_while_covered,omitempty"`
	MeanJAfterRatio         *float64 `json:"mean_j_after_ratio,omitempty"`
	MedianJAfterRatio       *float64 `json:"median_j_after_ratio,omitempty"`
}

// ByCamera are means over some of the sequences.
type ByCamera struct {
	Sequences int     `json:"sequences"` // how many
	MeanJ     float64 `json:"mean_j"`
	MeanF     float64 `json:"mean_f"`
}

// Bin is how many of the masks with a score in a tenth of 0…1 are right.
type Bin = stats.Bin

// Inset is the frame that sequences were shrunk into.
type Inset struct {
	Width  int `json:"width"`
	Height int `json:"height"`
}

// Repeat is J when each sequence was run N times: the mean over sequences of the
// mean over repeats, and the sample standard deviation over repeats of the mean over
// sequences, 0 of one repeat.
type Repeat struct {
	N     int     `json:"n"`
	MeanJ float64 `json:"mean_j"`
	SDJ   float64 `json:"sd_j"`
}

// Sequence is one sequence's row, with repeats the mean over them. J, the intersection over union, and F, the
// boundary measure, are means over all frames but the first, which is given, and
// the last, as DAVIS-2016 does; so are their decays, the mean of the first quarter
// of those frames minus that of the last.
//
// Instability is the mean over the same frames of 1 − IoU of the mask with the one
// before it, minus the same of the ground truth: how much more the mask changes
// than the object does. 0 is as steady as the truth; a mask that stands still
// while the object moves has less. It is not DAVIS' T, which matches the outlines'
// shape contexts.
type Sequence struct {
	Name        string  `json:"name"`
	Frames      float64 `json:"frames"` // frames J is the mean of
	J           float64 `json:"j"`
	F           float64 `json:"f"`
	MSPerFrame  float64 `json:"ms_per_frame"` // features and tracking, mean
	JDecay      float64 `json:"j_decay"`
	FDecay      float64 `json:"f_decay"`
	Instability float64 `json:"instability"`
	False       False   `json:"false"`
	StageMS     StageMS `json:"stage_ms"` // mean

	// CameraMotion is how far the camera moves from frame to frame, the median, as a share of the picture's longer
	// side, measured in the blocks away from the true mask; it stands below 0.002.
	CameraMotion float64 `json:"camera_motion"`
	Camera       string  `json:"camera"` // "standing" or "moving"

	// With an inset: what the sequence's sides were multiplied by.
	Scale *float64 `json:"scale,omitempty"`

	// With objects that begin with a detection: that; null with repeats.
	Mark *Mark `json:"mark,omitempty"`
	// With others marked beside: how many were.
	Others *float64 `json:"others,omitempty"`

	// With repeats: the sample standard deviation of J over them, 0 of one.
	JSD *float64 `json:"j_sd,omitempty"`

	// With a perturbation: J of the same sequence without it, and what it costs.
	JUndisturbed *float64 `json:"j_undisturbed,omitempty"`
	JDrop        *float64 `json:"j_drop,omitempty"`

	// With Occlusion. FalseWhileCovered is the median over the covered frames of
	// the mask's pixels over those of the object behind the patch; null if the
	// truth is empty there anyway. JAfter is J over the ten frames after the patch
	// has gone, JAfterRatio is JAfter / JAfterUndisturbed, null if that is 0.
	FalseWhileCovered *float64 `json:"false_while_covered,omitempty"`
	JAfter            *float64 `json:"j_after,omitempty"`
	JAfterUndisturbed *float64 `json:"j_after_undisturbed,omitempty"`
	JAfterRatio       *float64 `json:"j_after_ratio,omitempty"`
}

// Skipped is a sequence of too few frames, or whose object is not detected.
type Skipped struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// detectorName is what reports call a detector.
const detectorName = "detector"

// Run runs the tracker over DAVIS-2016 sequences as over a camera: the first
// frame's ground truth is the annotation, every later mask uses no later frame.
// With a perturbation it runs each sequence twice, first undisturbed. Frame sees the
// disturbed run only, and of repeats the first. Sequences too short are reported as
// skipped; it is an error if all are.
//
// A repeat cuts up to four rows or columns off one side, codes each frame as JPEG once
// more and begins up to two frames later, all fixed by Seed, the repeat's number and the
// sequence's name. A standing copy comes of that: the still picture is the frame with least of the object, and where that
// was, its surroundings mirrored. Before it the object's true pixels go to one side, back, to the other and back, turn by 45°
// each way, grow evenly from 1 to 3 times, and are lit differently, by ±30 % of gain and ±20 % of gamma. The code as JPEG comes
// after it. An inset comes after that: the sequence is shrunk so that its object is 80
// pixels high in the first frame, if it is higher, and fits the frame, and is put into the
// middle of it, around which all is the first frame's mean colour. Repeats and runs backwards begin with the first frame that shows
// the object.
func Run(ctx context.Context, opt Options) (*Report, error) {
	all, skipped, err := opt.open()
	if err != nil {
		return nil, err
	}
	report := &Report{Mode: opt.Tracker.Mode.String(), Model: opt.ModelName, Backwards: opt.Backwards}
	if opt.Marks != nil {
		var missed []Skipped
		if all, missed, err = opt.detected(ctx, all); err != nil {
			return nil, err
		}
		skipped = append(skipped, missed...)
		report.Marks = detectorName
	}
	if len(opt.Beside) > 0 {
		report.Beside = detectorName
	}
	report.Skipped = skipped
	report.Stabilise = opt.Stabilise
	if opt.Inset != (image.Point{}) {
		report.Inset = &Inset{opt.Inset.X, opt.Inset.Y}
	}
	runs := 1
	if opt.Perturb != Undisturbed {
		runs = 2
		report.Perturb = opt.Perturb.String()
	}
	if opt.Perturb != Undisturbed || opt.Repeat > 0 {
		report.Seed = new(opt.Seed)
	}
	total := 0
	for _, takes := range all {
		for _, t := range takes {
			total += runs * len(t.Images)
		}
	}
	tick := opt.ticker(total)
	var repeats [][]Sequence // of each sequence
	var reliability stats.Reliability
	for _, takes := range all {
		rows := make([]Sequence, len(takes))
		for i, t := range takes {
			if rows[i], err = runTake(ctx, &opt, t, i == 0, tick, &reliability); err != nil {
				return nil, fmt.Errorf("davis: %s: %w", t.Name, err)
			}
		}
		repeats = append(repeats, rows)
	}
	report.sum(repeats, opt.Repeat)
	report.Reliability = reliability.Bins()
	return report, nil
}

// ticker returns what counts a frame of all.
func (opt *Options) ticker(total int) func() {
	done := 0
	return func() {
		done++
		if opt.Progress != nil {
			opt.Progress(done, total)
		}
	}
}

// runTake gives one repeat's row. shown is whether the caller's Frame is to see it.
func runTake(ctx context.Context, opt *Options, t *take, shown bool, tick func(), reliability *stats.Reliability) (Sequence, error) {
	row := Sequence{Name: t.Name, Mark: t.mark}
	if t.inset != nil {
		row.Scale = &t.inset.scale
	}
	d, err := newDisturbance(opt.Perturb, opt.Seed, t)
	if err != nil {
		return row, err
	}
	var plain *following
	if d != nil {
		if plain, err = follow(ctx, opt, t, nil, nil, tick); err != nil {
			return row, err
		}
	}
	var frame func(int, Frame) error
	if opt.Frame != nil && shown {
		frame = func(i int, f Frame) error { return opt.Frame(t.Name, i, f) }
	}
	run, err := follow(ctx, opt, t, d, frame, tick)
	if err != nil {
		return row, err
	}
	row.fill(run)
	if len(opt.Beside) > 0 {
		row.Others = new(float64(run.others))
	}
	run.rate(reliability)
	if plain != nil {
		row.compare(run, plain, d)
	}
	return row, nil
}
