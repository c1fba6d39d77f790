package offline

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/ingest/codec"
)

// A video that loops begins anew after its last frame, and misses none.
func TestPlay(t *testing.T) {
	const width, height, frames = 64, 48, 6
	video := filepath.Join(t.TempDir(), "grey.mp4")
	m, err := codec.CreateFile(video, codec.EncoderConfig{Width: width, Height: height, FPS: 10, CRF: 10})
	require.NoError(t, err)
	for n := range frames {
		pix := make([]byte, 3*width*height)
		for i := range pix {
			pix[i] = byte(40 + 30*n)
		}
		require.NoError(t, m.BGR(pix, time.Duration(n)*100*time.Millisecond))
	}
	require.NoError(t, m.Close())
	enough := errors.New("enough")
	for _, tt := range []struct {
		loop bool
		want int
		err  error
	}{{false, frames, nil}, {true, 2*frames + 3, enough}} {
		shown := 0
		err := Play(video, 0, tt.loop)(t.Context(), func(p *Picture) error {
			if got, want := int(p.BGR[0]), 40+30*(shown%frames); got < want-10 || got > want+10 {
				t.Errorf("loop %v: frame %d is of grey %d; want %d", tt.loop, shown, got, want)
			}
			if shown++; shown == 2*frames+3 {
				return enough
			}
			return nil
		})
		if shown != tt.want || !errors.Is(err, tt.err) || errors.Is(err, context.Canceled) {
			t.Errorf("loop %v: %d frames and %v; want %d and %v", tt.loop, shown, err, tt.want, tt.err)
		}
	}
}
