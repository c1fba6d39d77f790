package ssl

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/segd/segd/lab/internal/npy"
)

// paper are the data sets and the accuracies of the paper's Table 1 (tab:sdp):
// for 10 and 100 labeled samples the linear kernel's SDP and Ours, then the RBF
// kernel's.
var paper = []struct {
	name     string
	accuracy [2][2][2]float64 // labeled, kernel, {SDP, Ours}
}{
	{"digit1", [2][2][2]float64{{{69.27, 82.20}, {53.93, 78.18}}, {{75.74, 85.60}, {88.65, 87.61}}}},
	{"usps", [2][2][2]float64{{{57.72, 64.58}, {40.10, 48.19}}, {{63.44, 72.14}, {39.83, 56.54}}}},
	{"bci", [2][2][2]float64{{{50.44, 50.62}, {50.00, 51.67}}, {{60.58, 65.23}, {64.19, 62.62}}}},
	{"g241c", [2][2][2]float64{{{49.88, 55.42}, {62.33, 89.98}}, {{64.92, 86.31}, {85.63, 89.34}}}},
	{"g241n", [2][2][2]float64{{{52.77, 57.61}, {50.13, 51.13}}, {{54.14, 54.11}, {52.23, 53.98}}}},
}

// Datasets are the names that Run takes when none are given: the paper's five
// and one of six classes.
var Datasets = []string{"digit1", "usps", "bci", "g241c", "g241n", "coil"}

// paperCell returns the paper's SDP and Ours of a cell, nil where it has none.
func paperCell(dataset string, labeled, kernel int) (sdp, ours *float64) {
	for _, p := range paper {
		if p.name == dataset {
			cell := p.accuracy[labeled][kernel]
			return &cell[0], &cell[1]
		}
	}
	return nil, nil
}

// set is one data set of the benchmark.
type set struct {
	name   string
	n, d   int
	x      []float64 // n×d, each column of mean 0 and deviation 1, divided by √d
	y      []int32
	labels int
	splits [2][][]int32 // labeled samples of each split, by index into labeledCounts
}

// hidden stands for a label that is not told.
const hidden = -1

// known are the labels of a split: those of its labeled samples, hidden elsewhere.
func (s *set) known(labeled []int32) []int32 {
	known := make([]int32, s.n)
	for i := range known {
		known[i] = hidden
	}
	for _, i := range labeled {
		known[i] = s.y[i]
	}
	return known
}

// labeledCounts are the numbers of labeled samples that the benchmark has splits for.
var labeledCounts = [2]int{10, 100}

// load reads features.npy, labels.npy, labeled10.npy and labeled100.npy.
func load(root, name string) (*set, error) {
	dir := filepath.Join(root, name)
	x, n, d, err := npy.Load[float32](filepath.Join(dir, "features.npy"))
	if err != nil {
		return nil, fmt.Errorf("%w; want a folder with %s, each with features.npy, labels.npy, labeled10.npy and labeled100.npy", err, strings.Join(Datasets, ", "))
	}
	y, rows, columns, err := npy.Load[uint8](filepath.Join(dir, "labels.npy"))
	if err != nil {
		return nil, err
	}
	if n == 0 || d == 0 || rows != n || columns != 1 {
		return nil, fmt.Errorf("ssl: %s: %d×%d labels for %d×%d features; want one label a row", dir, rows, columns, n, d)
	}
	s := &set{name: name, n: n, d: d, x: standardise(x, n, d), y: make([]int32, n)}
	for i, l := range y {
		s.y[i] = int32(l)
		s.labels = max(s.labels, int(l)+1)
	}
	if s.labels < 2 {
		return nil, fmt.Errorf("ssl: %s: all labels are 0; want at least two classes", dir)
	}
	for k, count := range labeledCounts {
		if s.splits[k], err = loadSplits(filepath.Join(dir, fmt.Sprintf("labeled%d.npy", count)), n, count); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func loadSplits(path string, n, count int) ([][]int32, error) {
	index, rows, columns, err := npy.Load[int32](path)
	if err != nil {
		return nil, err
	}
	if columns != count || rows == 0 {
		return nil, fmt.Errorf("ssl: %s: %d×%d; want %d columns, a row for each split", path, rows, columns, count)
	}
	var splits [][]int32
	for r := range rows {
		split, seen := index[r*count:(r+1)*count], map[int32]bool{}
		for _, i := range split {
			if i < 0 || int(i) >= n || seen[i] {
				return nil, fmt.Errorf("ssl: %s: split %d names sample %d; want %d different ones of [0, %d)", path, r, i, count, n)
			}
			seen[i] = true
		}
		splits = append(splits, split)
	}
	return splits, nil
}

// standardise gives each column mean 0 and deviation 1 (a constant one 0) and
// divides by √d, so that a row has about unit length whatever the data set.
func standardise(x []float32, n, d int) []float64 {
	out := make([]float64, n*d)
	for j := range d {
		mean, square := 0.0, 0.0
		for i := range n {
			mean += float64(x[i*d+j]) / float64(n)
		}
		for i := range n {
			v := float64(x[i*d+j]) - mean
			square += v * v / float64(n)
		}
		scale := 0.0
		if square > 1e-12*(1+mean*mean) {
			scale = 1 / math.Sqrt(square*float64(d))
		}
		for i := range n {
			out[i*d+j] = (float64(x[i*d+j]) - mean) * scale
		}
	}
	return out
}
