package mot

import (
	"fmt"
	"time"

	"github.com/segd/segd/objects/zones"
	"github.com/segd/segd/tracker"
)

// Crossings are how often a line was crossed, by the masks and in truth.
type Crossings struct {
	Line    [4]float64 `json:"line"` // from x, y to x, y, fractions of the picture's width and height
	Counted Directions `json:"counted"`
	True    Directions `json:"true"`
}

// Directions are crossings by their direction; who looks from the line's first point to its second has
// side a on the left hand.
type Directions struct {
	AToB uint64 `json:"a_to_b"`
	BToA uint64 `json:"b_to_a"`
}

// crossings counts, as a camera does, by the feet of extents and masks and by those of true boxes.
type crossings struct {
	truth         *Truth
	found, really *zones.Watcher
}

// newCrossings has names of its own for the lines.
func newCrossings(truth *Truth, lines [][2]zones.Point) (c *crossings, err error) {
	var l zones.Layout
	for i, points := range lines {
		l.Lines = append(l.Lines, zones.Line{Name: fmt.Sprint(i), Points: points[:]})
	}
	c = &crossings{truth: truth}
	if c.found, err = zones.New(l); err == nil {
		c.really, err = zones.New(l)
	}
	return c, err
}

// observe takes in frame n, which was shown at that time.
func (c *crossings) observe(n int, at time.Duration, res *tracker.Result) {
	f := zones.Frame{Time: at, Width: res.Width, Height: res.Height}
	for _, o := range res.Objects {
		f.Objects = append(f.Objects, zones.OfMask(o.ID, o.Mask, o.State == tracker.Lost).WithExtent(o.Extent, res.Width, res.Height))
	}
	c.found.Observe(f)
	f.Objects = nil
	for _, id := range c.truth.IDs() {
		o := zones.Object{ID: uint32(id)} // hidden
		if e, there := c.truth.boxes[id][n]; there && !e.ignored {
			o = zones.OfBox(o.ID, e.box.Left, e.box.Top, e.box.Width, e.box.Height, res.Width, res.Height)
		}
		f.Objects = append(f.Objects, o)
	}
	c.really.Observe(f)
}

func (c *crossings) report() (lines []Crossings) {
	found, really := c.found.Counts().Lines, c.really.Counts().Lines
	for i, l := range c.found.Layout().Lines {
		a, b := l.Points[0], l.Points[1]
		lines = append(lines, Crossings{
			Line:    [4]float64{a[0], a[1], b[0], b[1]},
			Counted: Directions{found[i].AToB, found[i].BToA},
			True:    Directions{really[i].AToB, really[i].BToA},
		})
	}
	return lines
}
