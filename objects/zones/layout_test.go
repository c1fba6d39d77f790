package zones

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// yard is the lower left quarter, street a line across the middle, from left to right.
var (
	yard   = Zone{Name: "yard", Polygon: []Point{{0, 0.5}, {0.5, 0.5}, {0.5, 1}, {0, 1}}}
	street = Line{Name: "street", Points: []Point{{0, 0.5}, {1, 0.5}}}
)

func TestFaults(t *testing.T) {
	zone := func(change func(*Zone)) Layout {
		z := yard
		change(&z)
		return Layout{Zones: []Zone{z}}
	}
	polygon := func(p ...Point) Layout { return zone(func(z *Zone) { z.Polygon = p }) }
	line := func(p ...Point) Layout { return Layout{Lines: []Line{{"street", p}}} }
	many := func(n int) (l Layout) {
		for i := range n {
			z, s := yard, street
			z.Name, s.Name = fmt.Sprint("z", i), fmt.Sprint("l", i)
			l.Zones, l.Lines = append(l.Zones, z), append(l.Lines, s)
		}
		return l
	}
	circle := func(n int) (p []Point) {
		for i := range n {
			s, c := math.Sincos(2 * math.Pi * float64(i) / float64(n))
			p = append(p, Point{0.5 + 0.4*c, 0.5 + 0.4*s})
		}
		return p
	}
	for _, tt := range []struct {
		name  string
		l     Layout
		wants []string // of the faults, "field: part of the detail"
	}{
		{"nothing", Layout{}, nil},
		{"all that is accepted", many(MaxZones), nil},
		{"too many", many(MaxZones + 1), []string{"zones: 33; accepted: at most 32", "lines: 33; accepted: at most 32"}},
		{"a zone and a line of one name", Layout{[]Zone{yard}, []Line{{"yard", street.Points}}}, nil},
		{"two zones of one name", Layout{Zones: []Zone{yard, yard}}, []string{`zones[1].name: "yard" is zones[0]'s name already`}},
		{"two lines of one name", Layout{Lines: []Line{street, street}}, []string{`lines[1].name: "street" is lines[0]'s name already`}},
		{"no name", zone(func(z *Zone) { z.Name = "" }), []string{"zones[0].name: missing"}},
		{"a space in a name", zone(func(z *Zone) { z.Name = "my yard" }), []string{`zones[0].name: "my yard" contains ' '`}},
		{"a long name", zone(func(z *Zone) { z.Name = strings.Repeat("a", 65) }), []string{"zones[0].name: 65 bytes"}},
		{"two corners", polygon(Point{0, 0}, Point{1, 1}), []string{"zones[0].polygon: 2 points; accepted: 3 to 64"}},
		{"64 corners", polygon(circle(64)...), nil},
		{"65 corners", polygon(circle(65)...), []string{"zones[0].polygon: 65 points; accepted: 3 to 64"}},
		{"pixels", polygon(Point{0, 0}, Point{768, 0}, Point{0.5, 1}), []string{"zones[0].polygon[1]: [768, 0]; accepted: fractions"}},
		{"below 0", polygon(Point{0, 0}, Point{1, 0}, Point{0.5, -0.1}), []string{"zones[0].polygon[2]: [0.5, -0.1]"}},
		{"no number", polygon(Point{0, 0}, Point{1, math.NaN()}, Point{0.5, 1}), []string{"zones[0].polygon[1]: [1, NaN]"}},
		{"no area", polygon(Point{0, 0}, Point{0.5, 0.5}, Point{1, 1}), []string{"zones[0].polygon: its area is 0"}},
		{"closed twice", polygon(Point{0, 0}, Point{1, 0}, Point{1, 1}, Point{0, 0}), []string{"zones[0].polygon[3]: [0, 0] is point 0 already"}},
		{"a bow tie", polygon(Point{0, 0}, Point{1, 1}, Point{1, 0}, Point{0, 0.8}), []string{"zones[0].polygon: the sides from points 0 and 2 cross"}},
		{"a corner on a side", polygon(Point{0, 0}, Point{1, 0}, Point{1, 1}, Point{0.5, 0}, Point{0, 1}), []string{"zones[0].polygon: the sides from points 0 and 2 cross or touch"}},
		{"a spike", polygon(Point{0, 0}, Point{1, 0}, Point{0.5, 0}, Point{0.5, 1}), []string{"zones[0].polygon: the sides from points 0 and 1 cross or touch"}},
		{"a spike at the first corner", polygon(Point{0.5, 0}, Point{1, 0}, Point{1, 1}, Point{0.75, 0}), []string{"cross or touch"}},
		{"a corner within a straight side", polygon(Point{0, 0}, Point{0.5, 0}, Point{1, 0}, Point{0.5, 1}), nil},
		{"by", zone(func(z *Zone) { z.By = "head" }), []string{`zones[0].by: found "head"; accepted: foot, share`}},
		{"a share above 1", zone(func(z *Zone) { z.By, z.Share = ByShare, 50 }), []string{"zones[0].share: found 50; accepted: above 0, at most 1"}},
		{"a negative share", zone(func(z *Zone) { z.Share = -0.1 }), []string{"zones[0].share: found -0.1"}},
		{"a short dwell", zone(func(z *Zone) { z.Dwell = time.Millisecond }), []string{"zones[0].dwell: found 1ms; accepted: 1s or more"}},
		{"a line of one point", line(Point{0, 0}), []string{"lines[0].points: 1 points; accepted: 2"}},
		{"a line of three", line(Point{0, 0}, Point{0.5, 0}, Point{1, 1}), []string{"lines[0].points: 3 points; accepted: 2"}},
		{"a line of no length", line(Point{0.5, 0.5}, Point{0.5, 0.5}), []string{"lines[0].points: both points are [0.5, 0.5]"}},
		{"a line out of the picture", line(Point{0, 0}, Point{1, 1.5}), []string{"lines[0].points[1]: [1, 1.5]"}},
		{"all at once", Layout{[]Zone{{}}, []Line{{}}}, []string{"zones[0].name", "zones[0].polygon", "lines[0].name", "lines[0].points"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			faults := tt.l.Faults()
			ok := len(faults) == len(tt.wants)
			for i := range min(len(faults), len(tt.wants)) {
				ok = ok && strings.Contains(faults[i].Field+": "+faults[i].Detail, tt.wants[i])
			}
			if !ok {
				t.Errorf("faults %v; want %q", faults, tt.wants)
			}
			if _, err := New(tt.l); (err != nil) != (len(tt.wants) > 0) {
				t.Errorf("New: %v", err)
			}
		})
	}
}

// What is left out has its default, and what New was given stays as it was.
func TestDefaults(t *testing.T) {
	given := Layout{Zones: []Zone{yard}, Lines: []Line{street}}
	w, err := New(given)
	if err != nil {
		t.Fatal(err)
	}
	if z := w.Layout().Zones[0]; z.By != ByFoot || z.Share != 0.5 || z.Dwell != 0 {
		t.Errorf("%+v", z)
	}
	if given.Zones[0].By != "" {
		t.Error("New changed what it was given")
	}
}
