package scribbles

import (
	"math"
	"math/rand/v2"

	"github.com/segd/segd/annotation"
)

// The rule that strokes are drawn by. Lengths are in pixels where not said
// otherwise.
const (
	brush       = 5.0  // diameter; less in thin pieces
	strokeStep  = 4.0  // from one point to the next
	strokeTurn  = 100  // degrees a stroke turns within a step, at most
	pieceShare  = 0.02 // of the object a piece has at least to be marked
	secondShare = 0.25 // of the object a piece has at least to get two strokes
	nearShare   = 0.04 // of the picture's longer side the stroke around the object keeps off it, or two brushes
	farShare    = 0.25 // of the longer side the other background strokes are long
	farStrokes  = 3
)

// drawStrokes marks an object as a user in a hurry would: a stroke or two along
// the middle of each of its pieces, one around it in the background, and three
// elsewhere. truth is height×width row-major, non-zero on the object. Every stroke
// lies on its own side of the outline by more than its brush. It draws nothing on
// an object too thin for that.
func drawStrokes(rng *rand.Rand, truth []uint8, width, height int, name string) *annotation.Annotation {
	a := &annotation.Annotation{Width: width, Height: height, Objects: []annotation.Object{{ID: 1, Label: name}}}
	inside := field{distances(truth, width, height), width, height}
	area := 0
	for _, b := range truth {
		area += int(b)
	}
	for _, piece := range pieces(truth, width, height) {
		share := float64(len(piece)) / float64(area)
		if share < pieceShare {
			continue
		}
		strokes := 1
		if share >= secondShare {
			strokes = 2
		}
		thick := 0.0
		for _, p := range piece {
			thick = math.Max(thick, inside.at[p])
		}
		w := math.Min(brush, thick-1)
		for range strokes {
			deep := math.Max(thick/2, math.Min(thick, room(w)))
			start, ok := pick(rng, piece, func(p int) bool { return inside.at[p] >= deep })
			if ok && w > 0 {
				a.Objects[0].Scribbles = append(a.Objects[0].Scribbles,
					inside.stroke(rng, start, w, math.Sqrt(float64(len(piece))), func(d float64) float64 { return d }))
			}
		}
	}

	other := make([]uint8, len(truth))
	var ground []int
	for p, b := range truth {
		if b == 0 {
			other[p] = 1
			ground = append(ground, p)
		}
	}
	outside := field{distances(other, width, height), width, height}
	off := math.Max(2*brush, nearShare*float64(max(width, height)))
	if start, ok := pick(rng, ground, func(p int) bool { return math.Abs(outside.at[p]-off) < off/5 }); ok {
		around := 0.0 // a band two pixels wide
		for _, d := range outside.at {
			if math.Abs(d-off) < 1 {
				around += 0.5
			}
		}
		a.Background = append(a.Background,
			outside.stroke(rng, start, brush, around, func(d float64) float64 { return -math.Abs(d - off) }))
	}
	for range farStrokes {
		if start, ok := pick(rng, ground, func(p int) bool { return outside.at[p] > 2*off }); ok {
			a.Background = append(a.Background,
				outside.stroke(rng, start, brush, farShare*float64(max(width, height)), func(float64) float64 { return 0 }))
		}
	}
	return a
}

// pick draws one of the pixels for which ok holds.
func pick(rng *rand.Rand, pixels []int, ok func(int) bool) (int, bool) {
	seen, at := 0, 0
	for _, p := range pixels {
		if ok(p) {
			if seen++; rng.IntN(seen) == 0 {
				at = p
			}
		}
	}
	return at, seen > 0
}

// field holds for each pixel of a region how far it is inside, 0 elsewhere.
type field struct {
	at            []float64
	width, height int
}

// stroke walks from start one way for half of length at most and then the other way
// for what is left of it, always where score of the distance is best among the
// ways it can turn, and ends early where the brush would come too near the
// region's rim.
func (f field) stroke(rng *rand.Rand, start int, width, length float64, score func(float64) float64) annotation.Stroke {
	s := annotation.Stroke{Width: width}
	heading, best := 0.0, math.Inf(-1)
	for range 16 {
		h := 2 * math.Pi * rng.Float64()
		if v := score(f.depth(ahead(f.point(start), h))); v > best {
			heading, best = h, v
		}
	}
	back := f.walk(rng, start, heading+math.Pi, width, length/2, score)
	for i := len(back) - 1; i >= 0; i-- {
		s.Points = append(s.Points, back[i])
	}
	s.Points = append(s.Points, f.point(start))
	length -= strokeStep * float64(len(back))
	s.Points = append(s.Points, f.walk(rng, start, heading, width, length, score)...)
	return s
}

func (f field) point(p int) annotation.Point {
	return annotation.Point{float64(p%f.width) + 0.5, float64(p/f.width) + 0.5}
}

// ahead is one step on.
func ahead(p annotation.Point, heading float64) annotation.Point {
	return annotation.Point{p[0] + strokeStep*math.Cos(heading), p[1] + strokeStep*math.Sin(heading)}
}

func (f field) walk(rng *rand.Rand, start int, heading, width, length float64, score func(float64) float64) []annotation.Point {
	const turns = 9
	var out []annotation.Point
	at := f.point(start)
	if f.depth(at) < room(width) {
		return nil // a dot
	}
	for walked := 0.0; walked < length; walked += strokeStep {
		best, to, turned := math.Inf(-1), at, heading
		for k := range turns {
			turn := float64(k)/(turns-1)*2 - 1
			h := heading + turn*strokeTurn*math.Pi/180 + 0.2*rng.NormFloat64()
			p := ahead(at, h)
			d := f.depth(p)
			if d < room(width) {
				continue
			}
			if v := score(d) - math.Abs(turn) + 0.5*rng.Float64(); v > best {
				best, to, turned = v, p, h
			}
		}
		if math.IsInf(best, -1) {
			break
		}
		at, heading = to, turned
		out = append(out, at)
	}
	return out
}

// room is how deep both ends of a step have to be inside for all that the brush
// paints between them to be so too: half of brush and step, what a point may be
// off its pixel's centre, and the chamfers' error.
func room(width float64) float64 { return 1.08 * ((width+strokeStep)/2 + math.Sqrt2/2) }

// depth is 0 outside of the picture.
func (f field) depth(p annotation.Point) float64 {
	if p[0] < 0 || p[1] < 0 || p[0] >= float64(f.width) || p[1] >= float64(f.height) {
		return 0
	}
	return f.at[int(p[1])*f.width+int(p[0])]
}

// distances is each object pixel's distance to the nearest pixel that is not the
// object's, by chamfers of 3 and 4 (Borgefors 1986), which are within 8 % of the
// Euclidean one. Beyond the picture nothing is known, so its rim does not count.
// +Inf when all pixels are the object's.
func distances(bits []uint8, width, height int) []float64 {
	d := make([]float64, len(bits))
	for p, b := range bits {
		if b != 0 {
			d[p] = math.Inf(1)
		}
	}
	relax := func(x, y, dx, dy int, step float64) {
		if u, v := x+dx, y+dy; u >= 0 && v >= 0 && u < width && v < height {
			d[y*width+x] = math.Min(d[y*width+x], d[v*width+u]+step)
		}
	}
	const side, corner = 1, 4.0 / 3
	for y := range height {
		for x := range width {
			relax(x, y, -1, 0, side)
			relax(x, y, 0, -1, side)
			relax(x, y, -1, -1, corner)
			relax(x, y, 1, -1, corner)
		}
	}
	for y := height - 1; y >= 0; y-- {
		for x := width - 1; x >= 0; x-- {
			relax(x, y, 1, 0, side)
			relax(x, y, 0, 1, side)
			relax(x, y, 1, 1, corner)
			relax(x, y, -1, 1, corner)
		}
	}
	return d
}

// pieces lists the pixels of each 4-connected piece of the object.
func pieces(bits []uint8, width, height int) (out [][]int) {
	seen := make([]bool, len(bits))
	for p := range bits {
		if bits[p] == 0 || seen[p] {
			continue
		}
		seen[p] = true
		piece := []int{p}
		for k := 0; k < len(piece); k++ {
			x, y := piece[k]%width, piece[k]/width
			for _, n := range [...][2]int{{x - 1, y}, {x + 1, y}, {x, y - 1}, {x, y + 1}} {
				q := n[1]*width + n[0]
				if n[0] >= 0 && n[1] >= 0 && n[0] < width && n[1] < height && bits[q] != 0 && !seen[q] {
					seen[q] = true
					piece = append(piece, q)
				}
			}
		}
		out = append(out, piece)
	}
	return out
}
