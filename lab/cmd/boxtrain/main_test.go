package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/internal/perceptron"
	"github.com/segd/segd/tracker"
)

// segments draws rectangles, each of the next label, on a map of zeros.
func segments(width, height int, labels ...image.Rectangle) *labelMap {
	m := &labelMap{width: width, height: height, at: make([]int32, width*height), most: int32(len(labels))}
	for k, r := range labels {
		for y := r.Min.Y; y < r.Max.Y; y++ {
			for x := r.Min.X; x < r.Max.X; x++ {
				m.at[y*width+x] = int32(k + 1)
			}
		}
	}
	return m
}

func TestObjects(t *testing.T) {
	object := image.Rect(30, 20, 60, 50)
	plain := rule{area: 100, segment: 0.5, box: 0.7, fill: 0.2, side: 10, contact: 1}
	alike, classes, loose := plain, plain, plain
	alike.alike = 0.7
	classes.classes = map[int32]bool{2: true}
	loose.contact = 0.45
	for _, tt := range []struct {
		name string
		rule rule
		maps []*labelMap
		want []image.Rectangle
	}{
		{"one", plain, []*labelMap{segments(100, 80, object)}, []image.Rectangle{object}},
		{"drawn twice", alike, []*labelMap{segments(100, 80, object), segments(100, 80, object.Add(image.Pt(1, 1)))}, []image.Rectangle{object}},
		{"drawn otherwise by another", alike, []*labelMap{segments(100, 80, object), segments(100, 80, object.Add(image.Pt(15, 0)))}, nil},
		{"drawn by one", alike, []*labelMap{segments(100, 80, object)}, nil},
		{"at one end of the picture", plain, []*labelMap{segments(100, 80, image.Rect(0, 20, 30, 50))}, []image.Rectangle{image.Rect(0, 20, 30, 50)}},
		{"in a corner", plain, []*labelMap{segments(100, 80, image.Rect(0, 0, 30, 50))}, nil},
		{"narrow", plain, []*labelMap{segments(100, 80, image.Rect(30, 20, 39, 60))}, nil},
		{"small", plain, []*labelMap{segments(100, 80, image.Rect(30, 20, 39, 30))}, nil},
		{"large", plain, []*labelMap{segments(100, 80, image.Rect(0, 1, 60, 79))}, nil},
		{"flush with its box", loose, []*labelMap{segments(100, 80, object)}, nil},
		{"two of a class", classes, []*labelMap{segments(100, 80, image.Rect(1, 1, 9, 9), image.Rect(20, 20, 60, 60), image.Rect(38, 0, 40, 80))}, []image.Rectangle{image.Rect(20, 20, 38, 60), image.Rect(40, 20, 60, 60)}},
	} {
		var got []image.Rectangle
		for _, o := range tt.rule.objects(tt.maps) {
			got = append(got, o.box)
			if want := o.box.Dx() * o.box.Dy(); len(o.pixels) != want || !slices.IsSorted(o.pixels) {
				t.Errorf("%s: %d pixels; want %d, rising", tt.name, len(o.pixels), want)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: objects in %v; want %v", tt.name, got, tt.want)
		}
	}
}

// write draws a picture of two discs on a floor with a grain, and the discs' labels.
func write(t *testing.T, pictures, labels, name string) {
	const width, height = 192, 128
	picture, label := image.NewRGBA(image.Rect(0, 0, width, height)), image.NewGray16(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			c := color.RGBA{uint8(90 + 40*(x/8%2)), uint8(90 + 40*(y/8%2)), 60, 255}
			for k, middle := range [...]image.Point{{56, 60}, {140, 70}} {
				if d := image.Pt(x, y).Sub(middle); d.X*d.X+d.Y*d.Y < 26*26 {
					c = color.RGBA{uint8(200 - 150*k), 60, uint8(60 + 140*k), 255}
					label.SetGray16(x, y, color.Gray16{uint16(300 * (k + 1))})
				}
			}
			picture.SetRGBA(x, y, c)
		}
	}
	for file, i := range map[string]image.Image{filepath.Join(pictures, name+".png"): picture, filepath.Join(labels, name+"-0.png"): label, filepath.Join(labels, name+"-1.png"): label} {
		var b bytes.Buffer
		require.NoError(t, png.Encode(&b, i))
		require.NoError(t, os.WriteFile(file, b.Bytes(), 0o600))
	}
}

// What is trained on a picture is learnt: the loss falls, and the file is one that segd reads.
func TestTrain(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 10 s: whole pictures through the network")
	}
	pictures, labels, out := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "box.weights")
	for _, name := range []string{"a", "b", "c", "e"} {
		if isHeld(name + ".png") {
			t.Fatalf("%s.png is held out", name)
		}
		write(t, pictures, labels, name)
	}
	var said strings.Builder
	require.NoError(t, run(t.Context(), []string{"-drawn", pictures + "," + labels, "-out", out, "-epochs", "3"}, &said, io.Discard))
	var boxes, of, held, epoch int
	var losses [3]float64
	if _, err := fmt.Sscanf(said.String(), "%d boxes of %d pictures, %d held out\nepoch %d: loss %g\nepoch 2: loss %g\nepoch 3: loss %g\n", &boxes, &of, &held, &epoch, &losses[0], &losses[1], &losses[2]); err != nil || boxes != 8 || of != 4 || held != 0 {
		t.Fatalf("%v in %q; want 8 boxes of 4 pictures, and three losses", err, said.String())
	}
	if losses[1] > 0.9*losses[0] || losses[2] > losses[1] {
		t.Errorf("losses %v; want them to fall", losses)
	}
	data, err := os.ReadFile(out)
	require.NoError(t, err)
	_, err = perceptron.Read(data, tracker.BoxUnits[:]...)
	assert.NoError(t, err)
}

func TestFaults(t *testing.T) {
	pictures, labels, coloured := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, pictures, labels, "a")
	write(t, coloured, t.TempDir(), "a")
	for want, args := range map[string][]string{
		"want -drawn or -labelled":    {},
		"want PICTURES,LABELS":        {"-drawn", pictures},
		"want NAME.png or NAME-*.png": {"-drawn", pictures + "," + t.TempDir()},
		"-classes":                    {"-labelled", pictures + "," + labels, "-classes", "car"},
		"want 1 or more of each":      {"-every", "0"},
		"want a label map":            {"-drawn", pictures + "," + coloured},
	} {
		assert.ErrorContains(t, run(t.Context(), args, io.Discard, io.Discard), want, "%v", args)
	}
}
