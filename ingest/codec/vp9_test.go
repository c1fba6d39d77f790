package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/asticode/go-astiav"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// layers returns a superframe of pictures by themselves, of these sides.
func layers(t *testing.T, sides ...int) []byte {
	t.Helper()
	var parts [][]byte
	for _, side := range sides {
		parts = append(parts, encode(t, EncoderConfig{Codec: VP9, Width: side, Height: side}, 1)[0].Data)
	}
	au, err := JoinVP9(parts)
	require.NoError(t, err)
	return au
}

// What is joined comes apart again, superframes in it too.
func TestJoinVP9(t *testing.T) {
	a, b, c := []byte("lowest"), bytes.Repeat([]byte("middle"), 20000), []byte("highest")
	two, err := JoinVP9([][]byte{a, b})
	require.NoError(t, err)
	three, err := JoinVP9([][]byte{two, c})
	require.NoError(t, err)
	if got := VP9Frames(three); !slices.EqualFunc(got, [][]byte{a, b, c}, bytes.Equal) {
		t.Errorf("%d frames came back", len(got))
	}
	if one, err := JoinVP9([][]byte{c}); err != nil || !bytes.Equal(one, c) {
		t.Errorf("a single frame became %q, %v", one, err)
	}
	_, err = JoinVP9(slices.Repeat([][]byte{a}, 9))
	assert.Error(t, err, "nine frames were joined")
	for _, odd := range [][]byte{nil, {0xc1}, {0xc1, 9, 9, 0xc1}, {1, 2, 0xc0}, {0xd9, 0xd9}} {
		if got := VP9Frames(odd); len(got) != 1 || !bytes.Equal(got[0], odd) {
			t.Errorf("%x: %d frames", odd, len(got))
		}
	}
}

// Of a picture with spatial layers the highest is shown, from a stream and from a file.
func TestSpatialLayers(t *testing.T) {
	au := layers(t, 64, 128, 256)
	d := newDecoder(t, VP9)
	var sides []int
	for i := range 3 {
		require.NoError(t, d.Decode(au, int64(i), func(p *Picture) { sides = append(sides, p.Width) }))
	}
	if !slices.Equal(sides, []int{256, 256, 256}) {
		t.Errorf("pictures of %v came", sides)
	}

	ivf := append([]byte("DKIF\x00\x00\x20\x00VP90\x00\x01\x00\x01\x19\x00\x00\x00\x01\x00\x00\x00"), make([]byte, 8)...)
	for i := range 3 {
		ivf = binary.LittleEndian.AppendUint32(ivf, uint32(len(au)))
		ivf = append(binary.LittleEndian.AppendUint64(ivf, uint64(i)), au...)
	}
	path := filepath.Join(t.TempDir(), "layers.ivf")
	require.NoError(t, os.WriteFile(path, ivf, 0o600))
	m, err := OpenFile(path)
	require.NoError(t, err)
	defer m.Close()
	sides = nil
	for {
		p, err := m.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		sides = append(sides, p.Width)
	}
	if !slices.Equal(sides, []int{256, 256, 256}) {
		t.Errorf("pictures of %v came from the file", sides)
	}
}

// A device would begin anew with the size of each layer: software decodes them, and says so.
func TestSpatialLayersOnDevice(t *testing.T) {
	d, err := newDeviceDecoder(VP9, VAAPI, func(*astiav.CodecContext, Device) error { return nil })
	require.NoError(t, err)
	defer d.Close()
	side := 0
	require.NoError(t, d.Decode(layers(t, 64, 128), 0, func(p *Picture) { side = p.Width }))
	if side != 128 || d.Device() != Software || !strings.Contains(fmt.Sprint(d.Fallback()), "spatial layers") {
		t.Errorf("a picture of %d on %s, fallback %v", side, d.Device(), d.Fallback())
	}
}

// Each layer announces a size.
func TestAnnouncedLayers(t *testing.T) {
	small := encode(t, EncoderConfig{Codec: VP9, Width: 64, Height: 64}, 1)[0].Data
	au, err := JoinVP9([][]byte{small, announce16k[VP9](slices.Clone(small))})
	require.NoError(t, err)
	assert.ErrorIs(t, checkAnnounced(VP9, au), ErrTooLarge)
}
