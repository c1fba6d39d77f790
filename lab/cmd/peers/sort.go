package main

import (
	"math"
	"slices"

	"github.com/segd/segd/internal/assignment"
	"github.com/segd/segd/lab/mot"
)

// The constants of SORT (Bewley et al., "Simple Online and Realtime Tracking", 2016), of
// the paper and of its authors' program.
const (
	sortIoU     = 0.3
	sortMaxAge  = 1 // looks without a match that a track outlives
	sortMinHits = 3 // matches in a row until it is reported, but at the beginning
)

// axis is a Kalman filter of one number that changes at a constant rate a frame. SORT's
// filter of seven states falls into four of these: its matrices have nothing that joins
// them.
type axis struct {
	x, v           float64
	xx, xv, vv     float64 // covariance
	noise          float64 // variance of a measurement
	xDrift, vDrift float64 // variance that a frame adds
}

func (a *axis) predict() {
	a.x += a.v
	a.xx += 2*a.xv + a.vv + a.xDrift
	a.xv += a.vv
	a.vv += a.vDrift
}

func (a *axis) update(measured float64) {
	gain, rate := a.xx/(a.xx+a.noise), a.xv/(a.xx+a.noise)
	off := measured - a.x
	a.x += gain * off
	a.v += rate * off
	a.vv -= rate * a.xv
	a.xv *= 1 - gain
	a.xx *= 1 - gain
}

// sortTrack follows the centre, the area and the aspect of a box.
type sortTrack struct {
	id                 int
	x, y, area, aspect axis
	missed             int // looks since the last match
	hits               int // looks in a row with a match, after the first
}

func newSortTrack(id int, b mot.Box) *sortTrack {
	const position, rate = 10, 1e4 // variance at first: nothing is known of the rate
	axis := func(x, noise, vv, vDrift float64) axis {
		return axis{x: x, xx: position, vv: vv, noise: noise, xDrift: 1, vDrift: vDrift}
	}
	x, y, area, aspect := measure(b)
	return &sortTrack{
		id: id,
		x:  axis(x, 1, rate, 0.01), y: axis(y, 1, rate, 0.01),
		area: axis(area, 10, rate, 1e-4), aspect: axis(aspect, 10, 0, 0),
	}
}

func measure(b mot.Box) (x, y, area, aspect float64) {
	return b.Left + b.Width/2, b.Top + b.Height/2, b.Width * b.Height, b.Width / b.Height
}

func (t *sortTrack) axes() []*axis { return []*axis{&t.x, &t.y, &t.area, &t.aspect} }

func (t *sortTrack) predict() {
	if t.area.x+t.area.v <= 0 {
		t.area.v = 0
	}
	for _, a := range t.axes() {
		a.predict()
	}
}

func (t *sortTrack) update(b mot.Box) {
	x, y, area, aspect := measure(b)
	for k, v := range []float64{x, y, area, aspect} {
		t.axes()[k].update(v)
	}
	t.missed = 0
	t.hits++
}

func (t *sortTrack) box() mot.Box {
	w := math.Sqrt(t.area.x * t.aspect.x)
	h := t.area.x / w
	return mot.Box{Left: t.x.x - w/2, Top: t.y.x - h/2, Width: w, Height: h}
}

// sorter is SORT.
type sorter struct {
	minHits    int
	tracks     []*sortTrack
	looks, ids int
}

// step goes on by a frame, in which detections were looked for or not, and returns where
// it says that a person is. The original is told of every frame that it was looked at; where
// it was not, tracks move on as they are predicted to, and nothing else is counted.
func (s *sorter) step(frame int, looked bool, detections []mot.Found) (found []mot.Found) {
	for _, t := range s.tracks {
		t.predict()
	}
	if looked {
		s.match(detections)
	}
	for _, t := range s.tracks {
		if t.missed == 0 && (t.hits >= s.minHits || s.looks <= s.minHits) {
			found = append(found, mot.Found{Frame: frame, ID: t.id, Box: t.box(), Score: 1})
		}
	}
	s.tracks = slices.DeleteFunc(s.tracks, func(t *sortTrack) bool { return t.missed > sortMaxAge })
	return found
}

// match gives tracks their detections, and those that are left tracks of their own.
func (s *sorter) match(detections []mot.Found) {
	s.looks++
	for _, t := range s.tracks {
		if t.missed > 0 {
			t.hits = 0
		}
		t.missed++
	}
	for d, k := range associate(detections, s.tracks) {
		if k >= 0 {
			s.tracks[k].update(detections[d].Box)
		} else {
			s.ids++
			s.tracks = append(s.tracks, newSortTrack(s.ids, detections[d].Box))
		}
	}
}

// associate returns each detection's track, or -1: those of the largest sum of IoUs, of
// which too small ones do not count. Where no IoU that is large enough has a rival, these
// are it.
func associate(detections []mot.Found, tracks []*sortTrack) []int {
	boxes := make([]mot.Box, len(tracks))
	for k, t := range tracks {
		boxes[k] = t.box()
	}
	iou := func(d, k int) float64 { return 1 - detections[d].Box.Distance(boxes[k]) }
	of, taken, rivals := make([]int, len(detections)), make([]bool, len(tracks)), false
	for d := range detections {
		of[d] = -1
		for k := range tracks {
			if iou(d, k) > sortIoU {
				rivals = rivals || of[d] >= 0 || taken[k]
				of[d], taken[k] = k, true
			}
		}
	}
	if !rivals {
		return of
	}
	of = new(assignment.Solver).Assign(len(detections), len(tracks), func(d, k int) float64 { return -iou(d, k) })
	for d, k := range of {
		if k >= 0 && iou(d, k) < sortIoU {
			of[d] = -1
		}
	}
	return of
}
