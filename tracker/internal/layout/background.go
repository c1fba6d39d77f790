package layout

const (
	// placeRate is by how much what is seen at a place replaces what was there, at first
	// and while it looks as before; half of it where something seems to pass.
	placeRate = 0.03
	settled   = 3 // pictures after which something may seem to pass
	passing   = 9 // squared distance of its colour

	// changed is the likelihood below which a place shows something else than background.
	changed = 0.2

	// The camera stands where stillShare of the places with texture look as before. Texture
	// is a squared distance from the next place; where there is hardly any, nobody can tell.
	stillShare = 0.7
	stillFor   = 5 // pictures
	texture    = 4
	fewest     = 50 // places
)

// background is what the places of the picture look like without anybody.
type background struct {
	still  int       // for how many pictures the camera has not moved
	colour []colour  // of the grid's cells
	seen   []float32 // in how many pictures; 0: the place is not known
}

// resize forgets everything if the grid has another size than it had.
func (b *background) resize(g *grid) (resized bool) {
	if n := g.width * g.height; len(b.seen) != n {
		b.colour, b.seen, b.still = make([]colour, n), make([]float32, n), 0
		return true
	}
	return false
}

// stands tells whether the camera stands: it has not moved for a while. One that moves may
// seem to stand in front of grass or sky.
func (b *background) stands() bool { return b.still >= stillFor }

// compare finds whether the camera has stood still since the last picture, by the places
// that are not covered by objects. When it moved nothing is known any more.
func (b *background) compare(g *grid, covered []bool) {
	if !b.isIn(g, covered) {
		b.still = 0
		clear(b.seen)
		return
	}
	b.still++
}

// isIn tells whether the picture shows b where it is not covered.
func (b *background) isIn(g *grid, covered []bool) bool {
	same, all := 0, 0
	for y := 1; y < g.height; y += 2 {
		for x := 1; x < g.width; x += 2 {
			i := y*g.width + x
			if b.seen[i] == 0 || covered[i] {
				continue
			}
			if c := b.colour[i]; distance(c, b.colour[i-1]) < texture && distance(c, b.colour[i-g.width]) < texture {
				continue
			}
			all++
			if alike(b.colour[i], g.colour(i)) > changed {
				same++
			}
		}
	}
	return all >= fewest && float64(same) >= stillShare*float64(all)
}

// learn takes the picture in where it is not covered by objects.
func (b *background) learn(g *grid, covered []bool) {
	for i, covered := range covered {
		if covered {
			continue
		}
		c, was := g.colour(i), &b.colour[i]
		b.seen[i]++
		seen := b.seen[i]
		if seen == 1 {
			*was = c
			continue
		}
		rate := max(1/seen, placeRate)
		if seen > settled && distance(c, *was) > passing {
			rate /= 2
		}
		for k := range c {
			was[k] += rate * (c[k] - was[k])
		}
	}
}

// likelihood is how well a colour fits the background in a cell; 0 where that is not known.
func (b *background) likelihood(cell int, c colour) float32 {
	if !b.stands() || b.seen[cell] == 0 {
		return 0
	}
	return alike(b.colour[cell], c)
}
