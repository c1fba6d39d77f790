package features

import (
	"image"
	"math"
)

// What an appearance is made of: stripes from top to bottom, and bins of L, a and b. Each
// colour is shared out among the nearest bins, each place among the nearest stripes.
const (
	stripes = 6
	binL    = 20
	binAB   = 6
	binsL   = 100/binL + 1
	binsAB  = 11 // from −30 to 30

	appearanceBins = stripes * binsL * binsAB * binsAB
)

// appearanceSide is how many cells of the thumbnail across and down an appearance takes at most.
const appearanceSide = 64

// sideFall is by how much what is in a box is less likely what the box is round at its sides than in its
// middle: exp(−sideFall·u²), u from −1 to 1.
const sideFall = 3

// Appearance is how much of a thing is how high up and of what colour: histograms of
// colours in horizontal stripes, as persons are identified by (Gray and Tao, ECCV 2008).
// stripes×binsL×binsAB×binsAB, of sum 1; nil if not known.
type Appearance []float32

// add adds a place in stripe s and the next one, to which toS goes, of a colour, L, a and b.
func (a Appearance) add(s int, toS [2]float32, c [3]float32, weight float32) {
	l, toL := bin(float64(c[0])/binL, binsL)
	u, toU := bin(float64(c[1])/binAB+(binsAB-1)/2., binsAB)
	v, toV := bin(float64(c[2])/binAB+(binsAB-1)/2., binsAB)
	for k := range 8 {
		at := ((s*binsL+l+k>>2)*binsAB+u+k>>1&1)*binsAB + v + k&1
		share := weight * toL[k>>2] * toU[k>>1&1] * toV[k&1]
		a[at] += toS[0] * share
		a[at+binsL*binsAB*binsAB] += toS[1] * share
	}
}

// bin is the first of the two bins nearest to v, whose unit is a bin, and what goes to each.
func bin(v float64, bins int) (first int, shares [2]float32) {
	v = min(max(v, 0), float64(bins-1)-1e-3)
	first = int(v)
	second := float32(v - float64(first))
	return first, [2]float32{1 - second, second}
}

// In returns the cells that a box of the image covers, some in part.
func (t *Thumbnail) In(box image.Rectangle) image.Rectangle {
	cell := max(1, t.Cell)
	up := func(v int) int { return (v + cell - 1) / cell }
	return image.Rect(box.Min.X/cell, box.Min.Y/cell, up(box.Max.X), up(box.Max.Y)).Intersect(image.Rect(0, 0, t.Width, t.Height))
}

// Appearance is that of what a box of the image is round, in dst's memory; empty where the box is not in the image. Of more
// cells than appearanceSide a side it takes as many, evenly spread.
func (t *Thumbnail) Appearance(dst Appearance, box image.Rectangle) Appearance {
	cells := t.In(box)
	if cells.Empty() {
		return dst[:0]
	}
	a, sum := Appearance(grown(dst, appearanceBins)), float32(0)
	clear(a)
	cols, rows := min(cells.Dx(), appearanceSide), min(cells.Dy(), appearanceSide)
	var weights [appearanceSide]float32
	for x := range cols {
		u := 2*(float64(x)+.5)/float64(cols) - 1
		weights[x] = float32(math.Exp(-sideFall * u * u))
	}
	for y := range rows {
		s, toS := bin((float64(y)+.5)/float64(rows)*stripes-.5, stripes)
		row := t.Lab[3*((cells.Min.Y+y*cells.Dy()/rows)*t.Width+cells.Min.X):]
		for x, weight := range weights[:cols] {
			sum += weight
			c := row[3*(x*cells.Dx()/cols):][:3:3]
			a.add(s, toS, [3]float32{float32(c[0]) / LabUnit, float32(c[1]) / LabUnit, float32(c[2]) / LabUnit}, weight)
		}
	}
	for i := range a {
		a[i] /= max(sum, 1e-9)
	}
	return a
}

// IsAppearance tells whether v can be an Appearance: that of something, or nil.
func IsAppearance(v []float32) bool {
	for _, w := range v {
		if !(w >= 0 && w <= 2) {
			return false
		}
	}
	return len(v) == 0 || len(v) == appearanceBins
}
