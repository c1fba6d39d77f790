package davis

import (
	"fmt"
	"image"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/features"
	"github.com/segd/segd/lab/internal/clip"
	"github.com/segd/segd/lab/internal/clip/cliptest"
	"github.com/segd/segd/lab/internal/offline"
)

// scenery is a textured world that pictures of 480×270 show parts of.
type scenery struct {
	size image.Point
	bgr  []byte
}

func newScenery() *scenery {
	s := &scenery{size: image.Pt(640, 360)}
	s.bgr = texture(rand.New(rand.NewPCG(5, 6)), s.size.X, s.size.Y)
	return s
}

// look is the picture around (x, y), a pixel of which is scale of the scenery's.
func (s *scenery) look(x, y, scale float64) *offline.Picture {
	p := offline.Blank(480, 270, [3]byte{})
	for i := range p.Truth {
		u, v := x+scale*float64(i%480-240), y+scale*float64(i/480-135)
		left, top := int(u), int(v)
		for c := range 3 {
			sum := 0.
			for k := range 4 {
				at := (top+k/2)*s.size.X + left + k%2
				sum += float64(s.bgr[3*at+c]) * math.Abs(float64(1-k%2)-(u-float64(left))) * math.Abs(float64(1-k/2)-(v-float64(top)))
			}
			p.BGR[3*i+c] = clampByte(sum)
		}
	}
	return p
}

func TestGauge(t *testing.T) {
	s := newScenery()
	plain := s.look(300, 170, 1)
	noisy := clone(plain)
	noise{1, 1}.apply(1, noisy)
	// A third of the picture is an object that moves.
	before, after := clone(plain), clone(plain)
	for i := range before.Truth {
		if x, y := i%480, i/480; x >= 150 && x < 350 && y > 40 {
			before.Truth[i], after.Truth[i] = 1, 1
			copy(after.BGR[3*i:3*i+3], plain.BGR[3*(i-12):])
		}
	}
	for _, tt := range []struct {
		name          string
		before, after *offline.Picture
		want, within  float64
	}{
		{"nothing moves", plain, clone(plain), 0, 0},
		{"noise", plain, noisy, 0, features.StandingMotion / 2},
		{"the object moves", before, after, 0, 0},
		{"a pan", plain, s.look(306, 170, 1), 6. / 480, 0.001},
		{"less than a pixel of the shrunk picture", plain, s.look(300, 171, 1), 1. / 480, 0.0008},
		{"a jerk", plain, s.look(340, 170, 1), 40. / 480, 0.001},
		// A block's distance from the middle is 133 pixels or so in the mean, times .03.
		{"a zoom", plain, s.look(300, 170, 0.97), 0.0083, 0.003},
	} {
		var g gauge
		if _, ok := g.step(tt.before); ok {
			t.Errorf("%s: a first picture has a motion", tt.name)
		}
		got, ok := g.step(tt.after)
		if !ok || math.Abs(got-tt.want) > tt.within {
			t.Errorf("%s: %.5f, %v; want %.5f within %.5f", tt.name, got, ok, tt.want, tt.within)
		}
	}
	var g gauge
	g.step(plain)
	for name, p := range map[string]*offline.Picture{"another size": offline.Blank(240, 240, [3]byte{}), "without texture": offline.Blank(240, 240, [3]byte{9, 9, 9})} {
		if _, ok := g.step(p); ok {
			t.Errorf("%s: there is a motion", name)
		}
	}
}

// addPan writes a sequence whose camera pans over scenery by some pixels a frame, with a disk of one colour in the
// middle.
func addPan(t *testing.T, root, name string, frames int, pan float64) {
	t.Helper()
	cliptest.AddScaled(t, root, name, frames, 1) // the folders
	s := newScenery()
	for i := range frames {
		p := s.look(260+pan*float64(i), 170, 1)
		truth := image.NewGray(image.Rect(0, 0, p.Width, p.Height))
		for k := range p.Truth {
			if x, y := k%p.Width-240, k/p.Width-135; x*x+y*y < 40*40 {
				copy(p.BGR[3*k:], []byte{30, 30, 200})
				truth.Pix[k] = 255
			}
		}
		f, err := os.Create(filepath.Join(root, "JPEGImages", "480p", name, fmt.Sprintf("%05d.jpg", i)))
		require.NoError(t, err)
		require.NoError(t, jpeg.Encode(f, clip.Image(p), nil))
		require.NoError(t, f.Close())
		writeTruth(t, root, name, i, truth)
	}
}

// What stands and what moves is reported apart, and standing copies stand.
func TestRunByCamera(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 11 s: sequences of pictures")
	}
	root := t.TempDir()
	addPan(t, root, "pan", 6, 4)
	addPan(t, root, "stand", 6, 0)
	opt := Options{Root: root, Features: features.Config{Superpixels: 300}}
	r, err := Run(t.Context(), opt)
	require.NoError(t, err)
	pan, stand := r.Sequences[0], r.Sequences[1]
	if pan.Camera != moving || math.Abs(pan.CameraMotion-4./480) > 0.001 || stand.Camera != standing || stand.CameraMotion > features.StandingMotion/2 {
		t.Errorf("pan %s by %.5f, stand %s by %.5f; want moving by .0083, standing by 0", pan.Camera, pan.CameraMotion, stand.Camera, stand.CameraMotion)
	}
	if r.Standing == nil || *r.Standing != (ByCamera{1, stand.J, stand.F}) || r.Moving == nil || *r.Moving != (ByCamera{1, pan.J, pan.F}) {
		t.Errorf("standing %+v, moving %+v; want the rows' own", r.Standing, r.Moving)
	}
	opt.Stabilise, opt.Repeat = true, 2
	r, err = Run(t.Context(), opt)
	require.NoError(t, err)
	if !r.Stabilise || r.Moving != nil || r.Standing == nil || r.Standing.Sequences != 2 || r.Standing.MeanJ != r.MeanJ {
		t.Errorf("standing copies: %+v stand, %+v move", r.Standing, r.Moving)
	}
	if slices.ContainsFunc(r.Sequences, func(s Sequence) bool { return s.J < 0.7 }) {
		t.Errorf("%+v; want plain disks to be followed", r.Sequences)
	}
}
