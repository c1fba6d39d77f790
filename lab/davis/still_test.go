package davis

import (
	"bytes"
	"image"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/lab/internal/clip"
	"github.com/segd/segd/lab/internal/clip/cliptest"
	"github.com/segd/segd/mask"
)

// copyOf is the standing copy of a red square that moves over green, 192×128 pixels.
func copyOf(t *testing.T, frames int) *take {
	t.Helper()
	root := t.TempDir()
	cliptest.AddScaled(t, root, "square", frames, 2)
	all, _, err := (&Options{Stabilise: true}).takes([]*clip.Clip{openClip(t, root, "square").Clip})
	require.NoError(t, err)
	return all[0][0]
}

// Of a copy's frames all is the same but the object, which turns, grows and is lit.
func TestStill(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 7 s: sequences of pictures")
	}
	const frames = 41
	c := copyOf(t, frames)
	plate := c.still.plate
	for i, v := range plate.Truth {
		if v != 0 || plate.BGR[3*i+2] > 90 {
			t.Fatalf("the plate shows the object at pixel %d: %v", i, plate.BGR[3*i:3*i+3])
		}
	}
	var first, largest int
	red := map[int]float64{}
	soft := 0
	for i := range frames {
		p := readFrame(t, c, i)
		if p.Time != clip.Time(i) {
			t.Errorf("frame %d: shown at %v; want %v, or tracks stand still", i, p.Time, clip.Time(i))
		}
		truth := mask.Encode(p.Truth, p.Width, p.Height)
		box := truth.Box()
		if !box.In(image.Rect(1, 1, p.Width-1, p.Height-1)) {
			t.Errorf("frame %d: the object leaves the picture: %v", i, box)
		}
		n := 0
		for k, v := range p.Truth {
			same := bytes.Equal(p.BGR[3*k:3*k+3], plate.BGR[3*k:3*k+3])
			switch {
			case v != 0:
				n++
				red[i] += float64(p.BGR[3*k+2])
			case !same:
				soft++
				if at := image.Pt(k%p.Width, k/p.Width); !at.In(box.Inset(-3)) {
					t.Fatalf("frame %d: %v beside the object at %v is not the plate's", i, at, box)
				}
			}
		}
		red[i] /= float64(n)
		if largest = n; i == 0 {
			first = n
		}
		// A square is as wide as its root, and turned by 45° by √2 as much.
		wide := float64(box.Dx()) / math.Sqrt(float64(n))
		if want := map[int]float64{0: 1, 10: math.Sqrt2, 20: 1, 30: math.Sqrt2}[i]; want > 0 && math.Abs(wide-want) > 0.1 {
			t.Errorf("frame %d: %d pixels of it are %d wide; want %.2f of the root", i, n, box.Dx(), want)
		}
	}
	if soft == 0 {
		t.Error("no edge is soft")
	}
	if grown := float64(largest) / float64(first); math.Abs(grown-9) > 0.8 {
		t.Errorf("it grows to %.1f times; want 9", grown)
	}
	if red[30] > 0.8*red[0] || red[10] < 1.1*red[0] {
		t.Errorf("its red is %.0f, later %.0f and %.0f; want more and then less", red[0], red[10], red[30])
	}
	for _, i := range []int{0, 7} {
		if a, b := readFrame(t, c, i), readFrame(t, copyOf(t, frames), i); !bytes.Equal(a.BGR, b.BGR) || !bytes.Equal(a.Truth, b.Truth) {
			t.Errorf("frame %d of two copies differs", i)
		}
	}
	if a, b := readFrame(t, c.from(5), 2), readFrame(t, c, 7); !bytes.Equal(a.BGR, b.BGR) {
		t.Error("a copy that begins later shows other frames")
	}
}

// An object that is small is no smaller in its copy.
func TestStillScale(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 4 s: sequences of pictures")
	}
	c := copyOf(t, 21)
	if s := c.still.poses[0].scale; s < 0.46 || s > 0.49 { // three times that, and turned, it reaches 51 pixels from the middle
		t.Errorf("scale %.2f of a square of 60 pixels in 128", s)
	}
	root := t.TempDir()
	addPan(t, root, "small", 9, 0)
	still, err := newStill(openClip(t, root, "small"))
	require.NoError(t, err)
	if first, last := still.poses[0].scale, still.poses[8].scale; math.Abs(first-0.9) > 0.03 || math.Abs(last-3*first) > 1e-9 {
		t.Errorf("scale from %.3f to %.3f; want 216/240 and 3 times that", first, last)
	}
}

func TestStillWithoutBackground(t *testing.T) {
	root := cliptest.New(t, "square", 3)
	full := image.NewGray(image.Rect(0, 0, 96, 64))
	for i := range full.Pix {
		full.Pix[i] = 255
	}
	for i := range 3 {
		writeTruth(t, root, "square", i, full)
	}
	_, err := Run(t.Context(), Options{Root: root, Stabilise: true})
	assert.ErrorContains(t, err, "square: the object is all of every picture")
}
