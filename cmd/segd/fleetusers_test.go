package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/cmd/segd/daemon/daemontest"
	"github.com/segd/segd/fleet"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/internal/freeport"
	"github.com/segd/segd/internal/waitfor"
)

// denials notes what a NATS server denies.
type denials struct {
	mu    sync.Mutex
	lines []string
}

func (d *denials) note(format string, v ...any) {
	line := fmt.Sprintf(format, v...)
	if strings.Contains(line, "Violation") || strings.Contains(line, "authorization") {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.lines = append(d.lines, line)
	}
}

func (d *denials) Errorf(format string, v ...any)  { d.note(format, v...) }
func (d *denials) Warnf(format string, v ...any)   { d.note(format, v...) }
func (d *denials) Fatalf(format string, v ...any)  { d.note(format, v...) }
func (d *denials) Noticef(format string, v ...any) {}
func (d *denials) Debugf(format string, v ...any)  {}
func (d *denials) Tracef(format string, v ...any)  {}

// composeCluster starts the three servers of deploy/compose/fleet.yaml, and returns where they listen and what they
// have denied.
func composeCluster(t *testing.T, password string) (addrs []string, denied *denials) {
	t.Helper()
	const route = "12345678"
	for _, name := range []string{"SEGD", "SUBSCRIBER", "OPERATOR", "ADMIN"} {
		t.Setenv("NATS_"+name, `"`+password+`"`)
	}
	var peers, routes []string
	for range 3 {
		peers = append(peers, freeport.Addr(t))
		routes = append(routes, `"nats://route:`+route+`@`+peers[len(peers)-1]+`"`)
	}
	t.Setenv("NATS_ROUTE", `"`+route+`"`)
	t.Setenv("NATS_ROUTES", "["+strings.Join(routes, ",\n")+"]")
	denied = &denials{}
	var servers []*server.Server
	for i, peer := range peers {
		t.Setenv("NATS_NAME", fmt.Sprintf("nats-%d", i+1))
		opts, err := server.ProcessConfigFile("../../deploy/compose/nats-fleet.conf")
		require.NoError(t, err)
		_, text, _ := net.SplitHostPort(peer)
		port, err := strconv.Atoi(text)
		require.NoError(t, err)
		opts.Host, opts.Port, opts.NoSigs, opts.StoreDir = "127.0.0.1", server.RANDOM_PORT, true, t.TempDir()
		opts.Cluster.Host, opts.Cluster.Port = "127.0.0.1", port
		s, err := server.NewServer(opts)
		require.NoError(t, err)
		s.SetLogger(denied, false, false)
		s.Start()
		t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
		if !s.ReadyForConnections(waitfor.Limit) {
			t.Fatal("a NATS server does not start")
		}
		servers, addrs = append(servers, s), append(addrs, s.Addr().String())
	}
	waitfor.True(t, "a leader of JetStream", func() bool {
		for _, s := range servers {
			if s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == len(peers) {
				return true
			}
		}
		return false
	})
	return addrs, denied
}

// What the users of deploy/compose may is enough for a fleet on its cluster: boxes share cameras, added ones too, hand
// them over with their objects, are cordoned, drained and moved to, and end; nothing is denied to anybody, and all that is
// kept is on three servers.
func TestComposeFleet(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 5 s: boxes and a cluster of three servers")
	}
	const password = "secret"
	addrs, denied := composeCluster(t, password)
	t.Setenv("SEGD_NATS_REPLICAS", "3")
	key := filepath.Join(t.TempDir(), "cameras.key")
	b := &boxes{t: t, nats: addrs[0], key: key, heard: listen(t, "subscriber:"+password+"@"+addrs[2]), byName: map[string]*adding{}}
	as := func(user, addr string, args ...string) {
		t.Helper()
		args = append(append([]string{"fleet"}, args...), "--site", "home", "--nats", "nats://"+user+":"+password+"@"+addr)
		if text, err := segdDoes(t, args...); err != nil {
			t.Fatal(text, err)
		}
	}
	cam := daemontest.Camera(t, demo.Config{})
	file := []string{
		fmt.Sprintf("{name: gate, url: %q, transport: tcp, annotation: %q}", cam.URL(), clitest.File(t, "a.json", daemontest.Annotation)),
		fmt.Sprintf("{name: yard, url: 'dir:%s', fps: 5, loop: true}", daemontest.Pictures(t, 20)),
	}
	one := b.start("one", "", file...)
	b.nats = addrs[1]
	two := b.start("two", "", file...)
	first := b.holder("gate")
	b.holder("yard")
	other := map[string]string{"one": "two", "two": "one"}[first]
	as("operator", addrs[2], "status")
	waitfor.True(t, "both boxes to be known", func() bool { return len(b.status().Boxes) == 2 })
	as("operator", addrs[2], "move", "gate", other)
	b.holder("gate", first)
	as("operator", addrs[2], "drain", other)
	b.holder("gate", other)
	as("operator", addrs[2], "uncordon", other)
	as("operator", addrs[2], "cordon", other)
	as("segd", addrs[0], "uncordon", other) // by what a box has, as in its container

	one.want(http.StatusCreated, http.MethodPost, "", fmt.Sprintf(`{"name": "attic", "url": "dir:%s", "fps": 5, "loop": true}`, daemontest.Pictures(t, 20)))
	b.holder("attic")
	waitfor.True(t, "the other box to know of it", func() bool { return two.list()["attic"].Source == "added" })
	two.want(http.StatusOK, http.MethodPatch, "/attic", `{"fps": 10}`)
	waitfor.True(t, "the other box to be told", func() bool { return fmt.Sprint(one.list()["attic"].Settings["fps"]) == "10" })

	ctx, cancel := context.WithTimeout(t.Context(), waitfor.Limit)
	defer cancel()
	login := func(user string) jetstream.JetStream {
		t.Helper()
		conn, err := nats.Connect("nats://" + user + ":" + password + "@" + addrs[0])
		require.NoError(t, err)
		t.Cleanup(conn.Close)
		js, err := jetstream.New(conn)
		require.NoError(t, err)
		return js
	}
	admin := login("admin")
	for _, name := range []string{"segd_home_event", "KV_segd_home_fleet", "KV_segd_home_cameras", "OBJ_segd_home_checkpoints"} {
		if stream, err := admin.Stream(ctx, name); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if n := stream.CachedInfo().Config.Replicas; n != 3 {
			t.Errorf("%s is on %d servers, want 3", name, n)
		}
	}
	// What a box does when another was first, and with the keys of boxes that are long gone.
	if bucket, err := login("segd").KeyValue(ctx, fleet.Bucket("home")); err != nil {
		t.Error(err)
	} else {
		_, got := bucket.Get(ctx, "plan")
		assert.NoError(t, errors.Join(got, bucket.Purge(ctx, "box.gone")))
	}
	one.want(http.StatusNoContent, http.MethodDelete, "/attic", "")

	b.byName[first].stop()
	b.nats = map[string]string{"one": addrs[1], "two": addrs[0]}[first]
	b.holder("gate", first)
	b.holder("yard", first)
	b.byName[other].stop()
	for name, a := range b.byName {
		for line := range strings.Lines(a.segd.Err.String()) {
			assert.NotContains(t, strings.ToLower(line), "permission", "box %s: %s", name, line)
		}
	}
	denied.mu.Lock()
	defer denied.mu.Unlock()
	for _, line := range denied.lines {
		t.Error(line)
	}
}
