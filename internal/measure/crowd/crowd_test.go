package crowd

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/segd/segd/demo"
	"github.com/segd/segd/features"
	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/ingest/codec"
)

// sample plays the demo's clip.
func sample(ctx context.Context, show func(*Picture) error) error {
	in, err := codec.OpenFile(demo.FindClip())
	if err != nil {
		return err
	}
	defer in.Close()
	w, h := in.Size()
	bgr := make([]byte, 3*w*h)
	for n := 0; ctx.Err() == nil; n++ {
		picture, err := in.Next()
		if err != nil {
			return nil
		}
		if err := picture.BGR(bgr); err != nil {
			return err
		}
		if err := show(&Picture{Width: w, Height: h, BGR: bgr, Time: time.Duration(n) * in.FrameInterval()}); err != nil {
			return err
		}
	}
	return ctx.Err()
}

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
	c, err := New(t.Context(), sample, model)
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
	if _, err := New(t.Context(), func(context.Context, func(*Picture) error) error { return nil }, model); err == nil {
		t.Error("a crowd of a video without pictures")
	}
}
