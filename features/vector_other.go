//go:build !amd64 || noasm

package features

// vector is whether there is vector code.
var vector = false

const noVector = "features: no vector code for this processor"

func joinVector(_ *growth, _ *waiting, _ int) { panic(noVector) }

func reachVector(_ *growth, _ *waiting, _ int, _ *uint32, _ *waiting) int { panic(noVector) }

func labVector(_ *labTable, _ *int16, _ *pixel, _ *byte, _ int) { panic(noVector) }
