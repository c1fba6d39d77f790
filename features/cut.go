package features

import (
	"math"
	"time"
)

// How a cut is recognised: of 3,956 pictures of 13 videos at 25 and 10 a second, standing cameras and moving ones, in
// both directions of time, none has it, of 1,982 at half the rate 4; of 101 cuts to another moment of the same video 91 have
// it, at half the rate 80 of 102.
const (
	// A block counts from this standard deviation of L on, and is matched where its normalised cross-correlation is
	// cutAlike: light that changes leaves both as they are.
	cutTexture = 3.
	cutAlike   = .7
	// Cut is what leaves at least cutBlocks blocks unmatched, cutRise times as large a share as of late and cutMost times as large
	// as any of late, and cutShare of the share that a picture of a second ago leaves: the one before is no more like it than
	// that. Without cutMost dust before a car that the camera follows is a cut (drift-straight, 1 of 5 repeats).
	cutBlocks = 8
	cutRise   = 4.
	cutShare  = .7
	cutMost   = 1.5
	// cutLate is how long "of late" is, and how old at least that other picture is.
	cutLate = time.Second
)

// A CutDetector tells where a stream's scene is cut: what is in a picture was not in the one before, as where another
// camera is switched to, or a clip begins anew. One goroutine uses it.
type CutDetector struct {
	at      time.Duration
	early   [2]field // of cutLate ago and more, and what becomes that
	earlyAt [2]time.Duration
	known   int // of these
	usual   float64
	most    float64 // share of late, the less the longer ago
}

// Step tells whether the scene was cut before the picture that m has just measured, which was taken at a stream time.
// Within a second of the first picture, of a cut and of a pause no cut is seen.
func (c *CutDetector) Step(m *CameraMotion, at time.Duration) bool {
	since := at - c.at
	c.at = at
	if m.last.width != m.now.width || m.last.height != m.now.height || since <= 0 || since > cutLate {
		c.known = 0
		c.keep(&m.now)
		return false
	}
	unmatched, blocks := m.now.unmatched(&m.last, -m.right, -m.down)
	share := float64(unmatched) / float64(max(blocks, 1))
	if c.known == len(c.early) && unmatched >= cutBlocks && share >= cutRise*c.usual && share >= cutMost*c.most {
		if than, _ := m.now.unmatched(&c.early[0], 0, 0); float64(unmatched) >= cutShare*float64(than) {
			c.known = 0
			c.keep(&m.now)
			return true
		}
	}
	if at-c.earlyAt[c.known-1] >= cutLate {
		c.keep(&m.now)
	}
	fade := math.Exp(-since.Seconds() / cutLate.Seconds())
	c.usual += (share - c.usual) * (1 - fade)
	c.most = max(share, c.most*fade)
	return false
}

// keep makes a picture one of the early ones.
func (c *CutDetector) keep(picture *field) {
	if c.known == len(c.early) {
		c.early[0], c.early[1] = c.early[1], c.early[0]
		c.earlyAt[0] = c.earlyAt[1]
		c.known--
	}
	f := &c.early[c.known]
	f.width, f.height = picture.width, picture.height
	f.l = append(f.l[:0], picture.l...)
	c.earlyAt[c.known] = c.at
	c.known++
}

// unmatched counts the blocks of f with texture that should be in another, so far right and down, and those of them that are
// like none there: within motionReach of it, or where they are.
func (f *field) unmatched(other *field, right, down int) (unmatched, blocks int) {
	dx, dy := right, down // where the last one was found: blocks move together
	for y := 0; y+motionBlock <= f.height; y += motionBlock {
		for x := 0; x+motionBlock <= f.width; x += motionBlock {
			if x+right < 0 || y+down < 0 || x+right+motionBlock > f.width || y+down+motionBlock > f.height {
				continue
			}
			sum, squares := 0., 0.
			for v := range motionBlock {
				for _, l := range f.l[(y+v)*f.width+x:][:motionBlock] {
					sum, squares = sum+float64(l), squares+float64(l)*float64(l)
				}
			}
			const n = motionBlock * motionBlock
			variance := squares/n - sum*sum/(n*n)
			if variance < cutTexture*cutTexture {
				continue
			}
			blocks++
			alike := func(u, v int) bool {
				if x+u < 0 || y+v < 0 || x+u+motionBlock > f.width || y+v+motionBlock > f.height {
					return false
				}
				if f.correlates(other, y*f.width+x, (y+v)*f.width+x+u, sum/n, variance) {
					dx, dy = u, v
					return true
				}
				return false
			}
			found := alike(0, 0) || alike(dx, dy)
			for r := 1; r <= motionReach && !found; r++ {
				for k := -r; k <= r && !found; k++ {
					found = alike(right+k, down-r) || alike(right+k, down+r) || alike(right-r, down+k) || alike(right+r, down+k)
				}
			}
			if !found {
				unmatched++
			}
		}
	}
	return unmatched, blocks
}

// correlates tells whether a block of f, whose first cell is at, of a mean and a variance, is like that of another.
func (f *field) correlates(other *field, at, to int, mean, variance float64) bool {
	const n = motionBlock * motionBlock
	sum, squares, products := float32(0), float32(0), float32(0)
	m := float32(mean)
	for v := range motionBlock {
		a, b := f.l[at+v*f.width:][:motionBlock], other.l[to+v*f.width:][:motionBlock]
		for u, l := range b {
			d := l - m
			sum, squares, products = sum+d, squares+d*d, products+d*(a[u]-m)
		}
	}
	other2 := float64(squares)/n - float64(sum)*float64(sum)/(n*n)
	return other2 > 0 && float64(products)/n > cutAlike*math.Sqrt(other2*variance)
}
