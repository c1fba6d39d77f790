package dnn

import (
	"fmt"
	"image"
	"math"
	"slices"
	"strings"

	"github.com/segd/segd/features/coco"
)

// A Layer is one layer of a model as OpenCV sees it.
type Layer struct {
	Name string `json:"name"`
	Type string `json:"type"`
	// Shape is the output's at the nominal input size: 1, channels, height, width for
	// feature maps.
	Shape []int `json:"shape"`
	// Output says that no other layer reads it.
	Output bool `json:"output,omitempty"`
}

// isMap says that a layer's output is a stack of planes.
func (l *Layer) isMap() bool {
	return len(l.Shape) == 4 && l.Shape[0] == 1 && l.Shape[1] > 0 && l.Shape[2] > 0 && l.Shape[3] > 0
}

// Info describes a model. A tap is a layer whose output becomes a feature map. If
// none are named, those of the model's outputs are taken that are feature maps of
// stride 32 or less and no heads; if there are none, for each of the strides 4, 8, 16 and 32 the
// last layer of the backbone at that stride, which is the last one before the
// network first goes to a coarser stride.
//
// Heads are outputs that say what is where as NanoDet's or NanoDet-Plus' do (see [Detector]), at the strides 8, 16 and
// 32, and 64, for the classes of COCO.
type Info struct {
	Path   string `json:"path"`
	Format string `json:"format"` // "onnx" or "caffe"
	SHA256 string `json:"sha256"` // of the file, of the weights for Caffe
	// InputWidth and InputHeight are the only input size the model takes; 0 means any
	// multiples of 32.
	InputWidth  int `json:"input_width"`
	InputHeight int `json:"input_height"`
	// NominalWidth and NominalHeight are the input for which shapes are given.
	NominalWidth  int     `json:"nominal_width"`
	NominalHeight int     `json:"nominal_height"`
	Taps          []Layer `json:"taps"`
	// Classes are those of what its heads find; empty: it has none.
	Classes []string `json:"classes,omitempty"`
	Layers  []Layer  `json:"layers,omitempty"`
	// Engine computes it, EngineOpenCV or EngineONNXRuntime, on Device, DeviceCPU and so on, unless that has
	// failed: see Computing.OnDevice.
	Engine string `json:"engine"`
	Device string `json:"device"`
	// Batch is how many images are computed in a run at most.
	Batch int `json:"batch"`
	// Engines are those that could, those of the processor first.
	Engines []EngineInfo `json:"engines"`
	// Milliseconds is how long one frame took when the model was probed, the second
	// of two.
	Milliseconds float64 `json:"milliseconds,omitempty"`

	maskFeatures string // the output that is the mask head's alone
}

// Channels is how many features the taps have together.
func (i *Info) Channels() int {
	n := 0
	for _, t := range i.Taps {
		n += t.Shape[1]
	}
	return n
}

// onnxPrefixes may be left out of a tap's name.
var onnxPrefixes = []string{"", onnxNodePrefix, onnxTensorPrefix}

// choose finds the named taps, or the default ones.
func (i *Info) choose(names []string) ([]Layer, error) {
	if len(names) == 0 {
		return i.defaults()
	}
	var taps []Layer
	for _, name := range names {
		l := i.layer(name)
		if l == nil {
			return nil, fmt.Errorf("it has no layer %q; it has %s", name, i.someLayers())
		}
		if !l.isMap() {
			return nil, fmt.Errorf("layer %q has the shape %v; want 1×channels×height×width, as %s", name, l.Shape, i.someLayers())
		}
		taps = append(taps, *l)
	}
	return taps, nil
}

func (i *Info) layer(name string) *Layer {
	for _, prefix := range onnxPrefixes {
		for k := range i.Layers {
			if i.Layers[k].Name == prefix+name {
				return &i.Layers[k]
			}
		}
	}
	return nil
}

// output is the layer with that name if nothing else reads it; nil: there is none.
func (i *Info) output(name string) *Layer {
	if l := i.layer(name); name != "" && l != nil && l.Output {
		return l
	}
	return nil
}

// someLayers names the default taps, or a few layers that are maps, as examples.
func (i *Info) someLayers() string {
	taps, err := i.defaults()
	if err != nil {
		return "no feature maps"
	}
	var s []string
	for _, t := range taps {
		s = append(s, fmt.Sprintf("%q", t.Name))
	}
	return strings.Join(s, ", ") + fmt.Sprintf(" and others, %d in all", len(i.Layers))
}

// stride is how many input pixels a map's cell covers, to the nearest whole number;
// 0 if not the same both ways.
func (i *Info) stride(l *Layer) int {
	if !l.isMap() {
		return 0
	}
	y := math.Round(float64(i.NominalHeight) / float64(l.Shape[2]))
	x := math.Round(float64(i.NominalWidth) / float64(l.Shape[3]))
	if x != y {
		return 0
	}
	return int(x)
}

// heads finds the model's heads, and what they are of an input of the nominal size; nil: it has none.
func (i *Info) heads() (heads []Layer, of layout) {
	for _, b := range bins {
		classes := len(coco.Names())
		var shapes [][]int
		heads = nil
		for _, l := range i.Layers {
			if l.Output && l.isMap() && l.Shape[1] == classes+4*b {
				heads, shapes = append(heads, l), append(shapes, []int{l.Shape[2], l.Shape[3], l.Shape[1]})
			}
		}
		if strides := planeStrides(shapes, image.Pt(i.NominalWidth, i.NominalHeight)); strides != nil {
			of = nanoDetPlanes(b, strides)
			of.classes = classes
			return heads, of
		}
	}
	return nil, layout{}
}

// defaults chooses taps as Info documents.
func (i *Info) defaults() ([]Layer, error) {
	heads, _ := i.heads()
	masks := i.output(i.maskFeatures)
	var outputs []Layer
	for k, l := range i.Layers {
		head := slices.ContainsFunc(heads, func(h Layer) bool { return h.Name == l.Name })
		if s := i.stride(&l); l.Output && !head && &i.Layers[k] != masks && s > 0 && s <= sizeStep {
			outputs = append(outputs, l)
		}
	}
	if len(outputs) > 0 {
		return outputs, nil
	}
	last := map[int]*Layer{} // by stride
	coarsest := 0
	for k := range i.Layers {
		l := &i.Layers[k]
		if s := i.stride(l); s >= coarsest && s > 0 {
			coarsest = s
			last[s] = l
		}
	}
	var taps []Layer
	for s := 4; s <= sizeStep; s *= 2 {
		if last[s] != nil {
			taps = append(taps, *last[s])
		}
	}
	if len(taps) == 0 {
		return nil, fmt.Errorf("none of its %d layers is a feature map of stride 4, 8, 16 or 32", len(i.Layers))
	}
	return taps, nil
}
