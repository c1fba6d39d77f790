package davis

import (
	"bytes"
	"encoding/json"
	"image"
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/features"
	"github.com/segd/segd/lab/internal/clip"
	"github.com/segd/segd/lab/internal/clip/cliptest"
	"github.com/segd/segd/lab/internal/stats"
	"github.com/segd/segd/mask"
)

func TestNewInset(t *testing.T) {
	root := cliptest.New(t, "small", 3)
	cliptest.AddScaled(t, root, "large", 3, 4) // 384×256, its square 120 pixels high
	for _, tt := range []struct {
		name, sequence string
		size           image.Point
		at             image.Rectangle
		scale          float64
	}{
		{"80 pixels high", "large", image.Pt(640, 360), image.Rect(192, 95, 192+256, 95+170), 2. / 3},
		{"nothing is enlarged", "small", image.Pt(640, 360), image.Rect(272, 148, 272+96, 148+64), 1},
		{"into a low frame", "large", image.Pt(640, 64), image.Rect(272, 0, 272+96, 64), 1. / 4},
		{"into a narrow frame", "large", image.Pt(96, 360), image.Rect(0, 148, 96, 148+64), 1. / 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in, err := newInset(openClip(t, root, tt.sequence), tt.size)
			require.NoError(t, err)
			if in.at != tt.at || in.scale != tt.scale || in.size != tt.size {
				t.Errorf("%+v; want it at %v, scale %v", in, tt.at, tt.scale)
			}
		})
	}
}

// The shrunk picture and truth are in the middle, with the first frame's mean colour and no
// object around them.
func TestInsetReads(t *testing.T) {
	root := t.TempDir()
	cliptest.AddScaled(t, root, "large", 4, 4)
	plain := openClip(t, root, "large")
	opt := Options{Inset: image.Pt(641, 361)}
	all, _, err := (&opt).takes([]*clip.Clip{plain.Clip})
	require.NoError(t, err)
	in := all[0][0]
	mean := clip.Mean(readFrame(t, plain, 0))
	want := readFrame(t, plain, 2)
	clip.Shrink(want, in.inset.at.Dx(), in.inset.at.Dy())
	got := readFrame(t, in, 2)
	if got.Width != 641 || got.Height != 361 {
		t.Fatalf("%d×%d; want 641×361", got.Width, got.Height)
	}
	for i, v := range got.Truth {
		if p := image.Pt(i%641, i/641); !p.In(in.inset.at) && (v != 0 || !bytes.Equal(got.BGR[3*i:3*i+3], mean[:])) {
			t.Fatalf("around the sequence, at %v, is %v with truth %d; want %v without object", p, got.BGR[3*i:3*i+3], v, mean)
		}
	}
	if b := mask.Encode(got.Truth, 641, 361).Box(); b.Dy() != 80 {
		t.Errorf("the object is %d pixels high; want 80", b.Dy())
	}
	clip.Crop(got, in.inset.at)
	if !slices.Equal(got.BGR, want.BGR) || !slices.Equal(got.Truth, want.Truth) {
		t.Error("the sequence is not as shrunk")
	}
}

// With a mask that is off by a few pixels, F is what it would be without the frame around.
func TestInset(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 11 s: sequences of pictures")
	}
	root := t.TempDir()
	cliptest.AddScaled(t, root, "large", 5, 4)
	truth := image.NewGray(image.Rect(0, 0, 4*96, 4*64))
	for y := 4 * 16; y < 4*46; y++ {
		for x := 4 * 33; x < 4*63+10; x++ { // the square, and more on the right
			truth.SetGray(x, y, color.Gray{Y: 255})
		}
	}
	for i := 1; i < 5; i++ {
		writeTruth(t, root, "large", i, truth)
	}
	for _, kind := range []Perturbation{Undisturbed, Noise} {
		var f, f1080, ious []float64
		r, err := Run(t.Context(), Options{Root: root, Features: features.Config{Superpixels: 600}, Inset: image.Pt(1280, 720), Perturb: kind, Repeat: 1,
			Frame: func(_ string, i int, got Frame) error {
				bits, want := got.Result.Objects[0].Mask.Decode(nil), got.Truth.Decode(nil)
				f = append(f, boundaryF(bits, want, 1280, 720, boundaryReach(256, 170)))
				f1080 = append(f1080, boundaryF(bits, want, 1280, 720, boundaryReach(1280, 720)))
				ious = append(ious, mask.IoU(got.Result.Objects[0].Mask, got.Truth))
				return nil
			}})
		require.NoError(t, err)
		row, last := r.Sequences[0], len(f)-1
		if math.Abs(row.F-stats.Mean(f[1:last])) > 1e-12 || row.F > stats.Mean(f1080[1:last])-0.05 {
			t.Errorf("F %v; want %v, less than the %v that outlines within reach for the whole frame have", row.F, f, f1080)
		}
		if math.Abs(row.J-stats.Mean(ious[1:last])) > 1e-12 || row.J < 0.5 || math.Abs(*row.Scale-2./3) > 1e-12 || *r.Inset != (Inset{1280, 720}) {
			t.Errorf("%+v in %+v; want a J of %v above 0.5, scale 2/3, in 1280×720", row, r.Inset, ious)
		}
		text, err := json.Marshal(r)
		require.NoError(t, err)
		for _, key := range []string{`"inset":{"width":1280,"height":720}`, `"scale":0.66`} {
			if !strings.Contains(string(text), key) {
				t.Errorf("report %s lacks %s", text, key)
			}
		}
	}
}

func TestInsetRefuses(t *testing.T) {
	root := cliptest.New(t, "square", 3)
	empty := cliptest.New(t, "square", 3)
	hide(t, empty, "square", 0)
	speck := cliptest.New(t, "square", 3)
	dot := image.NewGray(image.Rect(0, 0, 96, 64))
	dot.SetGray(7, 7, color.Gray{Y: 255})
	writeTruth(t, speck, "square", 0, dot)
	for _, tt := range []struct {
		name, root string
		size       image.Point
		want       string
	}{
		{"negative", root, image.Pt(-1, 10), "inset -1×10"},
		{"no height", root, image.Pt(10, 0), "inset 10×0"},
		{"no object", empty, image.Pt(640, 360), "marks no object"},
		{"nothing left", speck, image.Pt(12, 8), "nothing is left of the object at 12×8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Run(t.Context(), Options{Root: tt.root, Inset: tt.size}); err == nil || !strings.HasPrefix(err.Error(), "davis: ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v; want one with %q", err, tt.want)
			}
		})
	}
}
