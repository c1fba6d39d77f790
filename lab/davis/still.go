package davis

import (
	"errors"
	"image"
	"math"
	"slices"

	"github.com/segd/segd/lab/internal/clip"
	"github.com/segd/segd/lab/internal/offline"
	"github.com/segd/segd/lab/internal/stats"
)

// The course of a standing copy's object, over all frames.
const (
	stillGrow = 3.          // it grows evenly from 1 to that, whatever it does in the sequence
	stillTurn = math.Pi / 4 // it turns by so much to one side, back, to the other side and back
	// stillFill is the share of the picture's sides that it fills at most. It begins smaller if it must, and never
	// larger than it is.
	stillFill = 0.8
	// stillWay is how far it goes from the picture's middle to either side, as a share of the sides; less where
	// it would leave the picture.
	stillWay = 0.15
	// By so much its gain and its gamma change.
	stillGain, stillGamma = 0.3, 0.2
	// stillSteady is how many frames before and after one are looked at for the object's own size: an object that is
	// hidden in part for a while is no smaller.
	stillSteady = 8
	// stillHole is how many pixels around the object are taken off the plate as well: truths leave out motion blur.
	stillHole = 8
)

// still is what shows a take's object before a picture that stands.
type still struct {
	plate *offline.Picture
	poses []pose // of each frame
}

// pose is how a frame's object is put onto the plate: its pixel at from comes to to, all turned around it, scaled
// and lit.
type pose struct {
	from, to  [2]float64 // x, y; from is the object's centroid
	turn      [2]float64 // sine and cosine
	scale     float64
	light     [256]byte
	low, high [2]float64 // the turned object's box around from, not scaled
}

// newStill takes the plate from the frame in which least of the object is to be seen.
func newStill(t *take) (*still, error) {
	s := &still{poses: make([]pose, len(t.Images))}
	least := math.MaxInt
	sizes := make([]float64, len(s.poses)) // square roots of the object's pixels
	for i := range s.poses {
		p, err := t.cropped(i)
		if err != nil {
			return nil, err
		}
		pose := &s.poses[i]
		n := pose.measure(p.Truth, p.Width, stillTurn*s.swing(i, 0))
		if n < least {
			least, s.plate = n, p
		}
		sizes[i] = math.Sqrt(float64(n))
	}
	if err := vacate(s.plate); err != nil {
		return nil, err
	}
	s.grow(sizes)
	s.place()
	return s, nil
}

// course is how much of the sequence is over in frame i, from 0 to 1.
func (s *still) course(i int) float64 { return float64(i) / float64(max(1, len(s.poses)-1)) }

// swing is a sine over the sequence, of one period for k = 0 and of two for 1.
func (s *still) swing(i, k int) float64 { return math.Sin(2 * math.Pi * float64(1+k) * s.course(i)) }

// measure finds the object of a frame and turns it by an angle. It returns how many pixels the object has.
func (p *pose) measure(truth []uint8, width int, angle float64) (n int) {
	p.turn[0], p.turn[1] = math.Sincos(angle)
	for i, v := range truth {
		if v != 0 {
			n++
			p.from[0], p.from[1] = p.from[0]+float64(i%width), p.from[1]+float64(i/width)
		}
	}
	for k := range p.from {
		p.from[k] /= math.Max(1, float64(n))
	}
	for i, v := range truth {
		if v == 0 {
			continue
		}
		x, y := float64(i%width)-p.from[0], float64(i/width)-p.from[1]
		for k, v := range p.turned(x, y) {
			p.low[k], p.high[k] = math.Min(p.low[k], v), math.Max(p.high[k], v)
		}
	}
	return n
}

// turned is where (x, y) comes.
func (p *pose) turned(x, y float64) [2]float64 {
	return [2]float64{p.turn[1]*x - p.turn[0]*y, p.turn[0]*x + p.turn[1]*y}
}

// grow settles the scales, by the object's own sizes.
func (s *still) grow(sizes []float64) {
	around := func(v []float64, i int) []float64 {
		return v[max(0, i-stillSteady):min(len(v), i+stillSteady+1)]
	}
	largest, own := make([]float64, len(sizes)), make([]float64, len(sizes))
	for i := range sizes {
		largest[i] = slices.Max(around(sizes, i))
	}
	for i := range sizes {
		own[i] = math.Max(1, stats.Mean(around(largest, i)))
	}
	begin := 1.
	for i := range s.poses {
		p := &s.poses[i]
		p.scale = math.Pow(stillGrow, s.course(i)) * own[0] / own[i]
		for k, side := range s.sides() {
			if reach := p.reach(k); reach > 0 {
				begin = math.Min(begin, stillFill/2*side/reach)
			}
		}
	}
	for i := range s.poses {
		s.poses[i].scale *= begin
	}
}

func (s *still) sides() [2]float64 {
	return [2]float64{float64(s.plate.Width), float64(s.plate.Height)}
}

// reach is how far the object goes from its centroid to either side.
func (p *pose) reach(k int) float64 { return p.scale * math.Max(-p.low[k], p.high[k]) }

// place settles ways and light.
func (s *still) place() {
	way := [2]float64{stillWay, stillWay}
	for i := range s.poses {
		for k, side := range s.sides() {
			if v := math.Abs(s.swing(i, k)); v > 0 {
				way[k] = math.Min(way[k], (side/2-s.poses[i].reach(k)-1)/side/v)
			}
		}
	}
	for i := range s.poses {
		p := &s.poses[i]
		for k, side := range s.sides() {
			p.to[k] = side/2 + way[k]*side*s.swing(i, k)
		}
		p.light = lit(1+stillGain*s.swing(i, 0), 1+stillGamma*s.swing(i, 1))
	}
}

// apply is the plate with the object of frame i, of which p is the picture.
func (s *still) apply(i int, p *offline.Picture) *offline.Picture {
	out := &offline.Picture{Width: s.plate.Width, Height: s.plate.Height, BGR: slices.Clone(s.plate.BGR), Truth: slices.Clone(s.plate.Truth), Time: p.Time}
	pose, cover := &s.poses[i], softened(p)
	at := func(k int, end float64) int { return int(pose.to[k] + pose.scale*end) }
	in := image.Rect(at(0, pose.low[0])-2, at(1, pose.low[1])-2, at(0, pose.high[0])+3, at(1, pose.high[1])+3)
	in = in.Intersect(image.Rect(0, 0, out.Width, out.Height))
	samples := int(math.Ceil(1 / pose.scale)) // a side
	for y := in.Min.Y; y < in.Max.Y; y++ {
		for x := in.Min.X; x < in.Max.X; x++ {
			var sum [4]float64 // of B, G and R times their cover, and of that
			for k := range samples * samples {
				u := float64(x) - pose.to[0] + (float64(k%samples)+0.5)/float64(samples) - 0.5
				v := float64(y) - pose.to[1] + (float64(k/samples)+0.5)/float64(samples) - 0.5
				u, v = u/pose.scale, v/pose.scale
				sample(&sum, p, cover, pose.from[0]+pose.turn[1]*u+pose.turn[0]*v, pose.from[1]-pose.turn[0]*u+pose.turn[1]*v)
			}
			share := sum[3] / float64(samples*samples)
			if share == 0 {
				continue
			}
			to := y*out.Width + x
			for c := range 3 {
				own := float64(pose.light[clampByte(sum[c]/sum[3])])
				out.BGR[3*to+c] = clampByte(share*own + (1-share)*float64(out.BGR[3*to+c]))
			}
			if share > 0.5-1e-9 {
				out.Truth[to] = 1
			}
		}
	}
	return out
}

// sample adds what p has at (x, y), between its pixels, to sum.
func sample(sum *[4]float64, p *offline.Picture, cover []float64, x, y float64) {
	left, top := int(math.Floor(x)), int(math.Floor(y))
	for k := range 4 {
		u, v := left+k%2, top+k/2
		if u < 0 || v < 0 || u >= p.Width || v >= p.Height {
			continue
		}
		i := v*p.Width + u
		share := cover[i] * (1 - math.Abs(x-float64(u))) * (1 - math.Abs(y-float64(v)))
		for c := range 3 {
			sum[c] += share * float64(p.BGR[3*i+c])
		}
		sum[3] += share
	}
}

// softened is how much of each pixel is the object's: half of one at its outline, so that its edge is two pixels
// wide and has nothing of what was behind it.
func softened(p *offline.Picture) []float64 {
	out := make([]float64, len(p.Truth))
	for i, v := range p.Truth {
		if v == 0 {
			continue
		}
		n := 0
		for k := range 9 {
			x := min(max(i%p.Width+k%3-1, 0), p.Width-1)
			y := min(max(i/p.Width+k/3-1, 0), p.Height-1)
			n += int(p.Truth[y*p.Width+x])
		}
		out[i] = math.Max(0, 1.5*float64(n)/9-0.5)
	}
	return out
}

// vacate takes the object and stillHole pixels around it off p. What was hidden is made of what is to be seen: a
// pixel is the one as far on the other side of the hole's nearest edge, or that of the edge where there is none.
func vacate(p *offline.Picture) error {
	hole := make([]bool, len(p.Truth))
	inside := func(x, y int) bool { return x >= 0 && y >= 0 && x < p.Width && y < p.Height }
	disk := clip.Disk(stillHole)
	for _, i := range outline(p.Truth, p.Width, p.Height) {
		for _, d := range disk {
			if x, y := i%p.Width+d[0], i/p.Width+d[1]; inside(x, y) {
				hole[y*p.Width+x] = true
			}
		}
	}
	for i, v := range p.Truth {
		hole[i] = hole[i] || v != 0
	}
	var edge []image.Point // outside the hole, beside it
	for i, in := range hole {
		x, y := i%p.Width, i/p.Width
		for _, d := range clip.Disk(1) {
			if u, v := x+d[0], y+d[1]; !in && inside(u, v) && hole[v*p.Width+u] {
				edge = append(edge, image.Pt(x, y))
				break
			}
		}
	}
	filled := slices.Clone(p.BGR)
	for i, in := range hole {
		if !in {
			continue
		}
		if len(edge) == 0 {
			return errors.New("the object is all of every picture; want some of what is behind it")
		}
		at, nearest, least := image.Pt(i%p.Width, i/p.Width), image.Point{}, math.MaxInt
		for _, e := range edge {
			if d := e.Sub(at); d.X*d.X+d.Y*d.Y < least {
				nearest, least = e, d.X*d.X+d.Y*d.Y
			}
		}
		from := nearest.Mul(2).Sub(at)
		if !inside(from.X, from.Y) || hole[from.Y*p.Width+from.X] {
			from = nearest
		}
		copy(filled[3*i:3*i+3], p.BGR[3*(from.Y*p.Width+from.X):])
	}
	p.BGR = filled
	clear(p.Truth)
	return nil
}
