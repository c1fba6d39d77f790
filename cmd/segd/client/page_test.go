package client

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/client/clienttest"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/outputs/draw"
)

func TestParseLive(t *testing.T) {
	m, picture, err := parseLive(clienttest.Live(`{"dropped":3,"sent":1.5,"frame":{"site":"home","camera":"gate","sequence":"12","width":4,"height":3,"newField":1}}`, "JPEG"))
	require.NoError(t, err)
	if m.Camera != "gate" || m.Sequence != 12 {
		t.Errorf("got %v", m)
	}
	assert.Empty(t, cmp.Diff("JPEG", string(picture)))
	m, picture, err = parseLive(clienttest.Live(`{"frame":{"site":"home","camera":"gate","sequence":"12","width":4,"height":3,"objects":[{"id":1,"counts":"714"},{"id":256,"counts":""}]}}`, "JPEG"))
	if !errors.Is(err, bus.ErrObjects) || len(m.GetObjects()) != 1 || string(picture) != "JPEG" {
		t.Errorf("of a frame with a faulty object: %v, %q, %v; want it without that", m, picture, err)
	}
	for name, message := range map[string][]byte{
		"too short":         {0, 0},
		"header too long":   {0, 0, 1, 0, '{', '}'},
		"header is no JSON": clienttest.Live("{", ""),
		"no frame":          clienttest.Live("{}", ""),
		"frame is no mask":  clienttest.Live(`{"frame": 7}`, ""),
		"hostile frame":     clienttest.Live(`{"frame":{"site":"home","camera":"../gate","width":4,"height":3}}`, ""),
	} {
		if _, _, err := parseLive(message); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// What the page shows is saved though an object is faulty, without that.
func TestSaveLeavesObjectsOut(t *testing.T) {
	m, picture := clienttest.LiveFrame(t, 7, 64, 48)
	m.Site = "home"
	m.Objects = append(m.Objects, &segdv1.Object{Id: 256, State: segdv1.State_STATE_LOST})
	text, err := protojson.Marshal(m)
	require.NoError(t, err)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		assert.NoError(t, conn.Write(r.Context(), websocket.MessageBinary, clienttest.Live(`{"frame":`+string(text)+`}`, string(picture))))
		_, _, _ = conn.Read(r.Context()) // that it was taken
		_ = conn.Close(websocket.StatusGoingAway, "")
	}))
	defer page.Close()
	dir := t.TempDir()
	c := start(t, "watch", "gate", "--page", page.URL, "--save", dir)
	assert.ErrorContains(t, c.Wait(t), "StatusGoingAway", "watch ended with")
	assert.Equal(t, []string{"gate-000007.png"}, clienttest.FilesIn(t, dir), "files written")
	if said := c.Err.String(); !strings.Contains(said, "objects[1].counts") || !strings.Contains(said, "left out of 1 frames") {
		t.Errorf("it said:\n%s", said)
	}
}

func FuzzParseLive(f *testing.F) {
	f.Add(clienttest.Live(`{"frame":{"site":"home","camera":"gate","width":4,"height":4,"objects":[{"id":1,"counts":"`+mask.Encode(make([]uint8, 16), 4, 4).String()+`"}]}}`, "x"))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, message []byte) {
		m, picture, err := parseLive(message)
		if err != nil && !errors.Is(err, bus.ErrObjects) {
			return
		}
		if len(picture) > len(message) {
			t.Errorf("%d bytes of picture out of %d", len(picture), len(message))
		}
		if line := cli.Printable(MaskLine(m)); strings.ContainsFunc(line, unicode.IsControl) {
			t.Errorf("%q", line)
		}
		_, err = draw.Labels(m)
		assert.NoError(t, err)
	})
}

// A picture that says to be larger than its masks is not decoded.
func TestDrawMasksBomb(t *testing.T) {
	m, picture := clienttest.LiveFrame(t, 1, 64, 48)
	size := bytes.Index(picture, []byte{0, 48, 0, 64}) // height and width in the frame's header
	copy(picture[size:], []byte{0xff, 0xff, 0xff, 0xff})
	_, err := drawMasks(m, picture)
	assert.ErrorContains(t, err, "masks of 64×48 on a picture of 65535×65535")
}
