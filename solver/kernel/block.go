package kernel

import "fmt"

// Block is a run of consecutive samples: N rows of D numbers, row-major, and
// their Gram matrix XᵀX. A block is immutable once made, so one frame's block
// serves every window the frame is part of.
type Block struct {
	N, D int
	X    []float64 // N×D
	Gram []float64 // D×D, upper triangle; what lies below is not to be read. Nil in a block of Rows
}

// NewBlock computes the Gram matrix of x, which holds n rows of d numbers and is
// kept, not copied. Cost O(nd²).
func NewBlock(x []float64, n, d int) *Block {
	b := &Block{}
	b.Reset(x, n, d)
	return b
}

// Rows is a block without a Gram matrix, for a Product whose d×d would be too
// large to form. x holds n rows of d numbers and is kept, not copied.
func Rows(x []float64, n, d int) *Block {
	checkRows(x, n, d)
	return &Block{N: n, D: d, X: x}
}

// Reset makes b the block of x as NewBlock does, keeping b's Gram storage.
func (b *Block) Reset(x []float64, n, d int) {
	checkRows(x, n, d)
	if cap(b.Gram) < d*d {
		b.Gram = make([]float64, d*d)
	}
	b.N, b.D, b.X, b.Gram = n, d, x, b.Gram[:d*d]
	clear(b.Gram)
	gram(b.Gram, x, n, d)
}

func checkRows(x []float64, n, d int) {
	if n < 0 || d < 0 || len(x) != n*d {
		panic(fmt.Sprintf("kernel: %d numbers are not %d rows of %d", len(x), n, d))
	}
}

// gram adds xᵀx to the upper triangle of g, d×d. Rows are taken a tile at a time,
// so that a tile's columns are read from the cache all but once.
func gram(g, x []float64, n, d int) {
	tile := tileRows(d)
	for i := 0; i < n; i += tile {
		rows := x[i*d : min(i+tile, n)*d]
		for a := 0; a < d; a += 4 {
			outer(g[a*d+a:], d, rows[a:], d, rows[a:], d, min(4, d-a), d-a, len(rows)/d)
		}
	}
}
