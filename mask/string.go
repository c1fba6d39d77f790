package mask

import (
	"errors"
	"fmt"
)

// MaxPixels is the largest picture, width times height, that Parse accepts:
// 16384×16384. It bounds what Decode of a mask from outside allocates.
const MaxPixels = 1 << 28

// ErrSyntax is in the chain of every error of Parse.
var ErrSyntax = errors.New("mask: not a COCO run-length string")

// The string is maskApi.c's rleToString: each count as a signed number of five
// bits a character, least significant first, bit 5 telling that more follow and
// bit 4 of the last the sign, each offset by '0'. From the fourth count on it is
// the difference from the count before the last, because neighbouring columns
// are alike.
const (
	charBits  = 5
	charMask  = 1<<charBits - 1
	charSign  = 1 << (charBits - 1)
	charMore  = 1 << charBits
	charBase  = '0'
	charLast  = charBase + charMore + charMask
	maxChars  = 7 // 35 bits: a difference of two uint32 needs 33
	deltaFrom = 3
)

// String returns the mask as COCO's compressed run lengths, "counts" in
// pycocotools.
func (r RLE) String() string {
	var most [1 << 10]byte // masks take, on the stack
	dst := most[:0]
	// Two characters hold a count or difference below 512: most of a mask's.
	if n := 2*len(r.Counts) + maxChars; n > len(most) {
		dst = make([]byte, 0, n)
	}
	return string(r.Append(dst))
}

// Append appends what String returns to dst and returns the extended buffer.
func (r RLE) Append(dst []byte) []byte {
	for i, c := range r.Counts {
		x := int64(c)
		if i >= deltaFrom {
			x -= int64(r.Counts[i-2])
		}
		for {
			c := byte(x & charMask)
			x >>= charBits
			if (c&charSign == 0 && x == 0) || (c&charSign != 0 && x == -1) {
				dst = append(dst, c+charBase)
				break
			}
			dst = append(dst, c+charMore+charBase)
		}
	}
	return dst
}

// Parse reads COCO's compressed run lengths of a picture of width×height pixels,
// the inverse of String. Runs of 0 pixels after the first, which other encoders
// may write, are merged with their neighbours.
//
// It is made for bytes from outside: it allocates no more than about four times
// len(s), and returns an error that wraps ErrSyntax when the size is negative or
// beyond MaxPixels, or when s has a foreign character, ends inside a number,
// holds a run out of range, or does not cover the picture exactly.
func Parse(s string, width, height int) (RLE, error) {
	if width < 0 || height < 0 || (height > 0 && width > MaxPixels/height) {
		return RLE{}, fmt.Errorf("%w: size %d×%d, want at least 0×0 and at most %d pixels", ErrSyntax, width, height, MaxPixels)
	}
	pixels := int64(width) * int64(height)
	counts := make([]uint32, 0, numbers(s))
	var previous, before int64 // the last count as written and the one before it
	sum := int64(0)
	for i, p := 0, 0; p < len(s); i++ {
		x, n, err := number(s[p:])
		if err != nil {
			return RLE{}, fmt.Errorf("%w: at byte %d: %w", ErrSyntax, p, err)
		}
		if i >= deltaFrom {
			x += before
		}
		if x < 0 || x > pixels-sum {
			return RLE{}, fmt.Errorf("%w: at byte %d: run %d of %d pixels, want 0 to %d, what is left of %d×%d",
				ErrSyntax, p, i, x, pixels-sum, width, height)
		}
		counts = appendRun(counts, i, uint32(x))
		before, previous = previous, x
		sum += x
		p += n
	}
	if sum != pixels {
		return RLE{}, fmt.Errorf("%w: runs cover %d pixels, want the %d of %d×%d", ErrSyntax, sum, pixels, width, height)
	}
	return RLE{Width: width, Height: height, Counts: counts}, nil
}

// numbers returns how many numbers end in s.
func numbers(s string) int {
	n := 0
	for i := range len(s) {
		if (s[i]-charBase)&charMore == 0 {
			n++
		}
	}
	return n
}

// number reads the signed number s begins with and returns it and its length.
func number(s string) (x int64, n int, err error) {
	for n < len(s) {
		c := s[n]
		if c < charBase || c > charLast {
			return 0, 0, fmt.Errorf("character %q, want %q to %q", c, byte(charBase), byte(charLast))
		}
		if n == maxChars {
			return 0, 0, fmt.Errorf("a number of more than %d characters", maxChars)
		}
		c -= charBase
		x |= int64(c&charMask) << (charBits * n)
		n++
		if c&charMore == 0 {
			if c&charSign != 0 {
				x |= -1 << (charBits * n)
			}
			return x, n, nil
		}
	}
	return 0, 0, errors.New("the string ends inside a number")
}

// appendRun appends run i, whose parity is its colour, and merges it with the
// last one of its colour when the one between them is empty.
func appendRun(counts []uint32, i int, c uint32) []uint32 {
	switch {
	case i == 0:
		return append(counts, c)
	case c == 0:
		return counts // the next run has the last one's colour again
	case (len(counts)-1)%2 == i%2:
		counts[len(counts)-1] += c
		return counts
	default:
		return append(counts, c)
	}
}
