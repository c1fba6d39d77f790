// Command reference writes the masks that e2e/page compares with: a person of
// the demo's clip who walks alone over plain grass, found by how the picture differs
// from the median of the whole clip, of a camera that does not move. segd has no part
// in it. With -look it writes pictures with the masks drawn on, for people to check.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"

	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/mask"
)

const (
	first, last = 620, 704 // frames of the clip
	every       = 5        // of the frames that make the median
	differs     = 30       // in one of the three colours, of 255
)

// lawn is where that person walks and no one else does in those frames.
var lawn = image.Rect(60, 250, 430, 576)

func main() {
	out := flag.String("out", "page/testdata/walker.json", "file to write")
	look := flag.String("look", "", "folder for pictures with the masks drawn on")
	flag.Parse()
	if err := run(*out, *look); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func run(out, look string) error {
	frames, size, err := read(demo.ClipPath)
	if err != nil {
		return err
	}
	background := median(frames, size)
	masks := map[int]string{}
	for n := first; n <= last; n++ {
		bits := largest(closed(difference(frames[n], background, size), size), size)
		masks[n] = mask.Encode(bits, size.X, size.Y).String()
		if look != "" && n%4 == 0 {
			if err := draw(filepath.Join(look, fmt.Sprintf("%d.png", n)), frames[n], bits, size); err != nil {
				return err
			}
		}
	}
	text, err := json.MarshalIndent(masks, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(out, append(text, '\n'), 0o644)
}

func read(path string) (frames [][]byte, size image.Point, err error) {
	in, err := codec.OpenFile(path)
	if err != nil {
		return nil, size, err
	}
	defer in.Close()
	for {
		p, err := in.Next()
		if errors.Is(err, io.EOF) {
			return frames, size, nil
		}
		if err != nil {
			return nil, size, err
		}
		size = image.Pt(p.Width, p.Height)
		bgr := make([]byte, 3*size.X*size.Y)
		if err := p.BGR(bgr); err != nil {
			return nil, size, err
		}
		frames = append(frames, bgr)
	}
}

func median(frames [][]byte, size image.Point) []byte {
	m := make([]byte, 3*size.X*size.Y)
	for i := range m {
		var count [256]int
		n := 0
		for k := 0; k < len(frames); k += every {
			count[frames[k][i]]++
			n++
		}
		for v, below := 0, 0; below <= n/2; v++ {
			below += count[v]
			m[i] = byte(v)
		}
	}
	return m
}

func difference(frame, background []byte, size image.Point) []uint8 {
	bits := make([]uint8, size.X*size.Y)
	for y := lawn.Min.Y; y < lawn.Max.Y; y++ {
		for x := lawn.Min.X; x < lawn.Max.X; x++ {
			p := y*size.X + x
			for c := range 3 {
				if d := int(frame[3*p+c]) - int(background[3*p+c]); d > differs || d < -differs {
					bits[p] = 1
				}
			}
		}
	}
	return bits
}

// closed fills gaps of up to four pixels.
func closed(bits []uint8, size image.Point) []uint8 {
	for _, to := range []uint8{1, 1, 0, 0} {
		next := append([]uint8(nil), bits...)
		for p := size.X; p < len(bits)-size.X; p++ {
			if bits[p-1] == to || bits[p+1] == to || bits[p-size.X] == to || bits[p+size.X] == to {
				next[p] = to
			}
		}
		bits = next
	}
	return bits
}

// largest keeps the largest piece.
func largest(bits []uint8, size image.Point) []uint8 {
	seen := make([]bool, len(bits))
	var best []int
	for start := range bits {
		if bits[start] == 0 || seen[start] {
			continue
		}
		seen[start] = true
		piece := []int{start}
		for k := 0; k < len(piece); k++ {
			for _, q := range []int{piece[k] - 1, piece[k] + 1, piece[k] - size.X, piece[k] + size.X} {
				if q >= 0 && q < len(bits) && bits[q] != 0 && !seen[q] {
					seen[q] = true
					piece = append(piece, q)
				}
			}
		}
		if len(piece) > len(best) {
			best = piece
		}
	}
	out := make([]uint8, len(bits))
	for _, p := range best {
		out[p] = 1
	}
	return out
}

func draw(path string, frame []byte, bits []uint8, size image.Point) error {
	img := image.NewRGBA(image.Rectangle{Max: size})
	for p, b := range bits {
		c := color.RGBA{frame[3*p+2], frame[3*p+1], frame[3*p], 255}
		if b != 0 {
			c.R = 255
		}
		img.SetRGBA(p%size.X, p/size.X, c)
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(png.Encode(f, img.SubImage(lawn)), f.Close())
}
