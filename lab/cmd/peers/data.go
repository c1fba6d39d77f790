package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// dataSets are two synthetic ones and those of the SSL benchmark that are there.
func dataSets(opt options) ([]*samples, error) {
	sets := []*samples{synthetic(1500, 241, opt.seed), synthetic(30000, 64, opt.seed)}
	for _, name := range []string{"digit1", "usps", "g241c"} {
		s, err := readSSL(opt.ssl, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		sets = append(sets, s)
	}
	return sets, nil
}

// synthetic are two classes, three quarters and a quarter, around means that lie
// two deviations apart.
func synthetic(n, d int, seed uint64) *samples {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	mean, length := make([]float64, d), 0.0
	for k := range mean {
		mean[k] = r.NormFloat64()
		length += mean[k] * mean[k]
	}
	x, y := make([]float64, 0, n*d), make([]float64, n)
	for i := range y {
		y[i] = -1
		if r.IntN(4) == 0 {
			y[i] = 1
		}
		for _, m := range mean {
			x = append(x, y[i]*m/math.Sqrt(length)+r.NormFloat64())
		}
	}
	return prepared(fmt.Sprintf("synthetic, seed %d", seed), x, y, d)
}

// prepared gives columns mean 0 and deviation 1, divides by √d, so that a row has
// about unit length whatever the data, and appends the bias's column of ones.
func prepared(name string, x, y []float64, d int) *samples {
	n := len(y)
	s := &samples{name: name, n: n, d: d, x: make([]float64, n*(d+1)), y: y}
	for k := range d {
		mean, square := 0.0, 0.0
		for i := range n {
			mean += x[i*d+k] / float64(n)
		}
		for i := range n {
			square += (x[i*d+k] - mean) * (x[i*d+k] - mean) / float64(n)
		}
		scale := 0.0
		if square > 1e-12*(1+mean*mean) {
			scale = 1 / math.Sqrt(square*float64(d))
		}
		for i := range n {
			s.x[i*(d+1)+k] = (x[i*d+k] - mean) * scale
		}
	}
	for i := range n {
		s.x[i*(d+1)+d] = 1
	}
	return s
}

// readSSL reads features.npy (n×d float32) and labels.npy (n bytes, 0 or 1).
func readSSL(root, name string) (*samples, error) {
	features, n, d, err := readNPY(filepath.Join(root, name, "features.npy"), "<f4", 4)
	if err != nil {
		return nil, err
	}
	labels, rows, columns, err := readNPY(filepath.Join(root, name, "labels.npy"), "|u1", 1)
	if err != nil {
		return nil, err
	}
	if rows != n || columns != 1 || n == 0 || d == 0 {
		return nil, fmt.Errorf("%s: %d×%d labels for %d×%d features; want one a row", name, rows, columns, n, d)
	}
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range x {
		x[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(features[4*i:])))
	}
	for i, l := range labels {
		y[i] = 2*float64(l) - 1
		if l > 1 {
			return nil, fmt.Errorf("%s: label %d is %d; want 0 or 1", name, i, l)
		}
	}
	return prepared(name, x, y, d), nil
}

// readNPY reads a NumPy array (format 1.0, rows first) of the type as bytes.
func readNPY(path, kind string, size int) (data []byte, rows, columns int, err error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, 0, err
	}
	if data, rows, columns, err = parseNPY(file, kind, size); err != nil {
		return nil, 0, 0, fmt.Errorf("%s: %w", path, err)
	}
	return data, rows, columns, nil
}

func parseNPY(file []byte, kind string, size int) (data []byte, rows, columns int, err error) {
	const lead = 10 // magic, version, length of the header
	if len(file) < lead || !bytes.HasPrefix(file, []byte("\x93NUMPY\x01\x00")) {
		return nil, 0, 0, errors.New("want NumPy format 1.0")
	}
	end := lead + int(binary.LittleEndian.Uint16(file[8:]))
	if end > len(file) {
		return nil, 0, 0, errors.New("cut off in the header")
	}
	header := string(file[lead:end])
	plain := "{'descr': '" + kind + "', 'fortran_order': False, 'shape': "
	if _, err := fmt.Sscanf(header, plain+"(%d, %d)", &rows, &columns); err != nil {
		columns = 1
		if _, err := fmt.Sscanf(header, plain+"(%d,)", &rows); err != nil {
			return nil, 0, 0, fmt.Errorf("header %q; want %s, rows first, one or two dimensions", header, kind)
		}
	}
	data = file[end:]
	if rows < 0 || columns < 0 || rows > len(data) || columns > len(data) || len(data) != rows*columns*size {
		return nil, 0, 0, fmt.Errorf("%d bytes for %d×%d of %s", len(data), rows, columns, kind)
	}
	return data, rows, columns, nil
}
