package scribbles

import (
	"context"
	"math"
	"slices"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/lab/baseline"
	"github.com/segd/segd/lab/internal/clip"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/solver/mrf"
)

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
	m := &kmeans{scene: s, d: projection.Dim()}
	total := 0.0
	for _, v := range projection.Apply(nil, m.d, s) { // of mean 0: the projection was fitted to this scene
		m.rows = append(m.rows, float64(v))
		total += float64(v) * float64(v) / float64(s.N)
	}
	for i := range m.rows {
		m.rows[i] /= math.Sqrt(math.Max(total, 1e-12))
	}
	potts := features.NewPotts(s.Edges, kmeansSmooth) // as the tracker has it
	edges := make([]mrf.Edge, 0, len(s.Edges))
	for _, e := range s.Edges {
		edges = append(edges, mrf.Edge{I: e.I, J: e.J, W: potts.Weight(e)})
	}
	return m, m.potts.Reset(s.N, 2, edges)
}

// segment returns the mask that the strokes lead to.
func (m *kmeans) segment(ctx context.Context, a *annotation.Annotation) (mask.RLE, error) {
	y := m.marked(a)
	label := &seeded{seeds: slices.Clone(y), Potts: &m.potts}
	if _, err := baseline.KernelKMeans(ctx, m.rows, m.scene.N, m.d, 2, label, y, kmeansRounds); err != nil {
		return mask.RLE{}, err
	}
	bits := make([]uint8, m.scene.Width*m.scene.Height)
	for p := range bits {
		bits[p] = uint8(y[features.Label(m.scene.Patches, p%m.scene.Width, p/m.scene.Width)])
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
			brush := clip.Disk(int(s.Width / 2))
			for _, p := range s.Points {
				for _, d := range brush {
					x, y := int(p[0])+d[0], int(p[1])+d[1]
					if x >= 0 && y >= 0 && x < m.scene.Width && y < m.scene.Height {
						votes[features.Label(m.scene.Patches, x, y)] += vote
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
