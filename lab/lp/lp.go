package lp

// #cgo CFLAGS: -I/usr/include/coin
// #cgo LDFLAGS: -lClp -lCoinUtils
// #include <stdlib.h>
// #include <Clp_C_Interface.h>
import "C"

import (
	"context"
	"errors"
	"fmt"
	"math"
	"unsafe"
)

// ErrInfeasible says that no point obeys the rows.
var ErrInfeasible = errors.New("lp: infeasible")

// ErrNumbers says that the costs hold a NaN or an infinity.
var ErrNumbers = errors.New("lp: costs not finite")

// Model is min c·x subject to Lower ≤ Ax ≤ Upper and 0 ≤ x ≤ 1, with a matrix A
// of zeros and ones that does not change.
type Model struct {
	clp     unsafe.Pointer // Clp_Simplex *
	columns int
	warm    bool
}

// New makes the model of a matrix by rows: row r has ones in the columns
// index[start[r]:start[r+1]]. Nothing is kept. Malformed rows are a programming
// error and panic. The caller closes the model.
func New(columns int, start, index []int32, lower, upper []float64) *Model {
	rows := len(lower)
	if len(start) != rows+1 || len(upper) != rows || columns < 1 || start[rows] != int32(len(index)) {
		panic(fmt.Sprintf("lp: %d starts, %d lower and %d upper bounds, %d entries, %d columns", len(start), rows, len(upper), len(index), columns))
	}
	begin, row := byColumns(columns, start, index)
	ones := make([]float64, len(index)+1)
	for i := range ones {
		ones[i] = 1
	}
	zeros, ceiling := make([]float64, columns), ones
	if len(ceiling) < columns {
		ceiling = make([]float64, columns)
		for i := range ceiling {
			ceiling[i] = 1
		}
	}
	m := &Model{clp: C.Clp_newModel(), columns: columns}
	C.Clp_setLogLevel(m.clp, 0)
	C.Clp_loadProblem(m.clp, C.int(columns), C.int(rows), (*C.CoinBigIndex)(unsafe.Pointer(&begin[0])), (*C.int)(unsafe.Pointer(&row[0])),
		(*C.double)(&ones[0]), (*C.double)(&zeros[0]), (*C.double)(&ceiling[0]), (*C.double)(&zeros[0]),
		(*C.double)(unsafe.SliceData(lower)), (*C.double)(unsafe.SliceData(upper)))
	return m
}

// byColumns turns rows of ones into columns, as Clp stores them.
func byColumns(columns int, start, index []int32) (begin, row []int32) {
	begin = make([]int32, columns+1)
	for _, c := range index {
		if c < 0 || int(c) >= columns {
			panic(fmt.Sprintf("lp: an entry in column %d of %d", c, columns))
		}
		begin[c+1]++
	}
	for c := range columns {
		begin[c+1] += begin[c]
	}
	row = make([]int32, len(index)+1)
	at := append([]int32(nil), begin...)
	for r := range len(start) - 1 {
		for _, c := range index[start[r]:start[r+1]] {
			row[at[c]] = int32(r)
			at[c]++
		}
	}
	return begin, row
}

// Minimise writes a minimiser of c·x, a vertex, to x and returns the minimum.
// Both have one number a column. ctx is looked at before, not within: a program
// of a thousand rows takes milliseconds. It wraps ErrInfeasible or ErrNumbers.
func (m *Model) Minimise(ctx context.Context, x, c []float64) (float64, error) {
	if len(x) != m.columns || len(c) != m.columns {
		panic(fmt.Sprintf("lp: %d variables and %d costs for %d columns", len(x), len(c), m.columns))
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	for j, v := range c {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return 0, fmt.Errorf("%w: %g at column %d", ErrNumbers, v, j)
		}
	}
	C.Clp_chgObjCoefficients(m.clp, (*C.double)(&c[0]))
	if m.warm {
		C.Clp_dual(m.clp, 0)
	} else {
		C.Clp_initialDualSolve(m.clp)
	}
	switch status := C.Clp_status(m.clp); status {
	case 0:
	case 1:
		return 0, ErrInfeasible
	default:
		return 0, fmt.Errorf("lp: the dual simplex ended with status %d; want 0, optimal", int(status))
	}
	m.warm = true
	copy(x, unsafe.Slice((*float64)(C.Clp_getColSolution(m.clp)), m.columns))
	return float64(C.Clp_objectiveValue(m.clp)), nil
}

// Close frees the model; a second Close does nothing.
func (m *Model) Close() {
	if m.clp != nil {
		C.Clp_deleteModel(m.clp)
		m.clp = nil
	}
}
