package offline

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/objects/marking"
	"github.com/segd/segd/tracker"
)

// flatModel sees nothing, and counts how often it looks at each size.
type flatModel map[float64]int

func (m flatModel) Features(dst features.Sight, _ []byte, width, height int, v features.View) (features.Sight, error) {
	m[v.Scale]++
	dst.Maps = append(dst.Maps, features.Map{Channels: 1, Height: 1, Width: 1, StrideX: float64(width), StrideY: float64(height), Data: []float32{0.5}})
	return dst, nil
}

// However many cameras look on, a picture is looked at once at each size, and at the
// smaller ones only for those that search.
func TestView(t *testing.T) {
	const width, height = 96, 64
	picture := func(shown bool) *Picture {
		p := &Picture{Width: width, Height: height, BGR: make([]byte, 3*width*height)}
		for i := range width * height {
			b, g, r := byte(60), byte(120+i%8), byte(40)
			if x, y := i%width, i/width; shown && x >= 30 && x < 60 && y >= 16 && y < 46 {
				b, g, r = 30, 30, 200
			}
			p.BGR[3*i], p.BGR[3*i+1], p.BGR[3*i+2] = b, g, r
		}
		return p
	}
	ann := &annotation.Annotation{Width: width, Height: height, Objects: []annotation.Object{{ID: 1, Box: []float64{30, 16, 60, 46}}}}
	model := flatModel{}
	v, err := NewView(model, features.Config{Superpixels: 100})
	require.NoError(t, err)
	var cameras [3]*Camera // the last of which follows nothing
	for k := range cameras {
		cameras[k], err = v.Camera(tracker.Config{}, marking.Config{}, nil)
		require.NoError(t, err)
	}
	for i := range 3 { // the object is gone from frame 1 on, and missed in frame 2
		v.Look(i, picture(i == 0))
		for k, c := range cameras {
			searching := c.tracker.Plan(features.Plan{}).Coarsens()
			require.Equal(t, i == 2 && k < 2, searching, "frame %d: camera %d is searching", i, k)
			var a *annotation.Annotation
			if i == 0 && k < 2 {
				a = ann
			}
			f, err := c.Follow(t.Context(), a, false)
			require.NoError(t, err)
			s := &v.scene
			if got := len(s.Coarse) > 0; got != searching || f.Seq != uint64(i) || f.Width != width {
				t.Errorf("frame %d: camera %d has coarse features: %v; want %v", i, k, got, searching)
			}
			if s.N > 100 != (k < 2) || k == 2 && s.N > 0 {
				t.Errorf("frame %d: camera %d has %d superpixels", i, k, s.N)
			}
		}
	}
	if want := (flatModel{1: 3, 0.5: 1, 0.25: 1}); !maps.Equal(model, want) {
		t.Errorf("looked at each scale so often: %v; want %v", model, want)
	}
}

// A caller that gets maps may write over them, and give their memory away: the next gets the same.
func TestCachedMapsAreCopies(t *testing.T) {
	m := &cachedModel{Model: flatModel{}, sights: map[features.View]features.Sight{}}
	for n := range 3 {
		s, err := m.Features(features.Sight{}, nil, 1, 1, features.View{})
		require.NoError(t, err)
		assert.EqualValues(t, 0.5, s.Maps[0].Data[0], "time %d", n)
		s.Maps[0].Data[0] = 9
	}
}
