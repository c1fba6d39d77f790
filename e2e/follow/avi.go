package follow

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
)

// Places in an AVI's headers, from where the four letters of their chunks begin
// (Microsoft, AVIMAINHEADER and AVISTREAMHEADER).
const (
	headerBytes    = 4096 // enough to hold both
	microsPerFrame = 8
	streamScale    = 28
	streamRate     = 32
	pictureWidth   = 40
	pictureHeight  = 44
)

// header returns a file that begins with an AVI's headers, and where the main one and that
// of its first stream are.
func header(name string) (file []byte, main, stream int, err error) {
	if file, err = os.ReadFile(name); err != nil {
		return nil, 0, 0, err
	}
	head := file[:min(len(file), headerBytes)]
	main, stream = bytes.Index(head, []byte("avih")), bytes.Index(head, []byte("strh"))
	if !bytes.HasPrefix(head, []byte("RIFF")) || main < 0 || stream < main || stream+streamRate+4 > len(head) || !bytes.HasPrefix(head[stream+8:], []byte("vids")) {
		return nil, 0, 0, fmt.Errorf("%s is no AVI whose first stream is video; want one", name)
	}
	return file, main, stream, nil
}

// pace writes a copy of an AVI that plays at another rate; its frames are the same, bit by
// bit.
func pace(to, from string, fps float64) error {
	file, main, stream, err := header(from)
	if err != nil {
		return err
	}
	const scale = 1000
	binary.LittleEndian.PutUint32(file[main+microsPerFrame:], uint32(math.Round(1e6/fps)))
	binary.LittleEndian.PutUint32(file[stream+streamScale:], scale)
	binary.LittleEndian.PutUint32(file[stream+streamRate:], uint32(math.Round(scale*fps)))
	return os.WriteFile(to, file, 0o600)
}

// size returns that of an AVI's pictures, in pixels.
func size(name string) (width, height int, err error) {
	file, main, _, err := header(name)
	if err != nil {
		return 0, 0, err
	}
	at := func(offset int) int { return int(binary.LittleEndian.Uint32(file[main+offset:])) }
	return at(pictureWidth), at(pictureHeight), nil
}
