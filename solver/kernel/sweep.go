package kernel

import (
	"fmt"
	"math"

	"github.com/segd/segd/solver/internal/workers"
)

// sweep goes over the rows of its blocks to take the two products everything here
// is made of: project, Xᵀr, and expand, Xv.
//
// Rows are cut into chunks whose size depends on the width alone. A chunk's share
// of Xᵀr is summed on its own and the shares are added in the order of the rows, so
// whichever worker takes which chunk, the bits are the same.
type sweep struct {
	n, d    int
	blocks  []*Block
	chunks  []chunk
	workers int

	v      []float64 // columns×d: what project leaves and expand takes
	shares []float64 // chunks×columns×d
	pool   workers.Pool
	job    job
	owner  *sweep // whom the two below are bound to
	projectChunk,
	expandChunk func(int)
}

// chunk is rows consecutive rows of one block; row counts from the first block's.
type chunk struct {
	x         matrix
	row, rows int
}

// job is what a pass works on.
type job struct {
	dst, src []float64
	labels   int
	columns  int // fewer than labels: the second column is the first one's negative
	a, b     float64
}

// A chunk has about chunkNumbers numbers, half a mebibyte, which is little beside
// a window and much beside the handing out of a chunk; and at least chunkMin rows,
// so that adding the shares costs little beside making them.
const (
	chunkNumbers = 1 << 16
	chunkMin     = 256
	chunkMax     = 1 << 13
	// From parallelFrom multiplications on, some 50 µs, a second
	// goroutine is worth waking.
	parallelFrom = 1 << 19
)

// SetWorkers bounds the goroutines a product uses; 0, as at first, or less is
// GOMAXPROCS and 1 is the caller's own. Small products use the caller's own in any
// case. The results are the same, to the bit.
func (s *sweep) SetWorkers(n int) { s.workers = n }

// Len returns n, the number of samples.
func (s *sweep) Len() int { return s.n }

// forget leaves no samples.
func (s *sweep) forget() { s.n, s.d, s.blocks, s.chunks = 0, 0, s.blocks[:0], s.chunks[:0] }

func (s *sweep) reset(blocks []*Block) error {
	s.forget()
	if len(blocks) == 0 {
		return fmt.Errorf("%w: no blocks; want at least one", ErrInput)
	}
	for i, b := range blocks {
		if b == nil || !areRows(max(len(b.X), len(b.X32)), b.N, b.D) || len(b.X) > 0 && len(b.X32) > 0 || len(b.Gram) != b.D*b.D {
			return fmt.Errorf("%w: block %d was not made by NewBlock or Reset", ErrInput, i)
		}
		if b.D != blocks[0].D {
			return fmt.Errorf("%w: block %d has %d columns, block 0 has %d", ErrInput, i, b.D, blocks[0].D)
		}
	}
	s.d = blocks[0].D
	size := max(chunkMin, min(chunkMax, chunkNumbers/max(s.d, 1)&^3))
	s.blocks = append(s.blocks, blocks...)
	for _, b := range blocks {
		x := matrix{b.X, b.X32}
		for i := 0; i < b.N; i += size {
			rows := min(size, b.N-i)
			s.chunks = append(s.chunks, chunk{x.cut(i*s.d, (i+rows)*s.d), s.n + i, rows})
		}
		s.n += b.N
	}
	if s.owner != s {
		s.owner, s.projectChunk, s.expandChunk = s, s.projectOne, s.expandOne
		s.pool = workers.Pool{}
	}
	return nil
}

func (s *sweep) check(dst, src []float64, labels int) error {
	if s.owner != s {
		return fmt.Errorf("%w: a kernel before its Reset, or a copy of one", ErrInput)
	}
	if labels < 1 || labels > math.MaxInt32 || len(dst) != s.n*labels || len(src) != s.n*labels {
		return fmt.Errorf("%w: %d and %d numbers for %d samples × %d labels", ErrInput, len(dst), len(src), s.n, labels)
	}
	return nil
}

// project leaves Xᵀ of the first columns columns of src, n×labels, in s.v, a row a
// column.
func (s *sweep) project(src []float64, labels, columns int) {
	size := columns * s.d
	s.v, s.shares = grow(s.v, size), grow(s.shares, len(s.chunks)*size)
	s.job = job{src: src, labels: labels, columns: columns}
	s.pass(s.projectChunk)
	clear(s.v)
	for c := range s.chunks {
		for i, share := range s.shares[c*size : (c+1)*size] {
			s.v[i] += share
		}
	}
}

func (s *sweep) projectOne(index int) {
	c, j := &s.chunks[index], &s.job
	size := j.columns * s.d
	share := s.shares[index*size : (index+1)*size]
	clear(share)
	var room [tileNumbers]float64
	tile, wide := tileRows(s.d), roomFor(room[:], s.d)
	for i := 0; i < c.rows; i += tile {
		rows := min(tile, c.rows-i)
		x, r := c.x.wide(i*s.d, (i+rows)*s.d, wide), j.src[(c.row+i)*j.labels:]
		for l := 0; l < j.columns; l += 4 {
			outer(share[l*s.d:], s.d, x, s.d, r[l:], j.labels, min(4, j.columns-l), s.d, rows)
		}
	}
}

// expand writes a·src + b·Xv to dst, both n×labels, with v the rows of s.v. With one
// column for two labels the second column of dst is the negative of the first. It
// goes from the last chunk to the first: of a window larger than the cache, the end
// is what project left there.
func (s *sweep) expand(dst, src []float64, labels, columns int, a, b float64) {
	s.job = job{dst, src, labels, columns, a, b}
	s.pass(s.expandChunk)
}

func (s *sweep) expandOne(index int) {
	c, j := &s.chunks[len(s.chunks)-1-index], &s.job
	var products [2 * tileMax]float64
	var room [tileNumbers]float64
	tile, wide := tileRows(s.d), roomFor(room[:], s.d)
	for i := 0; i < c.rows; i += tile {
		rows := min(tile, c.rows-i)
		x := c.x.wide(i*s.d, (i+rows)*s.d, wide)
		from, to := (c.row+i)*j.labels, (c.row+i+rows)*j.labels
		dst, src := j.dst[from:to], j.src[from:to]
		for l := 0; l < j.columns; l += 2 {
			nv := min(2, j.columns-l)
			dots(products[:], tileMax, x, s.d, s.v[l*s.d:], nv, rows)
			for k := range nv {
				for q, p := range products[k*tileMax : k*tileMax+rows] {
					at := q*j.labels + l + k
					dst[at] = float64(j.a*src[at]) + float64(j.b*p)
				}
			}
		}
		if j.columns < j.labels {
			for q := 0; q+1 < len(dst); q += 2 {
				dst[q+1] = -dst[q]
			}
		}
	}
}

// pass calls do for every chunk, on several goroutines if that pays.
func (s *sweep) pass(do func(int)) {
	workers := s.workers
	if s.n*s.d*s.job.columns < parallelFrom {
		workers = 1
	}
	s.pool.Each(do, len(s.chunks), workers)
	s.job = job{}
}

func grow(s []float64, n int) []float64 {
	if cap(s) < n {
		return make([]float64, n)
	}
	return s[:n]
}
