package npy

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/segd/segd/lab/internal/npy/npytest"
)

func TestRead(t *testing.T) {
	f, rows, columns, err := read[float32](bytes.NewReader(npytest.File(t, "<f4", "(2, 3)", []float32{1, 2, 3, 4, 5, 6})))
	if err != nil || rows != 2 || columns != 3 || !slices.Equal(f, []float32{1, 2, 3, 4, 5, 6}) {
		t.Errorf("floats: %v %d×%d, %v", f, rows, columns, err)
	}
	u, rows, columns, err := read[uint8](bytes.NewReader(npytest.File(t, "|u1", "(4,)", []uint8{3, 0, 1, 2})))
	if err != nil || rows != 4 || columns != 1 || !slices.Equal(u, []uint8{3, 0, 1, 2}) {
		t.Errorf("bytes: %v %d×%d, %v", u, rows, columns, err)
	}
	columnwise := bytes.Replace(npytest.File(t, "<i4", "(2, 3)", []int32{1, 4, 2, 5, 3, 6}), []byte("False"), []byte("True "), 1)
	columnwise = bytes.Replace(columnwise, []byte("True ,"), []byte("True,"), 1)
	columnwise = bytes.Replace(columnwise, []byte(" \n"), []byte("  \n"), 1)
	if c, rows, columns, err := read[int32](bytes.NewReader(columnwise)); err != nil || rows != 2 || columns != 3 || !slices.Equal(c, []int32{1, 2, 3, 4, 5, 6}) {
		t.Errorf("column by column: %v %d×%d, %v", c, rows, columns, err)
	}
	i, _, _, err := read[int32](bytes.NewReader(npytest.File(t, "<i4", "(1, 2)", []int32{-1, 7})))
	if err != nil || !slices.Equal(i, []int32{-1, 7}) {
		t.Errorf("ints: %v, %v", i, err)
	}
}

var bad = []struct {
	name string
	file func(t testing.TB) []byte
	says string
}{
	{"empty", func(testing.TB) []byte { return nil }, "no NumPy header"},
	{"not NumPy", func(testing.TB) []byte { return []byte("PK\x03\x04 and so on") }, "want NumPy format 1.0"},
	{"other type", func(t testing.TB) []byte { return npytest.File(t, "<f8", "(1,)", []float64{1}) }, "elements are <f8; want <f4"},
	{"three dimensions", func(t testing.TB) []byte { return npytest.File(t, "<f4", "(1, 1, 1)", []float32{1}) }, "one or two numbers"},
	{"too short", func(t testing.TB) []byte { return npytest.File(t, "<f4", "(3, 3)", []float32{1}) }, "ends before"},
	{"too long", func(t testing.TB) []byte { return npytest.File(t, "<f4", "(1,)", []float32{1, 2}) }, "bytes follow"},
	{"huge", func(t testing.TB) []byte { return npytest.File(t, "<f4", "(99999999, 99999999)", []float32{1}) }, "at most"},
	{"beyond integers", func(t testing.TB) []byte { return npytest.File(t, "<f4", "(99999999999999999999,)", []float32{1}) }, "numbers up to"},
	{"cut header", func(t testing.TB) []byte { return npytest.File(t, "<f4", "(1,)", []float32{1})[:40] }, "cut short"},
}

func TestReadRefuses(t *testing.T) {
	for _, tt := range bad {
		t.Run(tt.name, func(t *testing.T) {
			if _, _, _, err := read[float32](bytes.NewReader(tt.file(t))); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error is %v; want one that says %q", err, tt.says)
			}
		})
	}
}

func TestLoadRefusesNaN(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npy")
	if err := os.WriteFile(path, npytest.File(t, "<f4", "(1,)", []uint32{0x7fc00000}), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := Load[float32](path); err == nil || !strings.Contains(err.Error(), "element 0 is NaN") {
		t.Fatalf("error is %v; want one about the NaN", err)
	}
}

func FuzzRead(f *testing.F) {
	for _, tt := range bad {
		f.Add(tt.file(f))
	}
	f.Add(npytest.File(f, "<f4", "(2, 3)", []float32{1, 2, 3, 4, 5, 6}))
	f.Fuzz(func(t *testing.T, file []byte) {
		data, rows, columns, err := read[float32](bytes.NewReader(file))
		if err == nil && (len(data) != rows*columns || len(data)*4 > len(file)) {
			t.Fatalf("%d elements, %d×%d, of %d bytes", len(data), rows, columns, len(file))
		}
	})
}
