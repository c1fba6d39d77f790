package track

// furthest is how far from the picture's corner a box may be, in pixels: no picture is as large.
const furthest = 1 << 20

func (b Box) valid() bool {
	inside := func(v float64) bool { return v >= -furthest && v <= furthest } // not NaN
	return inside(b.X0) && inside(b.Y0) && inside(b.X1) && inside(b.Y1) && b.X1 > b.X0 && b.Y1 > b.Y0
}

func (b Box) area() float64   { return max(0, b.X1-b.X0) * max(0, b.Y1-b.Y0) }
func (b Box) length() float64 { return max(b.X1-b.X0, b.Y1-b.Y0) }

func (b Box) intersect(c Box) Box {
	return Box{max(b.X0, c.X0), max(b.Y0, c.Y0), min(b.X1, c.X1), min(b.Y1, c.Y1)}
}

func (b Box) plus(v [2]float64) Box { return Box{b.X0 + v[0], b.Y0 + v[1], b.X1 + v[0], b.Y1 + v[1]} }

// iou is the intersection over the union.
func (b Box) iou(c Box) float64 {
	both := b.intersect(c).area()
	if both == 0 {
		return 0
	}
	return both / (b.area() + c.area() - both)
}

// grown is how many times as high the higher of two boxes is.
func (b Box) grown(c Box) float64 {
	g := (b.Y1 - b.Y0) / (c.Y1 - c.Y0)
	return max(g, 1/g)
}

// shared is the share of a box that another one would cover at most.
func (b Box) shared(c Box) float64 {
	return min(1, (c.X1-c.X0)/(b.X1-b.X0)) * min(1, (c.Y1-c.Y0)/(b.Y1-b.Y0))
}
