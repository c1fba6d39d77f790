package bus

import (
	"bytes"
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/micro"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/internal/limit"
)

// A command that panics fails its request; the next ones are answered.
func TestCommandPanics(t *testing.T) {
	lines := make(chan string, 1000)
	var panics atomic.Int32
	b := open(t, Config{Site: "here", Logger: logTo(lines), Panicked: func() { panics.Add(1) }})
	err := b.Serve(verbs{
		Clear: func(context.Context, string, uint32) error { panic("no such row") },
		Objects: func(string) (uint64, []*segdv1.Object) {
			var none map[string]int
			none["a"] = 1 //nolint:staticcheck // the runtime's own panic
			return 0, nil
		},
		State: func(string) *segdv1.Status { return &segdv1.Status{Site: "here", Camera: "demo"} },
	}.of("demo"))
	require.NoError(t, err)
	nc := connect(t, b.URL())
	for _, kind := range []string{"clear", "objects", "clear"} {
		reply, err := nc.Request("segd.v1.here.demo."+kind, nil, patience)
		require.NoError(t, err)
		if code := reply.Header.Get(micro.ErrorCodeHeader); code != "500" || strings.Contains(string(reply.Data), "goroutine") {
			t.Errorf("%s: code %q, %q; want 500 without the stack", kind, code, reply.Data)
		}
	}
	_, err = (Target{URL: b.URL(), Site: "here", Camera: "demo"}).State(t.Context())
	assert.NoError(t, err, "the next request")
	assert.EqualValues(t, 3, panics.Load(), "panics are counted")
	line := ""
	for !strings.Contains(line, "a command panicked") {
		line = receive(t, lines)
	}
	for _, want := range []string{"no such row", "segd.v1.here.demo.clear", "TestCommandPanics"} { // the last from the stack
		assert.Contains(t, line, want)
	}
}

// Requests have the limits of HTTP's: who asks too often is told so, and so is who
// sends too much. Neither costs another camera anything, nor the commands.
func TestRequestLimits(t *testing.T) {
	port := freePort(t)
	natsServer(t, server.Options{Port: port, MaxPayload: 32 << 20, MaxPending: 128 << 20})
	var refused [2]atomic.Int32
	b := open(t, Config{External: External{URL: urlOf(port)}, Site: "here", Refused: func(r Refusal) {
		switch r {
		case TooOften:
			refused[0].Add(1)
		case TooLarge:
			refused[1].Add(1)
		}
	}})
	eventually(t, "a connection", b.Connected)
	var taken atomic.Int32
	err := b.Serve(verbs{
		Annotate: func(context.Context, string, []byte) (*segdv1.Annotated, error) {
			taken.Add(1)
			return new(segdv1.Annotated), nil
		},
		Clear: func(context.Context, string, uint32) error { taken.Add(1); return nil },
	}.of("demo", "yard"))
	require.NoError(t, err)
	nc := connect(t, urlOf(port))
	ask := func(camera, kind string, payload []byte) (code, text string) {
		t.Helper()
		reply, err := nc.Request("segd.v1.here."+camera+"."+kind, payload, patience)
		require.NoError(t, err)
		return reply.Header.Get(micro.ErrorCodeHeader), string(reply.Data)
	}
	for _, tt := range []struct {
		kind    string
		payload int
		want    string
	}{
		{"annotate", limit.MaxAnnotation + 1, "the 16 MiB accepted"},
		{"clear", limit.MaxBody + 1, "the 16 KiB accepted"},
	} {
		if code, text := ask("demo", tt.kind, make([]byte, tt.payload)); code != "413" || !strings.Contains(text, tt.want) {
			t.Errorf("%s of %d bytes: %s %q, want 413 with %q", tt.kind, tt.payload, code, text, tt.want)
		}
	}
	if code, text := ask("demo", "annotate", bytes.Repeat([]byte(" "), limit.MaxAnnotation)); code != "" {
		t.Errorf("as much as is accepted: %s %q", code, text)
	}
	// A flood from many connections, none of which waits for its answers.
	const flood = 300
	inbox, err := nc.SubscribeSync(nc.NewInbox())
	require.NoError(t, err)
	for range flood {
		require.NoError(t, nc.PublishRequest("segd.v1.here.demo.annotate", inbox.Subject, []byte("{}")))
	}
	granted, late := 0, 0
	for range flood {
		reply, err := inbox.NextMsg(patience)
		require.NoError(t, err)
		switch code := reply.Header.Get(micro.ErrorCodeHeader); code {
		case "":
			granted++
		case "429":
			late++
			if !strings.Contains(string(reply.Data), "try again in 1 s") || reply.Header.Get("Retry-After") != "1" {
				t.Errorf("refused with %q, %v", reply.Data, reply.Header)
			}
		default:
			t.Errorf("%s %q", code, reply.Data)
		}
	}
	// What comes back while the test runs is on top of the burst.
	if granted < 10 || late == 0 {
		t.Errorf("%d granted, %d refused of %d annotations at once", granted, late, flood)
	}
	if code, text := ask("yard", "annotate", []byte("{}")); code != "" {
		t.Errorf("another camera: %s %q", code, text)
	}
	assert.Equal(t, late, int(refused[0].Load()), "are counted as too often")
	assert.EqualValues(t, 2, refused[1].Load(), "are counted as too large")
	assert.Equal(t, granted+2, int(taken.Load()), "commands were carried out")
}
