package web

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/segd/segd/api"
)

func (c asked) Hold(ctx context.Context, seq uint64, holder string) (time.Time, error) {
	if _, ok := ctx.Deadline(); !ok {
		return time.Time{}, errors.New("no deadline")
	}
	return time.Date(2026, 1, 2, 4, 5, 6, 0, time.FixedZone("", 3600)), c.note("hold %s %d %s", c.camera, seq, holder)
}

func (c asked) LetGo(_ context.Context, seq uint64, holder string) error {
	return c.note("let go %s %d %s", c.camera, seq, holder)
}

func TestHolds(t *testing.T) {
	c := newCameras()
	_, h := serve(t, Config{Commands: c}, "gate")
	for _, tt := range []struct {
		method, path string
		fail         error
		status       int
		want, call   string
	}{
		{"PUT", "/frames/41/holds/page-1", nil, 200, `{"sequence":41,"expires":"2026-01-02T03:05:06Z"}`, "hold gate 41 page-1"},
		{"DELETE", "/frames/41/holds/page-1", nil, 204, "", "let go gate 41 page-1"},
		{"PUT", "/frames/41/holds/page-1", &api.Refusal{Status: 404, Detail: "41 is no longer kept"}, 404, "no longer kept", "hold gate 41 page-1"},
		{"DELETE", "/frames/41/holds/a", &api.Refusal{Status: 503, Detail: "down"}, 503, "down", "let go gate 41 a"},
		{"PUT", "/frames/-1/holds/page-1", nil, 400, `"field":"sequence"`, ""},
		{"PUT", "/frames/99999999999999999999/holds/page-1", nil, 400, `"field":"sequence"`, ""},
		{"PUT", "/frames/41/holds/" + strings.Repeat("x", 65), nil, 400, `"field":"holder"`, ""},
		{"PUT", "/frames/41/holds/a%20b", nil, 400, `"field":"holder"`, ""},
		{"GET", "/frames/41/holds/page-1", nil, 405, "accepts DELETE, PUT", ""},
	} {
		c.calls, c.fail = nil, tt.fail
		a := ask(t, tt.method, h.URL+"/api/v1/cameras/gate"+tt.path, "", "")
		a.want(t, tt.status, tt.want, "%s %s", tt.method, tt.path)
		if got := strings.Join(c.calls, " "); got != tt.call {
			t.Errorf("%s %s: the camera was asked %q; want %q", tt.method, tt.path, got, tt.call)
		}
	}
}
