// Package clienttest has what commands that talk to a segd talk to in tests, and looks at what they write.
package clienttest

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/jpeg"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/internal/waitfor"
	"github.com/segd/segd/mask"
)

// Live is a binary message of the page: a JSON header and a JPEG.
func Live(header, picture string) []byte {
	return append(append(binary.BigEndian.AppendUint32(nil, uint32(len(header))), header...), picture...)
}

// LiveFrame is a grey picture whose left half is object 1.
func LiveFrame(t *testing.T, sequence uint64, width, height int) (*segdv1.MaskFrame, []byte) {
	t.Helper()
	bits := make([]uint8, width*height)
	img := image.NewGray(image.Rect(0, 0, width, height))
	for i := range bits {
		img.Pix[i] = 100
		if i%width < width/2 {
			bits[i] = 1
		}
	}
	var picture bytes.Buffer
	if err := jpeg.Encode(&picture, img, nil); err != nil {
		t.Fatal(err)
	}
	return &segdv1.MaskFrame{Camera: "gate", Sequence: sequence, PtsNs: int64(sequence) * int64(100*time.Millisecond),
		Width: int32(width), Height: int32(height),
		Objects: []*segdv1.Object{{Id: 1, State: segdv1.State_STATE_VISIBLE, Counts: mask.Encode(bits, width, height).String()}}}, picture.Bytes()
}

// FullDisk makes a file that has room for nothing: another /dev/full, for a link to
// that one would lead out of its folder.
func FullDisk(t *testing.T, path string) {
	t.Helper()
	const majorMemory, minorFull = 1, 7
	if err := syscall.Mknod(path, syscall.S_IFCHR|0o666, majorMemory<<8|minorFull); err != nil {
		t.Fatal(err)
	}
}

// OpenNATS starts a server that lets everybody publish everything, and connects to it.
func OpenNATS(t *testing.T) (*server.Server, *nats.Conn) {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(waitfor.Limit) {
		t.Fatal("the NATS server does not start")
	}
	nc, err := nats.Connect(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return s, nc
}

// FilesIn lists what is below dir.
func FilesIn(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			path, err = filepath.Rel(dir, path)
			list = append(list, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
