package kernel

import (
	"errors"
	"fmt"
	"math"

	"github.com/segd/segd/solver/internal/workers"
)

// ErrInput is wrapped by the errors of a call whose arguments do not fit each other, or what was called before.
var ErrInput = errors.New("kernel: bad input")

// ErrNotFinite is wrapped by the errors of rows or penalties that are NaN, infinite or too large to be squared.
var ErrNotFinite = errors.New("kernel: rows or penalty not finite")

// Block is a run of consecutive samples: N rows of D numbers, row-major, and
// their Gram matrix XᵀX. A block is immutable once made, so one frame's block
// serves every window the frame is part of.
//
// The rows are in X or, where that is nil, in X32: what is measured needs no more, and
// half the memory is read twice as fast. All sums are float64 either way.
type Block struct {
	N, D int
	X    []float64 // N×D
	X32  []float32 // N×D
	Gram []float64 // D×D, upper triangle; what lies below is not to be read

	gramian gramian
}

// NewBlock computes the Gram matrix of x, which holds n rows of d numbers and is
// kept, not copied. Cost O(nd²). The error wraps ErrInput where x has not n·d
// numbers, and ErrNotFinite where one of them is not finite.
func NewBlock(x []float64, n, d int) (*Block, error) {
	b := &Block{}
	if err := b.Reset(x, n, d); err != nil {
		return nil, err
	}
	return b, nil
}

// Reset makes b the block of x as NewBlock does, keeping b's Gram storage. After an
// error b is a block without rows and columns.
func (b *Block) Reset(x []float64, n, d int) error { return b.reset(matrix{x: x}, len(x), n, d) }

// Reset32 is Reset for rows of float32.
func (b *Block) Reset32(x []float32, n, d int) error { return b.reset(matrix{x32: x}, len(x), n, d) }

func (b *Block) reset(x matrix, numbers, n, d int) error {
	b.N, b.D, b.X, b.X32, b.Gram = 0, 0, nil, nil, b.Gram[:0]
	if !areRows(numbers, n, d) {
		return fmt.Errorf("%w: %d numbers are not %d rows of %d; want at most %d rows of %d", ErrInput, numbers, n, d, maxRows, maxColumns)
	}
	gram := grow(b.Gram, d*d)
	clear(gram)
	b.gramian.add(gram, x, n, d)
	if column := notFinite(gram, d); column >= 0 {
		return fmt.Errorf("%w: the squares of column %d add up to %g", ErrNotFinite, column, gram[column*d+column])
	}
	b.N, b.D, b.X, b.X32, b.Gram = n, d, x.x, x.x32, gram
	return nil
}

// What a block may have at most: with more columns its Gram matrix would take more than 8 GiB.
const maxRows, maxColumns = math.MaxInt32, 1 << 15

// areRows tells whether so many numbers are n rows of d.
func areRows(numbers, n, d int) bool {
	return n >= 0 && n <= maxRows && d >= 0 && d <= maxColumns && numbers == n*d
}

// notFinite returns a column of a d×d Gram matrix that has a number which is not finite, or −1. The diagonal, which it looks at,
// has the square of every number of the rows.
func notFinite(gram []float64, d int) int {
	for i := range d {
		if g := gram[i*d+i]; math.IsNaN(g) || math.IsInf(g, 0) {
			return i
		}
	}
	return -1
}

// matrix holds numbers as a Block has them.
type matrix struct {
	x   []float64
	x32 []float32
}

// cut returns the numbers from ≤ i < to.
func (r matrix) cut(from, to int) matrix {
	if r.x != nil {
		return matrix{x: r.x[from:to]}
	}
	return matrix{x32: r.x32[from:to]}
}

// wide returns the numbers from ≤ i < to as float64, in buffer if they are not.
func (r matrix) wide(from, to int, buffer []float64) []float64 {
	if r.x32 == nil {
		return r.x[from:to]
	}
	buffer = buffer[:to-from]
	widen(buffer, r.x32[from:to])
	return buffer
}

// A tile is gramRows rows, laid out in panels of panelWidth columns and as long as
// the tile is high: the inner loop of a Gram matrix then reads two short runs of
// memory, which stay in the first-level cache.
const (
	gramRows   = 128
	panelWidth = 8
)

// gramian makes Gram matrices. Each element is summed in the order of the rows,
// whatever the tile and the goroutine that sums it.
type gramian struct {
	g, panels []float64
	row       []float64
	d, rows   int
	pool      workers.Pool
	column    func(int)
	owner     *gramian // whom column is bound to
}

// add adds xᵀx to the upper triangle of g, d×d.
func (m *gramian) add(g []float64, x matrix, n, d int) {
	if m.owner != m {
		m.owner, m.pool = m, workers.Pool{}
		m.column = m.panel
	}
	count := (d + panelWidth - 1) / panelWidth
	m.g, m.d, m.row, m.panels = g, d, grow(m.row, d), grow(m.panels, count*panelWidth*gramRows)
	for i := 0; i < n && d > 0; i += gramRows {
		m.rows = min(gramRows, n-i)
		for k := range m.rows {
			row, at := x.wide((i+k)*d, (i+k+1)*d, m.row), k*panelWidth
			for ; len(row) > panelWidth; row, at = row[panelWidth:], at+gramRows*panelWidth {
				copy(m.panels[at:at+panelWidth], row)
			}
			copy(m.panels[at:], row)
		}
		workers := 0
		if m.rows*d*d/2 < parallelFrom {
			workers = 1
		}
		m.pool.Each(m.column, count, workers)
	}
	m.g = nil
}

// panel adds the tile's share of one panel of columns, the longest first.
func (m *gramian) panel(index int) {
	b := (m.d-1)/panelWidth*panelWidth - index*panelWidth
	right, width := m.panels[b*gramRows:], min(panelWidth, m.d-b)
	if width == panelWidth {
		for a := 0; a <= b; a += panelWidth {
			outerSquare(m.g[a*m.d+b:], m.d, right, panelWidth, m.panels[a*gramRows:], panelWidth, m.rows)
		}
		return
	}
	for a := 0; a < b+width; a += 4 {
		left := m.panels[a/panelWidth*panelWidth*gramRows+a%panelWidth:]
		outer(m.g[a*m.d+b:], m.d, right, panelWidth, left, panelWidth, min(4, m.d-a), width, m.rows)
	}
}
