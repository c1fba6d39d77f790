package davis

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/segd/segd/lab/internal/clip"
	"github.com/segd/segd/lab/internal/offline"
)

// Perturbation is a disturbance that a sequence can be put under. The same seed
// and sequence give the same pixels.
type Perturbation uint8

const (
	Undisturbed Perturbation = iota
	// Occlusion slides a textured rectangle before the object within 4 frames; it
	// covers the object completely for 15, moving with it, and slides out on the
	// other side within 4.
	Occlusion
	// Lighting ramps the exposure's gain and the gamma by ±40 % over the sequence and
	// lets the gain flicker by up to ±10 % from frame to frame.
	Lighting
	// Noise is that of a sensor in poor light: Gaussian, independent by pixel, channel
	// and frame, of standard deviation √(6² + 12²·v/255) at value v of 255.
	Noise
	// Night has a camera switch to its infrared light over the middle third of the sequence: pictures without colour,
	// of half the light, with the sensor's noise; after either switch the exposure is twice what it should be, and
	// halves its error in each frame.
	Night
)

var perturbations = [...]string{"none", "occlusion", "lighting", "noise", "night"}

func (p Perturbation) String() string { return perturbations[p] }

// ParsePerturbation is the inverse of String.
func ParsePerturbation(s string) (Perturbation, error) {
	for p, name := range perturbations {
		if s == name {
			return Perturbation(p), nil
		}
	}
	return 0, fmt.Errorf("davis: perturbation %q; want none, occlusion, lighting, noise or night", s)
}

// tooShort says why a sequence of that many frames cannot be perturbed, or run at all,
// or nothing.
func (p Perturbation) tooShort(frames int) string {
	if frames < clip.MinFrames {
		return fmt.Sprintf("%d frames from the first that shows the object; want at least %d", frames, clip.MinFrames)
	}
	if p == Occlusion && frames < occlusionFrames {
		return fmt.Sprintf("%d frames; an occlusion takes %d: the first, %d sliding in, %d covered, %d sliding out, %d after, the last",
			frames, occlusionFrames, slideFrames, coverFrames, slideFrames, afterFrames)
	}
	return ""
}

// disturbance changes the frames of one take.
type disturbance interface {
	// apply disturbs frame i: its pixels, and its truth where the object is hidden.
	apply(i int, p *offline.Picture)
}

// newDisturbance returns nil for Undisturbed.
func newDisturbance(p Perturbation, seed uint64, t *take) (disturbance, error) {
	switch p {
	case Occlusion:
		return newPatch(seed, t)
	case Lighting:
		return newLighting(seed, t), nil
	case Noise:
		return noise{seed, t.Hash()}, nil
	case Night:
		return newNight(noise{seed, t.Hash()}, len(t.Images)), nil
	}
	return nil, nil
}

// The lighting's range.
const (
	lightRamp    = 0.4
	lightFlicker = 0.1
)

// lighting holds a value of every 8-bit value for each frame.
type lighting [][256]byte

// newLighting begins undisturbed: the gain rises, falls and comes back once, the
// gamma twice, so that they meet in all combinations.
func newLighting(seed uint64, t *take) lighting {
	rng := rand.New(rand.NewPCG(seed, t.Hash()))
	l := make(lighting, len(t.Images))
	for i := range l {
		u := float64(i) / float64(len(l)-1)
		gain, gamma := 1+lightRamp*triangle(u), 1+lightRamp*triangle(2*u)
		if i > 0 {
			gain *= 1 + lightFlicker*(2*rng.Float64()-1)
		}
		l[i] = lit(gain, gamma)
	}
	return l
}

// lit is what every 8-bit value becomes.
func lit(gain, gamma float64) (values [256]byte) {
	for v := range values {
		values[v] = clampByte(255 * gain * math.Pow(float64(v)/255, gamma))
	}
	return values
}

func (l lighting) apply(i int, p *offline.Picture) {
	for k, v := range p.BGR {
		p.BGR[k] = l[i][v]
	}
}

// triangle is a wave of period 1 that begins at 0 and rises to 1.
func triangle(u float64) float64 {
	_, u = math.Modf(u + 0.25)
	return 1 - 4*math.Abs(u-0.5)
}

func clampByte(v float64) byte { return byte(math.Max(0, math.Min(255, math.Round(v)))) }

// The noise's standard deviation: at black, and what light adds at white.
const (
	readNoise = 6.0
	shotNoise = 12.0
)

type noise struct{ seed, clip uint64 }

// of adds that of frame i to one value after the other.
func (n noise) of(i int) func(v byte) byte {
	rng := rand.New(rand.NewPCG(n.seed, n.clip+uint64(i)))
	var sigma [256]float64
	for v := range sigma {
		sigma[v] = math.Sqrt(readNoise*readNoise + shotNoise*shotNoise*float64(v)/255)
	}
	return func(v byte) byte { return clampByte(float64(v) + sigma[v]*rng.NormFloat64()) }
}

func (n noise) apply(i int, p *offline.Picture) {
	noisy := n.of(i)
	for k, v := range p.BGR {
		p.BGR[k] = noisy(v)
	}
}

// nightGain is the light of night's pictures, and exposureError what the exposure is off by at a switch, in octaves.
const (
	nightGain     = 0.5
	exposureError = 1.0
)

type night struct {
	noise     noise
	from, to  int         // the frames without colour
	exposures [][256]byte // of each frame
}

func newNight(n noise, frames int) *night {
	d := &night{noise: n, from: frames / 3, to: 2 * frames / 3, exposures: make([][256]byte, frames)}
	off := 0.0
	for i := range d.exposures {
		if off /= 2; i == d.from || i == d.to {
			off = exposureError
		}
		gain := math.Exp2(off)
		if d.dark(i) {
			gain *= nightGain
		}
		d.exposures[i] = lit(gain, 1)
	}
	return d
}

func (d *night) dark(i int) bool { return i >= d.from && i < d.to }

func (d *night) apply(i int, p *offline.Picture) {
	lit := &d.exposures[i]
	if !d.dark(i) {
		for k, v := range p.BGR {
			p.BGR[k] = lit[v]
		}
		return
	}
	noisy := d.noise.of(i)
	for k := 0; k < len(p.BGR); k += 3 {
		pixel := p.BGR[k : k+3]
		luma := clampByte(0.114*float64(pixel[0]) + 0.587*float64(pixel[1]) + 0.299*float64(pixel[2])) // BT.601
		grey := noisy(lit[luma])
		pixel[0], pixel[1], pixel[2] = grey, grey, grey
	}
}
