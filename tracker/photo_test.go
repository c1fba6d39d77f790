package tracker

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segd/segd/features"
)

// references counts those of a picture.
type references struct{ left atomic.Int32 }

func (r *references) Retain() {
	if r.left.Add(1) <= 1 {
		panic("Retain of a picture that was released")
	}
}

func (r *references) Release() {
	if r.left.Add(-1) < 0 {
		panic("Release of a picture that was released")
	}
}

// photo is a picture of which there is one scene, whatever the plan.
type photo struct {
	references
	scene *features.Scene
}

// photoOf has one reference.
func photoOf(s *features.Scene) *photo {
	p := &photo{scene: clone(s)}
	p.left.Store(1)
	return p
}

func clone(s *features.Scene) *features.Scene {
	c := *s
	c.Patches, c.X, c.Maps = slices.Clone(s.Patches), slices.Clone(s.X), slices.Clone(s.Maps)
	for k := range c.Patches {
		p := &c.Patches[k]
		p.Labels, p.Pixels = slices.Clone(p.Labels), slices.Clone(p.Pixels)
	}
	c.Thumbnail.Lab = slices.Clone(s.Thumbnail.Lab)
	c.Lab, c.Centroid, c.Area, c.Edges = slices.Clone(s.Lab), slices.Clone(s.Centroid), slices.Clone(s.Area), slices.Clone(s.Edges)
	c.Coarse = nil
	return &c
}

func (p *photo) Scene(dst *features.Scene, _ features.Plan) error {
	seq := dst.Seq
	*dst = *clone(p.scene)
	dst.Seq = seq
	return nil
}

func (p *photo) PTS() time.Duration { return ptsOf(p.scene.Seq) }

// ptsOf is a frame's at 25 frames a second.
func ptsOf(seq uint64) time.Duration { return time.Duration(seq) * time.Second / 25 }

// Bytes is what such a picture takes in YUV 4:2:0.
func (p *photo) Bytes() int { return p.scene.Width * p.scene.Height * 3 / 2 }

// shot is a picture in BGR24.
type shot struct {
	references
	seq   uint64
	pix   []byte
	mu    sync.Mutex
	plans []features.Plan // that were asked for
}

func shotOf(seq uint64, pix []byte) *shot {
	p := &shot{seq: seq, pix: pix}
	p.left.Store(1)
	return p
}

func (p *shot) Scene(dst *features.Scene, plan features.Plan) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plans = append(p.plans, plan)
	return shotScene(dst, p.pix, plan)
}

func (p *shot) Bytes() int { return len(p.pix) }

func (p *shot) PTS() time.Duration { return ptsOf(p.seq) }

func shotScene(dst *features.Scene, pix []byte, plan features.Plan) error {
	ex, err := features.New(features.Config{Superpixels: 100}, nil)
	if err != nil {
		return err
	}
	return ex.Extract(dst, pix, testWidth, testHeight, plan)
}

// filmShot is a scene of the discs, as fine as the plan says, its picture and what of it is
// each of them.
func filmShot(t testing.TB, seq uint64, plan features.Plan, discs ...disc) (*features.Scene, *shot, [][]uint8) {
	t.Helper()
	pix, truth := draw(seq, discs...)
	s := &features.Scene{Seq: seq}
	if err := shotScene(s, pix, plan); err != nil {
		t.Fatal(err)
	}
	return s, shotOf(seq, pix), truth
}
