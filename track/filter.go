package track

import (
	"math"
	"time"
)

// Noise of the filter, in lengths of the thing: the longer side of its box, the height of a person. A deviation
// "a root second" grows with the root of time.
const (
	// What the centre and the sides of a detector's boxes are off.
	offAt, offSize = .05, .1
	// unsureOff is by how many times as much boxes are off that are not sure: half of one is hidden.
	unsureOff = 3.
	// offFor is how long a box stays off: of more boxes in that time, each says less.
	offFor = 100 * time.Millisecond
	// How far a thing goes beside its velocity, and how its sides change, a root second.
	driftAt, driftSize = .06, .032
	// How its velocity changes: white-noise acceleration, a second and root second.
	acceleration = .25
	// The deviation of the velocity of a thing that has just been found, across and down, a second: a person walks .8.
	beginX, beginY = .5, .15
)

// axis is the Kalman filter of one coordinate with a velocity. Centre, width and height of a box are measured
// apart and move apart, so the filter of six states (cx, cy, w, h, vx, vy) falls into four: its matrices have nothing
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
type motion struct{ x, y, width, height axis }

// begin is the motion of a box of which nothing else is known than its velocity, if that.
func begin(b Box, v [2]float64) motion {
	l := b.length()
	at := func(x, v, off, moves float64) axis {
		return axis{x: x, v: v, xx: off * off * l * l, vv: moves * moves * l * l}
	}
	return motion{
		at((b.X0+b.X1)/2, v[0], offAt, beginX),
		at((b.Y0+b.Y1)/2, v[1], offAt, beginY),
		at(b.X1-b.X0, 0, offSize, 0),
		at(b.Y1-b.Y0, 0, offSize, 0),
	}
}

func (m *motion) predict(d time.Duration) {
	l, s := m.box().length(), d.Seconds()
	m.x.predict(s, driftAt*l, acceleration*l)
	m.y.predict(s, driftAt*l, acceleration*l)
	m.width.predict(s, driftSize*l, 0)
	m.height.predict(s, driftSize*l, 0)
}

// update takes a detector's box; the one before was since ago.
func (m *motion) update(b Box, since time.Duration, unsure bool) {
	off := m.box().length() * math.Sqrt(max(1, offFor.Seconds()/max(since.Seconds(), 1e-3)))
	if unsure {
		off *= unsureOff
	}
	m.x.update((b.X0+b.X1)/2, offAt*off)
	m.y.update((b.Y0+b.Y1)/2, offAt*off)
	m.width.update(b.X1-b.X0, offSize*off)
	m.height.update(b.Y1-b.Y0, offSize*off)
}

func (m *motion) box() Box {
	w, h := max(m.width.x, 1)/2, max(m.height.x, 1)/2
	return Box{m.x.x - w, m.y.x - h, m.x.x + w, m.y.x + h}
}

func (m *motion) velocity() [2]float64 { return [2]float64{m.x.v, m.y.v} }
