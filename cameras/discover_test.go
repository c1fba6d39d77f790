package cameras

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/segd/segd/ingest/onvif/onviftest"
)

// What is found has its streams, with the one that suits segd picked, and no password.
func TestDiscover(t *testing.T) {
	r := begin(t, &testHost{}, false, none, nil, "")
	there := (&onviftest.Camera{Version: 2, User: "admin", Password: "geheim"}).Start(t)
	find := func(more string) (c foundCamera) {
		t.Helper()
		text, err := r.Discover(t.Context(), []byte(`{"host": "`+there+`"`+more+`}`))
		if err != nil {
			t.Fatal(err)
		}
		var found struct{ Cameras []foundCamera }
		if err := json.Unmarshal(text, &found); err != nil || len(found.Cameras) != 1 || strings.Contains(string(text), "geheim") {
			t.Fatalf("%s, %v", text, err)
		}
		return found.Cameras[0]
	}
	if c := find(``); !c.Unauthorized || c.Error == "" || c.URL != "" || c.Profiles == nil {
		t.Errorf("without a user: %+v", c)
	}
	c := find(`, "user": "admin", "password": "geheim"`)
	if c.Unauthorized || c.Error != "" || !strings.HasPrefix(c.URL, "rtsp://127.0.0.1:") {
		t.Errorf("%+v", c)
	}
	picked := 0
	for _, p := range c.Profiles {
		if p.Picked {
			picked++
			if p.URL != c.URL || p.Encoding == "" || p.Width == 0 {
				t.Errorf("%+v; want %s", p, c.URL)
			}
		}
	}
	if picked != 1 || len(c.Profiles) < 2 {
		t.Errorf("%+v", c.Profiles)
	}
	for body, want := range map[string]string{
		`{"host": "a b"}`: "/host", `{"timeout": "1h"}`: "/timeout", `{"password": "geheim"}`: "/user", `{"colour": 1}`: "/colour", `{"user": 1}`: "/user",
	} {
		_, err := r.Discover(t.Context(), []byte(body))
		refused(t, err, 422, want)
	}
}
