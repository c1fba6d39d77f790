package mot

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/annotation"
)

func parse(t testing.TB, lines ...string) *Truth {
	t.Helper()
	truth, err := ParseTruth(strings.NewReader(strings.Join(lines, "\n")), "gt.txt")
	require.NoError(t, err)
	return truth
}

func TestMarkFrame(t *testing.T) {
	for _, tt := range []struct {
		name        string
		first, last int
		lines       []string
		want        int
	}{
		{"at once", 1, 9, []string{"1,1,1,1,20,60,1", "2,1,1,1,20,80,1"}, 1},
		{"whole to the last pixel, of a width that rounds", 1, 9, []string{"1,1,73.1,33.9,28.905,67.1,1"}, 1},
		{"not yet in the picture", 1, 9, []string{"1,1,-3,1,20,90,1", "2,1,0.9,1,20,70,1", "3,1,1,1,20,70,1"}, 3},
		{"feet below the picture", 1, 9, []string{"1,1,5,42,20,60,1", "2,1,5,41,20,60,1"}, 2},
		{"too small at first", 1, 9, []string{"1,1,5,5,20,59.9,1", "4,1,5,5,20,60.5,1"}, 4},
		{"not to be considered", 1, 9, []string{"1,1,5,5,20,70,0", "4,1,5,5,20,61,1"}, 4},
		{"never whole: the tallest, the first of equals", 1, 9, []string{"1,1,-5,5,20,61,1", "2,1,-5,5,20,70,1", "3,1,-5,5,20,70,1"}, 2},
		{"never tall", 1, 9, []string{"3,1,5,5,20,30,1", "4,1,5,5,20,40,1", "5,1,5,5,20,35,1"}, 4},
		{"frames before are not looked at", 3, 9, []string{"1,1,5,5,20,70,1", "3,1,5,5,20,50,1", "5,1,5,5,20,60,1"}, 5},
		{"frames after are not looked at", 1, 4, []string{"3,1,5,5,20,50,1", "5,1,5,5,20,60,1"}, 3},
		{"nothing there", 6, 9, []string{"3,1,5,5,20,50,1"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, parse(t, tt.lines...).markFrame(1, tt.first, tt.last, size{120, 100}), "frame")
		})
	}
}

func TestObject(t *testing.T) {
	s, p := size{120, 100}, person{id: 1000, number: 3, mark: 7}
	valid := func(t *testing.T, o annotation.Object) {
		t.Helper()
		a := annotation.Annotation{Width: s.width, Height: s.height, Objects: []annotation.Object{o}}
		assert.NoError(t, a.Validate())
		if o.ID != 3 || o.Label != "person 1000" {
			t.Errorf("%d is %q; want 3 and the person's id", o.ID, o.Label)
		}
	}
	inside, across := Box{10, 20, 30, 60}, Box{-10, 50, 30, 60}
	for _, tt := range []struct {
		name string
		box  Box
		want []float64
	}{{"inside", inside, []float64{10, 20, 40, 80}}, {"across the edge", across, []float64{0, 50, 20, 100}}} {
		t.Run(tt.name, func(t *testing.T) {
			o, err := MarkBox.object(p, tt.box, s)
			if err != nil || !slices.Equal(o.Box, tt.want) || o.Polygon != nil {
				t.Errorf("%+v, %v; want the box %v", o, err, tt.want)
			}
			valid(t, o)
			o, err = MarkEllipse.object(p, tt.box, s)
			if err != nil || len(o.Polygon) != ellipsePoints || o.Box != nil {
				t.Errorf("%+v, %v; want an outline of %d points", o, err, ellipsePoints)
			}
			valid(t, o)
		})
	}
	o, _ := MarkEllipse.object(p, inside, s)
	area := 0.0
	for k, a := range o.Polygon {
		if r := math.Hypot((a[0]-25)/15, (a[1]-50)/30); math.Abs(r-1) > 1e-9 {
			t.Errorf("(%g, %g) is not on the ellipse", a[0], a[1])
		}
		b := o.Polygon[(k+1)%len(o.Polygon)]
		area += (a[0]*b[1] - a[1]*b[0]) / 2
	}
	if want := math.Pi * 15 * 30; math.Abs(area-want) > 0.01*want {
		t.Errorf("area %.0f; want some %.0f", area, want)
	}
	for _, m := range []Mark{MarkBox, MarkEllipse} {
		_, err := m.object(p, Box{120, 20, 30, 60}, s)
		assert.ErrorContains(t, err, "person 1000 in frame 7 lies outside the picture of 120×100", "%v outside the picture", m)
		if got, err := ParseMark(m.String()); err != nil || got != m {
			t.Errorf("%v is read as %v, %v", m, got, err)
		}
	}
	_, err := ParseMark("star")
	assert.ErrorContains(t, err, `"star"; want box or ellipse`, "a star")
}
