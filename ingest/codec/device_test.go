package codec

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/asticode/go-astiav"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// decodeAll returns the pictures of packets by PTS, having seen that those that are kept stay
// the same.
func decodeAll(t *testing.T, d *Decoder, packets []Packet) map[int64][]byte {
	t.Helper()
	out := map[int64][]byte{}
	kept := map[int64]*Kept{}
	emit := func(p *Picture) {
		pix := make([]byte, 3*p.Width*p.Height)
		require.NoError(t, p.BGR(pix))
		out[p.PTS] = pix
		k, err := p.Keep()
		require.NoError(t, err)
		kept[p.PTS] = &k
	}
	for i, p := range packets {
		require.NoError(t, d.Decode(p.Data, p.PTS, emit), "packet %d", i)
	}
	require.NoError(t, d.Flush(emit))
	for pts, k := range kept {
		again := make([]byte, len(out[pts]))
		require.NoError(t, k.BGR(again))
		if !bytes.Equal(again, out[pts]) {
			t.Errorf("picture %d that was kept is another one", pts)
		}
		k.Free()
	}
	return out
}

// alike tells whether two pictures differ by rounding at most.
func alike(a, b []byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if d := int(a[i]) - int(b[i]); d < -6 || d > 6 {
			return false
		}
	}
	return true
}

// On whatever device is asked for, the pictures are those of software; without the
// device, software makes them, and says so.
func TestDevices(t *testing.T) {
	for _, id := range []ID{H264, H265, VP8, VP9, AV1} {
		packets := encode(t, EncoderConfig{Codec: id, Width: 320, Height: 240, FPS: 5}, 8)
		want := decodeAll(t, newDecoder(t, id), packets)
		if len(want) != len(packets) {
			t.Fatalf("%s: %d pictures of %d packets", id, len(want), len(packets))
		}
		for _, device := range append(slices.Clone(Devices), "") {
			t.Run(id.String()+" "+string(device), func(t *testing.T) {
				d, err := NewDecoderOn(id, device)
				require.NoError(t, err)
				defer d.Close()
				got := decodeAll(t, d, packets)
				for pts, pix := range want {
					if !alike(got[pts], pix) {
						t.Errorf("picture %d is another one", pts)
					}
				}
				switch device {
				case CUDA, VAAPI:
					if fell := d.Device() == Software; fell != (d.Fallback() != nil) || !fell && d.Device() != device {
						t.Errorf("decoded on %s, fallback %v", d.Device(), d.Fallback())
					}
					if err := d.Fallback(); err != nil && !errors.Is(err, ErrDevice) {
						t.Errorf("fallback %v does not wrap ErrDevice", err)
					}
				case Software, "":
					if d.Device() != Software || d.Fallback() != nil {
						t.Errorf("decoded on %s, fallback %v", d.Device(), d.Fallback())
					}
				}
				t.Logf("decoded on %s, fallback: %v", d.Device(), d.Fallback())
			})
		}
	}
	_, err := NewDecoderOn(H264, "abacus")
	assert.Error(t, err, "an unknown device was accepted")
}

// A decoder that is opened for a device whose context is missing meets FFmpeg's own
// refusals: software takes over, in the same decoder, or of AV1, which has none in
// it, in another, from the very unit on. No picture is missing.
func TestDeviceRefuses(t *testing.T) {
	nothing := func(*astiav.CodecContext, Device) error { return nil }
	for _, id := range []ID{H264, H265, VP9, AV1} {
		for _, device := range []Device{CUDA, VAAPI} {
			t.Run(id.String()+" "+string(device), func(t *testing.T) {
				packets := encode(t, EncoderConfig{Codec: id, Width: 320, Height: 240, FPS: 5}, 8)
				want := decodeAll(t, newDecoder(t, id), packets)
				d, err := newDeviceDecoder(id, device, nothing)
				require.NoError(t, err)
				defer d.Close()
				if d.Device() != device || d.Fallback() != nil {
					t.Fatalf("before the first unit: on %s, fallback %v", d.Device(), d.Fallback())
				}
				got := decodeAll(t, d, packets)
				for pts, pix := range want {
					if !bytes.Equal(got[pts], pix) {
						t.Errorf("picture %d is another one", pts)
					}
				}
				if d.Device() != Software || !errors.Is(d.Fallback(), ErrDevice) {
					t.Errorf("decoded on %s, fallback %v", d.Device(), d.Fallback())
				}
			})
		}
	}
}

// What is about the bytes is no fault of the device: it goes on with the next.
func TestDeviceFault(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.Join(ErrUndecodable, astiav.ErrInvaliddata), false},
		{ErrTooLarge, false},
		{ErrTooNarrow, false},
		{errors.Join(ErrUndecodable, astiav.ErrExternal), true},
		{errors.Join(ErrDevice, astiav.ErrUnknown), true},
	} {
		assert.Equal(t, tc.want, deviceFault(tc.err), "%v", tc.err)
	}
}

// Decoders whose device refuses leave nothing in the binding's tables.
func TestDeviceDecodersAreFreed(t *testing.T) {
	packets := encode(t, EncoderConfig{Width: 64, Height: 48, FPS: 5}, 1)
	for range 50 {
		d, err := newDeviceDecoder(H264, CUDA, func(*astiav.CodecContext, Device) error { return nil })
		require.NoError(t, err)
		require.Equal(t, 1, len(decodeAll(t, d, packets)), "pictures")
		d.Close()
		d.Close()
		failing := errors.New("no")
		_, err = newDeviceDecoder(H264, VAAPI, func(*astiav.CodecContext, Device) error { return failing })
		require.ErrorIs(t, err, failing)
	}
}
