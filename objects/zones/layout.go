package zones

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/segd/segd/internal/limit"
)

// Limits of a Layout.
const (
	MaxZones  = 32
	MaxLines  = 32
	MaxPoints = 64 // of a zone
	MinDwell  = time.Second
)

// DefaultShare is that of a Zone whose Share is 0.
const DefaultShare = 0.5

// Point is a place in the picture: x to the right and y down from the top left corner, as
// fractions of the width and the height, 0 to 1.
type Point [2]float64

// By says by what an object is in a zone.
type By string

const (
	ByFoot  By = "foot"  // its foot is in the polygon; the default
	ByShare By = "share" // at least Share of its mask's pixels are
)

// Zone is a part of the picture.
type Zone struct {
	Name    string        // letters, digits, _ and -; no other zone's of the camera
	Polygon []Point       // 3 to MaxPoints corners; it does not cross or touch itself
	By      By            // "": ByFoot
	Share   float64       // of a mask's pixels, above 0 to 1, for ByShare; 0: DefaultShare
	Dwell   time.Duration // after which an object in it has Stayed, MinDwell or more; 0: none
}

// Line is a line in the picture from its first point, a, to its second, b. Its side a is on
// the left hand of who looks from the first point to the second, and b on the right: of a line
// from the left edge to the right one, a is above and b below.
type Line struct {
	Name   string // as a Zone's; no other line's of the camera
	Points []Point
}

// Layout is the zones and lines of one camera.
type Layout struct {
	Zones []Zone
	Lines []Line
}

// withDefaults is l with its defaults in place of what it leaves out.
func (l Layout) withDefaults() Layout {
	l = Layout{slices.Clone(l.Zones), slices.Clone(l.Lines)}
	for i := range l.Zones {
		z := &l.Zones[i]
		z.By, z.Share = cmp.Or(z.By, ByFoot), cmp.Or(z.Share, DefaultShare)
	}
	return l
}

// Holds tells whether a place is in the zone's polygon.
func (z Zone) Holds(p Point) bool { return contains(z.Polygon, p) }

func (z Zone) same(as Zone) bool {
	return z.Name == as.Name && slices.Equal(z.Polygon, as.Polygon) && z.By == as.By && z.Share == as.Share && z.Dwell == as.Dwell
}

func (l Line) same(as Line) bool { return l.Name == as.Name && slices.Equal(l.Points, as.Points) }

// Has tells whether l has a zone of that name.
func (l Layout) Has(zone string) bool {
	return slices.ContainsFunc(l.Zones, func(z Zone) bool { return z.Name == zone })
}

// Fault is what is wrong with one field of a Layout.
type Fault struct {
	Field  string // such as zones[0].polygon[2]
	Detail string // what was found and what would be accepted
}

func (f *Fault) Error() string { return "zones: " + f.Field + ": " + f.Detail }

// Faults are all that is wrong with l; none if New accepts it.
func (l Layout) Faults() []*Fault {
	var c checker
	if n := len(l.Zones); n > MaxZones {
		c.bad("zones", "%d; accepted: at most %d", n, MaxZones)
	}
	if n := len(l.Lines); n > MaxLines {
		c.bad("lines", "%d; accepted: at most %d", n, MaxLines)
	}
	first := map[string]int{}
	for i, z := range l.Zones[:min(len(l.Zones), MaxZones)] {
		at := fmt.Sprintf("zones[%d]", i)
		c.name("zones", i, z.Name, first)
		c.polygon(at+".polygon", z.Polygon)
		if z.By != "" && z.By != ByFoot && z.By != ByShare {
			c.bad(at+".by", "found %.40q; accepted: %s, %s", z.By, ByFoot, ByShare)
		}
		if z.Share != 0 && !(z.Share > 0 && z.Share <= 1) {
			c.bad(at+".share", "found %v; accepted: above 0, at most 1", z.Share)
		}
		if z.Dwell != 0 && z.Dwell < MinDwell {
			c.bad(at+".dwell", "found %v; accepted: %v or more", z.Dwell, MinDwell)
		}
	}
	clear(first)
	for i, line := range l.Lines[:min(len(l.Lines), MaxLines)] {
		c.name("lines", i, line.Name, first)
		c.line(fmt.Sprintf("lines[%d].points", i), line.Points)
	}
	return c.faults
}

// PolygonFaults are what is wrong with a polygon, which errors call field.
func PolygonFaults(field string, p []Point) []*Fault {
	var c checker
	c.polygon(field, p)
	return c.faults
}

// checker gathers faults.
type checker struct{ faults []*Fault }

func (c *checker) bad(field, format string, args ...any) {
	c.faults = append(c.faults, &Fault{field, fmt.Sprintf(format, args...)})
}

// name checks that of the i-th of a list; first holds whose the names before it are.
func (c *checker) name(list string, i int, name string, first map[string]int) {
	field := fmt.Sprintf("%s[%d].name", list, i)
	const accepted = "accepted: 1 to %d letters, digits, _ and -"
	if name == "" {
		c.bad(field, "missing; "+accepted, limit.MaxName)
		return
	}
	if len(name) > limit.MaxName {
		c.bad(field, "%d bytes; "+accepted, len(name), limit.MaxName)
		return
	}
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' {
			c.bad(field, "%q contains %q; "+accepted, name, r, limit.MaxName)
			return
		}
	}
	if j, twice := first[name]; twice {
		c.bad(field, "%q is %s[%d]'s name already; accepted: a name of its own", name, list, j)
		return
	}
	first[name] = i
}

// points checks that all of them are in the picture.
func (c *checker) points(field string, points []Point) (ok bool) {
	ok = true
	for i, p := range points {
		if !(p[0] >= 0 && p[0] <= 1 && p[1] >= 0 && p[1] <= 1) {
			c.bad(fmt.Sprintf("%s[%d]", field, i), "[%v, %v]; accepted: fractions of the picture's width and height, 0 to 1", p[0], p[1])
			ok = false
		}
	}
	return ok
}

func (c *checker) line(field string, points []Point) {
	if n := len(points); n != 2 {
		c.bad(field, "%d points; accepted: 2, from where to where", n)
		return
	}
	if c.points(field, points) && points[0] == points[1] {
		c.bad(field, "both points are [%v, %v]; accepted: two places", points[0][0], points[0][1])
	}
}

// minArea is the least area of a zone, as a share of the picture: less than a pixel of any.
const minArea = 1e-8

// polygon names the first two sides that meet where they should not; there may be many.
func (c *checker) polygon(field string, p []Point) {
	n := len(p)
	if n < 3 || n > MaxPoints {
		c.bad(field, "%d points; accepted: 3 to %d", n, MaxPoints)
		return
	}
	if !c.points(field, p) {
		return
	}
	for i := range p {
		if j := slices.Index(p[:i], p[i]); j >= 0 {
			c.bad(fmt.Sprintf("%s[%d]", field, i), "[%v, %v] is point %d already; accepted: each corner once, the first not again at the end",
				p[i][0], p[i][1], j)
			return
		}
	}
	if a := area(p); a < minArea {
		c.bad(field, "its area is %.2g of the picture; accepted: one with an inside", a)
		return
	}
	for i := range n {
		for j := i + 1; j < n; j++ {
			if sidesMeet(p, i, j) {
				c.bad(field, "the sides from points %d and %d cross or touch; accepted: a polygon that does not cross itself", i, j)
				return
			}
		}
	}
}
