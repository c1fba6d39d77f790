// Package scratch reuses memory from frame to frame.
package scratch

// Grow returns n values in s's memory, or in new memory if that is too small. What
// they are is unspecified.
func Grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// Zero is Grow with every value zero.
func Zero[T any](s []T, n int) []T {
	s = Grow(s, n)
	clear(s)
	return s
}
