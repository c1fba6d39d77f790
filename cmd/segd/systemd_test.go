package main

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/cmd/segd/daemon/daemontest"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/internal/freeport"
	"github.com/segd/segd/internal/waitfor"
)

// segd run as systemd starts it: it says that it is ready, how many cameras are up,
// pings, goes on pinging when its camera is gone, and says that it stops.
func TestNotify(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 4 s: pings of the watchdog")
	}
	socket := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	require.NoError(t, err)
	defer conn.Close()
	t.Setenv("NOTIFY_SOCKET", socket)
	t.Setenv("WATCHDOG_USEC", "2000000")
	hear := func() string {
		t.Helper()
		b := make([]byte, 4096)
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(waitfor.Limit)))
		n, err := conn.Read(b)
		require.NoError(t, err)
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

	server := daemontest.Camera(t, demo.Config{})
	config := clitest.File(t, "segd.yaml", daemontest.Quick(freeport.Addr(t), freeport.Addr(t))+"cameras: [{name: gate, transport: tcp, url: '"+server.URL()+"'}]\n")
	segd := start(t, "run", "-c", config)
	assert.Equal(t, "READY=1", hear(), "its first word is")
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
	require.NoError(t, err)
	another := clitest.File(t, "another.yaml", strings.Replace(string(text), "name: gate", "name: yard", 1))
	out.Reset()
	if err := run(t.Context(), []string{"check", "-c", another}, strings.NewReader(""), &out, io.Discard); err == nil ||
		strings.Count(out.String(), "taken by another segd, which runs other cameras: gate;") != 2 {
		t.Errorf("check of another configuration: %v\n%s", err, out.String())
	}

	// It says so when it reads the configuration again, and when it has.
	require.NoError(t, os.WriteFile(config, append(text, "site: elsewhere\n"...), 0o600))
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
	assert.NoError(t, segd.Wait(t))
}
