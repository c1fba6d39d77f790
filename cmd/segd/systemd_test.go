package main

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/config"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/internal/freeport"
	"github.com/segd/segd/internal/waitfor"
	"github.com/segd/segd/pipeline"
)

// The watchdog, moment by moment: who is up, how many frames have come out, and
// whether systemd should be left to start segd anew.
func TestWatchdog(t *testing.T) {
	type camera struct {
		name   string
		up     bool
		out    uint64
		failed uint64
	}
	type moment struct {
		second  int
		cameras []camera
		stuck   bool
	}
	const limit = 60 * time.Second // so the patience is 30 s
	for _, tc := range []struct {
		name    string
		moments []moment
	}{
		{"advances", []moment{
			{0, []camera{{"a", true, 1, 0}}, false}, {29, []camera{{"a", true, 2, 0}}, false}, {58, []camera{{"a", true, 3, 0}}, false},
		}},
		{"up and stuck", []moment{
			{0, []camera{{"a", true, 7, 0}}, false}, {30, []camera{{"a", true, 7, 0}}, false}, {31, []camera{{"a", true, 7, 0}}, true},
		}},
		{"stuck, then on again", []moment{
			{0, []camera{{"a", true, 7, 0}}, false}, {40, []camera{{"a", true, 7, 0}}, true}, {50, []camera{{"a", true, 8, 0}}, false},
		}},
		{"one advances, one is stuck", []moment{
			{0, []camera{{"a", true, 7, 0}, {"b", true, 1, 0}}, false}, {40, []camera{{"a", true, 7, 0}, {"b", true, 2, 0}}, false},
			{80, []camera{{"a", true, 7, 0}, {"b", true, 3, 0}}, false}, {120, []camera{{"a", true, 7, 0}, {"b", true, 3, 0}}, true},
		}},
		{"all are down for hours", []moment{
			{0, []camera{{"a", false, 7, 0}, {"b", false, 0, 0}}, false}, {7200, []camera{{"a", false, 7, 0}, {"b", false, 0, 0}}, false},
		}},
		{"one is down, one is stuck", []moment{
			{0, []camera{{"a", false, 7, 0}, {"b", true, 5, 0}}, false}, {40, []camera{{"a", false, 7, 0}, {"b", true, 5, 0}}, true},
		}},
		{"back after hours, not yet with a frame out", []moment{
			{0, []camera{{"a", true, 7, 0}}, false}, {10, []camera{{"a", false, 7, 0}}, false},
			{7200, []camera{{"a", true, 7, 0}}, false}, {7229, []camera{{"a", true, 7, 0}}, false}, {7231, []camera{{"a", true, 7, 0}}, true},
		}},
		{"frames that fail, as when NATS is away", []moment{
			{0, []camera{{"a", true, 7, 0}}, false}, {40, []camera{{"a", true, 7, 300}}, false}, {80, []camera{{"a", true, 7, 600}}, false},
		}},
		{"a folder of a picture a minute", []moment{
			{0, []camera{{"slow", true, 1, 0}}, false}, {119, []camera{{"slow", true, 1, 0}}, false}, {121, []camera{{"slow", true, 1, 0}}, true},
		}},
		{"a camera of snapshots has no newer one", []moment{
			{0, []camera{{"snap", true, 1, 0}}, false}, {7200, []camera{{"snap", true, 1, 0}}, false},
		}},
		{"one is stuck, beside a camera of snapshots", []moment{
			{0, []camera{{"snap", true, 1, 0}, {"a", true, 7, 0}}, false}, {31, []camera{{"snap", true, 31, 0}, {"a", true, 7, 0}}, true},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWatchdog([]config.Camera{
				{Name: "a", FPS: 25}, {Name: "b", FPS: 25}, {Name: "slow", FPS: 1. / 60}, {Name: "snap", URL: "snapshot+http://h/x", FPS: 1},
			}, limit)
			for _, m := range tc.moments {
				var snaps []pipeline.Snapshot
				for _, c := range m.cameras {
					snaps = append(snaps, pipeline.Snapshot{Camera: c.name, Up: c.up, Published: c.out, Failed: c.failed, Dropped: uint64(m.second)})
				}
				got := w.check(time.Unix(int64(m.second), 0), snaps)
				if (got != nil) != m.stuck {
					t.Errorf("at %d s: stuck %v, want %v", m.second, got, m.stuck)
				}
				for _, c := range m.cameras {
					if got != nil && strings.Contains(got.Error(), "camera "+c.name+" ") != (c.up && c.name != "snap") {
						t.Errorf("at %d s: %v; want the cameras that are up", m.second, got)
					}
				}
			}
		})
	}
}

// segd run as systemd starts it: it says that it is ready, how many cameras are up,
// pings, goes on pinging when its camera is gone, and says that it stops.
func TestNotify(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 4 s: pings of the watchdog")
	}
	socket := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	t.Setenv("NOTIFY_SOCKET", socket)
	t.Setenv("WATCHDOG_USEC", "2000000")
	hear := func() string {
		t.Helper()
		b := make([]byte, 4096)
		if err := conn.SetReadDeadline(time.Now().Add(waitfor.Limit)); err != nil {
			t.Fatal(err)
		}
		n, err := conn.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	hearUntil := func(want string) {
		t.Helper()
		for said := ""; said != want; said = hear() {
			if said == "STOPPING=1" {
				t.Fatalf("it stops before it says %s", want)
			}
		}
	}

	server := camera(t, demo.Config{})
	config := clitest.File(t, "segd.yaml", quick(freeport.Addr(t), freeport.Addr(t))+"cameras: [{name: gate, transport: tcp, url: '"+server.URL()+"'}]\n")
	segd := start(t, "run", "-c", config)
	if said := hear(); said != "READY=1" {
		t.Errorf("its first word is %q", said)
	}
	for !strings.HasPrefix(hear(), "STATUS=1 of 1 cameras up") {
	}
	hearUntil("WATCHDOG=1")

	// To check the configuration of a segd that runs, its ports are as they should be.
	var out strings.Builder
	if err := run(t.Context(), []string{"check", "-c", config}, strings.NewReader(""), &out, io.Discard); err != nil ||
		strings.Count(out.String(), "taken by the segd that runs") != 2 || !strings.Contains(out.String(), "camera gate: ok") {
		t.Errorf("check: %v\n%s", err, out.String())
	}
	// Those of another configuration are not.
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	another := clitest.File(t, "another.yaml", strings.Replace(string(text), "name: gate", "name: yard", 1))
	out.Reset()
	if err := run(t.Context(), []string{"check", "-c", another}, strings.NewReader(""), &out, io.Discard); err == nil ||
		strings.Count(out.String(), "taken by another segd, which runs other cameras: gate;") != 2 {
		t.Errorf("check of another configuration: %v\n%s", err, out.String())
	}

	// It says so when it reads the configuration again, and when it has.
	if err := os.WriteFile(config, append(text, "site: elsewhere\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	for !strings.HasPrefix(hear(), "RELOADING=1\nMONOTONIC_USEC=") {
	}
	hearUntil("READY=1")

	server.Close()
	for !strings.HasPrefix(hear(), "STATUS=0 of 1 cameras up") {
	}
	for range 3 { // longer than its patience of a second
		hearUntil("WATCHDOG=1")
	}
	segd.Cancel()
	hearUntil("STOPPING=1")
	if err := segd.Wait(t); err != nil {
		t.Error(err)
	}
}
