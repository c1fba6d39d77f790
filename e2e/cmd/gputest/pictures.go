package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/segd/segd/features"
	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/ingest/codec"
)

// picture is BGR24, row after row.
type picture struct {
	bgr           []byte
	width, height int
}

// pictureEvery is of how many frames of the clip one is taken: two seconds.
const pictureEvery = 20

// readPictures reads so many frames of a clip.
func readPictures(path string, n int) (pictures []picture, err error) {
	in, err := codec.OpenFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w; -clip wants a video, such as that of Debian's package opencv-doc", err)
	}
	defer in.Close()
	for frame := 0; len(pictures) < n; frame++ {
		p, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s has %d frames; want %d at least", path, frame, (n-1)*pictureEvery+1)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if frame%pictureEvery != 0 {
			continue
		}
		pic := picture{make([]byte, 3*p.Width*p.Height), p.Width, p.Height}
		if err := p.BGR(pic.bgr); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		pictures = append(pictures, pic)
	}
	return pictures, nil
}

// network is what a [dnn.Model] does here.
type network interface {
	Features(dst features.Sight, bgr []byte, width, height int, view features.View) (features.Sight, error)
	Status() dnn.Status
}

// open opens the embedded model, or says why it could not as a refusal.
func (q request) open(w way, batch int, onDevice func(engine, device string, why error)) (*dnn.Model, error) {
	opt := dnn.Options{Computing: w.computing(q.Library, batch)}
	opt.OnDevice = onDevice
	m, err := dnn.Embedded(opt)
	if err != nil {
		return nil, refusal{err}
	}
	if info := m.Info(); info.Engine != w.Engine || info.Device != w.Device {
		return nil, errors.Join(fmt.Errorf("%s on %s computes; want %s on %s", info.Engine, info.Device, w.Engine, w.Device), m.Close())
	}
	return m, nil
}
