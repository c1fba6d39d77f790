package crowd

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/features"
	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/ingest/demo"
)

// As many persons are found in the pictures as are in them.
func TestDraw(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 25 s: the whole clip through the network")
	}
	model, err := dnn.Embedded(dnn.Options{})
	require.NoError(t, err)
	defer func() { _ = model.Close() }()
	c, err := New(t.Context(), demo.FindClip())
	require.NoError(t, err)
	for _, persons := range []int{1, 8, 30} {
		shape := Shape{Persons: persons, Width: 960, Height: 544}
		first, half := c.Draw(0, shape), c.Draw(Frames/2, shape)
		if bytes.Equal(first.BGR, half.BGR) || !bytes.Equal(first.BGR, c.Draw(Frames, shape).BGR) {
			t.Errorf("%d persons do not walk, or not in a circle", persons)
		}
		count := func(p *Picture) (n int) {
			sight, err := model.Features(features.Sight{}, p.BGR, p.Width, p.Height, features.View{})
			require.NoError(t, err)
			for _, f := range sight.Found {
				if f.Class == "person" && f.Score >= 0.4 {
					n++
				}
			}
			return n
		}
		if n := count(first) - count(c.Draw(0, Shape{Width: 960, Height: 544})); n < persons*7/10 || n > persons*13/10+1 {
			t.Errorf("%d persons are detected; want about %d", n, persons)
		}
	}
	if _, err := New(t.Context(), t.TempDir()); err == nil {
		t.Error("a crowd of a video without pictures")
	}
}

// A person is where Box says, and as large as is asked for.
func TestShare(t *testing.T) {
	c, err := New(t.Context(), demo.FindClip())
	require.NoError(t, err)
	shape := Shape{Persons: 2, Width: 854, Height: 480, Share: 0.1}
	empty := c.Draw(0, Shape{Width: 854, Height: 480})
	for _, n := range []int{0, Cut} {
		drawn := c.Draw(n, shape)
		for k := range shape.Persons {
			box := c.Box(n, k, shape)
			if share := float64(box.Dx()*box.Dy()) / (854 * 480); share < 0.07 || share > 0.13 {
				t.Errorf("picture %d, person %d: the box %v is %.2f of it; want about 0.1", n, k, box, share)
			}
			changed := 0
			for y := box.Min.Y; y < box.Max.Y; y++ {
				for x := 3 * (y*854 + box.Min.X); x < 3*(y*854+box.Max.X); x += 3 {
					if !bytes.Equal(drawn.BGR[x:x+3], empty.BGR[x:x+3]) {
						changed++
					}
				}
			}
			if share := float64(changed) / float64(box.Dx()*box.Dy()); share < 0.3 {
				t.Errorf("picture %d: %.2f of the box of person %d is not the empty scene's", n, share, k)
			}
		}
	}
}
