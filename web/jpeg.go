package web

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
)

// encoder turns BGR pictures into JPEG. It keeps its planes between calls and
// is for one goroutine at a time.
type encoder struct {
	quality int
	planes  image.YCbCr
	small   []byte
	last    int // bytes of the last JPEG, a guess for the next
}

// encodeAt is encode of the picture at a width of at most its own.
func (e *encoder) encodeAt(bgr []byte, width, height, to int) ([]byte, error) {
	if to >= width || width <= 0 || height <= 0 || len(bgr) != 3*width*height {
		return e.encode(bgr, width, height)
	}
	lower := max(1, (height*to+width/2)/width)
	e.small = shrink(e.small, bgr, width, height, to, lower)
	return e.encode(e.small, to, lower)
}

// shrink makes a picture smaller: each of its pixels is the mean of those that it
// stands for. dst is grown as needed and returned.
func shrink(dst, bgr []byte, width, height, to, lower int) []byte {
	if cap(dst) < 3*to*lower {
		dst = make([]byte, 3*to*lower)
	}
	dst = dst[:3*to*lower]
	for y := range lower {
		top, bottom := y*height/lower, (y+1)*height/lower
		for x := range to {
			left, right := x*width/to, (x+1)*width/to
			var b, g, r uint32
			for v := top; v < bottom; v++ {
				row := bgr[3*(v*width+left) : 3*(v*width+right)]
				for i := 0; i < len(row); i += 3 {
					b += uint32(row[i])
					g += uint32(row[i+1])
					r += uint32(row[i+2])
				}
			}
			n := uint32((bottom - top) * (right - left))
			out := dst[3*(y*to+x):][:3]
			out[0], out[1], out[2] = uint8((b+n/2)/n), uint8((g+n/2)/n), uint8((r+n/2)/n)
		}
	}
	return dst
}

// encode returns bgr (tight rows of width×3 bytes) as JPEG in memory of its own.
func (e *encoder) encode(bgr []byte, width, height int) ([]byte, error) {
	if width <= 0 || height <= 0 || len(bgr) != 3*width*height {
		return nil, fmt.Errorf("web: picture of %d bytes for %d×%d; accepts tight BGR, 3 bytes a pixel", len(bgr), width, height)
	}
	e.resize(width, height)
	toYCbCr(&e.planes, bgr)
	out := bytes.NewBuffer(make([]byte, 0, e.last+e.last/8+1024))
	if err := jpeg.Encode(out, &e.planes, &jpeg.Options{Quality: e.quality}); err != nil {
		return nil, fmt.Errorf("web: encoding JPEG: %w", err)
	}
	e.last = out.Len()
	return out.Bytes(), nil
}

func (e *encoder) resize(width, height int) {
	if e.planes.Rect.Dx() == width && e.planes.Rect.Dy() == height {
		return
	}
	e.planes = *image.NewYCbCr(image.Rect(0, 0, width, height), image.YCbCrSubsampleRatio420)
}

// Weights of JFIF's conversion in 1/65536, as image/color has them.
const (
	yR, yG, yB    = 19595, 38470, 7471
	cbR, cbG, cbB = -11056, -21712, 32768
	crR, crG, crB = 32768, -27440, -5328
	half          = 1 << 15
	chromaZero    = 257 << 15
)

// toYCbCr converts tight BGR into the planes of dst, 4:2:0, the colour of four
// pixels averaged. dst has the picture's size. It is one function because the
// four luma and two chroma values of a 2×2 block share their loads.
func toYCbCr(dst *image.YCbCr, bgr []byte) {
	width, height := dst.Rect.Dx(), dst.Rect.Dy()
	for y := 0; y < height; y += 2 {
		below := min(y+1, height-1) // the last row of an odd height counts twice
		row0 := bgr[3*width*y : 3*width*(y+1)]
		row1 := bgr[3*width*below : 3*width*(below+1)]
		luma0 := dst.Y[dst.YStride*y:][:width]
		luma1 := dst.Y[dst.YStride*below:][:width]
		cb := dst.Cb[dst.CStride*(y/2):][:(width+1)/2]
		cr := dst.Cr[dst.CStride*(y/2):][:(width+1)/2]
		for c := range cb {
			x := 2 * c
			right := min(x+1, width-1)
			p, q := row0[3*x:3*x+3], row0[3*right:3*right+3]
			r, s := row1[3*x:3*x+3], row1[3*right:3*right+3]
			luma0[x], luma0[right] = luma(p), luma(q)
			luma1[x], luma1[right] = luma(r), luma(s)
			b := int32(p[0]) + int32(q[0]) + int32(r[0]) + int32(s[0])
			g := int32(p[1]) + int32(q[1]) + int32(r[1]) + int32(s[1])
			red := int32(p[2]) + int32(q[2]) + int32(r[2]) + int32(s[2])
			cb[c] = chroma(cbR*red + cbG*g + cbB*b)
			cr[c] = chroma(crR*red + crG*g + crB*b)
		}
	}
}

func luma(bgr []byte) uint8 {
	return uint8((yR*int32(bgr[2]) + yG*int32(bgr[1]) + yB*int32(bgr[0]) + half) >> 16)
}

// chroma scales four times a colour difference in 1/65536 and moves it to its
// zero at 128. Only the very end of the range leaves a byte.
func chroma(four int32) uint8 {
	return uint8(min(255, (four/4+chromaZero)>>16))
}
