package features

import "math"

const (
	// labEpsilon and labKappa are the CIE's (6/29)³ and (29/3)³: below the first the
	// cube root is replaced by a line.
	labEpsilon = 216.0 / 24389
	labKappa   = 24389.0 / 27
)

// LabUnit is how many steps of the integers that hold colours make one unit of
// CIELAB; ±128 units fit an int16 and the square of any distance an int32.
const LabUnit = 64

// labTable is what the conversion of sRGB to CIELAB takes. Vector code reads it, and does the same
// operations in the same order as Go's: the results are the same to the bit.
type labTable struct {
	linear [256]float32 // of a byte
	// matrix leads from linear r, g and b to shares of the white's X, Y and Z, row by row.
	matrix [9]float32

	// The constants below, for vector code.
	third, rootBits                  float32
	firstA, firstB, secondA, secondB float32
	epsilon, lineSlope, lineStart    float32
	scaleL, startL, scaleA, scaleB   float32
	rounding                         float32
}

var lab = newLabTable()

func newLabTable() *labTable {
	t := &labTable{
		third: third, rootBits: rootBits, firstA: firstA, firstB: firstB, secondA: secondA, secondB: secondB,
		epsilon: labEpsilon, lineSlope: lineSlope, lineStart: lineStart,
		scaleL: scaleL, startL: startL, scaleA: scaleA, scaleB: scaleB, rounding: roundBy + 0.5,
	}
	for v := range t.linear {
		c := float64(v) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		t.linear[v] = float32(c)
	}
	// IEC 61966-2-1 primaries, rows divided by the D65 white they sum to, so that
	// white is exactly (1, 1, 1) and greys have a = b = 0.
	for row, m := range [3][3]float64{
		{0.4124564, 0.3575761, 0.1804375},
		{0.2126729, 0.7151522, 0.0721750},
		{0.0193339, 0.1191920, 0.9503041},
	} {
		for ch, v := range m {
			t.matrix[3*row+ch] = float32(v / (m[0] + m[1] + m[2]))
		}
	}
	return t
}

const (
	// The lines below labEpsilon, and what makes coordinates LabUnits.
	lineSlope, lineStart = labKappa / 116, 16.0 / 116
	scaleL, startL       = 116 * LabUnit, 16 * LabUnit
	scaleA, scaleB       = 500 * LabUnit, 200 * LabUnit
	// rootBits less a third of a float's bits are those of about its inverse cube root, to 3.5 %.
	// A step of Newton's leaves an error of −.0024 to 0, of which rootScale is the middle, and
	// another one one of −3·10⁻⁶ to 0: .002 units of a colour's a.
	rootBits, rootScale = 0x54a20000, 1.0012025
	third               = 1.0 / 3
	secondA, secondB    = 4 * third, third
	firstA, firstB      = secondA * rootScale, secondB * rootScale
	// roundBy makes what is truncated positive, and rounds.
	roundBy = 1 << 14
)

// share is the CIE's f of a share of the white: the cube root, or a line. Explicit conversions
// keep the compiler from fusing operations, which would make results depend on the machine.
func share(t float32) float32 {
	if t <= labEpsilon {
		return float32(t*lineSlope) + lineStart
	}
	z := math.Float32frombits(uint32(int32(rootBits - float32(float32(int32(math.Float32bits(t)))*third))))
	cube := float32(t * float32(float32(z*z)*z))
	z *= firstA - float32(cube*firstB)
	cube = float32(t * float32(float32(z*z)*z))
	z *= secondA - float32(cube*secondB)
	return float32(float32(t*z) * z)
}

// at converts one sRGB pixel to CIELAB, in LabUnits.
func (t *labTable) at(b, g, r byte) (l, a, bb int16) {
	lr, lg, lb := t.linear[r], t.linear[g], t.linear[b]
	xyz := func(row int) float32 {
		m := t.matrix[3*row:][:3]
		return share(float32(float32(m[0]*lr)+float32(m[1]*lg)) + float32(m[2]*lb))
	}
	x, y, z := xyz(0), xyz(1), xyz(2)
	return rounded(float32(y*scaleL) - startL), rounded(float32((x - y) * scaleA)), rounded(float32((y - z) * scaleB))
}

// rounded rounds to nearest; conversion alone would round towards zero.
func rounded(v float32) int16 { return int16(int32(v+(roundBy+0.5)) - roundBy) }

// row converts BGR24 pixels to CIELAB: three numbers a pixel in dst, and, waiting for nothing, in
// pixels.
func (t *labTable) row(dst []int16, pixels []pixel, bgr []byte) {
	n := 0
	if vector {
		if n = len(pixels) &^ 7; n > 0 {
			labVector(t, &dst[0], &pixels[0], &bgr[0], n/8)
		}
	}
	for i := n; i < len(pixels); i++ {
		p, q := bgr[3*i:][:3:3], dst[3*i:][:3:3]
		q[0], q[1], q[2] = t.at(p[0], p[1], p[2])
		pixels[i] = makePixel(q[0], q[1], q[2], unseen)
	}
}
