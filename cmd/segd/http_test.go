package main

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/internal/freeport"
	"github.com/segd/segd/internal/waitfor"
)

// What the http section of the configuration says is what a running segd does.
func TestHTTPSection(t *testing.T) {
	t.Parallel()
	addr, natsAddr := freeport.Addr(t), freeport.Addr(t)
	start(t, "run", "-c", clitest.File(t, "segd.yaml", fmt.Sprintf("http: {addr: %q, token: operator-01234567, viewer_token: viewer-0123456789, trusted_proxies: [127.0.0.1], viewers: 1}\n"+
		"nats: {addr: %q}\nsuperpixels: 96\nmodel: {short_side: 64}\ncameras: [{name: gate, url: 'rtsp://127.0.0.1:1/x'}]\n", addr, natsAddr)))
	ask := func(method, path string, header ...string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+addr+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			return &http.Response{Status: err.Error()}
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	waitfor.True(t, "segd", func() bool { return ask("GET", "/livez").StatusCode == http.StatusOK })
	const viewer = "Bearer viewer-0123456789"
	if resp := ask("GET", "/api/v1/cameras", "Authorization", viewer); resp.StatusCode != http.StatusOK {
		t.Errorf("a viewer sees %s", resp.Status)
	}
	if resp := ask("DELETE", "/api/v1/cameras/gate/objects", "Authorization", viewer); resp.StatusCode != http.StatusForbidden {
		t.Errorf("a viewer removes: %s", resp.Status)
	}
	if resp := ask("GET", "/?token=operator-01234567", "X-Forwarded-Proto", "https"); len(resp.Cookies()) != 1 || !resp.Cookies()[0].Secure {
		t.Errorf("through the proxy: %s, cookies %v", resp.Status, resp.Cookies())
	}
	if resp := ask("GET", "/api/v1/events", "Authorization", viewer); resp.StatusCode != http.StatusOK {
		t.Errorf("the first viewer: %s", resp.Status)
	}
	if resp := ask("GET", "/api/v1/events", "Authorization", viewer); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("the second viewer: %s", resp.Status)
	}
}
