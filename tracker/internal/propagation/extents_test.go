package propagation

import (
	"image"
	"math"
	"slices"
	"testing"

	"github.com/segd/segd/tracker/internal/trackstate"
)

// tracked are objects with a track, in boxes; empty ones are hidden.
func tracked(misfit float64, boxes ...image.Rectangle) (all []Object) {
	for _, b := range boxes {
		all = append(all, Object{Object: &trackstate.Object{Tracked: true, Area: 100}, Detection: &Detection{}, Extent: b, Misfit: misfit})
	}
	return all
}

// A box with a lower foot is in front: of what it does not fill the others have their share.
func TestExtentsAreLaid(t *testing.T) {
	p := made(t, 1)[0]
	front, behind := image.Rect(10, 6, 40, 56), image.Rect(20, 0, 50, 40)
	var e extents
	e.lay(p, tracked(1, behind, front, image.Rectangle{}))
	if len(e.order) != 2 || e.order[0] != 1 {
		t.Fatalf("from the front %v; want the second and the first, without the hidden one", e.order)
	}
	share := func(box image.Rectangle, i int) float64 { return 1 / (1 + math.Exp(-boxLogit(box, p, i))) }
	for i := range p.N {
		at := image.Pt(int(p.Centroid[2*i]), int(p.Centroid[2*i+1]))
		f, b := share(front, i), share(behind, i)
		if math.Abs(e.shown(i, 1)-f) > 1e-9 || math.Abs(e.shown(i, 0)-(1-f)*b) > 1e-9 {
			t.Fatalf("superpixel %d: %g and %g; want %g and %g", i, e.shown(i, 1), e.shown(i, 0), f, (1-f)*b)
		}
		if in := at.In(front.Inset(5)); in && f < 0.7 || !at.In(front.Inset(-12)) && f > 0.1 {
			t.Errorf("superpixel %d at %v: %g", i, at, f)
		}
	}
}

// The boxes vote for what their objects' masks do not fit, and a superpixel far outside of a box is background,
// whichever neighbour votes for it, but what has no track. Where a mask fits its box that counts for less inside.
func TestExtentsVote(t *testing.T) {
	p := made(t, 1)[0]
	box := image.Rect(0, 0, 24, 24)
	for _, misfit := range []float64{0, 1} {
		objects := append(tracked(misfit, box), Object{Object: &trackstate.Object{Area: 100}, Detection: &Detection{}})
		var e extents
		e.lay(p, objects)
		can := listed(slices.Repeat([]bool{true}, 3*p.N), 3)
		v := votes{q: make([]float64, 3*p.N), support: make([]float64, p.N), reliable: make([]float64, p.N), can: can, labels: 3}
		for i := range p.N {
			v.q[3*i], v.q[3*i+1], v.q[3*i+2] = 2, 4, 6
		}
		e.vote(v, objects)
		e.weigh(v, objects)
		for i := range p.N {
			row, at := v.q[3*i:3*i+3], image.Pt(int(p.Centroid[2*i]), int(p.Centroid[2*i+1]))
			if want := misfit * boxVotes; v.support[i] != want || v.reliable[i] != want {
				t.Fatalf("misfit %g, superpixel %d: %g votes; want %g", misfit, i, v.support[i], want)
			}
			switch {
			case at.In(box.Inset(4)) && misfit == 0 && (row[0] != 2 || row[1] < 8 || row[1] > 4*math.Exp(boxOdds*insideShare) || row[2] != 6):
				t.Errorf("superpixel %d in a box that the mask fits: %v", i, row)
			case at.In(box.Inset(4)) && misfit == 1 && row[1] < 5*(row[0]+row[2]):
				t.Errorf("superpixel %d in a box without a mask: %v", i, row)
			case !at.In(box.Inset(-12)) && (row[1] > 0.1*row[0] || row[2] < 6):
				t.Errorf("misfit %g, superpixel %d outside: %v", misfit, i, row)
			}
		}
	}
}

// What had a track and has none is behind the boxes of others, by its votes and by its looks; what never had one may be held before them.
func TestTrackLostIsBehind(t *testing.T) {
	p := made(t, 1)[0]
	box := image.Rect(0, 0, 24, 24)
	for _, lost := range []bool{true, false} {
		looks := make([]float64, p.N)
		for i := range looks {
			looks[i] = 0.9
		}
		objects := append(tracked(0, box), Object{Object: &trackstate.Object{Area: 100}, Detection: &Detection{Probability: looks}, TrackLost: lost})
		var e extents
		e.lay(p, objects)
		q := make([]float64, 3*p.N)
		for i := range p.N {
			q[3*i+2] = 6
		}
		e.weigh(votes{q: q, can: listed(slices.Repeat([]bool{true}, 3*p.N), 3), labels: 3}, objects)
		for i := range p.N {
			at := image.Pt(int(p.Centroid[2*i]), int(p.Centroid[2*i+1]))
			if in := at.In(box.Inset(4)); lost && in && (q[3*i+2] > 1.5 || q[3*i] < 0.5 || looks[i] > 0.25) {
				t.Errorf("superpixel %d in another's box: votes %v, probability %g", i, q[3*i:3*i+3], looks[i])
			} else if lost && !at.In(box.Inset(-12)) && (q[3*i+2] < 5 || looks[i] < 0.8) || !lost && (q[3*i+2] != 6 || looks[i] != 0.9) {
				t.Errorf("lost %t, superpixel %d at %v: votes %v, probability %g", lost, i, at, q[3*i:3*i+3], looks[i])
			}
		}
	}
}

// Where an object is shown by its box the classifier counts by as much, in every picture that is propagated to.
func TestShown(t *testing.T) {
	p := made(t, 1)[0]
	var a Affinity
	var b Belief
	b.Reset(p.N, 2)
	a.Propagate(&b, p, 1, nil, tracked(1, image.Rect(10, 6, 40, 56)))
	if len(b.Shown) != 2*p.N {
		t.Fatalf("%d shares; want %d", len(b.Shown), 2*p.N)
	}
	for i := range p.N {
		if b.Shown[2*i] != 1 || b.Shown[2*i+1] != a.extents.shown(i, 0) {
			t.Fatalf("superpixel %d: shares %v; want 1 and %g", i, b.Shown[2*i:2*i+2], a.extents.shown(i, 0))
		}
	}
	without := tracked(1, image.Rectangle{})
	b.Reset(p.N, 2)
	if a.Propagate(&b, p, 1, nil, without); len(b.Shown) != 0 {
		t.Error("without boxes there are shares")
	}
}

// A mask head's log odds are added to those of the box.
func TestMaskLogitsAreAdded(t *testing.T) {
	p := made(t, 1)[0]
	box := image.Rect(10, 6, 40, 56)
	var e extents
	objects := tracked(1, box)
	e.lay(p, objects)
	alone := slices.Clone(e.odds)
	objects[0].MaskLogits = make([]float32, p.N)
	for i := range objects[0].MaskLogits {
		objects[0].MaskLogits[i] = float32(i%5) - 2
	}
	e.lay(p, objects)
	for i, odds := range e.odds {
		if want := alone[i] * math.Exp(float64(objects[0].MaskLogits[i])); alone[i] > farOdds && math.Abs(odds-want) > 1e-9*want {
			t.Fatalf("superpixel %d: odds %g; want %g", i, odds, want)
		}
	}
}
