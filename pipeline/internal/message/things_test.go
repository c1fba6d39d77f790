package message

import (
	"fmt"
	"image"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/features"
)

// model finds things; without a mask head, or with one that sees the left half of each box.
type model struct{ found []features.Detection }

func (m model) Features(dst features.Sight, _ []byte, width, height int, _ features.View) (features.Sight, error) {
	all := features.Map{
		Channels: 1, Height: 1, Width: 1, StrideX: float64(width), StrideY: float64(height),
		OffsetX: float64(width)/2 - 0.5, OffsetY: float64(height)/2 - 0.5, Data: []float32{1},
	}
	dst.Maps, dst.MaskFeatures, dst.Found = append(dst.Maps[:0], all), all, append(dst.Found[:0], m.found...)
	return dst, nil
}

type masker struct{ model }

func (masker) MaskLogits(g *features.Grid, _ []features.Map, _ *features.Map) (bool, error) {
	g.Cols, g.Rows = 2, 1
	g.Logits = append(g.Logits[:0], 3, -3)
	return true, nil
}

func TestThings(t *testing.T) {
	const w, h = 64, 48
	whole := image.Rect(10, 4, 30, 40)
	upper := image.Rect(10, 4, 30, 20) // with as much in its left half as the whole has there
	found := []features.Detection{
		{Box: whole, Class: "person", Score: 0.9},
		{Box: upper, Class: "person", Score: 0.6},
		{Box: upper, Class: "backpack", Score: 0.5},
		{Box: image.Rect(40, 0, 64, 48), Class: "car", Score: leastThing},
		{Box: image.Rect(0, 0, 4, 4), Class: "car", Score: leastThing - 0.01},
	}
	var many []features.Detection
	for i := range 2 * maxThings {
		many = append(many, features.Detection{Box: image.Rect(i, 0, i+1, 40), Class: "car", Score: 0.5})
	}
	things := func(m features.Model) (told []string) {
		e, err := features.New(features.Config{Superpixels: 20}, m)
		require.NoError(t, err)
		var s features.Scene
		require.NoError(t, e.Extract(&s, make([]byte, 3*w*h), w, h, features.Plan{Whole: true}))
		all, err := Things(&s)
		require.NoError(t, err)
		for _, o := range all {
			told = append(told, fmt.Sprintf("%d %s %d %d", o.Id, o.Class, o.Box.Height, o.Area))
		}
		return told
	}
	for name, tt := range map[string]struct {
		m    features.Model
		want string
	}{
		"no model":       {nil, "[]"},
		"no mask head":   {model{found}, "[1 person 36 720 2 person 16 320 3 backpack 16 320 4 car 48 1152]"},
		"with mask head": {masker{model{found}}, "[1 person 36 360 2 backpack 16 160 3 car 48 576]"},
	} {
		assert.Equal(t, tt.want, fmt.Sprint(things(tt.m)), "%s", name)
	}
	if got := things(model{many}); len(got) != maxThings {
		t.Errorf("of many things %d are told; want %d", len(got), maxThings)
	}
}
