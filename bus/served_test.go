package bus

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
)

// Without a handler it is logged.
func TestUnservedIsLogged(t *testing.T) {
	port := freePort(t)
	natsServer(t, server.Options{Port: port})
	lines := make(chan string, 1)
	log := slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) { lines <- string(p); return len(p), nil }), nil))
	watch(t, urlOf(port), "gaet", Handlers{Logger: log, Mask: func(*segdv1.MaskFrame) {}})
	if line := receive(t, lines); !strings.Contains(line, "level=WARN") || !strings.Contains(line, "watched=gaet served=none") {
		t.Errorf("it says %q", line)
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// publishStatuses has a status of each camera published time and again until the test ends.
func publishStatuses(t *testing.T, b *Bus, cameras []string) {
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			for _, c := range cameras {
				assert.NoError(t, b.PublishStatus(&segdv1.Status{Camera: c}))
			}
			select {
			case <-ended:
				return
			case <-time.After(hearTimeout / 10):
			}
		}
	}()
	t.Cleanup(func() { close(ended); <-done })
}

// Who watches what no segd serves is told so, and which cameras there are; no other watcher is.
func TestUnserved(t *testing.T) {
	port, empty := freePort(t), freePort(t)
	natsServer(t, server.Options{Port: empty})
	natsServer(t, server.Options{Port: port, Users: []*server.User{
		{Username: "segd", Password: "p"},
		{Username: "hears", Password: "p", Permissions: &server.Permissions{Subscribe: &server.SubjectPermission{Deny: []string{"segd.v1.*.*.status"}}}},
	}})
	url := "nats://segd:p@" + urlOf(port)[len("nats://"):]
	for site, cameras := range map[string][]string{"here": {"yard", "gate"}, "there": {"gate"}} {
		b := open(t, Config{External: External{URL: url}, Site: site})
		eventually(t, "a connection", b.Connected)
		require.NoError(t, b.Serve(granting(cameras...)))
		publishStatuses(t, b, cameras)
	}
	all := []Served{{"here", "gate"}, {"here", "yard"}, {"there", "gate"}}
	if got, err := Cameras(t.Context(), url); err != nil || !cmp.Equal(got, all) {
		t.Errorf("cameras %v, %v; want %v", got, err, all)
	}
	none := []Served{{"nobody", "told"}}
	for _, tc := range []struct {
		name, url, target string
		want              []Served
	}{
		{"a camera", url, "gate", none},
		{"no camera", url, "gaet", all},
		{"a subject", url, "segd.v1.there.gate.mask", none},
		{"all events", url, "segd.v1.*.*.event", none},
		{"all of a site", url, "segd.v1.here.>", none},
		{"no camera of that site", url, "segd.v1.there.yard.mask", all},
		{"no such site", url, "segd.v1.nowhere.>", all},
		{"nobody there", urlOf(empty), "gate", nil},
		{"who may not hear statuses", "nats://hears:p@" + urlOf(port)[len("nats://"):], "gaet", none},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel() // they wait
			told := make(chan []Served, 1)
			watch(t, tc.url, tc.target, Handlers{Unserved: func(served []Served) { told <- served }})
			got := none
			if !cmp.Equal(tc.want, none) {
				got = receive(t, told)
			} else {
				select {
				case got = <-told:
				case <-time.After(hearTimeout + hearTimeout/4): // nothing is to happen
				}
			}
			assert.Empty(t, cmp.Diff(tc.want, got))
		})
	}
}
