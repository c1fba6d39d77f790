package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/cmd/segd/daemon/daemontest"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/internal/freeport"
	"github.com/segd/segd/internal/waitfor"
)

// natsServer starts a server at addr that wants user segd with this password.
func natsServer(t *testing.T, addr, password string) (stop func()) {
	t.Helper()
	u, err := url.Parse("nats://" + addr)
	require.NoError(t, err)
	port, err := strconv.Atoi(u.Port())
	require.NoError(t, err)
	s, err := server.NewServer(&server.Options{
		Host: u.Hostname(), Port: port, Username: "segd", Password: password,
		JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
	})
	require.NoError(t, err)
	s.Start()
	if !s.ReadyForConnections(waitfor.Limit) {
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
	if testing.Short() {
		t.Skip("takes 19 s: segd at a server that refuses it for a while")
	}
	t.Parallel()
	addr, natsAddr := freeport.Addr(t), freeport.Addr(t)
	stop := natsServer(t, natsAddr, "another")
	cam := daemontest.Camera(t, demo.Config{})
	config := fmt.Sprintf("http: {addr: %q}\nnats: {url: 'nats://segd:secret@%s'}\nsuperpixels: 96\nmodel: {short_side: 64}\n", addr, natsAddr) +
		fmt.Sprintf("cameras: [{name: gate, url: %q, transport: tcp, annotation: %q}]\n", cam.URL(), clitest.File(t, "a.json", daemontest.Annotation))
	path := clitest.File(t, "segd.yaml", config)

	check := start(t, "check", "-c", path)
	if err := check.Wait(t); cli.Status(err) != cli.ExitFailure {
		t.Errorf("check: %v, want exit status %d", err, cli.ExitFailure)
	}
	if out := check.Out.String(); !clitest.LineWith(out, []string{"nats: FAILED", "xxxxx@" + natsAddr, "Authorization Violation"}) {
		t.Errorf("check says\n%s", out)
	}

	began := time.Now()
	segd := start(t, "run", "-c", path)
	waitfor.True(t, "the refusal", func() bool { return strings.Contains(segd.Err.String(), "nats server refuses us") })
	waitfor.True(t, "frames", func() bool {
		n, err := strconv.Atoi(metricOf(addr, `segd_frames_total{camera="gate",outcome="published"}`))
		return err == nil && n >= 10
	})
	assert.Equal(t, "0", metricOf(addr, "segd_bus_connected"), "segd_bus_connected is")
	if n := strings.Count(segd.Err.String(), "nats server refuses us"); n > 1+int(time.Since(began)/time.Minute) {
		t.Errorf("%d lines about the refusal, want one a minute:\n%s", n, segd.Err.String())
	}
	if strings.Contains(segd.Err.String()+check.Out.String(), "secret") {
		t.Errorf("the password is given away:\n%s%s", segd.Err.String(), check.Out.String())
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
	case <-time.After(waitfor.Limit):
		t.Fatal("no masks")
	}
	// Camera up, annotation accepted, object appeared: all of before.
	waitfor.True(t, "events", func() bool {
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

// A second segd with the same site and camera on one NATS server ends at once, with a line
// that says where the first is; with the server's user of a role, watch hears the first.
func TestSecondSegdIsRefused(t *testing.T) {
	t.Parallel()
	natsAddr := freeport.Addr(t)
	_, portText, err := net.SplitHostPort(natsAddr)
	require.NoError(t, err)
	cam := daemontest.Camera(t, demo.Config{})
	config := func(natsSection string) string {
		return clitest.File(t, "segd.yaml", fmt.Sprintf("http: {addr: %q}\nnats: {%s}\nsuperpixels: 96\nmodel: {short_side: 64}\n", freeport.Addr(t), natsSection)+
			fmt.Sprintf("cameras: [{name: gate, url: %q, transport: tcp}]\n", cam.URL()))
	}
	first := start(t, "run", "-c", config(fmt.Sprintf("addr: %q, users: [{name: wall, password: wall-0123456789abcdef, role: subscriber}, {name: root, password: root-0123456789abcdef, role: admin}]", natsAddr)))
	waitfor.True(t, "the first publishes", func() bool { return strings.Contains(first.Err.String(), "camera up") })

	second := start(t, "run", "-c", config("url: 'nats://root:root-0123456789abcdef@127.0.0.1:"+portText+"'"))
	if err := second.Wait(t); cli.Status(err) != cli.ExitFailure || err == nil ||
		!strings.Contains(err.Error(), "camera gate of site home is published by another segd") || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("the second: %v", err)
	}
	watching := start(t, "watch", "gate", "--nats", "nats://wall:wall-0123456789abcdef@"+natsAddr)
	waitfor.True(t, "masks", func() bool { return clitest.LineWith(watching.Out.String(), []string{"gate", "no objects"}) })
	asking := start(t, "clear", "gate", "--nats", "nats://wall:wall-0123456789abcdef@"+natsAddr)
	assert.ErrorContains(t, asking.Wait(t), "this NATS user may not", "a subscriber's clear")
	assert.NotContains(t, first.Err.String()+second.Err.String(), "0123456789abcdef", "a password is given away")
}

// What is not stored when segd ends is said, with its number, once.
func TestUnstoredEventsAreSaid(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 10 s: segd waits in vain for a server")
	}
	t.Parallel()
	addr := freeport.Addr(t)
	config := fmt.Sprintf("http: {addr: %q}\nnats: {url: 'nats://%s'}\nsuperpixels: 96\nmodel: {short_side: 64}\n", addr, freeport.Addr(t)) +
		fmt.Sprintf("cameras: [{name: gate, url: 'rtsp://%s/x'}]\n", freeport.Addr(t))
	segd := start(t, "run", "-c", clitest.File(t, "segd.yaml", config))
	waitfor.True(t, "an event", func() bool { return metricOf(addr, "segd_bus_events_waiting") == "1" })
	segd.Cancel()
	err := segd.Wait(t)
	var said strings.Builder
	if cli.Report(&said, err) != cli.ExitFailure || strings.Count(said.String(), "1 events are not stored") != 1 {
		t.Errorf("segd ends with\n%swant one line about one event, and status %d", said.String(), cli.ExitFailure)
	}
}
