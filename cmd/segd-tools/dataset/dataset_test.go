package dataset

import (
	"bytes"
	"image"
	"image/jpeg"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/mask"
)

const testWidth, testHeight, testEpoch = 65, 48, 1795294724651

// frame is one of a camera with a grey picture, ten of them a second of stream time; each object of it fills a rectangle.
func frame(t *testing.T, camera string, sequence uint64, objects ...*segdv1.Object) (*segdv1.MaskFrame, []byte) {
	t.Helper()
	var picture bytes.Buffer
	require.NoError(t, jpeg.Encode(&picture, image.NewGray(image.Rect(0, 0, testWidth, testHeight)), nil))
	at := time.Duration(sequence) * 100 * time.Millisecond
	m := &segdv1.MaskFrame{Site: "home", Camera: camera, Epoch: testEpoch, Sequence: sequence, PtsNs: int64(at), Width: testWidth, Height: testHeight,
		CaptureTime: timestamppb.New(time.UnixMilli(testEpoch).Add(at))}
	for _, o := range objects {
		b := o.GetBox()
		r := rectangle(int(b.GetX()), int(b.GetY()), int(b.GetX()+b.GetWidth()), int(b.GetY()+b.GetHeight()))
		o.Counts, o.Area, o.State = r.String(), int32(r.Area()), segdv1.State_STATE_VISIBLE
		if o.Area == 0 {
			o.State = segdv1.State_STATE_LOST
		}
		m.Objects = append(m.Objects, o)
	}
	return m, picture.Bytes()
}

func rectangle(left, top, right, bottom int) mask.RLE {
	bits := make([]uint8, testWidth*testHeight)
	for y := top; y < bottom; y++ {
		for x := left; x < right; x++ {
			bits[y*testWidth+x] = 1
		}
	}
	return mask.Encode(bits, testWidth, testHeight)
}

func box(left, top, width, height int32) *segdv1.Box {
	return &segdv1.Box{X: left, Y: top, Width: width, Height: height}
}

func list(t *testing.T, folder string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			path, err = filepath.Rel(folder, path)
			names = append(names, path)
		}
		return err
	})
	require.NoError(t, err)
	return names
}

func want(t *testing.T, folder string, names ...string) {
	t.Helper()
	slices.Sort(names)
	if got := list(t, folder); !slices.Equal(got, names) {
		t.Errorf("%s has %q; want %q", filepath.Base(folder), got, names)
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// fullDisk makes a file that has room for nothing.
func fullDisk(t *testing.T, path string) {
	t.Helper()
	const majorMemory, minorFull = 1, 7
	require.NoError(t, syscall.Mknod(path, syscall.S_IFCHR|0o666, majorMemory<<8|minorFull))
}
