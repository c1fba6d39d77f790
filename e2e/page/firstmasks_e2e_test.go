//go:build e2e

package page

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/e2e/harness"
	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/lab/foreground"
	"github.com/segd/segd/mask"
)

const (
	// So many objects are looked at, and so long the demo is waited for: a showing of the clip begins some twenty.
	firstMasks, firstMasksIn = 100, 8 * time.Minute
	// slabPart of the mask's height is straight in a slab: where it ends at a box or a window, not at the thing.
	slabPart = 0.5
	// mostSlabs of a hundred are by chance.
	mostSlabs = 2
	// A cell of the sheet, and the objects in a row.
	cellWidth, cellHeight, inARow = 96, 160, 20
)

// first is the first mask of an object, in its frame of the clip, and what other objects have there.
type first struct {
	frame  int
	rle    mask.RLE
	slab   bool
	others []mask.RLE
}

// The first masks of what the demo marks by itself end where the things do. first-masks.png shows them, slabs in a red frame, other objects
// in blue.
func TestFirstMasks(t *testing.T) {
	d := harness.Demo(t, "--superpixels", fmt.Sprint(*superpixels))
	l := log{news: make(chan struct{})}
	if _, err := harness.Connect(t, d.NATS).Subscribe(subject, l.add); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), firstMasksIn)
	defer cancel()
	seen := map[uint32]bool{}
	var all []first
	add := func(m *segdv1.MaskFrame) bool {
		var masks []mask.RLE
		for _, o := range m.GetObjects() {
			rle, err := mask.Parse(o.GetCounts(), int(m.GetWidth()), int(m.GetHeight()))
			require.NoError(t, err)
			masks = append(masks, rle)
		}
		for k, o := range m.GetObjects() {
			if o.GetArea() == 0 || seen[o.GetId()] {
				continue
			}
			seen[o.GetId()] = true
			if slab, tall := foreground.HasStraightSide(masks[k].Decode(nil), int(m.GetWidth()), slabPart); tall {
				all = append(all, first{clipAt(m), masks[k], slab, append(slices.Clone(masks[:k]), masks[k+1:]...)})
			}
		}
		return len(all) >= firstMasks
	}
	_, err := l.until(ctx, 0, fmt.Sprintf("%d objects", firstMasks), add)
	require.NoError(t, err, "%d so far", len(all))
	slabs := 0
	for _, f := range all {
		if f.slab {
			slabs++
		}
	}
	path := filepath.Join(t.ArtifactDir(), "first-masks.png")
	require.NoError(t, drawSheet(path, all))
	t.Logf("%d of %d first masks are slabs; %s", slabs, len(all), path)
	if slabs > mostSlabs*len(all)/100 {
		t.Errorf("%d of %d first masks are slabs; want %d of 100 at most", slabs, len(all), mostSlabs)
	}
}

// drawSheet writes the objects' pictures with their outlines to a file.
func drawSheet(path string, all []first) error {
	clip, err := codec.OpenFile(demo.FindClip())
	if err != nil {
		return err
	}
	defer clip.Close()
	sheet := image.NewRGBA(image.Rect(0, 0, inARow*cellWidth, (len(all)+inARow-1)/inARow*cellHeight))
	bgr := make([]byte, 3*width*height)
	for n := range clipFrames {
		pic, err := clip.Next()
		if err != nil {
			return err
		}
		if err := pic.BGR(bgr); err != nil {
			return err
		}
		for k, f := range all {
			if f.frame == n {
				f.draw(sheet, image.Pt(k%inARow*cellWidth, k/inARow*cellHeight), bgr)
			}
		}
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return png.Encode(file, sheet)
}

// draw draws the object's part of the picture, half as much again as its box, with its outline.
func (f *first) draw(to *image.RGBA, at image.Point, bgr []byte) {
	bits, others, box := f.rle.Decode(nil), make([]uint8, width*height), f.rle.Box()
	for k, rle := range f.others {
		for i, is := range rle.Decode(nil) {
			if is != 0 {
				others[i] = uint8(1 + k)
			}
		}
	}
	scale := min(cellWidth/1.5/float64(box.Dx()), cellHeight/1.5/float64(box.Dy()))
	middle := box.Min.Add(box.Max).Div(2)
	of := func(labels []uint8, x, y int) uint8 {
		if x < 0 || x >= width || y < 0 || y >= height {
			return 0
		}
		return labels[y*width+x]
	}
	outline := func(labels []uint8, x, y, rightX, belowY int) bool {
		return of(labels, x, y) != of(labels, rightX, y) || of(labels, x, y) != of(labels, x, belowY)
	}
	place := func(col, row int) (x, y int) {
		return middle.X + int((float64(col)-cellWidth/2)/scale), middle.Y + int((float64(row)-cellHeight/2)/scale)
	}
	for row := range cellHeight {
		for col := range cellWidth {
			x, y := place(col, row)
			c := color.RGBA{A: 255}
			if x >= 0 && x < width && y >= 0 && y < height {
				p := bgr[3*(y*width+x):]
				c.R, c.G, c.B = p[2], p[1], p[0]
			}
			rightX, belowY := place(col+1, row+1)
			switch edge := row < 2 || col < 2; {
			case edge && f.slab:
				c = color.RGBA{255, 0, 0, 255}
			case edge:
				c = color.RGBA{A: 255}
			case outline(bits, x, y, rightX, belowY):
				c = color.RGBA{0, 255, 0, 255}
			case outline(others, x, y, rightX, belowY):
				c = color.RGBA{0, 0, 255, 255}
			}
			to.SetRGBA(at.X+col, at.Y+row, c)
		}
	}
}
