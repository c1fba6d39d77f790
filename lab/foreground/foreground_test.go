package foreground

import (
	"errors"
	"image"
	"math"
	"strings"
	"testing"

	"github.com/segd/segd/lab/internal/offline"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/tracker"
)

const width, height = 60, 50

// filled is a mask of the pixels that in holds.
func filled(in func(x, y int) bool) []uint8 {
	bits := make([]uint8, width*height)
	for i := range bits {
		if in(i%width, i/width) {
			bits[i] = 1
		}
	}
	return bits
}

func TestStraightSide(t *testing.T) {
	diamond := func(x, y int) bool { return max(x-30, 30-x)+max(y-25, 25-y) < 20 }
	for _, tt := range []struct {
		name           string
		in             func(x, y int) bool
		straight, tall bool
	}{
		{"nothing", func(int, int) bool { return false }, false, false},
		{"a box", func(x, y int) bool { return image.Pt(x, y).In(image.Rect(10, 5, 30, 45)) }, true, true},
		{"a low box", func(x, y int) bool { return image.Pt(x, y).In(image.Rect(10, 5, 30, 29)) }, false, false},
		{"a diamond", diamond, false, true},
		{"a diamond that a box cuts on the right", func(x, y int) bool { return x < 40 && diamond(x, y) }, true, true},
		{"a diamond that the picture cuts on the right", func(x, y int) bool { return diamond(x-20, y) }, false, true},
		{"a slanting stripe", func(x, y int) bool { return x > y && x < y+8 }, false, true},
	} {
		if straight, tall := HasStraightSide(filled(tt.in), width, straightPart); straight != tt.straight || tall != tt.tall {
			t.Errorf("%s: straight %t, tall %t; want %t, %t", tt.name, straight, tall, tt.straight, tt.tall)
		}
	}
}

// Parts touch by sides, not by corners nor round the picture's border, and add up to the mask.
func TestParts(t *testing.T) {
	bits := filled(func(x, y int) bool {
		return image.Pt(x, y).In(image.Rect(2, 2, 5, 5)) || image.Pt(x, y).In(image.Rect(5, 5, 8, 8)) || y == 20 && x == width-1 || y == 21 && x == 0
	})
	got := parts(bits, width)
	if len(got) != 4 {
		t.Fatalf("%d parts; want 4", len(got))
	}
	for i, v := range bits {
		sum := uint8(0)
		for _, p := range got {
			sum += p[i]
		}
		if sum != v {
			t.Fatalf("pixel %d is in %d parts; want %d", i, sum, v)
		}
	}
}

func TestSums(t *testing.T) {
	truth := filled(func(x, _ int) bool { return x < 20 })
	own := mask.Encode(filled(func(x, _ int) bool { return x >= 10 && x < 25 }), width, height)
	result := &tracker.Result{Objects: []tracker.Object{
		{ID: 1, State: tracker.Visible, Mask: own}, {ID: 2, State: tracker.Lost, Mask: own},
	}}
	result.Solve.Estimated = 1
	var s sums
	if _, err := s.sequence("empty"); !errors.Is(err, errNoForeground) || !strings.Contains(err.Error(), "empty") {
		t.Errorf("%v; want that no frame has foreground", err)
	}
	p := &offline.Picture{Width: width, Height: height, Truth: truth}
	s.add(p, result)
	s.add(&offline.Picture{Width: width, Height: height, Truth: make([]uint8, width*height)}, &tracker.Result{})
	got, err := s.sequence("one")
	want := Sequence{
		Name: "one", J: 10.0 / 25, Later: 10.0 / 25, Extra: 5.0 / 20, Missed: 10.0 / 20, Frames: 1,
		Masks: 1, Straight: 1, Truths: 1, TrueStraight: 1, Visible: 1, Estimated: 1,
	}
	if err != nil || math.Abs(got.J-want.J) > 1e-12 {
		t.Fatalf("%+v, %v; want %+v", got, err, want)
	}
	got.J, got.Later = want.J, want.Later
	if got != want {
		t.Errorf("%+v; want %+v", got, want)
	}
}

func TestRefused(t *testing.T) {
	if _, err := Run(t.Context(), Options{Root: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "want 1 or more") {
		t.Errorf("no look at all: %v", err)
	}
	if _, err := Run(t.Context(), Options{Root: t.TempDir(), Every: 1}); err == nil || !strings.Contains(err.Error(), "JPEGImages") {
		t.Errorf("an empty folder: %v", err)
	}
}
