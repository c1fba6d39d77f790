package bus

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"

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

// Who watches what no segd serves is told so, and which cameras there are; nobody else is.
func TestUnserved(t *testing.T) {
	port, empty := freePort(t), freePort(t)
	natsServer(t, server.Options{Port: empty})
	natsServer(t, server.Options{Port: port, Users: []*server.User{
		{Username: "segd", Password: "p"},
		{Username: "hears", Password: "p", Permissions: &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{">"}}}},
	}})
	url := "nats://segd:p@" + urlOf(port)[len("nats://"):]
	for site, cameras := range map[string][]string{"here": {"yard", "gate"}, "there": {"gate"}} {
		b := open(t, Config{External: External{URL: url}, Site: site})
		eventually(t, "a connection", b.Connected)
		if err := b.Serve(Commands{Cameras: cameras, Annotate: granted}); err != nil {
			t.Fatal(err)
		}
	}
	all := []Served{{"here", "gate"}, {"here", "yard"}, {"there", "gate"}}
	if got, err := Cameras(t.Context(), url); err != nil || !cmp.Equal(got, all) {
		t.Errorf("cameras %v, %v; want %v", got, err, all)
	}
	none := []Served{{"nobody", "told"}}
	for _, tc := range []struct {
		name, url, target, subject string
		want                       []Served
	}{
		{"a camera", url, "gate", "segd.v1.here.gate.mask", none},
		{"no camera", url, "gaet", "segd.v1.here.gaet.mask", all},
		{"a subject", url, "segd.v1.there.gate.mask", "segd.v1.there.gate.mask", none},
		{"all events", url, "segd.v1.*.*.event", "segd.v1.here.gate.event", none},
		{"all of a site", url, "segd.v1.here.>", "segd.v1.here.gate.mask", none},
		{"no camera of that site", url, "segd.v1.there.yard.mask", "segd.v1.there.yard.mask", all},
		{"no such site", url, "segd.v1.nowhere.>", "segd.v1.nowhere.gate.mask", all},
		{"nobody there", urlOf(empty), "gate", "segd.v1.here.gate.mask", nil},
		{"who may not ask", "nats://hears:p@" + urlOf(port)[len("nats://"):], "gaet", "segd.v1.here.gaet.mask", none},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, heard := none, make(chan struct{}, 1)
			watch(t, tc.url, tc.target, Handlers{
				Unserved: func(served []Served) { got = served },
				Mask:     func(*segdv1.MaskFrame) {},
				Event:    func(*segdv1.Event) {},
				Bad:      func(string, error) { heard <- struct{}{} },
			})
			from := url
			if tc.url == urlOf(empty) {
				from = tc.url
			}
			// What is heard, though it says nothing, is heard after that was told.
			if err := connect(t, from).Publish(tc.subject, []byte("{")); err != nil {
				t.Fatal(err)
			}
			receive(t, heard)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
