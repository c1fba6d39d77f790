package dnn

import (
	"errors"
	"image"
	"image/jpeg"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/segd/segd/features"
)

// nanoDetFile is NanoDet-m as it was published, with an input of 640×384 pixels.
const nanoDetFile = "testdata/nanodet-m.onnx"

// mustOpenDetector opens a detector without a child, for tests of what comes after.
func mustOpenDetector(t testing.TB, path string, opt DetectorOptions) *Detector {
	t.Helper()
	d, err := openDetectorUnchecked(path, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// twoNames is a file of the names red and blue.
func twoNames(t testing.TB) string {
	t.Helper()
	return namesFile(t, "red\r\nblue\n")
}

func namesFile(t testing.TB, names string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "names.txt")
	if err := os.WriteFile(path, []byte(names), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// finderNames is a file of the names of a finder's classes: one of RT-DETR has a third.
func finderNames(t testing.TB, name string) string {
	t.Helper()
	if name == "RT-DETR" {
		return namesFile(t, "red\nblue\ngreen\n")
	}
	return twoNames(t)
}

// channel is an output channel of finder: the mean of an input channel over the cell times weight, and
// bias.
type channel struct {
	input        int
	weight, bias float32
}

// finder is a detector whose cells look at what they cover of an input of 64×64 pixels, or of any
// size: a convolution a stride. join makes one output of them, 1×channels×cells, and transpose
// 1×cells×channels.
func finder(dynamic bool, strides []int, channels []channel, join, transpose bool) onnxFile {
	var f onnxFile
	side := 64
	if dynamic {
		side = 0
	}
	f.inputs = []message{value("image", elemFloat, 1, 3, side, side)}
	var parts []string
	for _, s := range strides {
		name := map[int]string{8: "s8", 16: "s16", 32: "s32", 64: "s64"}[s]
		weights := make([]float32, len(channels)*3*s*s)
		biases := make([]float32, len(channels))
		for k, c := range channels {
			biases[k] = c.bias
			for i := range s * s {
				weights[(3*k+c.input)*s*s+i] = c.weight / float32(s*s)
			}
		}
		f.weights = append(f.weights, tensor(name+".w", []int{len(channels), 3, s, s}, weights...), tensor(name+".b", []int{len(channels)}, biases...))
		f.nodes = append(f.nodes, node("Conv", name+".conv", []string{"image", name + ".w", name + ".b"}, []string{name}, ints("kernel_shape", s, s), ints("strides", s, s), ints("pads", 0, 0, s-1, s-1)))
		parts = append(parts, name)
		if !join {
			cells := 0
			if !dynamic {
				cells = 64 / s
			}
			f.outputs = append(f.outputs, value(name, elemFloat, 1, len(channels), cells, cells))
			continue
		}
		f.weights = append(f.weights, int64s(name+".shape", 1, int64(len(channels)), -1))
		f.nodes = append(f.nodes, node("Reshape", name+".flatten", []string{name, name + ".shape"}, []string{name + ".flat"}))
		parts[len(parts)-1] = name + ".flat"
	}
	if !join {
		return f
	}
	f.outputs = []message{value("found", elemFloat, 1, 0, 0)}
	joined := "found"
	if transpose {
		joined = "joined"
		f.nodes = append(f.nodes, node("Concat", "join", parts, []string{joined}, integer("axis", 2)),
			node("Transpose", "turn", []string{joined}, []string{"found"}, ints("perm", 0, 2, 1)))
		return f
	}
	f.nodes = append(f.nodes, node("Concat", "join", parts, []string{joined}, integer("axis", 2)))
	return f
}

// The layouts as models that find what is red, or blue: in cells of stride 8 that are filled with it.
func finders() map[string]struct {
	file func(dynamic bool) onnxFile
	want float64 // score
	side int     // of an input of any size
} {
	three, four := []int{8, 16, 32}, []int{8, 16, 32, 64}
	// sides are four distributions of eight bins: how far in strides, whole or half.
	sides := func(far ...float64) (c []channel) {
		for _, f := range far {
			for b := range 8 {
				bias := float32(0)
				if b == int(math.Floor(f)) || b == int(math.Ceil(f)) {
					bias = 30
				}
				c = append(c, channel{bias: bias})
			}
		}
		return c
	}
	queries := func(dynamic bool, stride int) []int {
		if dynamic {
			stride = 64
		}
		return []int{stride}
	}
	half := sides(0.5, 0.5, 0.5, 0.5)
	red := (255 - 123.675) / 58.395 // as NanoDet sees it
	type made = struct {
		file func(bool) onnxFile
		want float64
		side int
	}
	return map[string]made{
		"NanoDet": {func(dynamic bool) onnxFile {
			return finder(dynamic, three, slices.Concat([]channel{{2, 2, 0}, {0, 2, 0}}, half), false, false)
		}, 1 / (1 + math.Exp(-2*red)), 416},
		"NanoDet in one": {func(dynamic bool) onnxFile {
			return finder(dynamic, three, slices.Concat([]channel{{2, 0.2, 0.45}, {0, 0.2, 0.45}}, half), true, true)
		}, 0.2*red + 0.45, 416},
		"NanoDet-Plus": {func(dynamic bool) onnxFile {
			return finder(dynamic, four, slices.Concat([]channel{{2, 0.2, 0.45}, {0, 0.2, 0.45}}, sides(0, 0, 1, 1)), true, true)
		}, 0.2*red + 0.45, 416},
		"YOLOX": {func(dynamic bool) onnxFile {
			return finder(dynamic, three, []channel{{bias: 0.5}, {bias: 0.5}, {}, {}, {bias: 0.9}, {2, 1. / 255, 0}, {0, 1. / 255, 0}}, true, true)
		}, 0.9, 640},
		"YOLOv8": {func(dynamic bool) onnxFile {
			return finder(dynamic, three, []channel{{bias: 20}, {bias: 28}, {bias: 8}, {bias: 8}, {0, 0.9, 0}, {2, 0.9, 0}}, true, false)
		}, 0.9, 640},
		"YOLOv8-seg": {func(dynamic bool) onnxFile {
			f := finder(dynamic, three, slices.Concat([]channel{{bias: 20}, {bias: 28}, {bias: 8}, {bias: 8}, {0, 0.9, 0}, {2, 0.9, 0}}, make([]channel, prototypes)), true, false)
			f.weights = append(f.weights, tensor("p.w", []int{prototypes, 3, 4, 4}, make([]float32, prototypes*3*4*4)...))
			f.nodes = append(f.nodes, node("Conv", "p.conv", []string{"image", "p.w"}, []string{"prototypes"}, ints("kernel_shape", 4, 4), ints("strides", 4, 4)))
			f.outputs = append(f.outputs, value("prototypes", elemFloat, 1, prototypes, 0, 0))
			return f
		}, 0.9, 640},
		// Cells are their queries. The square is half of a cell of stride 16 where the image is stretched.
		"RT-DETR": {func(dynamic bool) onnxFile {
			return finder(dynamic, queries(dynamic, 16), []channel{{bias: 20. / 64}, {bias: 24. / 64}, {bias: 8. / 64}, {bias: 16. / 64}, {0, 1.8, 0}, {2, 1.8, 0}, {}}, true, true)
		}, 0.9, 640},
		"YOLOv10": {func(dynamic bool) onnxFile {
			return finder(dynamic, queries(dynamic, 8), []channel{{bias: 16}, {bias: 24}, {bias: 24}, {bias: 32}, {0, 0.9, 0}, {}}, true, true)
		}, 0.9, 640},
	}
}

// Every layout finds the red square of a picture that is twice as wide as the input and as
// tall, where it is, with both engines, and nothing else.
func TestDetectLayouts(t *testing.T) {
	needONNXRuntime(t)
	const w, h = 128, 64
	bgr := make([]byte, 3*w*h)
	square := image.Rect(32, 16, 48, 32)
	for y := square.Min.Y; y < square.Max.Y; y++ {
		for x := square.Min.X; x < square.Max.X; x++ {
			bgr[3*(y*w+x)+2] = 255
		}
	}
	for name, f := range finders() {
		names, classes := finderNames(t, name), []string{"red", "blue"}
		if name == "RT-DETR" {
			classes = append(classes, "green")
		}
		want := chances("red").chance(math.Log(f.want / (1 - f.want)))
		path := f.file(false).write(t)
		for _, engine := range engines() {
			t.Run(name+" by "+engine, func(t *testing.T) {
				d := mustOpenDetector(t, path, DetectorOptions{NamesFile: names, Computing: Computing{Engine: engine}})
				if i := d.Info(); i.Layout != strings.TrimSuffix(name, " in one") || i.InputWidth != 64 || i.InputHeight != 64 || !slices.Equal(i.Classes, classes) || i.Engine != engine || len(i.SHA256) != 64 {
					t.Errorf("%+v", i)
				}
				for range 2 {
					found, err := d.Detect(nil, bgr, w, h, 1)
					if err != nil {
						t.Fatal(err)
					}
					if len(found) != 1 || found[0].Box != square || found[0].Class != "red" || math.Abs(found[0].Score-want) > 1e-4 {
						t.Errorf("found %v; want red at %v by %.4f", found, square, want)
					}
				}
				strict := mustOpenDetector(t, path, DetectorOptions{NamesFile: names, Score: (1 + want) / 2, Computing: Computing{Engine: engine}})
				if found, err := strict.Detect(nil, bgr, w, h, 1); err != nil || len(found) != 0 {
					t.Errorf("found %v, %v; want nothing of that score", found, err)
				}
			})
		}
	}
}

// What the input shows beside an image of one colour, twice as wide as it is tall, and where.
func TestDetectorInput(t *testing.T) {
	bgr := slices.Repeat([]byte{10, 20, 30}, 128*64)
	for name, f := range finders() {
		d := mustOpenDetector(t, f.file(false).write(t), DetectorOptions{NamesFile: finderNames(t, name), Computing: Computing{Engine: engines()[0]}})
		image := [3]float64{(10 - 103.53) / 57.375, (20 - 116.28) / 57.12, (30 - 123.675) / 58.395}
		beside := [3]float64{-103.53 / 57.375, -116.28 / 57.12, -123.675 / 58.395}
		first, last := 0, 32 // rows of the image
		switch name {
		case "YOLOX":
			image, beside = [3]float64{10, 20, 30}, [3]float64{114, 114, 114}
		case "YOLOv8", "YOLOv8-seg", "YOLOv10":
			image, beside = [3]float64{30. / 255, 20. / 255, 10. / 255}, [3]float64{114. / 255, 114. / 255, 114. / 255}
			first, last = 16, 48
		case "RT-DETR":
			image, last = [3]float64{30. / 255, 20. / 255, 10. / 255}, 64
		}
		err := d.see(bgr, 128, d.layout.show(128, 64, 1), func(n network, _ int) error {
			in, err := n.input()
			for i, v := range in {
				y := i / 64 % 64
				want := beside[i/(64*64)]
				if y >= first && y < last {
					want = image[i/(64*64)]
				}
				if math.Abs(float64(v)-want) > 1e-4 {
					t.Errorf("%s: row %d of channel %d is %v, want %v", name, y, i/(64*64), v, want)
					break
				}
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// A model that takes any size gets that of its kind.
func TestDetectorAnySize(t *testing.T) {
	for name, f := range finders() {
		d := mustOpenDetector(t, f.file(true).write(t), DetectorOptions{NamesFile: finderNames(t, name), Computing: Computing{Engine: engines()[0]}})
		if i := d.Info(); i.InputWidth != f.side || i.InputHeight != f.side {
			t.Errorf("%s: %d×%d, want %d", name, i.InputWidth, i.InputHeight, f.side)
		}
		if _, err := d.Detect(nil, noise(70, 50), 70, 50, 1); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// numbers are the rows of cells, zero but for what is set.
type numbers struct {
	columns int
	data    []float32
}

func (n numbers) set(row, from int, values ...float32) { copy(n.data[row*n.columns+from:], values) }

// What cells say, against values worked out by hand: inputs of 64×64 that show 128×128.
func TestDecode(t *testing.T) {
	three := 8*8 + 4*4 + 2*2
	nan := float32(math.NaN())
	for _, tt := range []struct {
		name          string
		rows, columns int
		transposed    bool
		head          string
		set           func(numbers)
		want          []features.Detection
	}{
		// Cell 8·3+2 of stride 8 is (2, 3); row 64+4·1+3 is (3, 1) of stride 16.
		{"YOLOX", three, 7, false, "", func(n numbers) {
			n.set(26, 0, 0.25, 0.5, float32(math.Log(2)), 0, 0.8, 0.1, 0.9) // centre 18, 28, size 16×8, .72
			n.set(71, 0, 0, 0, 0, float32(math.Log(0.5)), 1, 0.6, 0.2)      // centre 48, 16, size 16×8, .6
			n.set(0, 0, 0, 0, float32(math.Log(2)), 0, 0.6, 0.8, 0.1)       // .48
			n.set(80, 0, 0, 0, float32(math.Inf(1)), nan, 1, 1)             // no height
			n.set(81, 0, 0, 0, 0, 0, -1, nan, nan)
		}, []features.Detection{{Box: image.Rect(20, 48, 52, 64), Class: "blue", Score: 0.72}, {Box: image.Rect(80, 24, 112, 40), Class: "red", Score: 0.6}}},
		{"YOLOv8", three, 6, true, "", func(n numbers) {
			n.set(5, 0, 10, 20, 8, 12, 0.5, 0.75)
			n.set(83, 0, 60, 60, 20, 20, 0.7, 0) // beyond the lower right
			n.set(40, 0, -20, 10, 8, 8, 0.9, 0)  // outside
		}, []features.Detection{{Box: image.Rect(12, 28, 28, 52), Class: "blue", Score: 0.75}, {Box: image.Rect(100, 100, 128, 128), Class: "red", Score: 0.7}}},
		{"YOLOv10", 9, 6, false, "", func(n numbers) {
			n.set(3, 0, 10, 20, 18, 32, 0.75, 1)
			n.set(4, 0, 50, 50, 70, 70, 0.7, 0) // beyond the lower right
			n.set(5, 0, 1, 1, 9, 9, 0.9, 2)     // no class
			n.set(6, 0, 1, 1, 9, 9, 0.9, nan)
			n.set(7, 0, 1, 1, 9, 9, nan, 0)
		}, []features.Detection{{Box: image.Rect(20, 40, 36, 64), Class: "blue", Score: 0.75}, {Box: image.Rect(100, 100, 128, 128), Class: "red", Score: 0.7}}},
		{"RT-DETR", 9, 6, false, rtdetrHead, func(n numbers) {
			n.set(3, 0, 0.5, 0.25, 0.25, 0.125, 0.75, 1)
			n.set(5, 0, 0.5, 0.25, 0.25, 0.125, 0.9, -1) // no class
		}, []features.Detection{{Box: image.Rect(48, 24, 80, 40), Class: "blue", Score: 0.75}}},
		{"NanoDet", three, 2 + 32, false, "", func(n numbers) {
			for side, far := range []int{1, 0, 2, 3} { // of (2.5, 3.5)·8
				n.set(26, 2+8*side+far, 100)
			}
			n.set(26, 0, 0.2, 0.8)
			n.set(27, 0, 0.9, 0, nan) // no left
			n.set(27, 2+8*2+3, 100)
		}, []features.Detection{{Box: image.Rect(24, 56, 72, 104), Class: "blue", Score: 0.8}}},
		{"NanoDet", three, 2 + 44, false, "", func(n numbers) {
			for side, far := range []int{1, 0, 2, 10} {
				n.set(26, 2+11*side+far, 100)
			}
			n.set(26, 0, 0.2, 0.8)
		}, []features.Detection{{Box: image.Rect(24, 56, 72, 128), Class: "blue", Score: 0.8}}},
		{"NanoDet-Plus", three + 1, 2 + 32, false, "", func(n numbers) {
			for side, far := range []int{1, 0, 2, 3} { // of (2, 3)·8
				n.set(26, 2+8*side+far, 100)
			}
			n.set(26, 0, 0.2, 0.8)
		}, []features.Detection{{Box: image.Rect(16, 48, 64, 96), Class: "blue", Score: 0.8}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := numbers{tt.columns, make([]float32, tt.rows*tt.columns)}
			tt.set(n)
			shape := []int{tt.rows, tt.columns}
			data := n.data
			if tt.transposed {
				shape = []int{tt.columns, tt.rows}
				data = make([]float32, len(n.data))
				channelsLast(data, n.data, tt.rows, tt.columns)
			}
			l, err := findLayout([][]int{shape}, image.Pt(64, 64), tt.head, 2, "two.txt")
			if err != nil || l.name != tt.name {
				t.Fatalf("%+v, %v", l, err)
			}
			l.size = image.Pt(64, 64)
			d := Detector{layout: l, least: 0.5, info: DetectorInfo{Classes: []string{"red", "blue"}}}
			work := decoding{rows: data}
			if err := d.decode(&work, 0, l.show(128, 128, 1)); err != nil {
				t.Fatal(err)
			}
			found := features.Suppress(work.found, overlap, otherOverlap)
			for i := range found {
				of := chances(found[i].Class) // from the chance to the network's score
				found[i].Score = math.Round(1e6/(1+math.Exp(-of.logit(found[i].Score)))) / 1e6
			}
			if !slices.Equal(found, tt.want) {
				t.Errorf("found %v, want %v", found, tt.want)
			}
			work.rows = data[1:]
			if err := d.decode(&work, 0, l.show(128, 128, 1)); !errors.Is(err, errChanged) {
				t.Errorf("a shorter output: %v", err)
			}
		})
	}
}

// The metadata tell RT-DETR's list of boxes from YOLOv10's, which has its shape.
func TestHeadOfMetadata(t *testing.T) {
	file := finders()["YOLOv10"].file(false).bytes()
	entry := message{}.string(entryKey, headKey).string(entryValue, rtdetrHead)
	path := filepath.Join(t.TempDir(), "rtdetr.onnx")
	if err := os.WriteFile(path, message(file).bytes(modelMetadata, entry), 0o600); err != nil {
		t.Fatal(err)
	}
	d := mustOpenDetector(t, path, DetectorOptions{NamesFile: twoNames(t), Computing: Computing{Engine: engines()[0]}})
	if got := d.Info().Layout; got != "RT-DETR" {
		t.Errorf("the layout is %s; want RT-DETR's", got)
	}
}

func TestFindLayoutRefuses(t *testing.T) {
	size := image.Pt(640, 384)
	for _, tt := range []struct {
		name   string
		shapes [][]int
		names  int
		file   string
		want   []string
	}{
		{"YOLOv5", [][]int{{15120, 85}}, 80, "", []string{"its outputs are 1×15120×85; want NanoDet's", "YOLOX's (1×cells×(5+classes))", "YOLOv8's (1×(4+classes)×cells)"}},
		{"boxes after NMS with the number of the image", [][]int{{300, 7}}, 80, "", []string{"its outputs are 1×300×7, which is for 3 as RT-DETR; without a file of names they are COCO's 80"}},
		{"prototypes of another stride", [][]int{{116, 5040}, {48, 80, 32}}, 80, "", []string{"1×116×5040, 1×32×48×80; want NanoDet's", "1×32×height×width at stride 4"}},
		{"planes of other strides", [][]int{{96, 160, 112}, {24, 40, 112}, {12, 20, 112}}, 80, "", []string{"1×112×96×160, 1×112×24×40, 1×112×12×20; want"}},
		{"a stride twice", [][]int{{24, 40, 112}, {24, 40, 112}, {12, 20, 112}}, 80, "", []string{"want"}},
		{"other names than COCO's", [][]int{{7, 5040}}, 80, "", []string{"1×7×5040, which is for 3 as YOLOv8; without a file of names they are COCO's 80"}},
		{"too few names", [][]int{{5040, 85}}, 3, "n.txt", []string{"1×5040×85, which is for 80 as YOLOX or 53 as NanoDet or 41 as NanoDet; n.txt names 3 classes"}},
		{"no class", [][]int{{4, 5040}}, 80, "", []string{"want NanoDet's"}},
		{"queries without a class", [][]int{{300, 4}}, 80, "", []string{"want NanoDet's"}},
		{"too many queries", [][]int{{2000, 84}}, 80, "", []string{"want NanoDet's"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := findLayout(tt.shapes, size, "", tt.names, tt.file)
			if err == nil || !containsAll(err.Error(), tt.want...) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v; want %q", err, tt.want)
			}
		})
	}
}

func TestDetectorRefuses(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 5 s: children that try detectors")
	}
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	yolo := finders()["YOLOX"].file(false).write(t)
	classifier := averager(64, 64)
	classifier.outputs = []message{value("score", elemFloat, 1, 2)}
	for _, tt := range []struct {
		name, path string
		opt        DetectorOptions
		want       []string
	}{
		{"score", nanoDetFile, DetectorOptions{Score: 1.5}, []string{"a score of 1.5; want above 0 and at most 1, or 0 for 0.5"}},
		{"two faults", nanoDetFile, DetectorOptions{Score: math.Inf(1), Computing: Computing{Threads: -1}}, []string{"score of +Inf", "-1 threads"}},
		{"engine", nanoDetFile, DetectorOptions{Computing: Computing{Engine: "tensorflow"}}, []string{`engine "tensorflow"; want auto`}},
		{"device", nanoDetFile, DetectorOptions{Computing: Computing{Device: "gpu"}}, []string{`device "gpu"; want auto`}},
		{"no names", nanoDetFile, DetectorOptions{NamesFile: filepath.Join(dir, "none.txt")}, []string{"class names", "none.txt", "no such file"}},
		{"an empty line", nanoDetFile, DetectorOptions{NamesFile: file("gap.txt", "a\n\nb\n")}, []string{"gap.txt: line 2 is empty; want a name a line"}},
		{"empty names", nanoDetFile, DetectorOptions{NamesFile: file("empty.txt", "\n")}, []string{"empty.txt: line 1 is empty"}},
		{"too few names", nanoDetFile, DetectorOptions{NamesFile: file("few.txt", "a\nb\n")}, []string{"nanodet-m.onnx: its outputs are 1×112×48×80, 1×112×24×40, 1×112×12×20, which is for 80 as NanoDet or 68 as NanoDet; ", "few.txt names 2 classes"}},
		{"not COCO's", yolo, DetectorOptions{}, []string{"model.onnx: its outputs are 1×84×7, which is for 2 as YOLOX; without a file of names they are COCO's 80"}},
		{"missing", filepath.Join(dir, "none.onnx"), DetectorOptions{}, []string{"none.onnx", "no such file"}},
		{"not a model", file("text.onnx", "hello"), DetectorOptions{}, []string{"text.onnx: not an ONNX file", "want .onnx"}},
		{"a feature model", averager(64, 64).write(t), DetectorOptions{}, []string{"model.onnx: its outputs are 1×3×16×16; want NanoDet's"}},
		{"one that aborts", clipper().write(t), DetectorOptions{Computing: Computing{Engine: EngineOpenCV}}, []string{"model.onnx: OpenCV refuses it", "Clip"}},
		{"two numbers a picture", classifier.write(t), DetectorOptions{}, []string{`its outputs are "score" (1×2); want NanoDet's`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.opt.Engine == EngineOpenCV {
				needOpenCV(t)
			}
			d, err := OpenDetector(tt.path, tt.opt)
			if err == nil {
				d.Close()
				t.Fatal("no error")
			}
			t.Log(err)
			if !containsAll(err.Error(), tt.want...) || !strings.HasPrefix(err.Error(), "features/dnn: ") || strings.Count(err.Error(), "\n") != strings.Count(strings.Join(tt.want, ""), "-1 threads") {
				t.Errorf("%v; want %q", err, tt.want)
			}
		})
	}
}

// A detector that OpenCV does not read is ONNX Runtime's alone.
func TestDetectorWithoutOpenCV(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 4 s: detectors opened")
	}
	needONNXRuntime(t)
	f := finders()["YOLOv8"].file(false)
	f.outputs = []message{value("clipped", elemFloat, 1, 6, 84)}
	f.nodes = append(f.nodes, node("Clip", "clip", []string{"found", "low", "high"}, []string{"clipped"}))
	f.weights = append(f.weights, tensor("low", nil, 0), tensor("high", nil, 100))
	path, names := f.write(t), twoNames(t)
	d, err := OpenDetector(path, DetectorOptions{NamesFile: names})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	i := d.Info()
	if i.Engine != EngineONNXRuntime || len(i.Engines) != len(engines()) || i.Engines[len(i.Engines)-1].Error != "" {
		t.Errorf("%+v", i)
	}
	red := slices.Repeat([]byte{0, 0, 255}, 64*64)
	if found, err := d.Detect(nil, red, 64, 64, 1); err != nil || len(found) != 1 {
		t.Errorf("%v, %v", found, err)
	}
	if d, err := OpenDetector(path, DetectorOptions{NamesFile: names, Computing: Computing{Engine: EngineOpenCV}}); WithOpenCV && !errors.Is(err, ErrRefused) || err == nil {
		t.Errorf("OpenCV: %v, %v", d, err)
	}
}

// persons is a part of the picture in docs/images/page.png.
func persons(t testing.TB) (bgr []byte, width, height int) {
	t.Helper()
	file, err := os.Open("testdata/persons.jpg")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	m, err := jpeg.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	size := m.Bounds().Size()
	for y := range size.Y {
		for x := range size.X {
			r, g, b, _ := m.At(x, y).RGBA()
			bgr = append(bgr, byte(b>>8), byte(g>>8), byte(r>>8))
		}
	}
	return bgr, size.X, size.Y
}

// NanoDet finds two persons, by both engines.
func TestNanoDet(t *testing.T) {
	needONNXRuntime(t)
	bgr, w, h := persons(t)
	want := []image.Rectangle{image.Rect(95, 43, 121, 128), image.Rect(190, 170, 236, 288)}
	var all [2][]features.Detection
	for i, engine := range engines() {
		var err error
		d := mustOpenDetector(t, nanoDetFile, DetectorOptions{Computing: Computing{Engine: engine}})
		if i := d.Info(); i.Layout != "NanoDet" || i.InputWidth != 640 || i.InputHeight != 384 || len(i.Classes) != 80 || i.Path != nanoDetFile || i.Engine != engine || i.Device != "cpu" {
			t.Errorf("%+v", i)
		}
		if all[i], err = d.Detect(nil, bgr, w, h, 1); err != nil {
			t.Fatal(err)
		}
		t.Log(all[i])
		if len(all[i]) != len(want) {
			t.Fatalf("%s: found %v, want %v", engine, all[i], want)
		}
		for _, box := range want {
			if !slices.ContainsFunc(all[i], func(f features.Detection) bool {
				return features.IoU(f.Box, box) > 0.7 && f.Class == "person" && f.Score >= 0.5
			}) {
				t.Errorf("%s: found %v, none at %v", engine, all[i], box)
			}
		}
	}
	for i, a := range all[0] {
		if b := all[len(engines())-1][i]; a.Box != b.Box || a.Class != b.Class || math.Abs(a.Score-b.Score) > 1e-4 {
			t.Errorf("%v by OpenCV, %v by ONNX Runtime", a, b)
		}
	}
}

// Several at once get what they would get alone, and a closed detector says so.
func TestDetectShared(t *testing.T) {
	d, err := openDetectorUnchecked(nanoDetFile, DetectorOptions{Score: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	bgr, w, h := persons(t)
	want, err := d.Detect(nil, bgr, w, h, 1)
	if err != nil || len(want) == 0 {
		t.Fatal(want, err)
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			var found []features.Detection
			for range 3 {
				var err error
				if found, err = d.Detect(found, bgr, w, h, 1); err != nil || !slices.Equal(found, want) {
					t.Errorf("%v, %v; alone %v", found, err, want)
				}
			}
		})
	}
	wg.Wait()
	if _, err := d.Detect(nil, bgr[1:], w, h, 1); err == nil || !strings.Contains(err.Error(), "BGR24 image of 236×300") {
		t.Errorf("a byte too few: %v", err)
	}
	for range 2 {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := d.Detect(nil, bgr, w, h, 1); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("a closed detector says %v", err)
	}
}

func TestDetectAllocs(t *testing.T) {
	d, err := openDetectorUnchecked(nanoDetFile, DetectorOptions{Score: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	bgr, w, h := persons(t)
	var found []features.Detection
	run := func() {
		if found, err = d.Detect(found, bgr, w, h, 1); err != nil {
			t.Fatal(err)
		}
	}
	run()
	if n := testing.AllocsPerRun(10, run); n != 0 {
		t.Errorf("%v allocations an image, want 0", n)
	}
}

// Whatever comes out of a model, what is found is inside the image.
func FuzzDecode(f *testing.F) {
	inf, nan := math.Float32bits(float32(math.Inf(1))), math.Float32bits(float32(math.NaN()))
	for layout := range byte(7) {
		for _, v := range []uint32{0, inf, nan, inf | 1<<31, math.Float32bits(1e30), math.Float32bits(-3), math.Float32bits(1)} {
			f.Add(layout, uint16(128), uint16(72), v, math.Float32bits(0.7), math.Float32bits(9))
		}
	}
	f.Fuzz(func(t *testing.T, which byte, width, height uint16, a, b, c uint32) {
		three, four := 84, 85
		shapes := [][][]int{
			{{8, 8, 34}, {4, 4, 34}, {2, 2, 34}}, {{three, 34}}, {{four, 34}}, {{three, 7}}, {{6, three}}, {{9, 6}}, {{38, three}, {16, 16, prototypes}},
		}[int(which)%7]
		w, h := max(1, int(width)%maxSide), max(1, int(height)%maxSide)
		l, err := findLayout(shapes, image.Pt(64, 64), "", 2, "two.txt")
		if err != nil {
			t.Fatal(err)
		}
		l.size = image.Pt(64, 64)
		d := Detector{layout: l, least: 0.5, info: DetectorInfo{Classes: []string{"red", "blue"}}}
		var work decoding
		bits, at := []uint32{a, b, c, a ^ b, b + c}, 0
		for i, shape := range shapes {
			n := 1
			for _, s := range shape {
				n *= s
			}
			numbers, decode := &work.rows, d.decode
			if l.strides[i] == nil {
				numbers, decode = &work.prototypes, d.checkPrototypes
			}
			for range n {
				*numbers = append(*numbers, math.Float32frombits(bits[at%len(bits)]))
				at++
			}
			if err := decode(&work, i, l.show(w, h, 1)); err != nil {
				t.Fatal(err)
			}
			work.rows = nil // masks have parts of it
		}
		found := l.finish(&work, l.show(w, h, 1))
		if len(found) > features.MaxFound {
			t.Errorf("%d found", len(found))
		}
		best := 1.
		for _, f := range found {
			if f.Box.Empty() || !f.Box.In(image.Rect(0, 0, w, h)) || !(f.Score >= 0.5 && f.Score <= best) {
				t.Errorf("%v after a score of %g in %d×%d", f, best, w, h)
			}
			best = f.Score
			if g := f.Mask; l.coefficients > 0 && (g == nil || g.Cols < 1 || g.Rows < 1 || len(g.Logits) != g.Cols*g.Rows ||
				slices.ContainsFunc(g.Logits, func(v float32) bool { return !(v >= features.OutsideLogit && v <= -features.OutsideLogit) })) {
				t.Errorf("%v in %d×%d has the mask %+v", f.Box, w, h, g)
			}
		}
	})
}

func BenchmarkDetect(b *testing.B) {
	needONNXRuntime(b)
	bgr := noise(768, 576)
	for _, engine := range engines() {
		b.Run(engine, func(b *testing.B) {
			d := mustOpenDetector(b, nanoDetFile, DetectorOptions{Computing: Computing{Engine: engine}})
			var found []features.Detection
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if found, err = d.Detect(found, bgr, 768, 576, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
