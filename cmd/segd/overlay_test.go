package main

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func live(header, picture string) []byte {
	return append(append(binary.BigEndian.AppendUint32(nil, uint32(len(header))), header...), picture...)
}

func TestParseLive(t *testing.T) {
	m, picture, err := parseLive(live(`{"dropped":3,"sent":1.5,"frame":{"camera":"gate","sequence":"12","newField":1}}`, "JPEG"))
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
	} {
		if _, _, err := parseLive(message); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzParseLive(f *testing.F) {
	f.Add(live(`{"frame":{"camera":"gate","width":4,"height":4,"objects":[{"id":1,"counts":"02d0"}]}}`, "x"))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, message []byte) {
		m, picture, err := parseLive(message)
		if err == nil && (m == nil || len(picture) > len(message)) {
			t.Errorf("%v, %d bytes of picture out of %d", m, len(picture), len(message))
		}
	})
}
