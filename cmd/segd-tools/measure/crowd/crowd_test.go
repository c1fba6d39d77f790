package crowd

import (
	"bytes"
	"testing"

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
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = model.Close() }()
	c, err := New(t.Context(), demo.FindClip())
	if err != nil {
		t.Fatal(err)
	}
	for _, persons := range []int{1, 8, 30} {
		first, half := c.Draw(0, persons, 960, 544), c.Draw(Frames/2, persons, 960, 544)
		if bytes.Equal(first.BGR, half.BGR) || !bytes.Equal(first.BGR, c.Draw(Frames, persons, 960, 544).BGR) {
			t.Errorf("%d persons do not walk, or not in a circle", persons)
		}
		count := func(p *Picture) (n int) {
			sight, err := model.Features(features.Sight{}, p.BGR, p.Width, p.Height, features.View{})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range sight.Found {
				if f.Class == "person" && f.Score >= 0.4 {
					n++
				}
			}
			return n
		}
		if n := count(first) - count(c.Draw(0, 0, 960, 544)); n < persons*7/10 || n > persons*13/10+1 {
			t.Errorf("%d persons are detected; want about %d", n, persons)
		}
	}
	if _, err := New(t.Context(), t.TempDir()); err == nil {
		t.Error("a crowd of a video without pictures")
	}
}
