package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/config"
)

// Whatever is long is cut in the log, in one place, and how long it was is told.
func TestLogIsCut(t *testing.T) {
	long := strings.Repeat("é", 100_000)
	for _, format := range []string{"text", "json"} {
		var out strings.Builder
		log, _ := newLogger(&out, config.Log{Level: "info", Format: format})
		line := func(most int, said ...string) {
			t.Helper()
			text := out.String()
			out.Reset()
			if len(text) > most || !strings.HasSuffix(text, "\n") {
				t.Errorf("%s: a line of %d bytes, want at most %d", format, len(text), most)
			}
			for _, word := range said {
				if !strings.Contains(text, word) {
					t.Errorf("%s: it lacks %q: %.300s", format, word, text)
				}
			}
		}
		const cut, of = 3 << 10, "(200000 bytes)"
		log.Info(long)
		line(cut, of)
		log.Info("a url", "url", "rtsp://x/"+long)
		line(cut, "(200009 bytes)", "rtsp://x/")
		log.Info("an error", "error", fmt.Errorf("dial: %w", errors.New(long)))
		line(cut, "(200006 bytes)", "dial: ")
		log.With("camera", long).WithGroup("in").Info("below", slog.Group("a", "b", long))
		line(2*cut, of)
		log.Info("a list", "added", []string{long, long})
		line(cut, "(400003 bytes)")
		log.Info("a panic", "stack", long)
		line(64<<10+1<<10, of)
		log.Info("as they are", "added", []string{"gate", "yard"}, "error", errors.New("gone"), "n", 3)
		line(cut, "gate", "yard", "gone")
	}
}

// A text of a request that is too long is refused, and neither said nor logged as a whole.
func TestLongRequests(t *testing.T) {
	t.Parallel()
	r := newReloading(t, "", fmt.Sprintf("{name: attic, url: 'dir:%s', loop: true, fps: 5}", pictures(t, 5)))
	var errs clitest.Output
	segd := clitest.Start(t, func(ctx context.Context, in io.Reader, out, _ io.Writer) error {
		return run(ctx, []string{"run", "-c", r.file}, in, out, &errs)
	})
	listen(t, r.nats)
	long := strings.Repeat("Z", 200_000)
	for _, tt := range []struct{ path, body, pointer string }{
		{"cameras", `{"name": "new", "url": "rtsp://127.0.0.1:1/LONG"}`, "/url"},
		{"cameras", `{"name": "LONG", "url": "rtsp://127.0.0.1:1/"}`, "/name"},
		{"cameras", `{"name": "new", "url": "rtsp://127.0.0.1:1/", "user": "LONG"}`, "/user"},
		{"cameras", `{"name": "new", "url": "rtsp://127.0.0.1:1/", "user": "a", "password": "LONG"}`, "/password"},
		{"cameras", `{"name": "new", "url": "rtsp://127.0.0.1:1/", "detect": {"classes": ["LONG"]}}`, "/detect/classes/0"},
		{"cameras", `{"name": "new", "url": "rtsp://127.0.0.1:1/", "zones": [{"name": "LONG"}]}`, "/zones/0/name"},
		{"cameras", `{"name": "new", "url": "rtsp://127.0.0.1:1/", "requires": ["a=LONG"]}`, "/requires/0"},
		{"cameras", `{"name": "new", "url": "rtsp://127.0.0.1:1/", "annotation": "LONG"}`, "/annotation"},
		{"cameras", `{"name": "new", "LONG": "rtsp://127.0.0.1:1/"}`, "whose name has 200000 bytes"},
		{"cameras/test", `{"url": "rtsp://127.0.0.1:1/LONG"}`, "/url"},
		{"cameras/discover", `{"host": "LONG"}`, "/host"},
		{"cameras/discover", `{"host": "127.0.0.1:1", "user": "a", "password": "LONG"}`, "/password"},
	} {
		status, answer := send(t, http.MethodPost, "http://"+r.http+"/api/v1/"+tt.path, strings.ReplaceAll(tt.body, "LONG", long))
		if status != http.StatusUnprocessableEntity || len(answer) > 4<<10 || !strings.Contains(answer, tt.pointer) || !strings.Contains(answer, "accepted: at most") {
			t.Errorf("%s %s: %d, %d bytes: %.300s", tt.path, tt.body, status, len(answer), answer)
		}
	}
	status, answer := send(t, http.MethodPut, "http://"+r.http+"/api/v1/cameras/attic/zones", strings.ReplaceAll(`{"zones": [{"name": "LONG", "polygon": [[0, 0], [1, 0], [1, 1]]}]}`, "LONG", long))
	if status/100 != 4 || len(answer) > 4<<10 {
		t.Errorf("zones: %d, %d bytes: %.300s", status, len(answer), answer)
	}
	segd.Cancel()
	if err := segd.Wait(t); err != nil {
		t.Error(err)
	}
	if n := len(errs.String()); n > 64<<10 {
		t.Errorf("%d bytes of log", n)
	}
}
