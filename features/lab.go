package features

import "math"

const (
	// cubeSteps is the resolution of the interpolated cube-root table. With 2,048
	// steps the largest error is 0.01 in a, where the curve bends most.
	cubeSteps = 2048
	// labEpsilon and labKappa are the CIE's (6/29)³ and (29/3)³: below the first the
	// cube root is replaced by a line.
	labEpsilon = 216.0 / 24389
	labKappa   = 24389.0 / 27
)

// LabUnit is how many steps of the integers that hold colours make one unit of
// CIELAB; ±128 units fit an int16 and the square of any distance an int32.
const LabUnit = 64

// xyz is a colour's share of X/Xn, Y/Yn, Z/Zn, scaled by cubeSteps.
type xyz struct{ x, y, z float32 }

// knot is the cube-root table's value at a step and its slope to the next.
type knot struct{ value, slope float32 }

// labTables maps sRGB bytes to CIELAB: one lookup a channel for the gamma and the
// matrix together, one a coordinate for the cube root.
type labTables struct {
	b, g, r [256]xyz
	cube    [cubeSteps + 2]knot
}

var lab = newLabTables()

func newLabTables() *labTables {
	// IEC 61966-2-1 primaries, rows divided by the D65 white they sum to, so that
	// white is exactly (1, 1, 1) and greys have a = b = 0.
	matrix := [3][3]float64{
		{0.4124564, 0.3575761, 0.1804375},
		{0.2126729, 0.7151522, 0.0721750},
		{0.0193339, 0.1191920, 0.9503041},
	}
	t := new(labTables)
	for v := range 256 {
		c := float64(v) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		for ch, table := range []*[256]xyz{&t.r, &t.g, &t.b} {
			share := func(row int) float32 {
				m := matrix[row]
				return float32(c * m[ch] / (m[0] + m[1] + m[2]) * cubeSteps)
			}
			table[v] = xyz{share(0), share(1), share(2)}
		}
	}
	f := func(i int) float64 {
		v := float64(i) / cubeSteps
		if v > labEpsilon {
			return math.Cbrt(v)
		}
		return (labKappa*v + 16) / 116
	}
	for i := range t.cube {
		t.cube[i] = knot{float32(f(i)), float32(f(i+1) - f(i))}
	}
	return t
}

// at converts one sRGB pixel to CIELAB, in LabUnits.
func (t *labTables) at(b, g, r byte) (l, a, bb int16) {
	pb, pg, pr := &t.b[b], &t.g[g], &t.r[r]
	x := pb.x + pg.x + pr.x
	y := pb.y + pg.y + pr.y
	z := pb.z + pg.z + pr.z
	ix, iy, iz := int32(x), int32(y), int32(z)
	kx, ky, kz := &t.cube[ix], &t.cube[iy], &t.cube[iz]
	fx := kx.value + float32(kx.slope*(x-float32(ix)))
	fy := ky.value + float32(ky.slope*(y-float32(iy)))
	fz := kz.value + float32(kz.slope*(z-float32(iz)))
	return rounded(float32(116*LabUnit*fy) - 16*LabUnit), rounded(500 * LabUnit * (fx - fy)), rounded(200 * LabUnit * (fy - fz))
}

// rounded rounds to nearest; conversion alone would round towards zero.
func rounded(v float32) int16 {
	const positive = 1 << 14
	return int16(int32(v+positive+0.5) - positive)
}
