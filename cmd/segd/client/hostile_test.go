package client

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/cmd/segd/client/clienttest"
	"github.com/segd/segd/internal/waitfor"
)

func publish(t *testing.T, nc *nats.Conn, subject string, m proto.Message) {
	t.Helper()
	data, err := proto.Marshal(m)
	require.NoError(t, err)
	require.NoError(t, nc.Publish(subject, data))
}

// A client that may publish on a server can publish anything. Messages that segd would not
// send are told of and skipped: they write no file outside the folder, end nothing and
// do not steer the terminal.
func TestWatchHostileMessages(t *testing.T) {
	s, nc := clienttest.OpenNATS(t)
	dir := t.TempDir()
	masks := filepath.Join(dir, "in", "masks")
	if err := os.MkdirAll(filepath.Join(masks, "gate"), 0o755); err != nil { // ../ needs what it leaves
		t.Fatal(err)
	}
	c := start(t, "watch", "segd.v1.*.*.*", "--nats", s.ClientURL(), "--masks", masks)
	waitfor.True(t, "the subscription", func() bool { return s.NumSubscriptions() > 0 && subscribed(s) })

	good, _ := clienttest.LiveFrame(t, 7, 64, 48)
	good.Site = "home"
	hostile := func(change func(*segdv1.MaskFrame)) *segdv1.MaskFrame {
		m := proto.Clone(good).(*segdv1.MaskFrame)
		change(m)
		return m
	}
	bad := []*segdv1.MaskFrame{
		hostile(func(m *segdv1.MaskFrame) { m.Camera = "../../outside" }),
		hostile(func(m *segdv1.MaskFrame) { m.Camera = "gate/../../escaped" }),
		hostile(func(m *segdv1.MaskFrame) { m.Camera = "a\x1b]0;owned\x07" }),
		hostile(func(m *segdv1.MaskFrame) { m.Site = "a\x1b[2J" }),
		hostile(func(m *segdv1.MaskFrame) { m.Width = 2_000_000_000; m.Objects = nil }),
		hostile(func(m *segdv1.MaskFrame) { m.Width, m.Height = 2_000_000_000, 2_000_000_000; m.Objects = nil }),
		hostile(func(m *segdv1.MaskFrame) { m.Width = -64 }),
	}
	for _, m := range bad {
		publish(t, nc, "segd.v1.home.gate.mask", m)
	}
	publish(t, nc, "segd.v1.home.gate.mask", hostile(func(m *segdv1.MaskFrame) { m.Sequence = 8; m.Objects[0].Label = "x\x1b[31mred\u009b2J\u202e" }))
	publish(t, nc, "segd.v1.home.gate.event", &segdv1.Event{Site: "home", Camera: "gate", ObjectId: 1, ObjectLabel: "\x1b[5m", Message: "first\nsecond\x1b]52;c;cm0=\x07"})
	publish(t, nc, "segd.v1.home.gate.event", &segdv1.Event{Site: "home", Camera: "\x1b[H"})
	publish(t, nc, "segd.v1.home.gate.status", &segdv1.Status{Site: "home", Camera: "gate", Error: "\x1b[1;1H"})
	publish(t, nc, "segd.v1.home.gate.mask", good)
	waitfor.True(t, "the good frame", func() bool { return strings.Contains(c.Out.String(), "frame 7 ") })
	c.Cancel()
	assert.NoError(t, c.Wait(t), "watch ended with")

	assert.Equal(t, "in/masks/gate-000007.png in/masks/gate-000008.png", strings.Join(clienttest.FilesIn(t, dir), " "), "files written")
	if n := strings.Count(c.Err.String(), "bad message"); n != len(bad)+1 {
		t.Errorf("%d messages were refused, want %d:\n%s", n, len(bad)+1, c.Err.String())
	}
	for stream, said := range map[string]string{"output": c.Out.String(), "errors": c.Err.String()} {
		if strings.ContainsAny(said, "\x1b\x07\u009b\u202e") {
			t.Errorf("control characters in the %s: %q", stream, said)
		}
	}
	for _, want := range []string{`x\x1b[31mred`, `first\nsecond\x1b]52`, `down: \x1b[1;1H`} {
		assert.Contains(t, c.Out.String(), want, "%s is not in", want)
	}
}

// A faulty object costs neither the line nor the file of its frame, and is told of once, whatever number of
// frames has it; in the end how many it was.
func TestWatchLeavesObjectsOut(t *testing.T) {
	s, nc := clienttest.OpenNATS(t)
	masks := t.TempDir()
	c := start(t, "watch", "gate", "--nats", s.ClientURL(), "--masks", masks)
	waitfor.True(t, "the subscription", func() bool { return subscribed(s) })
	for seq := range uint64(4) {
		m, _ := clienttest.LiveFrame(t, seq, 64, 48)
		m.Site = "home"
		if seq < 3 { // as earlier versions sent what rested
			m.Objects = append(m.Objects, &segdv1.Object{Id: 256, Label: "person", State: segdv1.State_STATE_LOST})
		}
		publish(t, nc, "segd.v1.home.gate.mask", m)
	}
	waitfor.True(t, "the last frame", func() bool { return strings.Contains(c.Out.String(), "frame 3 ") })
	c.Cancel()
	assert.NoError(t, c.Wait(t), "watch ended with")
	assert.Equal(t, "gate-000000.png gate-000001.png gate-000002.png gate-000003.png", strings.Join(clienttest.FilesIn(t, masks), " "), "files written")
	said := strings.Split(strings.TrimSpace(c.Err.String()), "\n")
	if len(said) != 2 || !strings.Contains(said[0], "segd.v1.home.gate.mask: bus: bad message: frame 0 of gate: objects are left out, 1 that segd would not send: objects[1].counts") ||
		said[1] != "objects were left out of 3 frames" {
		t.Errorf("it said:\n%s", c.Err.String())
	}
}

// subscribed tells whether there is a subscriber to masks.
func subscribed(s *server.Server) bool {
	subs, err := s.Subsz(&server.SubszOptions{Subscriptions: true, Test: "segd.v1.home.gate.mask"})
	return err == nil && len(subs.Subs) > 0
}

// What answers a request need not be segd either.
func TestHostileReplies(t *testing.T) {
	s, nc := clienttest.OpenNATS(t)
	reply := func(kind string, m proto.Message, header nats.Header) {
		t.Helper()
		data, err := proto.Marshal(m)
		require.NoError(t, err)
		_, err = nc.Subscribe("segd.v1.home.gate."+kind, func(msg *nats.Msg) {
			_ = msg.RespondMsg(&nats.Msg{Header: header, Data: data})
		})
		require.NoError(t, err)
	}
	reply("objects", &segdv1.ObjectList{Site: "home", Camera: "gate", Objects: []*segdv1.Object{{Id: 1, Label: "\x1b[2J\tx"}}}, nil)
	reply("annotate", &segdv1.Annotated{Site: "home", Camera: "gate\x1b[2J"}, nil)
	reply("clear", &segdv1.Object{}, nats.Header{"Nats-Service-Error-Code": {"400"}, "Nats-Service-Error": {"no\x1b[2J"}})
	require.NoError(t, nc.Flush())
	for _, tt := range []struct {
		args     []string
		out, err string
	}{
		{[]string{"objects", "gate"}, `\x1b[2J\tx`, ""},
		{[]string{"annotate", "gate", clitest.File(t, "a.json", `{"width": 96, "height": 64, "objects": [{"id": 1, "box": [1, 1, 20, 20]}]}`)}, "", "bad message"},
		{[]string{"clear", "gate", "1"}, "", `no\x1b[2J`},
	} {
		t.Run(tt.args[0], func(t *testing.T) {
			c := start(t, append(tt.args, "--nats", s.ClientURL(), "--site", "home")...)
			cli.Report(&c.Err, c.Wait(t))
			if out, err := c.Out.String(), c.Err.String(); strings.Contains(out+err, "\x1b") ||
				!strings.Contains(out, tt.out) || !strings.Contains(err, tt.err) {
				t.Errorf("it said %q and %q; want %s and %s", out, err, tt.out, tt.err)
			}
		})
	}
}
