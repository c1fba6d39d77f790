package web

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/segd/segd/api"
	"github.com/segd/segd/bus/segdv1"
)

func (c asked) Things(ctx context.Context, seq uint64) (*segdv1.MaskFrame, error) {
	if _, ok := ctx.Deadline(); !ok {
		return nil, errors.New("no deadline")
	}
	return c.frame(seq), c.note("things %s %d", c.camera, seq)
}

func TestThings(t *testing.T) {
	c := newCameras()
	_, h := serve(t, Config{Commands: c}, "gate")
	for _, tt := range []struct {
		method, frame string
		fail          error
		status        int
		want, call    string
	}{
		{"POST", "41", nil, 200, `{"sequence":41,"width":6,"height":8,"objects":[{"id":1,"label":"walker",`, "things gate 41"},
		{"POST", "41", &api.Refusal{Status: 404, Detail: "41 is no longer kept"}, 404, "no longer kept", "things gate 41"},
		{"POST", "41", &api.Refusal{Status: 409, Detail: "2 previews are being made"}, 409, "2 previews", "things gate 41"},
		{"POST", "-1", nil, 400, `"field":"sequence","detail":"\"-1\"; accepts a frame's sequence number"`, ""},
		{"GET", "41", nil, 405, "accepts POST", ""},
	} {
		c.calls, c.fail = nil, tt.fail
		a := ask(t, tt.method, h.URL+"/api/v1/cameras/gate/frames/"+tt.frame+"/things", "", "")
		a.want(t, tt.status, tt.want, "%s %s", tt.method, tt.frame)
		if got := strings.Join(c.calls, " "); got != tt.call {
			t.Errorf("%s %s: the camera was asked %q; want %q", tt.method, tt.frame, got, tt.call)
		}
	}
}
