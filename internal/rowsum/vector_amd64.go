//go:build !noasm

package rowsum

import "golang.org/x/sys/cpu"

// A variable, so that tests can compare both ways.
var vector = cpu.X86.HasAVX && cpu.X86.HasFMA

// add does what Add does for the first blocks×block numbers of n rows, at least one of each.
//
//go:noescape
func add(dst, rows, weights *float32, stride, n, blocks int)
