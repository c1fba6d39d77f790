package fleet

import (
	"cmp"
	"math"
	"slices"
	"time"
)

const (
	// slack is by how much of the mean a box may be fuller than the others and still be
	// given more. With more of it boxes that take over what another had that died become so
	// uneven that the plan moves other cameras.
	slack = 0.01
	// uneven is by how much of the mean two boxes differ before the plan moves cameras:
	// well above slack, so that none go back and forth.
	uneven = 0.09
	// unknownRate is taken for that of a camera which has not been followed.
	unknownRate = 10
)

// candidate is a box that may run a camera.
type candidate struct {
	name     string
	capacity float64 // frames a second
	load     float64 // of that, in use
	full     bool    // it has as many cameras as it takes
	labels   map[string]string
	joined   instant
}

// score is how well a box suits a camera, given by its seed: that of rendezvous hashing with
// weights (Mosharaf, Schindelhauer: the highest of -w/ln(u)), so each box is first for a share
// of the cameras as large as its weight, and a change of one box's weight moves to it or away
// from it only.
func score(seed uint64, box string, weight float64) float64 {
	u := (float64(mix(fnv1a(seed, box))>>11) + 0.5) / (1 << 53)
	return -weight / math.Log(u)
}

// seed is what score needs of a camera's name, or of another one's.
func seed(camera string) uint64 { return fnv1a(fnvOffset, camera) * fnvPrime }

const (
	fnvOffset = 0xcbf29ce484222325
	fnvPrime  = 0x100000001b3
)

// fnv1a is hash/fnv's New64a, going on from h: without garbage for each pair of a camera and a
// box.
func fnv1a(h uint64, s string) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * fnvPrime
	}
	return h
}

// mix is SplitMix64's finaliser: names that differ in the last letter differ in every bit.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// use is the share of the capacity in use, with rate more.
func (c candidate) use(rate float64) float64 { return (c.load + rate) / c.capacity }

// class is 0 for a box with room, 1 for one that would be fuller than the others, 2 for
// one that would drop frames.
func (c candidate) class(rate, mean float64) int {
	switch {
	case c.use(rate) > 1:
		return 2
	case c.use(rate/2) > mean*(1+slack):
		return 1
	}
	return 0
}

// rank is how well a box suits a camera.
type rank struct {
	class int
	score float64
	name  string
}

// rank is that of a camera of that seed and rate; mean is the share of all capacity that all
// cameras take. Boxes that would drop frames come by how few.
func (c *candidate) rank(seed uint64, rate, mean float64) rank {
	r := rank{class: c.class(rate, mean), name: c.name}
	if r.class >= 2 {
		r.score = -c.use(rate)
	} else {
		r.score = score(seed, c.name, c.capacity-c.load)
	}
	return r
}

// compare is negative if a comes before b.
func (a rank) compare(b rank) int {
	return cmp.Or(a.class-b.class, cmp.Compare(b.score, a.score), cmp.Compare(a.name, b.name))
}

// ranked orders the boxes that may run a camera of that rate, the best first. Boxes that are
// full are left out.
func ranked(camera string, rate, mean float64, boxes []candidate) []candidate {
	type scored struct {
		candidate
		rank rank
	}
	all := make([]scored, 0, len(boxes))
	for _, b := range boxes {
		if !b.full {
			all = append(all, scored{b, b.rank(seed(camera), rate, mean)})
		}
	}
	slices.SortFunc(all, func(a, b scored) int { return a.rank.compare(b.rank) })
	list := make([]candidate, len(all))
	for i, s := range all {
		list[i] = s.candidate
	}
	return list
}

// patience is when a box takes cameras that no box holds.
type patience struct {
	settle time.Duration // for how long a box that has joined takes none
	delay  time.Duration // by how much later than the box before it a box takes one
}

// turn is when boxes[self] takes a camera that has been free since at, as far as is known now:
// a little after all those that suit the camera better might have taken it, each of which may
// have to look around first. If that is later than now it may be later still: no more boxes are
// looked at than it takes to find out that it is.
func (p patience) turn(self int, camera string, rate float64, wants map[string]string, mean float64, boxes []candidate, at, now instant) instant {
	seed := seed(camera)
	own := boxes[self].rank(seed, rate, mean)
	var before time.Duration
	for i := range boxes {
		b := &boxes[i]
		if i == self || b.full || b.rank(seed, rate, mean).compare(own) > 0 || !suits(b.labels, wants) {
			continue
		}
		before += p.delay
		if at = max(at, b.joined+p.settle); at+before > now {
			break
		}
	}
	return at + before
}

// meanUse is the share of the boxes' capacity that load takes.
func meanUse(load float64, boxes []candidate) float64 {
	var capacity float64
	for _, b := range boxes {
		capacity += b.capacity
	}
	if capacity == 0 {
		return 0
	}
	return load / capacity
}

// suits tells whether labels has all that a camera wants.
func suits(labels, wants map[string]string) bool {
	for name, value := range wants {
		if got, ok := labels[name]; !ok || got != value {
			return false
		}
	}
	return true
}

// move is a camera that is to change boxes.
type move struct {
	camera, from, to string
	why              Why
}

// placed is a camera that a box runs.
type placed struct {
	camera string
	box    string
	rate   float64
	wants  map[string]string
}

const (
	// leastMoves and boxesAMove bound how many cameras the plan moves a second: one for so many
	// boxes, and in a small fleet so many.
	leastMoves = 4
	boxesAMove = 4
	// hurry is by how much more it moves while a box drops frames though others have room: each
	// move helps, as when one box was there before all others and has taken all cameras.
	hurry = 4
)

func movesASecond(boxes []candidate) int {
	n := max(leastMoves, len(boxes)/boxesAMove)
	var load float64
	over := false
	for _, b := range boxes {
		load += b.load
		over = over || b.use(0) > 1
	}
	if over && meanUse(load, boxes) < 1 {
		n *= hurry
	}
	return n
}

// plan is at most so many moves that even out how full the boxes are, the largest
// difference first.
func plan(boxes []candidate, cameras []placed, most int) (moves []move) {
	by := map[string]*candidate{}
	order := make([]*candidate, len(boxes))
	var load float64
	for i := range boxes {
		b := boxes[i]
		order[i], by[b.name] = &b, &b
		load += b.load
	}
	mean := meanUse(load, boxes)
	held := map[string][]placed{}
	for _, c := range cameras {
		held[c.box] = append(held[c.box], c)
	}
	for len(moves) < most {
		slices.SortFunc(order, func(a, b *candidate) int {
			return cmp.Or(cmp.Compare(b.use(0), a.use(0)), cmp.Compare(a.name, b.name))
		})
		m, i := best(order, held, mean)
		if i < 0 {
			break
		}
		c := held[m.from][i]
		held[m.from] = slices.Delete(slices.Clone(held[m.from]), i, i+1)
		by[m.from].load -= c.rate
		by[m.to].load += c.rate
		moves = append(moves, m)
	}
	return moves
}

// best is the move from the fullest box to the emptiest that helps, and the place of its
// camera among those of the box; -1: there is none. Of the cameras it is the one that the
// emptier box suits best.
func best(order []*candidate, held map[string][]placed, mean float64) (move, int) {
	for _, from := range order {
		for k := len(order) - 1; k >= 0; k-- {
			to := order[k]
			if from.use(0)-to.use(0) <= uneven*mean {
				break // the others are fuller
			}
			if to.full {
				continue
			}
			at, highest := -1, 0.
			for i, c := range held[from.name] {
				// It must not be the other way round afterwards. But a box without cameras has measured
				// nothing, and its capacity is a guess: that it is less full than the other was is enough.
				least := from.use(-c.rate)
				if to.load == 0 {
					least = from.use(0)
				}
				if least < to.use(c.rate) || !suits(to.labels, c.wants) {
					continue
				}
				seed := seed(c.camera)
				if s := score(seed, to.name, 1) / score(seed, from.name, 1); at < 0 || s > highest {
					at, highest = i, s
				}
			}
			if at >= 0 {
				return move{held[from.name][at].camera, from.name, to.name, WhyRebalance}, at
			}
		}
	}
	return move{}, -1
}

// ring are those of boxes whose life self watches: the k that follow it in the order of
// their names' hashes, so that those who watch a box stand in no rack of its own.
func ring(self string, boxes []string, k int) []string {
	place := func(name string) uint64 { return mix(fnv1a(fnvOffset, name)) }
	others := slices.DeleteFunc(slices.Clone(boxes), func(b string) bool { return b == self })
	own := place(self)
	slices.SortFunc(others, func(a, b string) int {
		return cmp.Or(cmp.Compare(place(a)-own, place(b)-own), cmp.Compare(a, b))
	})
	return others[:min(k, len(others))]
}
