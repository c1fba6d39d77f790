package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/cmd/segd/daemon/daemontest"
)

// A text of a request that is too long is refused, and neither said nor logged as a whole.
func TestLongRequests(t *testing.T) {
	t.Parallel()
	r := newReloading(t, "", fmt.Sprintf("{name: attic, url: 'dir:%s', loop: true, fps: 5}", daemontest.Pictures(t, 5)))
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
