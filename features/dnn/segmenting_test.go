package dnn

import (
	"errors"
	"image"
	"math"
	"testing"

	"github.com/segd/segd/features"
)

// segmenter is a YOLOv8-seg of 64×64 pixels that finds red squares of 8×8 pixels in a box of 16×16, and what is bright in it: the
// first prototype is 20·green−10, the second 6 everywhere; the coefficients are 1 and shift/6.
func segmenter(shift float32) onnxFile {
	channels := append([]channel{{bias: 20}, {bias: 28}, {bias: 16}, {bias: 16}, {0, 0.9, 0}, {2, 0.9, 0}, {bias: 1}, {bias: shift / 6}}, make([]channel, prototypes-2)...)
	f := finder(false, []int{8, 16, 32}, channels, true, false)
	weights, biases := make([]float32, prototypes*3*4*4), make([]float32, prototypes)
	for i := range 4 * 4 {
		weights[4*4+i] = 20. / (4 * 4) // of RGB
	}
	biases[0], biases[1] = -10, 6
	f.weights = append(f.weights, tensor("p.w", []int{prototypes, 3, 4, 4}, weights...), tensor("p.b", []int{prototypes}, biases...))
	f.nodes = append(f.nodes, node("Conv", "p.conv", []string{"image", "p.w", "p.b"}, []string{"prototypes"}, ints("kernel_shape", 4, 4), ints("strides", 4, 4)))
	f.outputs = append(f.outputs, value("prototypes", elemFloat, 1, prototypes, 16, 16))
	return f
}

// Of a box with known prototypes and coefficients the mask is that of Ultralytics' program, pixel by pixel: the sum of the
// prototypes, here between -8 and 8, bilinearly enlarged to the image, where its sigmoid is more than a half, cropped to the box. The
// first image is as large as the input; the second is shown by half, in the middle of the input's height.
func TestDetectorMasks(t *testing.T) {
	needONNXRuntime(t)
	const shift = 3
	for name, tt := range map[string]struct {
		w, h, scale, below int // rows of the input that are above the image
	}{
		"as it is": {64, 64, 1, 0},
		"by half":  {128, 64, 2, 16},
	} {
		bgr := make([]byte, 3*tt.w*tt.h)
		set := func(x, y, colour int) {
			for dy := range tt.scale {
				for dx := range tt.scale {
					bgr[3*((y*tt.scale+dy)*tt.w+x*tt.scale+dx)+colour] = 255
				}
			}
		}
		for y := range 8 {
			for x := range 8 {
				set(16+x, 24-tt.below+y, 2) // red: the cell that finds the box from 12, 20 to 28, 36
			}
		}
		bright := func(x, y int) bool { return (x-5)*(x-5)+2*(y-28)*(y-28) < 15*15 || x > 25 && y > 25 } // in pixels of the input
		for y := tt.below; y < 64-tt.below; y++ {
			for x := range 64 {
				if bright(x, y) {
					set(x, y-tt.below, 1)
				}
			}
		}
		// The prototypes' sum, by cells of four pixels of the input; beside the image it is grey.
		var sum [16][16]float64
		for i := range sum {
			for j := range sum[i] {
				for y := range 4 {
					for x := range 4 {
						at := image.Pt(4*j+x, 4*i+y)
						v := 114. / 255
						if at.Y >= tt.below && at.Y < 64-tt.below {
							v = 0
							if bright(at.X, at.Y) {
								v = 1
							}
						}
						sum[i][j] += 20 * v / 16
					}
				}
				sum[i][j] = min(max(sum[i][j]-10+shift, features.OutsideLogit), -features.OutsideLogit)
			}
		}
		// As torch.nn.functional.interpolate has it, without align_corners.
		at := func(x, y int) float64 {
			place := func(v float64) (int, int, float64) {
				v = min(max(v/4-0.5, 0), 15)
				first := int(v)
				return first, min(first+1, 15), v - float64(first)
			}
			j, right, u := place((float64(x) + 0.5) / float64(tt.scale))
			i, under, v := place((float64(y)+0.5)/float64(tt.scale) + float64(tt.below))
			return (1-v)*((1-u)*sum[i][j]+u*sum[i][right]) + v*((1-u)*sum[under][j]+u*sum[under][right])
		}
		box := image.Rect(12*tt.scale, (20-tt.below)*tt.scale, 28*tt.scale, (36-tt.below)*tt.scale)
		for _, engine := range engines() {
			t.Run(name+" by "+engine, func(t *testing.T) {
				d := mustOpenDetector(t, segmenter(shift).write(t), DetectorOptions{NamesFile: twoNames(t), Computing: Computing{Engine: engine}})
				if !d.Info().Masks {
					t.Errorf("%+v; want it to have masks", d.Info())
				}
				for range 2 {
					found, err := d.Detect(nil, bgr, tt.w, tt.h, 1)
					if err != nil || len(found) != 1 || found[0].Box != box || found[0].Mask == nil {
						t.Fatalf("%v, %v; want a box at %v with a mask", found, err, box)
					}
					s := features.Scene{Width: tt.w, Height: tt.h, Found: found}
					bits := make([]uint8, tt.w*tt.h)
					if ok, err := s.Shape(bits, box); !ok || err != nil {
						t.Fatal(ok, err)
					}
					inside := 0
					for i, got := range bits {
						want := uint8(0)
						if x, y := i%tt.w, i/tt.w; image.Pt(x, y).In(box) && 1/(1+math.Exp(-at(x, y))) > 0.5 {
							want, inside = 1, inside+1
						}
						if got != want {
							t.Fatalf("pixel %d, %d is %d; want %d", i%tt.w, i/tt.w, got, want)
						}
					}
					if all := box.Dx() * box.Dy(); inside < all/4 || inside > all*3/4 {
						t.Fatalf("%d of %d pixels: the test says nothing", inside, all)
					}
				}
			})
		}
	}
}

// A box at the border of the image has the cells that there are, and what is no number is not the thing.
func TestMaskOfBorder(t *testing.T) {
	l := layout{size: image.Pt(64, 64), coefficients: 2}
	data := make([]float32, 16*16*2)
	for i := range data {
		data[i] = 1e30
	}
	data[0] = float32(math.NaN())
	show := l.show(64, 64, 1)
	d := Detector{layout: l}
	if err := d.checkPrototypes(&decoding{prototypes: data}, 1, show); err != nil {
		t.Error(err)
	}
	if err := d.checkPrototypes(&decoding{prototypes: data[2:]}, 1, show); !errors.Is(err, errChanged) {
		t.Errorf("a cell too few: %v", err)
	}
	if _, err := findLayout([][]int{{38, 3}, {0, 0, prototypes}}, image.Pt(3, 3), "", 2, "two.txt"); err == nil {
		t.Error("prototypes without cells are taken")
	}
	for _, box := range []image.Rectangle{image.Rect(0, 0, 64, 64), image.Rect(0, 0, 1, 1), image.Rect(63, 63, 64, 64), image.Rect(1, 60, 9, 64)} {
		g := l.mask(data, []float32{1, -1e-30}, box, show)
		if g.Cols < 1 || g.Rows < 1 || len(g.Logits) != g.Cols*g.Rows || g.X0 > float64(box.Min.X) || g.Y0 > float64(box.Min.Y) || g.X1 < float64(box.Max.X) || g.Y1 < float64(box.Max.Y) || g.X0 < 0 || g.Y1 > 64 {
			t.Errorf("%v: %d×%d cells from %g, %g to %g, %g", box, g.Cols, g.Rows, g.X0, g.Y0, g.X1, g.Y1)
		}
		for i, v := range g.Logits {
			want := float32(-features.OutsideLogit)
			if i == 0 && box.Min == (image.Point{}) {
				want = features.OutsideLogit
			}
			if v != want {
				t.Fatalf("%v: cell %d is %g; want %g", box, i, v, want)
			}
		}
	}
}
