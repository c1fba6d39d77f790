package client

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/segd/segd/internal/cli"
	"github.com/segd/segd/internal/draw"
	"github.com/segd/segd/mask"
)

func live(header, picture string) []byte {
	return append(append(binary.BigEndian.AppendUint32(nil, uint32(len(header))), header...), picture...)
}

func TestParseLive(t *testing.T) {
	m, picture, err := parseLive(live(`{"dropped":3,"sent":1.5,"frame":{"site":"home","camera":"gate","sequence":"12","width":4,"height":3,"newField":1}}`, "JPEG"))
	if err != nil {
		t.Fatal(err)
	}
	if m.Camera != "gate" || m.Sequence != 12 {
		t.Errorf("got %v", m)
	}
	if diff := cmp.Diff("JPEG", string(picture)); diff != "" {
		t.Error(diff)
	}
	for name, message := range map[string][]byte{
		"too short":         {0, 0},
		"header too long":   {0, 0, 1, 0, '{', '}'},
		"header is no JSON": live("{", ""),
		"no frame":          live("{}", ""),
		"frame is no mask":  live(`{"frame": 7}`, ""),
		"hostile frame":     live(`{"frame":{"site":"home","camera":"../gate","width":4,"height":3}}`, ""),
	} {
		if _, _, err := parseLive(message); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzParseLive(f *testing.F) {
	f.Add(live(`{"frame":{"site":"home","camera":"gate","width":4,"height":4,"objects":[{"id":1,"counts":"`+mask.Encode(make([]uint8, 16), 4, 4).String()+`"}]}}`, "x"))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, message []byte) {
		m, picture, err := parseLive(message)
		if err != nil {
			return
		}
		if len(picture) > len(message) {
			t.Errorf("%d bytes of picture out of %d", len(picture), len(message))
		}
		if line := cli.Printable(maskLine(m)); strings.ContainsFunc(line, unicode.IsControl) {
			t.Errorf("%q", line)
		}
		if _, err := draw.Labels(m); err != nil {
			t.Error(err)
		}
	})
}

// A picture that says to be larger than its masks is not decoded.
func TestDrawMasksBomb(t *testing.T) {
	m, picture := liveFrame(t, 1, 64, 48)
	size := bytes.Index(picture, []byte{0, 48, 0, 64}) // height and width in the frame's header
	copy(picture[size:], []byte{0xff, 0xff, 0xff, 0xff})
	_, err := drawMasks(m, picture)
	if err == nil || !strings.Contains(err.Error(), "masks of 64×48 on a picture of 65535×65535") {
		t.Errorf("got %v", err)
	}
}
