package codec

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/asticode/go-astiav"
	"github.com/stretchr/testify/require"
)

// resident is the process's resident memory in bytes.
func resident(t *testing.T) int {
	t.Helper()
	statm, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	var size, pages int
	_, err = fmt.Sscan(string(statm), &size, &pages)
	require.NoError(t, err)
	return pages * os.Getpagesize()
}

// imported are the libraries that the test links.
func imported(t *testing.T) string {
	t.Helper()
	self, err := elf.Open("/proc/self/exe")
	require.NoError(t, err)
	defer self.Close()
	libraries, err := self.ImportedLibraries()
	require.NoError(t, err)
	require.Contains(t, strings.Join(libraries, " "), "libavcodec")
	return strings.Join(libraries, " ")
}

// The library of devices, and the many that it loads, are there once a device is opened, and not before.
func TestDevicesAreLoadedLate(t *testing.T) {
	require.NotContains(t, imported(t), "libavdevice")
	registerDevices()
	require.NotNil(t, astiav.FindInputFormat("v4l2"))
}

// freed is how much memory goes back to the system when n kept pictures of a closed decoder are freed, by itself and with
// GiveBack. Another camera's pictures, which stay, lie between them.
func freed(t *testing.T, n, width, height int) (alone, withGiveBack int) {
	t.Helper()
	packets := encode(t, EncoderConfig{Codec: H264, Width: width, Height: height, FPS: 5}, n)
	var decoders [2]*Decoder
	var kept [2][]*Kept
	for i := range decoders {
		decoders[i] = newDecoder(t, H264)
	}
	for _, p := range packets {
		for i, d := range decoders {
			require.NoError(t, d.Decode(p.Data, p.PTS, func(p *Picture) {
				k, err := p.Keep()
				require.NoError(t, err)
				kept[i] = append(kept[i], &k)
			}))
		}
	}
	decoders[0].Close()
	GiveBack() // of what tests before this one left
	before := resident(t)
	for _, k := range kept[0] {
		k.Free()
	}
	alone = before - resident(t)
	GiveBack()
	withGiveBack = before - resident(t)
	for _, k := range kept[1] {
		k.Free()
	}
	return alone, withGiveBack
}

// Of pictures that are no longer kept the memory goes back to the system, whatever lies between them.
// Not parallel: it measures the process.
func TestGiveBack(t *testing.T) {
	const n, width, height = 200, 320, 240 // planes smaller than what glibc maps one by one
	alone, back := freed(t, n, width, height)
	const want = n * width * height * 3 / 2 // without what rows are padded with
	if t.Logf("%d bytes went back when they were freed, %d with GiveBack", alone, back); back < want {
		t.Errorf("%d bytes went back to the system; want %d", back, want)
	}
}

// Large planes go back at once, though larger ones were freed before: from then on glibc would keep them, too. In a process of
// its own: they may lie in what other tests have freed, and that stays.
func TestLargeBlocksGoBack(t *testing.T) {
	const apart = "SEGD_TEST_APART"
	if os.Getenv(apart) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1", "-test.v")
		cmd.Env = append(os.Environ(), apart+"=1")
		out, err := cmd.CombinedOutput()
		if t.Logf("%s", out); err != nil {
			t.Error(err)
		}
		return
	}
	freed(t, 2, 1920, 1080)
	const n, width, height = 40, 640, 480
	alone, back := freed(t, n, width, height)
	const want = n * width * height / 2 // of the planes of luminance; some lie where something was free
	if t.Logf("%d bytes went back when they were freed, %d with GiveBack", alone, back); alone < want {
		t.Errorf("%d bytes went back to the system when they were freed; want %d", alone, want)
	}
}
