package ingest

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/ingest/codec"
)

// What is kept of a frame gives its pixels, to the byte, when the frame and its source are gone:
// of a video in less memory, or no more where the decoder's pictures are larger.
func TestKeep(t *testing.T) {
	tiny := filepath.Join(t.TempDir(), "tiny.h264")
	var raw []byte
	for _, p := range packets(t, codec.EncoderConfig{Width: 32, Height: 32, FPS: 50}, 5) {
		raw = append(raw, p.Data...)
	}
	require.NoError(t, os.WriteFile(tiny, raw, 0o600))
	for _, tt := range []struct {
		url  string
		less func(i int) bool
	}{
		{"file:" + clipFile(t), func(int) bool { return true }},
		{"file:" + tiny, func(int) bool { return false }},
		{"dir:" + imageDir(t, 4), func(i int) bool { return i%2 == 0 }}, // JPEGs, and PNGs between them
	} {
		s, err := Open(Config{URL: tt.url, AsFast: true})
		require.NoError(t, err)
		var frames []*Frame
		var kept []*Kept
		var want [][]byte
		require.NoError(t, s.Run(t.Context(), func(f *Frame) {
			want, kept = append(want, bytes.Clone(f.Pix)), append(kept, f.Keep())
			frames = append(frames, f)
			f.Release()
		}))
		if len(kept) < 4 {
			t.Fatalf("%s: %d frames", tt.url, len(kept))
		}
		for i, k := range kept {
			got := make([]byte, 3*k.Width*k.Height)
			require.NoError(t, k.BGR(got))
			if !bytes.Equal(got, want[i]) {
				t.Errorf("%s: frame %d has other pixels", tt.url, i)
			}
			if less := k.Bytes() < 3*len(got)/4; less != tt.less(i) || k.Bytes() > len(got) {
				t.Errorf("%s: %d bytes, of %d in BGR24", tt.url, k.Bytes(), len(got))
			}
			assert.Error(t, k.BGR(got[:5]), "%s: a buffer of 5 bytes is large enough", tt.url)
			k.Retain()
			k.Release()
			assert.NoError(t, k.BGR(got))
			k.Release()
			if frames[i].Pix != nil {
				t.Errorf("%s: frame %d stays", tt.url, i)
			}
			assert.Contains(t, panics(k.Release), "Release of a picture that was released", "second Release")
			assert.Contains(t, panics(k.Retain), "Retain of a picture that was released", "Retain after Release")
		}
	}
}
