package ingest

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// Config.Ignore is applied to every frame and to what Frame.Keep keeps of it; all other pixels stay as they were.
func TestIgnored(t *testing.T) {
	left := func(bgr []byte, width, height int) {
		for y := range height {
			clear(bgr[3*y*width:][:3*(width/2)])
		}
	}
	for _, url := range []string{"file:" + clipFile(t), "dir:" + imageDir(t, 4)} {
		var pictures [2][][]byte
		for i, cfg := range []Config{{URL: url, AsFast: true}, {URL: url, AsFast: true, Ignore: left}} {
			s, err := Open(cfg)
			require.NoError(t, err)
			require.NoError(t, s.Run(t.Context(), func(f *Frame) {
				k := f.Keep()
				kept := make([]byte, len(f.Pix))
				if err := k.BGR(kept); err != nil || !bytes.Equal(kept, f.Pix) {
					t.Errorf("%s: what is kept is another picture: %v", url, err)
				}
				k.Release()
				if pictures[i] = append(pictures[i], bytes.Clone(f.Pix)); i == 0 {
					left(pictures[i][len(pictures[i])-1], f.Width, f.Height)
				}
				f.Release()
			}))
		}
		if len(pictures[0]) < 4 || len(pictures[0]) != len(pictures[1]) {
			t.Fatalf("%s: %d and %d frames", url, len(pictures[0]), len(pictures[1]))
		}
		for i, want := range pictures[0] {
			if !bytes.Equal(pictures[1][i], want) {
				t.Errorf("%s: frame %d is not as it was beside what is ignored, and black there", url, i)
			}
		}
	}
}
