package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/demo"
	"github.com/segd/segd/internal/cli"
)

// natsServer starts a server at addr that wants user segd with this password.
func natsServer(t *testing.T, addr, password string) (stop func()) {
	t.Helper()
	u, err := url.Parse("nats://" + addr)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.NewServer(&server.Options{
		Host: u.Hostname(), Port: port, Username: "segd", Password: password,
		JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the NATS server does not start")
	}
	stop = func() { s.Shutdown(); s.WaitForShutdown() }
	t.Cleanup(stop)
	return stop
}

// A NATS server that refuses segd leaves the cameras alone: a line says so, the page
// and the metrics go on, and once it lets segd in, masks and the events of before
// arrive.
func TestNATSServerRefuses(t *testing.T) {
	t.Parallel()
	addr, natsAddr := freeAddr(t), freeAddr(t)
	stop := natsServer(t, natsAddr, "another")
	cam := camera(t, demo.Config{})
	config := fmt.Sprintf("http: {addr: %q}\nnats: {url: 'nats://segd:secret@%s'}\nsuperpixels: 96\nmodel: {short_side: 64}\n", addr, natsAddr) +
		fmt.Sprintf("cameras: [{name: gate, url: %q, transport: tcp, annotation: %q}]\n", cam.URL(), file(t, "a.json", squareAnnotation))
	path := file(t, "segd.yaml", config)

	check := start(t, "check", "-c", path)
	if err := check.wait(t, time.Minute); cli.Status(err) != cli.ExitFailure {
		t.Errorf("check: %v, want exit status %d", err, cli.ExitFailure)
	}
	if out := check.out.String(); !lineWith(out, []string{"nats: FAILED", "xxxxx@" + natsAddr, "Authorization Violation"}) {
		t.Errorf("check says\n%s", out)
	}

	segd := start(t, "run", "-c", path)
	until(t, time.Minute, "the refusal", func() bool { return strings.Contains(segd.err.String(), "nats server refuses us") })
	until(t, time.Minute, "frames", func() bool {
		n, err := strconv.Atoi(metricOf(addr, `segd_frames_total{camera="gate",outcome="published"}`))
		return err == nil && n >= 10
	})
	if line := metricOf(addr, "segd_bus_connected"); line != "0" {
		t.Errorf("segd_bus_connected is %q, want 0", line)
	}
	if n := strings.Count(segd.err.String(), "nats server refuses us"); n != 1 {
		t.Errorf("%d lines about the refusal, want one a minute:\n%s", n, segd.err.String())
	}
	if strings.Contains(segd.err.String()+check.out.String(), "secret") {
		t.Errorf("the password is given away:\n%s%s", segd.err.String(), check.out.String())
	}

	stop()
	natsServer(t, natsAddr, "secret")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	masks := make(chan struct{}, 1)
	done := make(chan error, 1)
	go func() {
		done <- bus.Watch(ctx, "nats://segd:secret@"+natsAddr, "gate", bus.Handlers{Mask: func(*segdv1.MaskFrame) {
			select {
			case masks <- struct{}{}:
			default:
			}
		}})
	}()
	select {
	case <-masks:
	case err := <-done:
		t.Fatal(err)
	case <-time.After(time.Minute):
		t.Fatal("no masks")
	}
	// Camera up, annotation accepted, object appeared: all of before.
	until(t, time.Minute, "events", func() bool {
		n, err := strconv.Atoi(metricOf(addr, "segd_bus_events_stored_total"))
		return err == nil && n >= 3
	})
	cancel()
	<-done
}

// metricOf is metric for a page that may not be there yet.
func metricOf(addr, name string) string {
	resp, err := http.Get("http://" + addr + "/metrics")
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			return value
		}
	}
	return ""
}
