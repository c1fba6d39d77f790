package codec

import (
	"fmt"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/vp9"
)

// maxVP9Frames is the most frames of a superframe, whose index has three bits for their number.
const maxVP9Frames = 8

// VP9Frames returns the frames of a superframe (VP9 bitstream specification, annex B), or
// the one frame that au is.
func VP9Frames(au []byte) [][]byte {
	if len(au) == 0 || au[len(au)-1]>>5 != 0b110 {
		return [][]byte{au}
	}
	marker := au[len(au)-1]
	n, bytes := int(marker&7)+1, int(marker>>3&3)+1
	index := len(au) - 2 - n*bytes
	if index < 0 || au[index] != marker {
		return [][]byte{au}
	}
	rest, sizes := au[:index], au[index+1:len(au)-1]
	var frames [][]byte
	for ; len(sizes) > 0; sizes = sizes[bytes:] {
		size := 0
		for i := range bytes {
			size |= int(sizes[i]) << (8 * i)
		}
		if size > len(rest) {
			return [][]byte{au}
		}
		if size > 0 {
			frames = append(frames, rest[:size])
		}
		rest = rest[size:]
	}
	return frames
}

// JoinVP9 makes one superframe of what belongs to one picture, such as the frames of its
// spatial layers, lowest first; each part may be a superframe.
func JoinVP9(parts [][]byte) ([]byte, error) {
	if len(parts) == 1 {
		return parts[0], nil
	}
	var frames [][]byte
	for _, p := range parts {
		frames = append(frames, VP9Frames(p)...)
	}
	if n := len(frames); n == 0 || n > maxVP9Frames {
		return nil, fmt.Errorf("codec: VP9: a picture of %d frames; 1 to %d are accepted", n, maxVP9Frames)
	}
	const bytes = 4 // a size
	marker := byte(0b110<<5 | (bytes-1)<<3 | len(frames) - 1)
	var data []byte
	index := []byte{marker}
	for _, f := range frames {
		data = append(data, f...)
		index = append(index, byte(len(f)), byte(len(f)>>8), byte(len(f)>>16), byte(len(f)>>24))
	}
	return append(append(data, index...), marker), nil
}

// layered tells whether au is a VP9 picture with spatial layers, each of which is a frame to be shown.
func layered(au []byte) bool {
	shown := 0
	for _, f := range VP9Frames(au) {
		var h vp9.Header
		if h.Unmarshal(f) == nil && (h.ShowFrame || h.ShowExistingFrame) {
			shown++
		}
	}
	return shown > 1
}
