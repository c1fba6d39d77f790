//go:build matprofile

package dnn

import (
	"bytes"

	"gocv.io/x/gocv"
)

func init() {
	matsLeft = func() (int, string) {
		var b bytes.Buffer
		_ = gocv.MatProfile.WriteTo(&b, 1) // a bytes.Buffer takes everything
		return gocv.MatProfile.Count(), b.String()
	}
}
