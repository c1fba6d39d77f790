//go:build !amd64 || noasm

package tracker

var vector = false

func dots4(_, _, _ *float32, _, _ int) { panic("tracker: no vector code for this processor") }
