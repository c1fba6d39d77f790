package layout

import (
	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/scratch"
)

const (
	// appearanceCells is how many of an object's cells are looked at, at most: as many as a
	// person has who fills a third of the picture's height.
	appearanceCells = 4096

	// foreign is how likely a colour is somebody else's, or the background's, where it
	// counts half.
	foreign = 0.2

	appearanceRate = 0.05 // of the latest appearance
	similarityRate = 0.2  // of the running mean
)

// An object is in contact with something where more than touching of a margin round it shows
// something else than background. Only then can it be taken for somebody else. Apart for a
// while, and similar, it has been recognised.
const (
	marginX, marginY = 0.5, 0.2 // in its own sizes
	ownMargin        = 0.05     // what is that near is its own
	touching         = 0.2
	apartPictures    = 5
	certainFrom      = 0.75 // similarity
)

// appearanceAt is what o looks like if it is at x, y and as large as w×h, until the next call.
func (f *Follower) appearanceAt(o *Object, x, y, w, h float64) features.Appearance {
	f.appearance = f.appearance.Begin()
	dst := f.appearance
	sum := float32(0)
	x0, x1 := max(0, int(x-w/2)), min(f.grid.width-1, int(x+w/2))
	y0, y1 := max(0, int(y-h/2)), min(f.grid.height-1, int(y+h/2))
	// Of what is large not all is looked at.
	step := 1
	for (x1-x0+step)/step*((y1-y0+step)/step) > appearanceCells {
		step++
	}
	f.across = f.across[:0]
	for gx := x0; gx <= x1; gx += step {
		f.across = append(f.across, acrossBox(2*(float64(gx)+.5-x)/w))
	}
	for gy := y0; gy <= y1; gy += step {
		py := float64(gy) + .5
		down := downBox(2 * (py - y) / h)
		height := (py-y)/h + .5
		for k, across := range f.across {
			gx := x0 + k*step
			c := f.grid.at(gx, gy)
			weight := across * down * foreign / (foreign + f.against(o, c, float64(gx)+.5, py))
			sum += weight
			dst.Add(height, c, weight)
		}
	}
	dst.Normalise(sum)
	return dst
}

// similarityAt is how much o, if it is at x, y and as large as w×h, looks like when it was
// marked, or like lately.
func (f *Follower) similarityAt(o *Object, x, y, w, h float64) float64 {
	a := f.appearanceAt(o, x, y, w, h)
	return max(a.Similarity(o.marked), a.Similarity(o.lately))
}

// beginAppearance sets o's appearances to what is seen of it where it is.
func (f *Follower) beginAppearance(o *Object) {
	o.marked = append(o.marked[:0], f.appearanceAt(o, o.x, o.y, o.w, o.h)...)
	o.lately = append(o.lately[:0], o.marked...)
	o.similarity = 1
	o.certain, o.apart = !f.inContact(o), 0
}

// learnAppearance takes what is seen of o in, unless it may be somebody else.
func (f *Follower) learnAppearance(o *Object) {
	if !o.certain {
		return
	}
	o.lately.Learn(f.appearanceAt(o, o.x, o.y, o.w, o.h), appearanceRate)
}

// recognise sets whether o, which was found, is certainly itself.
func (f *Follower) recognise(o *Object) {
	if f.inContact(o) {
		o.certain, o.apart = false, 0
		return
	}
	if o.apart++; o.apart >= apartPictures && o.similarity >= certainFrom {
		o.certain, o.returned, o.recalled = true, false, false
	}
}

// inContact tells whether something is next to o, as far as anybody can tell.
func (f *Follower) inContact(o *Object) bool {
	if !f.background.stands() {
		return true
	}
	w, h := (1+2*ownMargin)*o.w, (1+2*ownMargin)*o.h
	own, ownForeground := w*h, f.foregroundIn(o.x, o.y, w, h)
	w, h = (1+2*marginX)*o.w, (1+2*marginY)*o.h
	return f.foregroundIn(o.x, o.y, w, h)-ownForeground > touching*(w*h-own)
}

// findForeground sums the places of the picture last looked at up that do not look like their
// background.
func (f *Follower) findForeground() {
	g, stride := &f.grid, f.grid.width+1
	f.foreground = scratch.Grow(f.foreground, stride*(g.height+1))
	clear(f.foreground[:stride])
	for y := range g.height {
		above, row := f.foreground[y*stride:(y+1)*stride], f.foreground[(y+1)*stride:(y+2)*stride]
		row[0] = 0
		left := int32(0)
		for x := range g.width {
			if i := y*g.width + x; f.background.seen[i] > 0 && f.background.likelihood(i, g.at(x, y)) < changed {
				left++
			}
			row[x+1] = above[x+1] + left
		}
	}
}

// foregroundIn is how many cells of a box do not look like their background.
func (f *Follower) foregroundIn(x, y, w, h float64) float64 {
	x0, y0 := max(int(x-w/2), 0), max(int(y-h/2), 0)
	x1, y1 := min(int(x+w/2), f.grid.width), min(int(y+h/2), f.grid.height)
	if x1 <= x0 || y1 <= y0 {
		return 0
	}
	if !f.summed {
		f.findForeground()
		f.summed = true
	}
	s, stride := f.foreground, f.grid.width+1
	return float64(s[y1*stride+x1] - s[y1*stride+x0] - s[y0*stride+x1] + s[y0*stride+x0])
}
