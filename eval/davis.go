package eval

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/jpeg" // DAVIS frames
	_ "image/png"  // and annotations
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/segd/segd/features"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/tracker"
)

// DavisOptions say what to run. Root holds JPEGImages/480p and Annotations/480p.
type DavisOptions struct {
	Root      string
	Sequences []string // nil means all
	Model     features.Model
	ModelName string
	Features  features.Config
	Tracker   tracker.Config
	Progress  func(done, total int)                          // frames; nil means nobody looks
	Frame     func(sequence string, index int, f DavisFrame) // after each frame; nil means nobody looks
}

// DavisFrame is one labelled frame, valid during the Frame callback.
type DavisFrame struct {
	Image  image.Image
	Truth  mask.RLE
	Result *tracker.Result
	J      float64
}

// DavisReport is the outcome, in the stable form `segd eval davis --json` prints.
type DavisReport struct {
	Mode      string          `json:"mode"`
	Model     string          `json:"model"`
	Sequences []DavisSequence `json:"sequences"`
	MeanJ     float64         `json:"mean_j"`
	MeanF     float64         `json:"mean_f"`
}

// DavisSequence is one sequence's row. J, the intersection over union, and F, the
// boundary measure, are means over all frames but the first, which is given, and
// the last, as DAVIS-2016 does.
type DavisSequence struct {
	Name       string  `json:"name"`
	Frames     int     `json:"frames"` // frames J is the mean of
	J          float64 `json:"j"`
	F          float64 `json:"f"`
	MSPerFrame float64 `json:"ms_per_frame"` // features and tracking, mean
}

// Davis runs the tracker over DAVIS-2016 sequences as over a camera: the first
// frame's ground truth is the annotation, every later mask uses no later frame.
func Davis(ctx context.Context, opt DavisOptions) (*DavisReport, error) {
	names, err := davisSequences(opt.Root, opt.Sequences)
	if err != nil {
		return nil, err
	}
	files := make([][]string, len(names))
	total := 0
	for i, name := range names {
		if files[i], err = davisFrames(opt.Root, name); err != nil {
			return nil, err
		}
		total += len(files[i])
	}
	report := &DavisReport{Mode: opt.Tracker.Mode.String(), Model: opt.ModelName}
	done := 0
	for i, name := range names {
		row, err := davisSequence(ctx, opt, name, files[i], func() {
			done++
			if opt.Progress != nil {
				opt.Progress(done, total)
			}
		})
		if err != nil {
			return nil, fmt.Errorf("eval: %s: %w", name, err)
		}
		report.Sequences = append(report.Sequences, row)
		report.MeanJ += row.J / float64(len(names))
		report.MeanF += row.F / float64(len(names))
	}
	return report, nil
}

const davisImages, davisTruth = "JPEGImages/480p", "Annotations/480p"

// davisSequences checks the wanted names, or lists all.
func davisSequences(root string, want []string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(root, davisImages))
	if err != nil {
		return nil, fmt.Errorf("eval: %w; want a folder with %s and %s as DAVIS-2016 has them", err, davisImages, davisTruth)
	}
	var all []string
	for _, e := range entries {
		if e.IsDir() {
			all = append(all, e.Name())
		}
	}
	if len(want) == 0 {
		if len(all) == 0 {
			return nil, fmt.Errorf("eval: no sequence in %s", filepath.Join(root, davisImages))
		}
		return all, nil
	}
	for _, name := range want {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("eval: no sequence %q in %s; there are %s", name, root, strings.Join(all, ", "))
		}
	}
	return want, nil
}

func davisFrames(root, name string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(root, davisImages, name, "*.jpg"))
	if err != nil {
		return nil, fmt.Errorf("eval: %w", err)
	}
	if len(files) < 3 {
		return nil, fmt.Errorf("eval: %s has %d frames; want at least 3", name, len(files))
	}
	sort.Strings(files)
	return files, nil
}

func davisSequence(ctx context.Context, opt DavisOptions, name string, files []string, tick func()) (DavisSequence, error) {
	row := DavisSequence{Name: name, Frames: len(files) - 2}
	extractor, err := features.New(opt.Features, opt.Model)
	if err != nil {
		return row, err
	}
	follow, err := tracker.New(opt.Tracker)
	if err != nil {
		return row, err
	}
	var scene features.Scene
	var spent time.Duration
	var bits []uint8
	for i, file := range files {
		if err := ctx.Err(); err != nil {
			return row, err
		}
		img, err := readImage(file)
		if err != nil {
			return row, err
		}
		b := img.Bounds()
		bgr := toBGR(img)
		truth, err := readTruth(filepath.Join(opt.Root, davisTruth, name, strings.TrimSuffix(filepath.Base(file), ".jpg")+".png"), b.Dx(), b.Dy())
		if err != nil {
			return row, err
		}
		var ann *tracker.Annotation
		if i == 0 {
			if !slices.Contains(truth, 1) {
				return row, errors.New("the first frame's annotation marks no object")
			}
			if ann, err = tracker.FromMask(truth, b.Dx(), b.Dy(), 1, name); err != nil {
				return row, err
			}
		}
		start := time.Now()
		if err := extractor.Extract(&scene, bgr, b.Dx(), b.Dy()); err != nil {
			return row, err
		}
		scene.Seq = uint64(i)
		res, err := follow.Step(ctx, &scene, ann)
		if err != nil {
			return row, err
		}
		spent += time.Since(start)
		gt := mask.Encode(truth, b.Dx(), b.Dy())
		j := mask.IoU(res.Objects[0].Mask, gt)
		if i > 0 && i < len(files)-1 {
			row.J += j / float64(row.Frames)
			bits = res.Objects[0].Mask.Decode(bits)
			row.F += BoundaryF(bits, truth, b.Dx(), b.Dy()) / float64(row.Frames)
		}
		if opt.Frame != nil {
			opt.Frame(name, i, DavisFrame{Image: img, Truth: gt, Result: res, J: j})
		}
		tick()
	}
	row.MSPerFrame = float64(spent.Microseconds()) / 1e3 / float64(len(files))
	return row, nil
}

func readImage(path string) (image.Image, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	img, _, err := image.Decode(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return img, nil
}

// readTruth reads a DAVIS annotation as one byte a pixel, 1 on the object.
func readTruth(path string, width, height int) ([]uint8, error) {
	img, err := readImage(path)
	if err != nil {
		return nil, err
	}
	if got := img.Bounds().Size(); got != image.Pt(width, height) {
		return nil, fmt.Errorf("%s is %d×%d; its frame is %d×%d", path, got.X, got.Y, width, height)
	}
	bits := make([]uint8, width*height)
	for y := range height {
		for x := range width {
			if g := color.GrayModel.Convert(img.At(x, y)).(color.Gray); g.Y > 0 {
				bits[y*width+x] = 1
			}
		}
	}
	return bits, nil
}

// toBGR copies an image to tight BGR24.
func toBGR(img image.Image) []byte {
	b := img.Bounds()
	out := make([]byte, 0, 3*b.Dx()*b.Dy())
	ycc, fast := img.(*image.YCbCr)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if fast {
				yi, ci := ycc.YOffset(x, y), ycc.COffset(x, y)
				r, g, bl := color.YCbCrToRGB(ycc.Y[yi], ycc.Cb[ci], ycc.Cr[ci])
				out = append(out, bl, g, r)
				continue
			}
			r, g, bl, _ := img.At(x, y).RGBA()
			out = append(out, byte(bl>>8), byte(g>>8), byte(r>>8))
		}
	}
	return out
}
