package mask

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// rleFrString is maskApi.c's function of that name, word for word and as
// trusting: the reference for strings it can read.
func rleFrString(s string) []int64 {
	var counts []int64
	for p := 0; p < len(s); {
		var x int64
		k, more := 0, true
		for more {
			c := int64(s[p]) - 48
			x |= (c & 0x1f) << (5 * k)
			more = c&0x20 != 0
			p++
			k++
			if !more && c&0x10 != 0 {
				x |= -1 << (5 * k)
			}
		}
		if len(counts) > 2 {
			x += counts[len(counts)-2]
		}
		counts = append(counts, x)
	}
	return counts
}

var parseErrors = []struct {
	name          string
	s             string
	width, height int
	want          string
}{
	{"empty string", "", 4, 3, "runs cover 0 pixels, want the 12 of 4×3"},
	{"too few", "5", 4, 3, "runs cover 5 pixels"},
	{"too many", "71<", 4, 3, "run 2 of 12 pixels, want 0 to 4"},
	{"negative first", "O", 4, 3, "run 0 of -1 pixels"},
	{"negative by difference", "112J", 4, 3, "run 3 of -5 pixels"},
	{"character below", "7 4", 4, 3, "at byte 1: character ' '"},
	{"character above", "7p", 4, 3, "character 'p'"},
	{"beyond ASCII", "7\xff", 4, 3, "at byte 1"},
	{"ends inside", "7Q", 4, 3, "ends inside a number"},
	{"endless number", "PPPPPPPPPPPPPPPP0", 4, 3, "more than 7 characters"},
	{"beyond 32 bits", "ooooooo", 4, 3, "ends inside"},
	{"largest number", "oooooo?", 4, 3, "run 0 of"},
	{"negative size", "<", -4, -3, "size -4×-3"},
	{"huge size", "<", 1 << 40, 1 << 40, "want at least 0×0 and at most"},
	{"just beyond", "<", 1<<14 + 1, 1 << 14, "size 16385×16384"},
}

func TestParseErrors(t *testing.T) {
	for _, tt := range parseErrors {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Parse(tt.s, tt.width, tt.height)
			if !errors.Is(err, ErrSyntax) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Parse = %v, %v; want an ErrSyntax with %q", r, err, tt.want)
			}
		})
	}
}

func TestParseMergesEmptyRuns(t *testing.T) {
	tests := []struct {
		name string
		s    string
		want []uint32
	}{
		{"object of none", "3036", []uint32{6, 6}},      // 3 0 3 0+6
		{"background of none", "0208", []uint32{0, 12}}, // 0 2 0 2+8
		{"object of none at the end", "<0", []uint32{12}},
	}
	for _, tt := range tests {
		r, err := Parse(tt.s, 4, 3)
		if err != nil {
			t.Errorf("%s: %v (as read by maskApi.c: %v)", tt.name, err, rleFrString(tt.s))
			continue
		}
		if !slices.Equal(r.Counts, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, r.Counts, tt.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, tt := range parseErrors {
		f.Add(tt.s, tt.width, tt.height)
	}
	for _, p := range pictures() {
		f.Add(p.encode().String(), p.width, p.height)
	}
	f.Fuzz(func(t *testing.T, s string, width, height int) {
		r, err := Parse(s, width, height)
		if err != nil {
			if !errors.Is(err, ErrSyntax) {
				t.Fatalf("error %v does not wrap ErrSyntax", err)
			}
			return
		}
		var want, got int64
		for i, c := range rleFrString(s) {
			if i%2 == 1 {
				want += c
			}
		}
		if got = int64(r.Area()); got != want {
			t.Fatalf("area %d, by maskApi.c's reading %d", got, want)
		}
		if width*height > 1<<20 {
			return // valid, but too large to decode in a fuzz run
		}
		bits := r.Decode(nil)
		again := Encode(bits, width, height)
		if width*height > 0 && !slices.Equal(again.Counts, r.Counts) {
			t.Fatalf("counts %v, after Decode and Encode %v", r.Counts, again.Counts)
		}
		if got, want := r.Box(), boxOracle(bits, width); got != want {
			t.Fatalf("box %v, want %v", got, want)
		}
		back, err := Parse(r.String(), width, height)
		if err != nil || !slices.Equal(back.Counts, r.Counts) {
			t.Fatalf("Parse(String()) = %v, %v; want %v", back.Counts, err, r.Counts)
		}
	})
}

func FuzzEncode(f *testing.F) {
	f.Add([]byte{0, 1, 1, 1, 0, 1}, 3)
	f.Add(lcg(17, 13).bits, 17)
	f.Fuzz(func(t *testing.T, bits []byte, width int) {
		if width < 1 || width > len(bits) {
			return
		}
		height := len(bits) / width
		bits = bits[:width*height]
		r := Encode(bits, width, height)
		if want := encodeOracle(bits, width, height); !slices.Equal(r.Counts, want) {
			t.Fatalf("Encode = %v, want %v", r.Counts, want)
		}
		for i, b := range r.Decode(nil) {
			if b != min(bits[i], 1) {
				t.Fatalf("pixel %d decodes to %d, was %d", i, b, bits[i])
			}
		}
	})
}
