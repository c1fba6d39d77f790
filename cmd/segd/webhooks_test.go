package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/segd/segd/cmd/segd/daemon/daemontest"
	"github.com/segd/segd/internal/waitfor"
)

// hookServer keeps the types and sources of what is posted to it, and whether it was signed.
type hookServer struct {
	*httptest.Server
	mu  sync.Mutex
	all []string
}

func newHookServer(t *testing.T) *hookServer {
	t.Helper()
	s := &hookServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var e struct{ Type, Source string }
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all = append(s.all, fmt.Sprintf("%s of %s, signed %v", e.Type, e.Source, strings.HasPrefix(r.Header.Get("Webhook-Signature"), "v1,")))
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *hookServer) got(what string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.all, what)
}

// Events are posted to the configured webhooks, and a reload takes others, or none of them if one is at fault.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	first, second := newHookServer(t), newHookServer(t)
	dir := daemontest.Pictures(t, 3)
	camera := func(name string) string {
		return fmt.Sprintf("{name: %s, url: 'dir:%s', loop: true, fps: 5}", name, dir)
	}
	hooks := func(url, more string) string {
		return fmt.Sprintf("webhooks: [{name: door, url: '%s', kinds: [camera_up]%s}]\n", url, more)
	}
	r := newReloading(t, "", camera("yard"))
	head := r.head
	write := func(hooks string, cameras ...string) {
		r.head = head + hooks
		r.write(cameras...)
	}
	write(hooks(first.URL, ""), camera("yard"))
	segd := startProcess(t, "run", "-c", r.file, "--watch=false")
	waitfor.True(t, "the first event", func() bool {
		if len(segd.ended) > 0 {
			t.Fatalf("segd ended with %v", segd.end())
		}
		return first.got("segd.v1.camera_up of /segd/home/yard, signed false")
	})

	write(hooks(second.URL, ", secret_file: nowhere"), camera("yard"))
	if status, text := r.reload(); status != http.StatusUnprocessableEntity || !strings.Contains(text, "webhook: door: secret_file: ") || !strings.Contains(text, "/webhooks") {
		t.Errorf("a file that there is not: %d %s", status, text)
	}
	signed := hooks(second.URL, ", secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	write(signed, camera("yard"))
	if out := r.reloaded(); len(out.Restart) != 0 {
		t.Errorf("reloaded %+v; want the webhook taken over", out)
	}
	write(signed, camera("yard"), camera("attic"))
	if out := r.reloaded(); !slices.Equal(out.Added, []string{"attic"}) {
		t.Errorf("reloaded %+v; want another camera", out)
	}
	waitfor.True(t, "an event of the other camera at the other server", func() bool { return second.got("segd.v1.camera_up of /segd/home/attic, signed true") })
	if text := get(t, "http://"+r.http+"/api/v1/config"); strings.Contains(text, "whsec_") || strings.Contains(text, second.URL) {
		t.Errorf("the API shows a webhook's secret:\n%s", text)
	}
	waitfor.True(t, "a count", func() bool {
		return daemontest.Value(get(t, "http://"+r.http+"/metrics"), `segd_webhook_delivered_total{webhook="door"}`) == "2"
	})
	if first.got("segd.v1.camera_up of /segd/home/attic, signed true") {
		t.Error("the first server got it, too")
	}
}
