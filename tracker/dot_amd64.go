//go:build !noasm

package tracker

import "golang.org/x/sys/cpu"

// A variable, so that tests can compare both ways.
var vector = cpu.X86.HasAVX

// dots4 writes fours×4 scalar products of query with rows of 8·eights numbers.
//
//go:noescape
func dots4(dst, query, rows *float32, fours, eights int)
