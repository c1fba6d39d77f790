package bus

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
)

func TestWatchSkipsBadMessages(t *testing.T) {
	b := open(t, Config{})
	type bad struct {
		subject string
		err     error
	}
	masks, bads := make(chan *segdv1.MaskFrame, 1), make(chan bad, 10)
	watch(t, b.URL(), "segd.v1.>", Handlers{
		Mask: func(m *segdv1.MaskFrame) { masks <- m },
		Bad:  func(subject string, err error) { bads <- bad{subject, err} },
	})
	nc := connect(t, b.URL())
	for _, msg := range []*nats.Msg{
		{Subject: "segd.v1.home.demo.mask", Data: []byte("\xff\xff")},
		{Subject: "segd.v1.home.demo.mask", Data: []byte("{}"), Header: nats.Header{"Content-Type": {"text/html"}}},
		{Subject: "segd.v1.home.demo.other", Data: []byte("{}")},
		{Subject: "segd.v1.home.demo.event", Data: []byte("no handler, not looked at")},
		{Subject: "segd.v1.home.demo.annotate", Data: []byte("{}")},
	} {
		require.NoError(t, nc.PublishMsg(msg))
	}
	require.NoError(t, nc.Flush())
	require.NoError(t, b.PublishMask(maskFrame("demo", 9)))
	assert.EqualValues(t, 9, receive(t, masks).Sequence, "sequence")
	assert.Len(t, bads, 3, "bad messages reported")
	for len(bads) > 0 {
		if b := <-bads; !errors.Is(b.err, ErrMessage) || !strings.HasPrefix(b.subject, "segd.v1.home.demo.") {
			t.Errorf("reported %s: %v", b.subject, b.err)
		}
	}
}

// A frame with a faulty object is handed over without it, and told of.
func TestWatchLeavesObjectsOut(t *testing.T) {
	b := open(t, Config{})
	masks, bads := make(chan *segdv1.MaskFrame, 1), make(chan error, 1)
	watch(t, b.URL(), "demo", Handlers{
		Mask: func(m *segdv1.MaskFrame) { masks <- m },
		Bad:  func(_ string, err error) { bads <- err },
	})
	m := maskFrame("demo", 9)
	m.Objects = append(m.Objects, &segdv1.Object{Id: 256, State: segdv1.State_STATE_LOST})
	require.NoError(t, b.PublishMask(m))
	if got := receive(t, masks); len(got.Objects) != 1 || got.Objects[0].Id != 1 {
		t.Errorf("objects %v; want the one that has a mask", got.Objects)
	}
	assert.ErrorIs(t, receive(t, bads), ErrObjects, "reported")
}

func TestWatchErrors(t *testing.T) {
	port := freePort(t)
	err := Watch(t.Context(), "nats://user:secret@127.0.0.1:1,"+urlOf(port), "demo", Handlers{})
	if !errors.Is(err, nats.ErrNoServers) || strings.Contains(err.Error(), "secret") {
		t.Errorf("no server: %v, want %v and no password", err, nats.ErrNoServers)
	}
	assert.ErrorContains(t, Watch(t.Context(), "ftp://x", "demo", Handlers{}), `scheme "ftp"`, "ftp")
	assert.ErrorIs(t, Watch(t.Context(), urlOf(port), "de mo", Handlers{}), ErrName, "bad camera")

	natsServer(t, server.Options{Port: port, Users: []*server.User{{
		Username: "u", Password: "p",
		Permissions: &server.Permissions{Subscribe: &server.SubjectPermission{Deny: []string{"segd.>"}}},
	}}})
	url := strings.Replace(urlOf(port), "://", "://u:p@", 1)
	assert.ErrorIs(t, Watch(t.Context(), url, "demo", Handlers{}), nats.ErrPermissionViolation, "forbidden")
}

// What a handler is too slow for is lost and said to be.
func TestWatchTooSlow(t *testing.T) {
	b := open(t, Config{})
	fast, bads := make(chan struct{}), make(chan error, 1)
	report := sync.OnceFunc(func() { close(fast) })
	watch(t, b.URL(), "demo", Handlers{
		Mask: func(*segdv1.MaskFrame) {
			select {
			case <-fast:
			case <-time.After(5 * time.Millisecond): // a thousand times a publish
			}
		},
		Bad: func(_ string, err error) {
			select {
			case bads <- err:
			default:
			}
			report()
		},
	})
	for end := time.Now().Add(patience); time.Now().Before(end); {
		for range 100 {
			require.NoError(t, b.PublishMask(maskFrame("demo", 1)))
		}
		select {
		case err := <-bads:
			assert.ErrorIs(t, err, nats.ErrSlowConsumer, "reported")
			return
		default:
		}
	}
	t.Fatal("nothing was lost")
}

func TestWatchEndsWithContext(t *testing.T) {
	b := open(t, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	err := Watch(ctx, b.URL(), "demo", Handlers{Ready: cancel})
	assert.ErrorIs(t, err, context.Canceled, "Watch")
}

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"nats://h:4222":              "nats://h:4222",
		"nats://token@h":             "nats://xxxxx@h",
		"tls://u:p@ss@h:1, ws://x@y": "tls://xxxxx@h:1,ws://xxxxx@y",
		"u:p@h":                      "nats://xxxxx@h",
	} {
		assert.Equal(t, want, Redact(in), "Redact(%q)", in)
	}
}

// lines takes what is logged.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

// What is logged of a connection shows no token, nor do errors.
func TestTokenIsNotLogged(t *testing.T) {
	const token = "s3cret-0123456789abc"
	server := open(t, Config{Embedded: Embedded{Token: token}})
	url := strings.Replace(server.URL(), "://", "://"+token+"@", 1)
	log := make(lines, 100)
	open(t, Config{External: External{URL: url}, Logger: slog.New(slog.NewTextHandler(log, nil))})
	for connected := false; !connected; {
		line := receive(t, log)
		connected = strings.Contains(line, "nats connected")
		assert.NotContains(t, line, token, "log")
	}
	for _, bad := range []string{"nats://" + token + "@127.0.0.1:1", "nats://127.0.0.1:1?token=" + token, "ftp://h/" + "?token=" + token, "nats://" + token + "@h:%zz"} {
		if _, err := Dial(t.Context(), bad); err == nil || strings.Contains(err.Error(), token) {
			t.Errorf("error %v", err)
		}
	}
}
