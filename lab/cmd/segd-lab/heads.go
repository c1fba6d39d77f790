package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/segd/segd/features"
	"github.com/segd/segd/features/dnn"
)

// heads detect by a feature model's heads, which see all of a picture.
type heads struct {
	model   *dnn.Model
	classes []string // that are wanted
	score   float64
	sights  sync.Pool // of *features.Sight
}

// newHeads finds these classes, of a score or more, by a model; no classes: all.
func newHeads(m *dnn.Model, classes []string, score float64) (*heads, error) {
	info := m.Info()
	if len(info.Classes) == 0 {
		return nil, fmt.Errorf("model %s has no heads; want one with NanoDet's", info.Path)
	}
	for _, c := range classes {
		if !slices.Contains(info.Classes, c) {
			return nil, fmt.Errorf("class %q; the model knows %s", c, strings.Join(info.Classes, ", "))
		}
	}
	d := &heads{model: m, classes: classes, score: score}
	d.sights.New = func() any { return new(features.Sight) }
	return d, nil
}

// otherThing is the intersection over union beyond which boxes of two classes are of one thing: a van found as a
// car and as a truck.
const otherThing = 0.8

func (d *heads) Detect(dst []features.Detection, bgr []byte, width, height int, pixelAspect float64) ([]features.Detection, error) {
	s := d.sights.Get().(*features.Sight)
	defer d.sights.Put(s)
	var err error
	dst = dst[:0]
	for _, large := range []bool{false, true} {
		if *s, err = d.model.Features(*s, bgr, width, height, features.View{Large: large, PixelAspect: pixelAspect}); err != nil {
			return nil, err
		}
		for _, f := range s.Found {
			if f.Score >= d.score && (len(d.classes) == 0 || slices.Contains(d.classes, f.Class)) {
				dst = append(dst, f)
			}
		}
	}
	return features.Suppress(dst, features.SameThing, otherThing), nil
}
