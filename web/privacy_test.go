package web

import (
	"bytes"
	"image/jpeg"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/objects/privacy"
)

// Operators see what is hidden where the configuration says so; viewers, and those who ask over NATS and MQTT, never.
func TestWhoSeesWhatIsHidden(t *testing.T) {
	const width, height = 64, 48
	for _, operators := range []bool{false, true} {
		cover := privacy.Config{Fill: []string{"person"}, Operators: operators}.Cover(width, height)
		commands := newCameras()
		commands.width, commands.height, commands.objects, commands.cover = width, height, nil, cover
		s, h := serve(t, Config{Token: testToken, ViewerToken: viewerToken, Commands: commands}, "gate")
		// plain tells whether a picture is the camera's, which is of 90, or filled with grey.
		plain := func(what string, picture []byte) bool {
			t.Helper()
			img, err := jpeg.Decode(bytes.NewReader(picture))
			require.NoError(t, err, "%s", what)
			r, _, _, _ := img.At(width/4, height/4).RGBA()
			return r>>8 < 110
		}
		for _, who := range []struct {
			token string
			sees  bool
		}{{testToken, operators}, {viewerToken, false}} {
			header := http.Header{"Authorization": {"Bearer " + who.token}}
			a := ask(t, "GET", h.URL+"/api/v1/cameras/gate/snapshot", "", "", "Authorization", "Bearer "+who.token)
			assert.Equal(t, who.sees, plain("snapshot", []byte(a.body)), "operators %v, %s: the snapshot shows all", operators, who.token)
			for _, query := range []string{"", "?width=160"} {
				conn := dial(t, h.URL, "/api/v1/cameras/gate/live"+query, header)
				waitFor(t, "the viewer", func() bool { return s.Watched("gate") })
				mf, _ := testFrame("gate", 1, width, height)
				s.Publish(mf, privacy.NewPicture(bytes.Repeat([]byte{90}, 3*width*height), cover, nil))
				assert.Equal(t, who.sees, plain("live", readFrame(t, conn).jpeg), "operators %v, %s, live%s shows all", operators, who.token, query)
				_ = conn.CloseNow()
				waitFor(t, "it to leave", func() bool { return !s.Watched("gate") })
			}
			// The stream is as others see it: only who sees more needs a picture beside it.
			conn := dial(t, h.URL, "/api/v1/cameras/gate/live?pictures=streamed", header)
			waitFor(t, "the viewer", func() bool { return s.Watched("gate") })
			mf, _ := testFrame("gate", 1, width, height)
			s.Publish(mf, privacy.NewPicture(bytes.Repeat([]byte{90}, 3*width*height), cover, nil))
			if got := readFrame(t, conn); len(got.jpeg) > 0 != who.sees || who.sees && !plain("streamed", got.jpeg) {
				t.Errorf("operators %v, %s, streamed: a picture of %d bytes", operators, who.token, len(got.jpeg))
			}
			_ = conn.CloseNow()
			waitFor(t, "it to leave", func() bool { return !s.Watched("gate") })
		}
		if _, picture, err := s.Snapshot("gate", true); err != nil || plain("snapshot", picture) {
			t.Errorf("operators %v: a snapshot for NATS and MQTT shows all, %v", operators, err)
		}
	}
}

// Each viewer gets what it may see of one and the same frame.
func TestWhatIsHiddenAtOnce(t *testing.T) {
	const width, height = 64, 48
	s, h := serve(t, Config{Token: testToken, ViewerToken: viewerToken}, "gate")
	operator := dial(t, h.URL, "/api/v1/cameras/gate/live", http.Header{"Authorization": {"Bearer " + testToken}})
	viewer := dial(t, h.URL, "/api/v1/cameras/gate/live", http.Header{"Authorization": {"Bearer " + viewerToken}})
	waitFor(t, "both", func() bool { return s.camera("gate").watching.Load() == 2 })
	mf, bgr := testFrame("gate", 1, width, height)
	s.Publish(mf, privacy.NewPicture(bgr, privacy.Config{Fill: []string{"person"}, Operators: true}.Cover(width, height), nil))
	if a, b := readFrame(t, operator), readFrame(t, viewer); bytes.Equal(a.jpeg, b.jpeg) {
		t.Error("both see the same")
	}
}
