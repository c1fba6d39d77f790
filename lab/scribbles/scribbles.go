package scribbles

import (
	"cmp"
	"context"
	"fmt"
	"image"
	"math/rand/v2"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/lab/internal/clip"
	"github.com/segd/segd/lab/internal/offline"
	"github.com/segd/segd/lab/internal/stats"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/tracker"
)

// Options say what to run, as davis.Options.
type Options struct {
	Root      string
	Sequences []string // nil means all
	Model     features.Model
	ModelName string
	Features  features.Config
	Tracker   tracker.Config
	Seed      uint64                // of the first set of strokes
	Seeds     int                   // sets of strokes a picture; 0 means 5
	Progress  func(done, total int) // segmentations; nil: it is not called
	// Picture is called after each; its error ends the run. nil: it is not called.
	Picture func(sequence string, seed uint64, p Picture) error
}

// Picture is one segmented picture, valid during the Picture callback.
type Picture struct {
	Image              image.Image
	Strokes            *annotation.Annotation
	Truth, Got, KMeans mask.RLE
}

// Report is the outcome, in the stable form `segd eval scribbles --json`
// prints. Means and medians at the top are over all strokes of all sequences.
type Report struct {
	Mode          string     `json:"mode"`
	Model         string     `json:"model"`
	Seed          uint64     `json:"seed"`
	Seeds         int        `json:"seeds"`
	Sequences     []Sequence `json:"sequences"`
	MeanJ         float64    `json:"mean_j"`
	MeanJKMeans   float64    `json:"mean_j_kmeans"`
	MedianJ       float64    `json:"median_j"`
	MedianJKMeans float64    `json:"median_j_kmeans"`
	MeanJBox      float64    `json:"mean_j_box"`
	MeanJMovedBox float64    `json:"mean_j_moved_box"`
}

// Sequence is the first frame of one sequence: J, the intersection over
// union, by seed, and with the truth's bounding box for an annotation, as it is and with
// its sides moved.
type Sequence struct {
	Name          string    `json:"name"`
	J             []float64 `json:"j"`
	JKMeans       []float64 `json:"j_kmeans"`
	MedianJ       float64   `json:"median_j"`
	MedianJKMeans float64   `json:"median_j_kmeans"`
	JBox          float64   `json:"j_box"`
	JMovedBox     []float64 `json:"j_moved_box"`
	MeanJMovedBox float64   `json:"mean_j_moved_box"`
}

// defaultStrokeSets is Options.Seeds' default.
const defaultStrokeSets = 5

// Run runs the interactive segmentation of the DC-ADMM paper on the first
// frames of DAVIS-2016 sequences: strokes on object and background, drawn from the
// truth by a seeded rule, are to become the object's mask. The tracker, given the
// strokes as a user's annotation, stands against constrained k-means on the same
// superpixels and features with a linear kernel, the strokes its seeds and a
// Potts model over the superpixels its label solver (Tang et al., "Secrets of
// GrabCut and Kernel K-means", ICCV 2015). Beside them stands the tracker's mask when
// all it is given is the object's bounding box, as it is and, once for each set of
// strokes, with each side moved at random by up to 10 % of the box's size.
func Run(ctx context.Context, opt Options) (*Report, error) {
	if opt.Seeds < 0 {
		return nil, fmt.Errorf("scribbles: %d seeds; want 1 or more, or 0 for %d", opt.Seeds, defaultStrokeSets)
	}
	opt.Seeds = cmp.Or(opt.Seeds, defaultStrokeSets)
	clips, err := clip.Open(opt.Root, opt.Sequences)
	if err != nil {
		return nil, err
	}
	r := &Report{Mode: opt.Tracker.Mode.String(), Model: opt.ModelName, Seed: opt.Seed, Seeds: opt.Seeds}
	var j, kmeans []float64
	for i, c := range clips {
		row, err := runSequence(ctx, &opt, c, func(seeds int) {
			if opt.Progress != nil {
				opt.Progress(i*opt.Seeds+seeds, len(clips)*opt.Seeds)
			}
		})
		if err != nil {
			return nil, fmt.Errorf("scribbles: %s: %w", c.Name, err)
		}
		r.Sequences = append(r.Sequences, row)
		j, kmeans = append(j, row.J...), append(kmeans, row.JKMeans...)
		r.MeanJBox += row.JBox / float64(len(clips))
		r.MeanJMovedBox += row.MeanJMovedBox / float64(len(clips))
	}
	r.MeanJ, r.MeanJKMeans = stats.Mean(j), stats.Mean(kmeans)
	r.MedianJ, r.MedianJKMeans = stats.Median(j), stats.Median(kmeans)
	return r, nil
}

func runSequence(ctx context.Context, opt *Options, c *clip.Clip, tick func(int)) (Sequence, error) {
	row := Sequence{Name: c.Name}
	p, err := c.First()
	if err != nil {
		return row, err
	}
	m, err := newMethods(opt, p)
	if err != nil {
		return row, err
	}
	truth := mask.Encode(p.Truth, p.Width, p.Height)
	box := truth.Box()
	tight := [4]float64{float64(box.Min.X), float64(box.Min.Y), float64(box.Max.X), float64(box.Max.Y)}
	if row.JBox, err = m.inBox(ctx, tight, truth); err != nil {
		return row, err
	}
	for k := range opt.Seeds {
		seed := opt.Seed + uint64(k)
		strokes := drawStrokes(rand.New(rand.NewPCG(seed, c.Hash())), p.Truth, p.Width, p.Height, c.Name)
		got, err := m.track(ctx, strokes)
		if err != nil {
			return row, err
		}
		other, err := m.kmeans.segment(ctx, strokes)
		if err != nil {
			return row, err
		}
		moved, err := m.inBox(ctx, moveSides(rand.New(rand.NewPCG(seed, ^c.Hash())), tight, p.Width, p.Height), truth)
		if err != nil {
			return row, err
		}
		row.JMovedBox = append(row.JMovedBox, moved)
		row.J = append(row.J, mask.IoU(got, truth))
		row.JKMeans = append(row.JKMeans, mask.IoU(other, truth))
		if opt.Picture != nil {
			if err := opt.Picture(c.Name, seed, Picture{clip.Image(p), strokes, truth, got, other}); err != nil {
				return row, err
			}
		}
		tick(k + 1)
	}
	row.MeanJMovedBox = stats.Mean(row.JMovedBox)
	row.MedianJ, row.MedianJKMeans = stats.Median(row.J), stats.Median(row.JKMeans)
	return row, nil
}

// sideMoves is how far a side of a box that a user draws is off, at most, of its size.
const sideMoves = 0.1

// moveSides moves each side of a box, in or out, within the picture.
func moveSides(rng *rand.Rand, box [4]float64, width, height int) [4]float64 {
	size := [2]float64{box[2] - box[0], box[3] - box[1]}
	ends := [2]float64{float64(width), float64(height)}
	for k := range box {
		move := sideMoves * (2*rng.Float64() - 1) * size[k%2]
		box[k] = max(0, min(ends[k%2], box[k]+move))
	}
	return box
}

// inBox is J of a new tracker's mask of what is in a box.
func (m *methods) inBox(ctx context.Context, box [4]float64, truth mask.RLE) (float64, error) {
	got, err := m.track(ctx, &annotation.Annotation{Width: m.scene.Width, Height: m.scene.Height, Objects: []annotation.Object{{ID: 1, Box: box[:]}}})
	return mask.IoU(got, truth), err
}

// methods make masks of one picture. They are told nothing of it but annotations.
type methods struct {
	tracker   tracker.Config
	picture   *offline.Picture
	extractor *features.Extractor
	scene     features.Scene // as it is without an annotation
	finer     features.Scene // as one wants it
	kmeans    *kmeans
}

func newMethods(opt *Options, p *offline.Picture) (*methods, error) {
	m := &methods{tracker: opt.Tracker, picture: p}
	var err error
	if m.extractor, err = features.New(opt.Features, opt.Model); err != nil {
		return nil, err
	}
	if err := m.extractor.Extract(&m.scene, p.BGR, p.Width, p.Height, features.Plan{Whole: true}); err != nil {
		return nil, err
	}
	m.kmeans, err = newKMeans(&m.scene)
	return m, err
}

// track is a new tracker's mask of the annotation's first object, in a scene as fine as
// the annotation wants it.
func (m *methods) track(ctx context.Context, a *annotation.Annotation) (mask.RLE, error) {
	t, err := tracker.New(m.tracker)
	if err != nil {
		return mask.RLE{}, err
	}
	scene := &m.scene
	if plan := tracker.PlanFor(features.Plan{}, a); len(plan.Fine) > 0 {
		scene = &m.finer
		if err := m.extractor.Extract(scene, m.picture.BGR, m.scene.Width, m.scene.Height, plan); err != nil {
			return mask.RLE{}, err
		}
	}
	res, err := t.Step(ctx, scene, nil, a, nil)
	if err != nil {
		return mask.RLE{}, err
	}
	return res.Objects[0].Mask, nil
}
