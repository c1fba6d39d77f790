package mot

import (
	"cmp"
	"math"
	"slices"

	"github.com/segd/segd/internal/assignment"
)

// ByteTrack are the scores of plain ByteTrack (Zhang et al., ECCV 2022), the floor that a tracker is held against: a
// Kalman filter of eight states, the Hungarian method on IoU, and boxes of low scores for tracks that nothing else was found of.
type ByteTrack struct {
	// High is the score from which on a box is matched first, New that from which on it begins a track, Low that from
	// which on it counts.
	High, New, Low float64
}

// PlainByteTrack is that of its published configuration for scores that are chances and a tracker that confirms tracks from
// one: that is what its high score of .5 is worth, and its low one is less than any that is found.
func PlainByteTrack(confirm float64) ByteTrack {
	return ByteTrack{High: confirm, New: confirm, Low: 0}
}

// Of its published configuration.
const (
	byteSame     = 0.65 // IoU above which two boxes of a frame are one
	byteHighIoU  = 0.2
	byteLowIoU   = 0.5
	byteKeep     = 30      // frames
	bytePosition = 1. / 20 // noise, in heights of the box
	byteVelocity = 1. / 160
)

// byteState is a coordinate with its velocity, in pixels a frame. The filter's matrices join no two coordinates.
type byteState struct{ x, v, xx, xv, vv float64 }

func (s *byteState) predict(h float64) {
	s.x += s.v
	s.xx += 2*s.xv + s.vv + bytePosition*h*bytePosition*h
	s.xv += s.vv
	s.vv += byteVelocity * h * byteVelocity * h
}

func (s *byteState) update(x, h float64) {
	n := s.xx + bytePosition*h*bytePosition*h
	gx, gv, off := s.xx/n, s.xv/n, x-s.x
	s.x, s.v = s.x+gx*off, s.v+gv*off
	s.vv -= gv * s.xv
	s.xv -= gx * s.xv
	s.xx -= gx * s.xx
}

// byteTrack is one track: the states of its box's middle, width and height.
type byteTrack struct {
	id, seen, hits int
	score          float64
	states         [4]byteState
}

func coordinates(b Box) [4]float64 {
	return [4]float64{b.Left + b.Width/2, b.Top + b.Height/2, b.Width, b.Height}
}

func newByteTrack(id, frame int, f Found) *byteTrack {
	t := &byteTrack{id: id, seen: frame, hits: 1, score: f.Score}
	for i, x := range coordinates(f.Box) {
		h, position, velocity := f.Box.Height, 2*bytePosition, 10*byteVelocity
		if i >= 2 {
			velocity = .02
		}
		t.states[i] = byteState{x: x, xx: position * h * position * h, vv: velocity * h * velocity * h}
	}
	return t
}

func (t *byteTrack) box() Box {
	w, h := t.states[2].x, t.states[3].x
	return Box{t.states[0].x - w/2, t.states[1].x - h/2, w, h}
}

func (t *byteTrack) predict() {
	h := t.states[3].x
	for i := range t.states {
		t.states[i].predict(h)
	}
}

func (t *byteTrack) update(frame int, f Found) {
	h := t.states[3].x
	for i, x := range coordinates(f.Box) {
		t.states[i].update(x, h)
	}
	t.seen, t.score = frame, f.Score
	t.hits++
}

// Follow makes tracks of what a detector found in frames first to last.
func (c ByteTrack) Follow(detected []Found, first, last int) (out []Found) {
	byFrame := map[int][]Found{}
	for _, f := range detected {
		byFrame[f.Frame] = append(byFrame[f.Frame], f)
	}
	var tracks []*byteTrack
	next := 1
	for n := first; n <= last; n++ {
		high, low := c.split(byFrame[n])
		for _, t := range tracks {
			t.predict()
		}
		rest, free := byteMatch(n, tracks, high, byteHighIoU)
		rest = slices.DeleteFunc(rest, func(t *byteTrack) bool { return t.seen != n-1 })
		byteMatch(n, rest, low, byteLowIoU)
		for _, f := range free {
			if f.Score >= c.New {
				tracks = append(tracks, newByteTrack(next, n, f))
				next++
			}
		}
		tracks = slices.DeleteFunc(tracks, func(t *byteTrack) bool { return n-t.seen > byteKeep || t.hits == 1 && t.seen < n })
		for _, t := range tracks {
			if t.seen == n && t.hits >= 2 {
				out = append(out, Found{n, t.id, t.box(), t.score})
			}
		}
	}
	return out
}

// split takes away what is the same as something surer, and parts the rest.
func (c ByteTrack) split(found []Found) (high, low []Found) {
	found = slices.Clone(found)
	slices.SortStableFunc(found, func(a, b Found) int { return cmp.Compare(b.Score, a.Score) })
	var kept []Found
	for _, f := range found {
		if f.Score < c.Low || slices.ContainsFunc(kept, func(k Found) bool { return 1-k.Box.Distance(f.Box) >= byteSame }) {
			continue
		}
		kept = append(kept, f)
		if f.Score >= c.High {
			high = append(high, f)
		} else {
			low = append(low, f)
		}
	}
	return high, low
}

// byteMatch gives tracks the boxes that fit best, and returns the tracks and the boxes that are left.
func byteMatch(n int, tracks []*byteTrack, boxes []Found, least float64) (rest []*byteTrack, free []Found) {
	var solver assignment.Solver
	taken := make([]bool, len(boxes))
	given := solver.Assign(len(tracks), len(boxes), func(i, j int) float64 {
		return math.Min(tracks[i].box().Distance(boxes[j].Box)-1, 0)
	})
	for i, t := range tracks {
		if j := given[i]; j >= 0 && 1-t.box().Distance(boxes[j].Box) > least {
			taken[j] = true
			t.update(n, boxes[j])
		} else {
			rest = append(rest, t)
		}
	}
	for j, f := range boxes {
		if !taken[j] {
			free = append(free, f)
		}
	}
	return rest, free
}
