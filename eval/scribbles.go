package eval

import (
	"context"
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/solver/baseline"
	"github.com/segd/segd/solver/mrf"
	"github.com/segd/segd/tracker"
)

// ScribblesOptions say what to run, as DavisOptions.
type ScribblesOptions struct {
	Root      string
	Sequences []string // nil means all
	Model     features.Model
	ModelName string
	Features  features.Config
	Tracker   tracker.Config
	Seed      uint64                // of the first set of strokes
	Seeds     int                   // sets of strokes a picture; 0 means 5
	Progress  func(done, total int) // segmentations; nil means nobody looks
	// Picture is called after each; its error ends the run. nil means nobody looks.
	Picture func(sequence string, seed uint64, p ScribblesPicture) error
}

// ScribblesPicture is one segmented picture, valid during the Picture callback.
type ScribblesPicture struct {
	Image              image.Image
	Strokes            *annotation.Annotation
	Truth, Got, KMeans mask.RLE
}

// ScribblesReport is the outcome, in the stable form `segd eval scribbles --json`
// prints. Means and medians at the top are over all strokes of all sequences.
type ScribblesReport struct {
	Mode          string              `json:"mode"`
	Model         string              `json:"model"`
	Seed          uint64              `json:"seed"`
	Seeds         int                 `json:"seeds"`
	Sequences     []ScribblesSequence `json:"sequences"`
	MeanJ         float64             `json:"mean_j"`
	MeanJKMeans   float64             `json:"mean_j_kmeans"`
	MedianJ       float64             `json:"median_j"`
	MedianJKMeans float64             `json:"median_j_kmeans"`
	MeanJBox      float64             `json:"mean_j_box"`
}

// ScribblesSequence is the first frame of one sequence: J, the intersection over
// union, by seed, and with the truth's bounding box for an annotation.
type ScribblesSequence struct {
	Name          string    `json:"name"`
	J             []float64 `json:"j"`
	JKMeans       []float64 `json:"j_kmeans"`
	MedianJ       float64   `json:"median_j"`
	MedianJKMeans float64   `json:"median_j_kmeans"`
	JBox          float64   `json:"j_box"`
}

// defaultStrokeSets is ScribblesOptions.Seeds' default.
const defaultStrokeSets = 5

// Scribbles runs the interactive segmentation of the DC-ADMM paper on the first
// frames of DAVIS-2016 sequences: strokes on object and background, drawn from the
// truth by a seeded rule, are to become the object's mask. The tracker, given the
// strokes as somebody's annotation, stands against constrained k-means on the same
// superpixels and features with a linear kernel, the strokes its seeds and a
// Potts model over the superpixels its label solver (Tang et al., "Secrets of
// GrabCut and Kernel K-means", ICCV 2015). Beside them stands the tracker's mask when
// all it is given is the object's bounding box.
func Scribbles(ctx context.Context, opt ScribblesOptions) (*ScribblesReport, error) {
	if opt.Seeds < 0 {
		return nil, fmt.Errorf("eval: %d seeds; want 1 or more, or 0 for %d", opt.Seeds, defaultStrokeSets)
	}
	if opt.Seeds == 0 {
		opt.Seeds = defaultStrokeSets
	}
	clips, err := openDavis(opt.Root, opt.Sequences)
	if err != nil {
		return nil, err
	}
	r := &ScribblesReport{Mode: opt.Tracker.Mode.String(), Model: opt.ModelName, Seed: opt.Seed, Seeds: opt.Seeds}
	var j, kmeans []float64
	for i, c := range clips {
		row, err := scribblesSequence(ctx, &opt, c, func(seeds int) {
			if opt.Progress != nil {
				opt.Progress(i*opt.Seeds+seeds, len(clips)*opt.Seeds)
			}
		})
		if err != nil {
			return nil, fmt.Errorf("eval: %s: %w", c.name, err)
		}
		r.Sequences = append(r.Sequences, row)
		j, kmeans = append(j, row.J...), append(kmeans, row.JKMeans...)
		r.MeanJBox += row.JBox / float64(len(clips))
	}
	r.MeanJ, r.MeanJKMeans = mean(j), mean(kmeans)
	r.MedianJ, r.MedianJKMeans = median(j), median(kmeans)
	return r, nil
}

func scribblesSequence(ctx context.Context, opt *ScribblesOptions, c *davisClip, tick func(int)) (ScribblesSequence, error) {
	row := ScribblesSequence{Name: c.name}
	p, err := c.first()
	if err != nil {
		return row, err
	}
	extractor, err := features.New(opt.Features, opt.Model)
	if err != nil {
		return row, err
	}
	var scene features.Scene
	if err := extractor.Extract(&scene, p.bgr, p.width, p.height); err != nil {
		return row, err
	}
	km, err := newKMeans(&scene)
	if err != nil {
		return row, err
	}
	truth := mask.Encode(p.truth, p.width, p.height)
	box := truth.Box()
	inBox, err := segment(ctx, opt.Tracker, &scene, &annotation.Annotation{Width: p.width, Height: p.height, Objects: []annotation.Object{
		{ID: 1, Label: c.name, Box: []float64{float64(box.Min.X), float64(box.Min.Y), float64(box.Max.X), float64(box.Max.Y)}},
	}})
	if err != nil {
		return row, err
	}
	row.JBox = mask.IoU(inBox, truth)
	for k := range opt.Seeds {
		seed := opt.Seed + uint64(k)
		strokes := drawStrokes(rand.New(rand.NewPCG(seed, hash(c.name))), p.truth, p.width, p.height, c.name)
		got, err := segment(ctx, opt.Tracker, &scene, strokes)
		if err != nil {
			return row, err
		}
		other, err := km.segment(ctx, strokes)
		if err != nil {
			return row, err
		}
		row.J = append(row.J, mask.IoU(got, truth))
		row.JKMeans = append(row.JKMeans, mask.IoU(other, truth))
		if opt.Picture != nil {
			if err := opt.Picture(c.name, seed, ScribblesPicture{p.image(), strokes, truth, got, other}); err != nil {
				return row, err
			}
		}
		tick(k + 1)
	}
	row.MedianJ, row.MedianJKMeans = median(row.J), median(row.JKMeans)
	return row, nil
}

// segment is a new tracker's mask of the annotation's first object.
func segment(ctx context.Context, cfg tracker.Config, s *features.Scene, ann *annotation.Annotation) (mask.RLE, error) {
	t, err := tracker.New(cfg)
	if err != nil {
		return mask.RLE{}, err
	}
	res, err := t.Step(ctx, s, ann)
	if err != nil {
		return mask.RLE{}, err
	}
	return res.Objects[0].Mask, nil
}

// The baseline's settings: as many features as the tracker has, and the weight of
// an edge of mean length between pieces of one colour against the features' mean
// squared distance from their mean. Of kmeansSmooth 0, 1, 4, 8 and 16 the one of best
// mean J on eight sequences.
const (
	kmeansDim    = 96
	kmeansSmooth = 8
	kmeansRounds = 100
)

// kmeans is constrained k-means with two labels on one scene.
type kmeans struct {
	scene *features.Scene
	rows  []float64 // N×d, total variance 1
	d     int
	potts mrf.Potts
}

func newKMeans(s *features.Scene) (*kmeans, error) {
	projection, err := features.FitProjection(s, kmeansDim)
	if err != nil {
		return nil, err
	}
	m := &kmeans{scene: s, d: projection.Dim(), rows: projection.Apply(nil, s)}
	total := 0.0
	for _, v := range m.rows { // of mean 0: the projection was fitted to this scene
		total += v * v / float64(s.N)
	}
	for i := range m.rows {
		m.rows[i] /= math.Sqrt(math.Max(total, 1e-12))
	}
	m.potts.Reset(s.N, 2, contrastEdges(s, kmeansSmooth))
	return m, nil
}

// contrastEdges is the contrast-sensitive Potts model of Boykov and Jolly (2001)
// over a scene's superpixels, as the tracker has it.
func contrastEdges(s *features.Scene, smooth float64) []mrf.Edge {
	length, contrast := 0.0, 0.0
	for _, e := range s.Edges {
		length += float64(e.Length) / float64(len(s.Edges))
		contrast += float64(e.Contrast) * float64(e.Contrast) / float64(len(s.Edges))
	}
	edges := make([]mrf.Edge, 0, len(s.Edges))
	for _, e := range s.Edges {
		c := float64(e.Contrast)
		w := smooth * float64(e.Length) / length * math.Exp(-c*c/(2*math.Max(contrast, 1e-9)))
		edges = append(edges, mrf.Edge{I: e.I, J: e.J, W: w})
	}
	return edges
}

// segment returns the mask that the strokes lead to.
func (m *kmeans) segment(ctx context.Context, a *annotation.Annotation) (mask.RLE, error) {
	y := m.marked(a)
	label := &seeded{seeds: slices.Clone(y), Potts: &m.potts}
	if _, err := baseline.KernelKMeans(ctx, m.rows, m.scene.N, m.d, 2, label, y, kmeansRounds); err != nil {
		return mask.RLE{}, err
	}
	bits := make([]uint8, len(m.scene.Labels))
	for p, i := range m.scene.Labels {
		bits[p] = uint8(y[i])
	}
	return mask.Encode(bits, m.scene.Width, m.scene.Height), nil
}

// unseeded is a superpixel without a stroke.
const unseeded = -1

// marked labels the superpixels that have strokes on them by what most of those
// are.
func (m *kmeans) marked(a *annotation.Annotation) []int32 {
	votes := make([]int, m.scene.N)
	draw := func(strokes []annotation.Stroke, vote int) {
		for _, s := range strokes {
			brush := diskOffsets(int(s.Width / 2))
			for _, p := range s.Points {
				for _, d := range brush {
					x, y := int(p[0])+d[0], int(p[1])+d[1]
					if x >= 0 && y >= 0 && x < m.scene.Width && y < m.scene.Height {
						votes[m.scene.Labels[y*m.scene.Width+x]] += vote
					}
				}
			}
		}
	}
	draw(a.Background, -1)
	draw(a.Objects[0].Scribbles, 1)
	y := make([]int32, len(votes))
	for i, v := range votes {
		switch {
		case v > 0:
			y[i] = 1
		case v < 0:
			y[i] = 0
		default:
			y[i] = unseeded
		}
	}
	return y
}

// seeded keeps the labels of seeds as they are. The others may come in without
// one, as they do for the first centroids, which are those of the seeds.
type seeded struct {
	*mrf.Potts
	seeds []int32
}

func (s *seeded) Label(ctx context.Context, y []int32, u []float64) error {
	for i, l := range s.seeds {
		if l != unseeded {
			u[2*i+1-int(l)] = math.Inf(1)
		}
		if y[i] == unseeded {
			y[i] = 0
			if u[2*i+1] < u[2*i] {
				y[i] = 1
			}
		}
	}
	return s.Potts.Label(ctx, y, u)
}
