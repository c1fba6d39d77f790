package kernel

import (
	"fmt"

	"github.com/segd/segd/solver/internal/workers"
)

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
// kept, not copied. Cost O(nd²).
func NewBlock(x []float64, n, d int) *Block {
	b := &Block{}
	b.Reset(x, n, d)
	return b
}

// Reset makes b the block of x as NewBlock does, keeping b's Gram storage.
func (b *Block) Reset(x []float64, n, d int) {
	checkRows(len(x), n, d)
	b.N, b.D, b.X, b.X32 = n, d, x, nil
	b.sum()
}

// Reset32 is Reset for rows of float32.
func (b *Block) Reset32(x []float32, n, d int) {
	checkRows(len(x), n, d)
	b.N, b.D, b.X, b.X32 = n, d, nil, x
	b.sum()
}

func (b *Block) sum() {
	b.Gram = grow(b.Gram, b.D*b.D)
	clear(b.Gram)
	b.gramian.add(b.Gram, matrix{b.X, b.X32}, b.N, b.D)
}

func checkRows(numbers, n, d int) {
	if n < 0 || d < 0 || numbers != n*d {
		panic(fmt.Sprintf("kernel: %d numbers are not %d rows of %d", numbers, n, d))
	}
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
// whatever the tile and whoever sums it.
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
