package features

import (
	"cmp"
	"math"
	"slices"
)

// An Exposure is how a model is shown a picture: a byte v of any channel as
// 255·e^Gain·(v/255)^(e^Gamma), at most 255. The zero Exposure shows it as it is.
type Exposure struct{ Gain, Gamma float64 }

// At is what v is shown as.
func (x Exposure) At(v byte) float64 {
	if x == (Exposure{}) {
		return float64(v)
	}
	return min(255, 255*math.Exp(x.Gain)*math.Pow(float64(v)/255, math.Exp(x.Gamma)))
}

// How the exposure follows a change of light.
const (
	// lightSide is how many blocks the picture's longer side has.
	lightSide = 64
	// Blocks are compared by their logarithms, of those that are neither dark nor burnt out.
	darkest, brightest = 6, 240
	// lightBins are the levels at which the change is measured, leastBlocks how many blocks
	// each wants.
	lightBins, leastBlocks = 6, 8
	// lightRidge draws the gamma of pictures that are all of one brightness to 1.
	lightRidge = 0.02
	// sameScene is how much of a change is believed: half, where blocks differ from it by as much
	// in the median. They differ by .02 to .06 where the camera stands, by .1 to .3 where it pans.
	sameScene = 0.1
	// lightFades is which part of a change is taken for the scene's own after each picture: features of
	// the latest pictures follow what is slow, and errors do not sum up.
	lightFades = 0.02
	// Beyond these nothing is left to be shown.
	mostGain, mostGamma = 2, 0.9
	// mostSlope bounds how much more of a level's logarithm is change than level: of a negative it is
	// anything.
	mostSlope = 1
)

// Light is that of a picture, and how the picture was shown: what a later one's exposure is told by. By
// the zero Light a picture is shown as it is.
type Light struct {
	Exposure   Exposure
	cols, rows int
	levels     []float32 // rows×cols, logarithms
}

// Copy makes l the same as from, in its own memory.
func (l *Light) Copy(from *Light) {
	l.Exposure, l.cols, l.rows = from.Exposure, from.cols, from.rows
	l.levels = append(l.levels[:0], from.levels...)
}

// levelOf is the logarithm of the sRGB grey, as a share of white, of each L in LabUnits.
var levelOf = func() (levels [100*LabUnit + 1]float32) {
	for l := range levels {
		f := (float64(l)/LabUnit + 16) / 116
		y := f * f * f
		if y <= labEpsilon {
			y = float64(l) / LabUnit / labKappa
		}
		grey := 12.92 * y
		if y > 0.0031308 {
			grey = 1.055*math.Pow(y, 1/2.4) - 0.055
		}
		levels[l] = float32(math.Log(max(grey, 1./255)))
	}
	return levels
}()

// measure sets the blocks' levels: the means of their cells'.
func (l *Light) measure(t *Thumbnail) {
	side := max(1, max(t.Width, t.Height)/lightSide)
	l.cols, l.rows = t.Width/side, t.Height/side
	l.levels = grown(l.levels, l.cols*l.rows)
	clear(l.levels)
	for y := range l.rows * side {
		out := l.levels[y/side*l.cols:][:l.cols]
		row := t.Lab[colours*y*t.Width:]
		for x := range out {
			var sum float32
			for range side {
				sum += levelOf[min(max(row[0], 0), 100*LabUnit)]
				row = row[colours:]
			}
			out[x] += sum
		}
	}
	for i := range l.levels {
		l.levels[i] /= float32(side * side)
	}
}

// lightMeter tells exposures. It holds the memory for it.
type lightMeter struct {
	pairs []levelPair
	off   []float64
}

// levelPair is a block in two pictures.
type levelPair struct{ mean, change float64 }

// meter makes l the light of an image, and its exposure such that what stands still looks as in the
// earlier one. Only what most blocks at a level agree on counts, and what is left of their differences says
// how far they do: what moves, and what a panning camera brings, is no light.
func (m *lightMeter) meter(l *Light, t *Thumbnail, earlier *Light) {
	l.measure(t)
	l.Exposure = Exposure{}
	if l.cols != earlier.cols || l.rows != earlier.rows {
		return
	}
	offset, slope := m.change(l.levels, earlier.levels)
	// The earlier picture's level is offset + slope·level, and is shown as Gain + e^Gamma·that.
	gain := earlier.Exposure.Gain + math.Exp(earlier.Exposure.Gamma)*offset
	gamma := earlier.Exposure.Gamma + math.Log(slope)
	l.Exposure.Gain = min(max(gain*(1-lightFades), -mostGain), mostGain)
	l.Exposure.Gamma = min(max(gamma*(1-lightFades), -mostGamma), mostGamma)
}

// change fits earlier levels as offset + slope·now.
func (m *lightMeter) change(now, earlier []float32) (offset, slope float64) {
	usable := func(v float32) bool { return v > logDarkest && v < logBrightest }
	m.pairs = m.pairs[:0]
	for i, v := range now {
		if w := earlier[i]; usable(v) && usable(w) {
			m.pairs = append(m.pairs, levelPair{float64(v+w) / 2, float64(w - v)})
		}
	}
	n := len(m.pairs)
	if n < lightBins*leastBlocks {
		return 0, 1
	}
	// By the mean of both: by one of them, what moved would look like a loss of contrast.
	slices.SortFunc(m.pairs, func(a, b levelPair) int { return cmp.Compare(a.mean, b.mean) })
	var x, y [lightBins]float64
	meanX, meanY := 0.0, 0.0
	for k := range lightBins {
		bin := m.pairs[k*n/lightBins : (k+1)*n/lightBins]
		m.off = m.off[:0]
		for _, p := range bin {
			x[k] += p.mean / float64(len(bin))
			m.off = append(m.off, p.change)
		}
		slices.Sort(m.off)
		middle := m.off[len(m.off)/4 : len(m.off)-len(m.off)/4]
		for _, v := range middle {
			y[k] += v / float64(len(middle))
		}
		meanX += x[k] / lightBins
		meanY += y[k] / lightBins
	}
	var xx, xy float64
	for k := range lightBins {
		xx += (x[k] - meanX) * (x[k] - meanX) / lightBins
		xy += (x[k] - meanX) * (y[k] - meanY) / lightBins
	}
	// change = a + b·mean
	b := min(max(xy/(xx+lightRidge), -mostSlope), mostSlope)
	a := meanY - b*meanX
	m.off = m.off[:0]
	for _, p := range m.pairs {
		m.off = append(m.off, math.Abs(p.change-a-b*p.mean))
	}
	slices.Sort(m.off)
	left := m.off[n/2]
	believed := sameScene * sameScene / (sameScene*sameScene + left*left)
	return believed * a / (1 - b/2), 1 + believed*((1+b/2)/(1-b/2)-1)
}

var logDarkest, logBrightest = float32(math.Log(darkest / 255.)), float32(math.Log(brightest / 255.))
