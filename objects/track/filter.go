package track

import (
	"math"
	"time"

	"github.com/segd/segd/features/coco"
)

// Noise of the filter, in lengths of the thing: the longer side of its box, the height of a person. A deviation
// "a root second" grows with the root of time.
const (
	// leastOff is what the centre of a box is off that is sure to be right; one less likely right is off by mostOff times what it
	// lacks, and sides by sideOff as much: by NanoDet's boxes of 300 pictures of COCO, robustly.
	leastOff, mostOff, sideOff = .01, .14, 2.
	// pairOff is what a box may be off that is of a track.
	pairOff = .05
	// offFor is how long a box stays off: of more boxes in that time, each says less.
	offFor = 100 * time.Millisecond
	// How far a thing goes beside its velocity, and how its sides change, a root second.
	driftAt, driftSize = .06, .032
)

// Of the speed of its kind: the deviation of the velocity of a thing that has just been found, and how it changes, white-noise
// acceleration, a root second. Down the picture and in size, slant of it is seen: of ground that the camera looks down on by 30°.
const (
	begins       = .6
	acceleration = .4
	slant        = .5
)

// A kind is how many of its lengths a thing goes a second: seen from the side, and seen from the front, as it comes nearer.
type kind struct{ across, nearer float64 }

// kindOf is that of a class. A person of 1.7 m walks 1.4 m/s. A car goes 27 m/s, halfway from 50 km/h in a town to
// 130 on a motorway, and is 4.5 m long and 1.8 wide. What is neither may be anything: bicycles of 1.8 m go 5 m/s, and
// animals run.
func kindOf(class string) kind {
	switch coco.Group(class) {
	case "person":
		return kind{.8, .8}
	case "car", "motorcycle":
		return kind{6, 15}
	}
	return kind{3, 3}
}

// axis is the Kalman filter of one coordinate with a velocity. Centre, width and height of a box are measured
// apart and move apart, so the filter of eight states (cx, cy, w, h and their velocities) falls into four: its matrices have nothing
// that joins them.
type axis struct {
	x, v       float64
	xx, xv, vv float64 // covariance
}

// predict moves it on by seconds. drift and acceleration are deviations a root second of x and of v.
func (a *axis) predict(seconds, drift, acceleration float64) {
	a.x += a.v * seconds
	q := acceleration * acceleration * seconds
	a.xx += seconds*(2*a.xv+seconds*a.vv) + drift*drift*seconds + q*seconds*seconds/3
	a.xv += seconds*a.vv + q*seconds/2
	a.vv += q
}

// update takes a measurement with its deviation.
func (a *axis) update(x, deviation float64) {
	s := a.xx + deviation*deviation
	toX, toV, off := a.xx/s, a.xv/s, x-a.x
	a.x, a.v = a.x+toX*off, a.v+toV*off
	a.vv -= toV * a.xv
	a.xv -= toX * a.xv
	a.xx -= toX * a.xx
}

// motion is where a box is and how it moves.
type motion struct {
	x, y, width, height axis
	kind
	focal float64 // length of the camera's lens, in pixels
}

// begin is the motion of a box of which nothing else is known than its class and the chance that it is right.
func begin(b Box, chance float64, class string, focal float64) motion {
	m := motion{kind: kindOf(class), focal: focal}
	l, off := b.length(), offAt(chance)
	at := func(x, off, moves float64) axis {
		return axis{x: x, xx: off * off * l * l, vv: begins * begins * moves * moves * l * l}
	}
	m.x = at((b.X0+b.X1)/2, off, m.across)
	m.y = at((b.Y0+b.Y1)/2, off, m.across*slant)
	m.width = at(b.X1-b.X0, sideOff*off, m.grows(l))
	m.height = at(b.Y1-b.Y0, sideOff*off, m.grows(l))
	return m
}

// offAt is what the centre of a box is off that is right by a chance, in lengths.
func offAt(chance float64) float64 { return leastOff + mostOff*(1-chance) }

// grows is by how many lengths a second the sides of a thing change that is l pixels long: so it is focal/l of its lengths
// away, at least one.
func (m *motion) grows(l float64) float64 { return m.nearer * slant * min(1, l/m.focal) }

// holds is for how long a prediction holds: until the changes of the velocity alone put it off by vague lengths.
func (m *motion) holds() time.Duration {
	return time.Duration(math.Cbrt(3*math.Pow(vague/(acceleration*m.across), 2)) * float64(time.Second))
}

func (m *motion) predict(d time.Duration) {
	l, s := m.box().length(), d.Seconds()
	m.x.predict(s, driftAt*l, acceleration*m.across*l)
	m.y.predict(s, driftAt*l, acceleration*m.across*l)
	m.width.predict(s, driftSize*l, acceleration*m.grows(l)*l)
	m.height.predict(s, driftSize*l, acceleration*m.grows(l)*l)
}

// update takes a detector's box that is right by a chance, and the same as far as the picture's border cuts it off; the one
// before was since ago. Of a side that is cut off it is not known how long it is, so the centre is as far off as half of it, too.
func (m *motion) update(b, whole Box, since time.Duration, chance float64) {
	off := offAt(chance) * m.box().length() * math.Sqrt(max(1, offFor.Seconds()/max(since.Seconds(), 1e-3)))
	update := func(centre, side *axis, from, to float64, cut bool) {
		if cut {
			centre.update((from+to)/2, math.Sqrt(off*off+side.xx/4))
			return
		}
		centre.update((from+to)/2, off)
		side.update(to-from, sideOff*off)
	}
	update(&m.x, &m.width, whole.X0, whole.X1, b.X0 != whole.X0 || b.X1 != whole.X1)
	update(&m.y, &m.height, whole.Y0, whole.Y1, b.Y0 != whole.Y0 || b.Y1 != whole.Y1)
}

func (m *motion) box() Box {
	w, h := max(m.width.x, 1)/2, max(m.height.x, 1)/2
	return Box{m.x.x - w, m.y.x - h, m.x.x + w, m.y.x + h}
}

func (m *motion) velocity() [2]float64 { return [2]float64{m.x.v, m.y.v} }
