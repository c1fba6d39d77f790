//go:build !amd64 || noasm

package cosine

var vector = false

const noVector = "cosine: no vector code for this processor"

func dots1x4(_, _, _ *float32, _, _ int) { panic(noVector) }

func dots2x4(_, _, _ *float32, _, _, _ int) { panic(noVector) }
