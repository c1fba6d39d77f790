package codec

//#cgo pkg-config: libavformat
//#include "streams.h"
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/asticode/go-astiav"
)

// pickTrack chooses among the tracks of video.
func (m *Demuxer) pickTrack() (*astiav.Stream, error) {
	streams := m.format.Streams()
	found := make([]string, 0, 2)
	skip := make([]C.uint8_t, len(streams))
	var video, attached, unknown int
	for i, s := range streams {
		kind := s.CodecParameters().MediaType()
		switch {
		case kind != astiav.MediaTypeVideo:
			found = append(found, kind.String())
		case C.segd_attached(cStream(s)) != 0:
			attached++
			skip[i] = 1
		default:
			video++
			if s.NbFrames() == 0 {
				unknown++
			}
		}
	}
	switch {
	case video == 0 && attached > 0:
		return nil, errFormat(fmt.Errorf("%w: pictures attached to the file, such as a cover, are not read, found %d of them and %v", ErrNoVideo, attached, found))
	case video == 0:
		return nil, errFormat(fmt.Errorf("%w, found %v", ErrNoVideo, found))
	case video > 1:
		m.skipStills(streams, skip, unknown > 0)
	}
	best := C.segd_best_video(cFormat(m.format), unsafe.SliceData(skip))
	if best < 0 {
		return nil, errFormat(errors.New("none of its tracks can be chosen"))
	}
	return streams[best], nil
}

// maxPeeked bounds the packets that are read to tell single pictures from video: some seconds of
// several tracks. A file whose tracks come one after the other has its first one's alone.
const maxPeeked = 512

// skipStills marks the tracks that have one picture, if another has more. Where headers do not
// tell how many there are, the beginning of the file does.
func (m *Demuxer) skipStills(streams []*astiav.Stream, skip []C.uint8_t, peek bool) {
	pictures := make([]int64, len(streams))
	for i, s := range streams {
		pictures[i] = s.NbFrames()
	}
	if peek {
		m.peeked = true
		clear(pictures)
		for range maxPeeked {
			if err := m.format.ReadFrame(m.packet); err != nil {
				break // the file's end, or where it is damaged
			}
			if i := m.packet.StreamIndex(); i < len(pictures) {
				pictures[i]++
			}
			m.packet.Unref()
		}
	}
	several := func(i int) bool { return skip[i] == 0 && pictures[i] > 1 }
	moving := false
	for i, s := range streams {
		moving = moving || several(i) && s.CodecParameters().MediaType() == astiav.MediaTypeVideo
	}
	for i, s := range streams {
		if moving && !several(i) && s.CodecParameters().MediaType() == astiav.MediaTypeVideo {
			skip[i] = 1
		}
	}
}

// The binding keeps what it wraps as the only field of its types, and does not hand it out.

func cStream(s *astiav.Stream) *C.AVStream { return *(**C.AVStream)(unsafe.Pointer(s)) }

func cFormat(f *astiav.FormatContext) *C.AVFormatContext {
	return *(**C.AVFormatContext)(unsafe.Pointer(f))
}
