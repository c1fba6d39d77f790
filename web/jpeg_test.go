package web

import (
	"bytes"
	"image"
	"image/jpeg"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Pictures are made at the widths that are asked for, of whatever size the camera has at the
// time, until it is gone.
func TestEncoders(t *testing.T) {
	e := encoders{quality: 90}
	for _, tt := range []struct{ width, height, to, wantWidth, wantHeight int }{
		{64, 48, 64, 64, 48}, {64, 48, 16, 16, 12}, {64, 48, 100, 64, 48}, {64, 48, 16, 16, 12},
		{320, 200, 16, 16, 10}, {17, 9, 17, 17, 9}, {640, 4, 16, 16, 1},
	} {
		out, err := e.encode(bytes.Repeat([]byte{200, 60, 20}, tt.width*tt.height), tt.width, tt.height, tt.to)
		require.NoError(t, err)
		config, err := jpeg.DecodeConfig(bytes.NewReader(out))
		require.NoError(t, err)
		if got, want := image.Pt(config.Width, config.Height), image.Pt(tt.wantWidth, tt.wantHeight); got != want {
			t.Errorf("%+v: %v, want %v", tt, got, want)
		}
	}
	assert.Len(t, e.byWidth, 1, "%d encoders are kept of other sizes", len(e.byWidth)-1)
	_, err := e.encode(make([]byte, 10), 2, 2, 2)
	assert.ErrorContains(t, err, "10 bytes for 2×2")
	e.close()
	e.close()
	_, err = e.encode(make([]byte, 12), 2, 2, 2)
	assert.ErrorContains(t, err, "gone", "gone")
}
