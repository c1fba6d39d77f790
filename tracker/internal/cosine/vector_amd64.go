//go:build !noasm

package cosine

import "golang.org/x/sys/cpu"

// A variable, so that tests can compare both ways.
var vector = cpu.X86.HasAVX && cpu.X86.HasFMA

// dots1x4 writes fours×4 scalar products of query with rows of 8·eights numbers.
//
//go:noescape
func dots1x4(dst, query, rows *float32, fours, eights int)

// dots2x4 does so for two queries; the second one's products are stride numbers after
// the first one's.
//
//go:noescape
func dots2x4(dst, queries, rows *float32, stride, fours, eights int)
