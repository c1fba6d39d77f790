package ingest

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// Images are found by their markers, to the byte, whatever is before, between and in them.
func TestJPEGs(t *testing.T) {
	a, b := numberedJPEG(t, 64, 48, 1), numberedJPEG(t, 128, 96, 2)
	thumbnail := slices.Concat([]byte{0xff, 0xe1, byte((len(a) + 2) >> 8), byte(len(a) + 2)}, a)
	exif := slices.Concat(b[:2], thumbnail, b[2:])
	filled := slices.Concat(a[:2], []byte{0xff, 0xff, 0xff}, a[2:])
	sos := bytes.Index(a, []byte{0xff, 0xda})
	restarted := slices.Concat(a[:sos+20], []byte{0xff, 0xd0, 0x12, 0xff, 0x00, 0x34, 0xff, 0xd7}, a[sos+20:])
	endless := a[:len(a)-2]
	for _, tt := range []struct {
		name string
		in   [][]byte
		want [][]byte
	}{
		{"nothing between", [][]byte{a, b, a}, [][]byte{a, b, a}},
		{"text between", [][]byte{[]byte("--x\r\n\r\n"), a, []byte("\r\n--x\r\nContent-Length: 3\r\n\r\n"), b, []byte("--x--")}, [][]byte{a, b}},
		{"0xff between", [][]byte{{0xff, 0xff}, a, {0xff}, b}, [][]byte{a, b}},
		{"a thumbnail in one", [][]byte{exif, a}, [][]byte{exif, a}},
		{"markers that fill", [][]byte{filled, b}, [][]byte{filled, b}},
		{"restarts and stuffing", [][]byte{restarted, b}, [][]byte{restarted, b}},
		{"no end", [][]byte{endless, b, endless, a}, [][]byte{endless, b, endless, a}},
		{"cut off", [][]byte{a[:sos+30], []byte("\r\n--x\r\n"), b}, [][]byte{append(slices.Clone(a[:sos+30]), "\r\n--x\r\n"...), b}},
	} {
		r := newJPEGs(iotest.OneByteReader(bytes.NewReader(slices.Concat(tt.in...))))
		for k, want := range tt.want {
			if got, err := r.next(); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%s: image %d of %d bytes, %v; want %d bytes", tt.name, k, len(got), err, len(want))
			}
		}
		if _, err := r.next(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: at the end %v", tt.name, err)
		}
	}
}

// However odd a stream is, what is made of it is an image or an error, no larger than it may be, and all of it is read.
func FuzzJPEGs(f *testing.F) {
	f.Add([]byte("--x\r\n\r\n\xff\xd8\xff\xda\x00\x02ab\xff\xd9--x\r\n\xff\xd8\xff\xe0\x00"))
	f.Add([]byte(strings.Repeat("\xff\xd8", 5)))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := newJPEGs(bytes.NewReader(in))
		read := 0
		for {
			got, err := r.next()
			if err != nil {
				return
			}
			if read += len(got); len(got) < 2 || got[0] != 0xff || got[1] != markerSOI || read > len(in) {
				t.Fatalf("an image of %d bytes, %d read of %d", len(got), read, len(in))
			}
		}
	})
}
