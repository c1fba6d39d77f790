package clip

import (
	"image"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/lab/internal/clip/cliptest"
	"github.com/segd/segd/lab/internal/offline"
)

func TestRead(t *testing.T) {
	root := cliptest.New(t, "square", 4)
	cliptest.Add(t, root, "other", 3)
	clips, err := Open(root, nil)
	require.NoError(t, err)
	if len(clips) != 2 || clips[0].Name != "other" || clips[1].Name != "square" || len(clips[1].Images) != 4 {
		t.Fatalf("%d clips; want other and square", len(clips))
	}
	if clips[0].Hash() == clips[1].Hash() {
		t.Error("two names, one hash")
	}
	p, err := clips[1].Read(3)
	require.NoError(t, err)
	if p.Width != 96 || p.Height != 64 || len(p.BGR) != 3*96*64 || len(p.Truth) != 96*64 {
		t.Fatalf("%d×%d of %d bytes and %d of truth; want 96×64", p.Width, p.Height, len(p.BGR), len(p.Truth))
	}
	at := 30*96 + slices.Index(p.Truth[30*96:31*96], 1) + 10
	if b, g, r := p.BGR[3*at], p.BGR[3*at+1], p.BGR[3*at+2]; r < 180 || g > 60 || b > 60 {
		t.Errorf("the object is %d, %d, %d in red, green and blue; want 200, 30, 30", r, g, b)
	}
	if c := Image(p).RGBAAt(at%96, at/96); c.R != p.BGR[3*at+2] || c.G != p.BGR[3*at+1] || c.B != p.BGR[3*at] || c.A != 255 {
		t.Errorf("the image has %v there", c)
	}
}

func TestCrop(t *testing.T) {
	p := &offline.Picture{Width: 5, Height: 4}
	for i := range byte(20) {
		p.BGR, p.Truth = append(p.BGR, i, i+100, i+200), append(p.Truth, i%2)
	}
	Crop(p, image.Rect(1, 2, 4, 4))
	var bgr, truth []byte
	for _, i := range []byte{11, 12, 13, 16, 17, 18} {
		bgr, truth = append(bgr, i, i+100, i+200), append(truth, i%2)
	}
	if p.Width != 3 || p.Height != 2 || !slices.Equal(p.BGR, bgr) || !slices.Equal(p.Truth, truth) {
		t.Errorf("%+v; want 3×2 pixels %v with truth %v", p, bgr, truth)
	}
}

func TestPaste(t *testing.T) {
	q := &offline.Picture{Width: 2, Height: 2, BGR: []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, Truth: []uint8{1, 0, 0, 3}}
	p := offline.Blank(4, 3, [3]byte{})
	Paste(p, q, image.Pt(2, 1))
	bgr := append(make([]byte, 3*6), 1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0, 7, 8, 9, 10, 11, 12)
	if truth := []uint8{0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 3}; !slices.Equal(p.BGR, bgr) || !slices.Equal(p.Truth, truth) {
		t.Errorf("%v with truth %v; want %v with %v", p.BGR, p.Truth, bgr, truth)
	}
}

// Each pixel is what 60×60 points of it see on average.
func TestShrink(t *testing.T) {
	for _, to := range []image.Point{{12, 9}, {6, 3}, {5, 4}, {11, 7}, {1, 1}} {
		p := &offline.Picture{Width: 12, Height: 9}
		rng := rand.New(rand.NewPCG(1, 1))
		for range 12 * 9 {
			p.BGR, p.Truth = append(p.BGR, byte(rng.IntN(256)), 255, byte(rng.IntN(256))), append(p.Truth, byte(rng.IntN(2)))
		}
		was := *p
		Shrink(p, to.X, to.Y)
		if p.Width != to.X || p.Height != to.Y || len(p.BGR) != 3*to.X*to.Y || len(p.Truth) != to.X*to.Y {
			t.Fatalf("%d×%d of %d bytes and %d of truth; want %v", p.Width, p.Height, len(p.BGR), len(p.Truth), to)
		}
		const points = 60
		for i := range p.Truth {
			var sum [4]float64
			for k := range points * points {
				x := (float64(i%to.X) + (float64(k%points)+0.5)/points) * 12 / float64(to.X)
				y := (float64(i/to.X) + (float64(k/points)+0.5)/points) * 9 / float64(to.Y)
				at := int(y)*12 + int(x)
				for c := range 3 {
					sum[c] += float64(was.BGR[3*at+c]) / (points * points)
				}
				sum[3] += float64(was.Truth[at]) / (points * points)
			}
			for c := range 3 {
				if math.Abs(sum[c]-float64(p.BGR[3*i+c])) > 2 {
					t.Errorf("%v, pixel %d: channel %d is %d; want %.1f", to, i, c, p.BGR[3*i+c], sum[c])
				}
			}
			if got := p.Truth[i] == 1; got != (sum[3] > 0.5) && math.Abs(sum[3]-0.5) > 0.01 {
				t.Errorf("%v, pixel %d: truth %d; the object covers %.2f", to, i, p.Truth[i], sum[3])
			}
		}
	}
}

func TestMean(t *testing.T) {
	p := &offline.Picture{Width: 3, Height: 1, BGR: []byte{0, 10, 255, 1, 20, 255, 1, 40, 255}}
	if got := Mean(p); got != [3]byte{1, 23, 255} {
		t.Errorf("mean %v; want 1, 23, 255", got)
	}
}

// Of a smooth picture JPEG loses little, more at a lower quality, and always the same.
func TestRecode(t *testing.T) {
	loss := func(quality int) (l float64, out []byte) {
		p := &offline.Picture{Width: 33, Height: 17, Truth: make([]uint8, 33*17)}
		for i := range 33 * 17 {
			p.BGR = append(p.BGR, byte(40+4*(i%33)), byte(90+6*(i/33)), byte(200-3*(i%33)))
		}
		was := slices.Clone(p.BGR)
		require.NoError(t, Recode(p, quality))
		require.Len(t, p.BGR, len(was), "bytes")
		for i, v := range p.BGR {
			l += math.Abs(float64(v)-float64(was[i])) / float64(len(was))
		}
		return l, p.BGR
	}
	fine, a := loss(97)
	_, b := loss(97)
	coarse, _ := loss(30)
	if fine == 0 || fine > 2 || coarse < 1.3*fine || !slices.Equal(a, b) {
		t.Errorf("%.2f of 255 are lost at quality 97, %.2f at 30; want some, below 2, and more", fine, coarse)
	}
}

func TestFaults(t *testing.T) {
	root := cliptest.New(t, "square", 3)
	short := cliptest.New(t, "brief", 2)
	lacking := cliptest.New(t, "lacking", 3)
	require.NoError(t, os.Remove(filepath.Join(lacking, truthFolder, "lacking", "00001.png")))
	for _, tt := range []struct {
		name, root string
		sequences  []string
		want       string
	}{
		{"no such root", filepath.Join(root, "nowhere"), nil, "JPEGImages/480p"},
		{"no such sequence", root, []string{"circle"}, `no sequence "circle"`},
		{"too short", short, nil, "want at least 3"},
		{"no truth", lacking, nil, "00001.png"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			clips, err := Open(tt.root, tt.sequences)
			if err == nil {
				_, err = clips[0].Read(1)
			}
			assert.ErrorContains(t, err, tt.want)
		})
	}
}
