// Package memtest measures the memory that functions take, for tests.
package memtest

import "runtime"

// Allocated is how many bytes are allocated while f runs, those that are freed meanwhile too, by whatever goroutine.
func Allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
