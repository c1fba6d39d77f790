package onvif

import "math"

// DefaultShortSide is model.short_side's: what the network sees of a picture.
const DefaultShortSide = 544

// Frames a second that segd makes use of.
const minFPS, maxFPS = 10, 25

// What is wrong with a profile, in octaves of its picture's size: a picture of half the
// size costs as much detail as one of twice the size costs decoding, and half as much
// again, since detail does not come back; MJPEG takes so much more of the network, and
// shows so many more traces of its blocks, that it is worth another step of size.
const (
	smallWeight = 1.5
	slowWeight  = 1.0
	fastWeight  = 0.25 // frames too many are left out before they cost much
	mjpegCost   = 1.5
	unknownCost = 0.5 // a size or rate that the camera does not tell
)

// Pick returns the index of the profile nearest to what segd wants: pictures whose
// shorter side is about shortSide pixels (0: DefaultShortSide), 10 to 25 of them a
// second, in H.264 or H.265 rather than MJPEG. Of equals it is the first. It is -1 if
// none has a URL and a codec that segd decodes.
func Pick(profiles []Profile, shortSide int) int {
	if shortSide <= 0 {
		shortSide = DefaultShortSide
	}
	best, least := -1, math.Inf(1)
	for i, p := range profiles {
		if c := cost(p, shortSide); c < least {
			best, least = i, c
		}
	}
	return best
}

func cost(p Profile, shortSide int) float64 {
	sum := 0.0
	switch p.Encoding {
	case "H264", "H265":
	case "MJPEG", "": // nothing said is often H.265 of a camera older than its mention in ONVIF
		sum += mjpegCost
	default:
		return math.Inf(1)
	}
	if p.URL == "" {
		return math.Inf(1)
	}
	switch size := math.Log2(float64(min(p.Width, p.Height)) / float64(shortSide)); {
	case p.Width == 0 || p.Height == 0:
		sum += unknownCost
	case size < 0:
		sum -= smallWeight * size
	default:
		sum += size
	}
	switch {
	case p.FPS == 0:
		sum += unknownCost
	case p.FPS < minFPS:
		sum += slowWeight * math.Log2(minFPS/p.FPS)
	case p.FPS > maxFPS:
		sum += fastWeight * math.Log2(p.FPS/maxFPS)
	}
	return sum
}
