package npy

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strconv"
)

// limit bounds how many elements a file may claim, so that a broken header
// cannot ask for all memory.
const limit = 1 << 28

// headerForm is the one form of header that NumPy writes for plain arrays.
var headerForm = regexp.MustCompile(`^\{'descr': '([<>|=][a-z][0-9]+)', 'fortran_order': (True|False), 'shape': \(([0-9]+), ?([0-9]*)\), \} *\n$`)

// element is a Go type with the name that NumPy gives it on disk.
type element interface{ float32 | int32 | uint8 }

func typeName[T element]() string {
	switch any(*new(T)).(type) {
	case float32:
		return "<f4"
	case int32:
		return "<i4"
	}
	return "|u1"
}

// read reads an array of one or two dimensions, NumPy format 1.0, and returns it
// row by row whichever order the file has. A vector has one column.
func read[T element](r io.Reader) (data []T, rows, columns int, err error) {
	rows, columns, byColumn, err := readHeader(r, typeName[T]())
	if err != nil {
		return nil, 0, 0, err
	}
	// In steps, so that a header cannot make more memory than there are bytes.
	const step = 1 << 16
	for left := rows * columns; left > 0; {
		part := make([]T, min(left, step))
		if err := binary.Read(r, binary.LittleEndian, part); err != nil {
			return nil, 0, 0, fmt.Errorf("the header says %d×%d elements, the file ends before: %w", rows, columns, err)
		}
		data, left = append(data, part...), left-len(part)
	}
	if extra, err := io.ReadFull(r, make([]byte, 1)); extra > 0 || err != io.EOF {
		return nil, 0, 0, fmt.Errorf("bytes follow the %d×%d elements; want none", rows, columns)
	}
	if byColumn {
		data = transposed(data, rows, columns)
	}
	return data, rows, columns, nil
}

// transposed turns columns, one after the other, into rows.
func transposed[T any](data []T, rows, columns int) []T {
	out := make([]T, len(data))
	for i := range rows {
		for j := range columns {
			out[i*columns+j] = data[j*rows+i]
		}
	}
	return out
}

func readHeader(r io.Reader, want string) (rows, columns int, byColumn bool, err error) {
	var lead struct {
		Magic        [6]byte
		Major, Minor uint8
		Size         uint16
	}
	if err := binary.Read(r, binary.LittleEndian, &lead); err != nil {
		return 0, 0, false, fmt.Errorf("no NumPy header: %w", err)
	}
	if string(lead.Magic[:]) != "\x93NUMPY" || lead.Major != 1 || lead.Minor != 0 {
		return 0, 0, false, fmt.Errorf("begins with %q, version %d.%d; want NumPy format 1.0", lead.Magic, lead.Major, lead.Minor)
	}
	text := make([]byte, lead.Size)
	if _, err := io.ReadFull(r, text); err != nil {
		return 0, 0, false, fmt.Errorf("the header is cut short: %w", err)
	}
	m := headerForm.FindSubmatch(text)
	switch {
	case m == nil:
		return 0, 0, false, fmt.Errorf("header %q; want descr, fortran_order and a shape of one or two numbers", text)
	case string(m[1]) != want:
		return 0, 0, false, fmt.Errorf("elements are %s; want %s", m[1], want)
	}
	rows, err = strconv.Atoi(string(m[3]))
	if err != nil || rows > limit {
		return 0, 0, false, fmt.Errorf("shape (%s, %s); want one or two numbers up to %d", m[3], m[4], limit)
	}
	if len(m[4]) == 0 {
		return rows, 1, false, nil
	}
	columns, err = strconv.Atoi(string(m[4]))
	if err != nil || columns > limit || rows > 0 && columns > limit/rows {
		return 0, 0, false, fmt.Errorf("shape (%s, %s); want at most %d elements", m[3], m[4], limit)
	}
	return rows, columns, string(m[2]) == "True", nil
}

// Load reads a file, as read does, and checks that its floats are numbers.
func Load[T element](path string) (data []T, rows, columns int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, 0, fmt.Errorf("npy: %w", err)
	}
	defer f.Close()
	data, rows, columns, err = read[T](f)
	if err != nil {
		return nil, 0, 0, fmt.Errorf("npy: %s: %w", path, err)
	}
	if floats, ok := any(data).([]float32); ok {
		for i, v := range floats {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				return nil, 0, 0, fmt.Errorf("npy: %s: element %d is %g", path, i, v)
			}
		}
	}
	return data, rows, columns, nil
}
