package davis

import (
	"context"
	"fmt"
	"image"
	"slices"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/internal/resident"
	"github.com/segd/segd/lab/internal/offline"
	"github.com/segd/segd/lab/internal/stats"
	"github.com/segd/segd/tracker"
)

// Variants are what RunAblation compares, the simplest first: the others' difference is to it.
var Variants = []Variant{
	{"affinity alone", tracker.Affinity},
	{"classifier re-estimated, labels fixed", tracker.Fixed},
	{"joint, without windows before", tracker.Memoryless},
	{"joint, cold start", tracker.Cold},
	{"joint, warm start", tracker.Joint},
}

// Variant is a part of the model, or the whole of it.
type Variant struct {
	Name string
	Mode tracker.Mode
}

// Ablation is the outcome, in the stable form `segd eval ablation --json` prints.
type Ablation struct {
	Model   string    `json:"model"`
	Repeats int       `json:"repeats"`
	Seed    uint64    `json:"seed"`
	Rows    []Ablated `json:"rows"`
	Skipped []Skipped `json:"skipped,omitempty"`
}

// Ablated are figures of one variant: means over the sequences, with their deviation over repeats.
type Ablated struct {
	Name string `json:"name"`
	Mode string `json:"mode"`

	J         stats.Figure      `json:"j"`
	F         stats.Figure      `json:"f"`
	Gain      stats.Figure      `json:"gain"`    // J less that of the first variant in the same repeat
	CoreMS    stats.Figure      `json:"core_ms"` // processor time of a frame but for its features
	Windows   *Windows          `json:"windows,omitempty"`
	Sequences []AblatedSequence `json:"sequences"`
}

// Windows are how the solves went of the frames without annotation, means over the sequences.
type Windows struct {
	Iterations stats.Figure `json:"iterations"` // until a solve has converged, or of most
	Converged  stats.Figure `json:"converged"`  // share
	SolveMS    stats.Figure `json:"solve_ms"`   // on one core
}

// AblatedSequence is Ablated of one sequence.
type AblatedSequence struct {
	Name   string       `json:"name"`
	J      stats.Figure `json:"j"`
	F      stats.Figure `json:"f"`
	CoreMS stats.Figure `json:"core_ms"`
}

// oneCore is no further core, so that the time of a step is the process' processor time.
type oneCore struct{}

func (oneCore) TryAcquire(int) int { return 0 }
func (oneCore) Release(int)        {}

// mostIterations is how many a solve of an ablation may take, so that a cold one converges too.
const mostIterations = 200

// ablated is what a run of one variant over a take gives.
type ablated struct {
	j, f, coreMS                            float64
	windows, iterations, converged, solveMS float64 // windows that were solved, and sums over them
}

// solved adds a frame's solve, if there was anything to be solved.
func (a *ablated) solved(s *tracker.Solve) {
	if s.Iterations == 0 {
		return
	}
	a.windows++
	a.iterations += float64(s.Iterations)
	a.solveMS += s.SolveTime.Seconds() * 1e3
	if s.Converged {
		a.converged++
	}
}

// window is a mean over the windows that were solved.
func (a ablated) window(sum float64) float64 { return sum / max(1, a.windows) }

// RunAblation follows the objects of sequences by each of some variants of the tracker, all on the same scenes, which are computed
// once, of the whole picture. Options are as Run takes them, without what only Run has: a perturbation, detectors and Frame.
func RunAblation(ctx context.Context, opt Options, variants []Variant) (*Ablation, error) {
	all, skipped, err := opt.open()
	if err != nil {
		return nil, err
	}
	total := 0
	for _, takes := range all {
		for _, t := range takes {
			total += len(t.Images)
		}
	}
	tick := opt.ticker(total)
	runs := make([][][]ablated, len(all)) // by sequence, repeat and variant
	for s, takes := range all {
		for _, t := range takes {
			row, err := ablate(ctx, &opt, t, variants, tick)
			if err != nil {
				return nil, fmt.Errorf("davis: %s: %w", t.Name, err)
			}
			runs[s] = append(runs[s], row)
		}
	}
	report := &Ablation{Model: opt.ModelName, Repeats: len(runs[0]), Seed: opt.Seed, Skipped: skipped}
	for v, variant := range variants {
		row := Ablated{Name: variant.Name, Mode: variant.Mode.String()}
		for s, takes := range all {
			of := func(figure func(ablated) float64) stats.Figure {
				var values []float64
				for _, run := range runs[s] {
					values = append(values, figure(run[v]))
				}
				return stats.FigureOf(values)
			}
			row.Sequences = append(row.Sequences, AblatedSequence{
				Name:   takes[0].Name,
				J:      of(func(a ablated) float64 { return a.j }),
				F:      of(func(a ablated) float64 { return a.f }),
				CoreMS: of(func(a ablated) float64 { return a.coreMS }),
			})
		}
		over := func(figure func(run []ablated) float64) stats.Figure {
			means := make([]float64, report.Repeats)
			for _, repeats := range runs {
				for r, run := range repeats {
					means[r] += figure(run) / float64(len(runs))
				}
			}
			return stats.FigureOf(means)
		}
		row.J = over(func(run []ablated) float64 { return run[v].j })
		row.F = over(func(run []ablated) float64 { return run[v].f })
		row.Gain = over(func(run []ablated) float64 { return run[v].j - run[0].j })
		row.CoreMS = over(func(run []ablated) float64 { return run[v].coreMS })
		if variant.Mode != tracker.Affinity {
			row.Windows = &Windows{
				Iterations: over(func(run []ablated) float64 { return run[v].window(run[v].iterations) }),
				Converged:  over(func(run []ablated) float64 { return run[v].window(run[v].converged) }),
				SolveMS:    over(func(run []ablated) float64 { return run[v].window(run[v].solveMS) }),
			}
		}
		report.Rows = append(report.Rows, row)
	}
	return report, nil
}

// ablate runs every variant over a take.
func ablate(ctx context.Context, opt *Options, t *take, variants []Variant, tick func()) ([]ablated, error) {
	view, err := offline.NewView(opt.Model, opt.Features)
	if err != nil {
		return nil, err
	}
	trackers, scores := make([]*tracker.Tracker, len(variants)), make([]Scores, len(variants))
	out := make([]ablated, len(variants))
	for v, variant := range variants {
		cfg := opt.Tracker
		cfg.Mode, cfg.Cores, cfg.MaxIter = variant.Mode, oneCore{}, mostIterations
		if trackers[v], err = tracker.New(cfg); err != nil {
			return nil, err
		}
		defer trackers[v].Close()
	}
	var bits []uint8
	for i := range t.Images {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p, err := t.Read(i)
		if err != nil {
			return nil, err
		}
		var ann *annotation.Annotation
		if i == 0 {
			if ann, err = t.annotation(p); err != nil {
				return nil, err
			}
		}
		view.Look(i, p)
		var coarse image.Rectangle
		if slices.ContainsFunc(trackers, func(t *tracker.Tracker) bool { return t.Plan(features.Plan{}).Coarsens() }) {
			coarse = features.Everywhere
		}
		scene, err := view.See(features.Plan{Whole: true, Coarse: coarse})
		if err != nil {
			return nil, err
		}
		for v, tr := range trackers {
			before := resident.CPUTime()
			res, err := tr.Step(ctx, scene, nil, ann, nil)
			if err != nil {
				return nil, err
			}
			out[v].coreMS += float64(resident.CPUTime()-before) / float64(time.Millisecond) / float64(len(t.Images))
			if i > 0 {
				out[v].solved(&res.Solve)
			}
			bits = res.Objects[0].Mask.Decode(bits)
			scores[v].add(bits, p.Truth, p.Width, p.Height, t.reach(p))
		}
		tick()
	}
	for v := range out {
		out[v].j, out[v].f = scores[v].Mean()
	}
	return out, nil
}
