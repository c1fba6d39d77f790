package web

import (
	"bytes"
	"image/jpeg"
	"net/http"
	"testing"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/objects/privacy"
	"github.com/segd/segd/web/internal/thumbnail"
)

// A thumbnail is served at the path that its event has, to viewers too, until newer ones have taken its place.
func TestThumbnails(t *testing.T) {
	s, h := serve(t, Config{Token: testToken, ViewerToken: testToken + "-viewer"}, "gate")
	const width, height = 64, 48
	frame := func(seq uint64) (*segdv1.MaskFrame, []byte) {
		m, bgr := testFrame("gate", seq, width, height)
		m.Objects[0].Counts = mask.Encode(bytes.Repeat([]byte{1}, width*height), width, height).String()
		return m, bgr
	}
	m, bgr := frame(1)
	at, made, removed := s.Thumbnail(m, privacy.NewPicture(bgr, nil, nil), 1)
	again, more, _ := s.Thumbnail(m, nil, 1) // of another event of the frame: it is there
	if at != "/api/v1/cameras/gate/thumbnails/0-1-1.jpg" || again != at || made != 1 || more != 0 || removed != 0 {
		t.Fatalf("%q and %q, %d and %d made, %d removed", at, again, made, more, removed)
	}
	header := http.Header{"Authorization": {"Bearer " + testToken + "-viewer"}}
	resp, body := get(t, h.URL+at, header)
	img, err := jpeg.Decode(bytes.NewReader([]byte(body)))
	if err != nil || resp.StatusCode != 200 || resp.Header.Get("Content-Type") != typeJPEG || img.Bounds().Dx() != width {
		t.Errorf("%s, %v: %v", resp.Status, resp.Header, err)
	}
	ev := &segdv1.Event{Camera: "gate", Thumbnail: at}
	if string(s.ThumbnailOf(ev)) != body {
		t.Error("the event's is another")
	}
	if resp, _ := get(t, h.URL+at, nil); resp.StatusCode != 401 {
		t.Errorf("strangers get %s", resp.Status)
	}
	for seq := range uint64(thumbnail.MaxKept) {
		m, bgr := frame(seq + 2)
		if _, _, n := s.Thumbnail(m, privacy.NewPicture(bgr, nil, nil), 1); n > 0 {
			removed += n
		}
	}
	d := describedAPI(t)
	resp, body = get(t, h.URL+at, header)
	if err := d.check("GET", "/cameras/gate/thumbnails/0-1-1.jpg", answer{resp.StatusCode, resp.Header, body}); err != nil || resp.StatusCode != 404 || removed != 1 {
		t.Errorf("%s %s, %d removed: %v", resp.Status, body, removed, err)
	}
	if s.ThumbnailOf(ev) != nil || s.ThumbnailOf(&segdv1.Event{Camera: "gate"}) != nil || s.ThumbnailOf(&segdv1.Event{Camera: "yard", Thumbnail: at}) != nil {
		t.Error("there is one that is kept no longer")
	}
	m, bgr = frame(7)
	at, _, _ = s.Thumbnail(m, privacy.NewPicture(bgr, nil, nil), 1)
	ev = &segdv1.Event{Camera: "gate", Thumbnail: at}
	there := s.ThumbnailOf(ev) != nil
	waits := &viewer{frame: &packet{}, wake: make(chan struct{}, 1)}
	s.camera("gate").add(waits)
	s.ForgetPictures("gate")
	if _, _, frame, dropped := waits.take(); frame != nil || dropped != 1 {
		t.Errorf("a viewer still gets what waits for it; %d dropped", dropped)
	}
	s.ForgetPictures("nobody")
	if !there || s.ThumbnailOf(ev) != nil {
		t.Errorf("there was one: %v; it is still there when the camera begins anew", there)
	}
	for _, m := range []*segdv1.MaskFrame{{Camera: "nobody"}, m} {
		if at, _, _ := s.Thumbnail(m, privacy.NewPicture(bgr[1:], nil, nil), 2); at != "" {
			t.Errorf("%q of what has none", at)
		}
	}
}
