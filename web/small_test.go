package web

import (
	"bytes"
	"context"
	"fmt"
	"image/jpeg"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"

	"github.com/segd/segd/objects/privacy"
)

// A viewer that asks for small pictures gets those, each with the masks of the whole
// frame; others get what the camera sends.
func TestSmallPictures(t *testing.T) {
	s, h := serve(t, Config{}, "north")
	for _, tt := range []struct {
		query         string
		width, height int
	}{
		{"", 700, 401},
		{"?width=320&fps=30", 320, 183},
		{"?width=160", 160, 92},
		{"?width=640&window=2", 640, 367},
	} {
		conn := dial(t, h.URL, "/api/v1/cameras/north/live"+tt.query, nil)
		waitFor(t, "the viewer", func() bool { return s.Watched("north") })
		mf, bgr := testFrame("north", 1, 700, 401)
		s.Publish(mf, privacy.NewPicture(bgr, nil, nil))
		f := readFrame(t, conn)
		img, err := jpeg.DecodeConfig(bytes.NewReader(f.jpeg))
		if err != nil || img.Width != tt.width || img.Height != tt.height {
			t.Errorf("%q: %d×%d, %v; want %d×%d", tt.query, img.Width, img.Height, err, tt.width, tt.height)
		}
		if f.mask.GetWidth() != 700 || f.mask.GetHeight() != 401 {
			t.Errorf("%q: the masks are of %d×%d", tt.query, f.mask.GetWidth(), f.mask.GetHeight())
		}
		_ = conn.Close(websocket.StatusNormalClosure, "")
		waitFor(t, "it to leave", func() bool { return !s.Watched("north") })
	}
	// A picture that is smaller already stays as it is.
	conn := dial(t, h.URL, "/api/v1/cameras/north/live?width=320", nil)
	waitFor(t, "the viewer", func() bool { return s.Watched("north") })
	mf, bgr := testFrame("north", 1, 200, 100)
	s.Publish(mf, privacy.NewPicture(bgr, nil, nil))
	if img, err := jpeg.DecodeConfig(bytes.NewReader(readFrame(t, conn).jpeg)); err != nil || img.Width != 200 {
		t.Errorf("a picture of 200 pixels is sent with %d, %v", img.Width, err)
	}
	for _, query := range []string{"width=0", "width=100", "width=9999", "width=-1", "width=a", "width=160&width=320", "fps=0", "fps=31", "fps=2.5", "fps=", "fps=1&fps=1"} {
		ask(t, "GET", h.URL+"/api/v1/cameras/north/live?"+query, "", "").want(t, http.StatusBadRequest, "", "%s", query)
	}
}

// Who comes when there are as many viewers as may be is told so, before anything is
// promised, and counted.
func TestRefusedViewers(t *testing.T) {
	s, h := serve(t, Config{MaxViewers: 1}, "north")
	first := dial(t, h.URL, "/api/v1/cameras/north/live", nil)
	waitFor(t, "the first viewer", func() bool { return s.Watched("north") })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, resp, err := websocket.Dial(ctx, h.URL+"/api/v1/cameras/north/live", nil)
	if err == nil {
		_ = conn.CloseNow()
		t.Fatal("a second viewer was let in")
	}
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" || resp.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("the second is answered %s, %v", resp.Status, resp.Header)
	}
	// The page asks again without the upgrade, since its WebSocket hides the answer.
	for _, path := range []string{"/api/v1/cameras/north/live", "/api/v1/events"} {
		a := ask(t, "GET", h.URL+path, "", "")
		if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" || !bytes.Contains([]byte(a.body), []byte("limit of 1 viewers")) {
			t.Errorf("%s: %d %v %s", path, a.status, a.header, a.body)
		}
	}
	assert.Equal(t, "{Viewers:1 Refused:3 ConnsRefused:0 FramesDropped:0 NoticesDropped:0}", fmt.Sprintf("%+v", s.Stats()), "stats")
	_ = first.Close(websocket.StatusNormalClosure, "")
	waitFor(t, "room", func() bool { return s.Stats().Viewers == 0 })
	dial(t, h.URL, "/api/v1/cameras/north/live", nil)
}

// Viewers of one width share one picture, and those of one rate the moment.
func TestSmallPicturesAreShared(t *testing.T) {
	var skipped atomic.Uint64
	c := newCamera("north", Config{}.withDefaults(), &skipped)
	var all []*viewer
	for _, w := range []liveOptions{{}, {}, {width: 160, fps: 2}, {width: 160, fps: 2}, {width: 160, fps: 4}, {width: 320}} {
		v := &viewer{options: w, wake: make(chan struct{}, 1)}
		c.viewers[v] = struct{}{}
		all = append(all, v)
	}
	c.watching.Store(int32(len(all)))
	mf, bgr := testFrame("north", 1, 640, 480)
	c.publish(mf, privacy.NewPicture(bgr, nil, nil))
	for _, same := range [][]int{{0, 1}, {2, 3, 4}, {5}} {
		for _, other := range all {
			mine := all[same[0]]
			want := false
			for _, k := range same {
				want = want || all[k] == other
			}
			if mine.frame == nil || (other.frame == mine.frame) != want {
				t.Errorf("viewers %v and %v share: %v; want %v", mine.options, other.options, other.frame == mine.frame, want)
			}
		}
	}
}

// At 25 frames a second a viewer of 2 gets 2, at any width, and one without a rate all.
func TestLowRate(t *testing.T) {
	var skipped atomic.Uint64
	c := newCamera("north", Config{}.withDefaults(), &skipped)
	got := map[*viewer]int{}
	slow, late, all := &viewer{options: liveOptions{fps: 2}}, &viewer{options: liveOptions{fps: 2, width: 160}}, &viewer{}
	for k := range 10 * 25 {
		switch k {
		case 0:
			c.viewers[slow], c.viewers[all] = struct{}{}, struct{}{}
		case 130: // a little into a second
			c.viewers[late] = struct{}{}
		}
		var together []int
		for _, viewers := range c.due(time.Unix(1000, int64(k)*40e6), 640, privacy.NewPicture(nil, nil, nil)) {
			for _, v := range viewers {
				got[v]++
				if v == slow || v == late {
					together = append(together, got[v])
				}
			}
		}
		if k > 130 && len(together) == 1 {
			t.Errorf("frame %d is for one of the two", k)
		}
	}
	if got[slow] != 20 || got[all] != 250 || got[late] != 11 && got[late] != 10 {
		t.Errorf("of 250 frames in 10 s: %d, %d and %d of the last 4.8 s; want 20, 250 and 10", got[slow], got[all], got[late])
	}
}
