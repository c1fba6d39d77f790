package propagation

import "github.com/segd/segd/tracker/internal/scratch"

// sparse lists where the rows of N×L numbers are not zero, but for those of the background. Superpixels that may be objects are few,
// and those that may be one of many objects fewer: what is done for these alone is little beside a look at all pairs.
type sparse struct {
	firsts, labels []int32 // of superpixel i: labels[firsts[i]:firsts[i+1]], ascending
	starts, is     []int32 // of label l: is[starts[l]:starts[l+1]], superpixels, ascending
}

// list sets s to where rows are not zero.
func list[T bool | float64](s *sparse, rows []T, labels int) {
	var zero T
	s.firsts, s.labels, s.starts = append(s.firsts[:0], 0), s.labels[:0], scratch.Zero(s.starts, labels+2)
	for ; len(rows) >= labels; rows = rows[labels:] {
		for l, v := range rows[1:labels] {
			if v != zero {
				s.labels = append(s.labels, int32(l+1))
				s.starts[l+3]++
			}
		}
		s.firsts = append(s.firsts, int32(len(s.labels)))
	}
	for l := range s.starts[1:] {
		s.starts[l+1] += s.starts[l]
	}
	s.is = scratch.Grow(s.is, len(s.labels))
	for i := range len(s.firsts) - 1 {
		for _, l := range s.of(int32(i)) {
			s.is[s.starts[l+1]] = int32(i)
			s.starts[l+1]++
		}
	}
}

// of lists the labels of superpixel i.
func (s *sparse) of(i int32) []int32 { return s.labels[s.firsts[i]:s.firsts[i+1]] }

// superpixels lists those of a label.
func (s *sparse) superpixels(label int) []int32 { return s.is[s.starts[label]:s.starts[label+1]] }
