package kernel

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// reference is Linear written with one BLAS call a block and label, the obvious
// way: an oracle for large problems, and what benchmarks measure against.
type reference struct {
	d, n          int
	gamma, c      float64
	blocks        []*Block
	gram, chol, v []float64
}

func newReference(blocks []*Block, gamma float64) *reference {
	k := &reference{d: blocks[0].D, gamma: gamma, blocks: blocks}
	k.gram, k.chol, k.v = make([]float64, k.d*k.d), make([]float64, k.d*k.d), make([]float64, k.d)
	for _, b := range blocks {
		k.n += b.N
		referenceGram(k.gram, b.X, b.N, b.D, 1)
	}
	return k
}

func referenceGram(g, x []float64, n, d int, beta float64) {
	if n > 0 {
		blas64.Syrk(blas.Trans, 1, blas64.General{Rows: n, Cols: d, Stride: d, Data: x}, beta,
			blas64.Symmetric{N: d, Stride: d, Data: g, Uplo: blas.Upper})
	}
}

func (k *reference) Factor(nu, rho float64) {
	k.c = 2*nu + rho*k.gamma
	copy(k.chol, k.gram)
	for i := range k.d {
		k.chol[i*k.d+i] += k.c / rho
	}
	if _, ok := lapack64.Potrf(blas64.Symmetric{N: k.d, Stride: k.d, Data: k.chol, Uplo: blas.Upper}); !ok {
		panic("not positive definite")
	}
}

func (k *reference) Solve(alpha, r []float64, labels int) {
	for i, v := range r {
		alpha[i] = v / k.c
	}
	columns := columnsOf(r, labels)
	factor := blas64.Triangular{N: k.d, Stride: k.d, Data: k.chol, Uplo: blas.Upper, Diag: blas.NonUnit}
	for l := range columns {
		k.project(r, l, labels)
		lapack64.Potrs(factor, blas64.General{Rows: k.d, Cols: 1, Stride: 1, Data: k.v})
		k.expand(alpha, l, labels, -1/k.c)
	}
	if columns < labels {
		for i := 0; i < len(alpha); i += 2 {
			alpha[i+1] = -alpha[i]
		}
	}
}

// Scores writes XXᵀα, the scores of the classifier Xᵀα.
func (k *reference) Scores(dst, alpha []float64, labels int) {
	clear(dst)
	for l := range labels {
		k.project(alpha, l, labels)
		k.expand(dst, l, labels, 1)
	}
}

func (k *reference) project(r []float64, label, labels int) {
	clear(k.v)
	row := 0
	for _, b := range k.blocks {
		if b.N > 0 {
			blas64.Gemv(blas.Trans, 1, general(b), column(r, row, b.N, label, labels), 1, blas64.Vector{N: k.d, Inc: 1, Data: k.v})
		}
		row += b.N
	}
}

func (k *reference) expand(dst []float64, label, labels int, a float64) {
	row := 0
	for _, b := range k.blocks {
		if b.N > 0 {
			blas64.Gemv(blas.NoTrans, a, general(b), blas64.Vector{N: k.d, Inc: 1, Data: k.v}, 1, column(dst, row, b.N, label, labels))
		}
		row += b.N
	}
}

func general(b *Block) blas64.General {
	return blas64.General{Rows: b.N, Cols: b.D, Stride: b.D, Data: b.X}
}

// column is rows [row, row+n) of the label's column of an n×labels matrix.
func column(m []float64, row, n, label, labels int) blas64.Vector {
	return blas64.Vector{N: n, Inc: labels, Data: m[row*labels+label : (row+n-1)*labels+label+1]}
}
