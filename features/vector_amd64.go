//go:build !noasm

package features

import "golang.org/x/sys/cpu"

// A variable, so that tests can compare both ways.
var vector = cpu.X86.HasAVX2 && cpu.X86.HasPOPCNT

// joinVector is snic.join, of n pixels, at least one.
//
//go:noescape
func joinVector(by *growth, settled *waiting, n int)

// reachVector is snic.reach, of n pixels, at least one.
//
//go:noescape
func reachVector(by *growth, settled *waiting, n int, keys *uint32, to *waiting) int

// labVector converts 8·eights BGR24 pixels: see labTable.row.
//
//go:noescape
func labVector(t *labTable, dst *int16, pixels *pixel, bgr *byte, eights int)

// chosen has, for every set of four, the bytes of those in it one after the other: of numbers of
// four bytes for VPSHUFB, and for VPERMD of numbers of eight.
//
//nolint:unused // but in assembly
var chosen = func() (c struct {
	fours  [16][4][4]byte
	eights [16][4][2]uint32
}) {
	for set := range 16 {
		n := 0
		for i := range 4 {
			if set>>i&1 == 0 {
				continue
			}
			for b := range 4 {
				c.fours[set][n][b] = byte(4*i + b)
			}
			c.eights[set][n] = [2]uint32{uint32(2 * i), uint32(2*i + 1)}
			n++
		}
	}
	return c
}()
