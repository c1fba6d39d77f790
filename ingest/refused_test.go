package ingest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bluenviron/gortsplib/v5"
	"github.com/bluenviron/gortsplib/v5/pkg/auth"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A camera that refuses a password is not asked again for minutes, whatever the
// transport and the way of asking, and segd says so.
func TestRefusedOnce(t *testing.T) {
	for _, tc := range []struct {
		name, transport, user string
		methods               []auth.VerifyMethod
		tries                 int
	}{
		{"Digest, TCP", "tcp", "admin:guess1@", nil, 1},
		{"Digest, UDP", "udp", "admin:guess1@", nil, 1},
		{"Digest, auto", "auto", "admin:guess1@", nil, 1},
		{"Basic, auto", "auto", "admin:guess1@", []auth.VerifyMethod{auth.VerifyMethodBasic}, 1},
		{"no password", "auto", "", nil, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cam := serveRawBy(t, &gortsplib.Server{AuthMethods: tc.methods}, h264Media())
			cam.user, cam.password = "admin", "s3cret"
			checkRefused(t, strings.Replace(cam.url(), "//", "//"+tc.user, 1), tc.transport, func() string {
				if n, credentials := cam.came(); n != 1 || len(credentials) != tc.tries {
					return fmt.Sprintf("%d connections with %d passwords", n, len(credentials))
				}
				return ""
			})
		})
	}
	for _, code := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		t.Run(fmt.Sprint("HTTP ", code), func(t *testing.T) {
			t.Parallel()
			var came, told atomic.Int32
			url := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
				came.Add(1)
				told.Add(int32(len(r.Header["Authorization"])))
				w.WriteHeader(code)
			})
			checkRefused(t, strings.Replace(url, "//", "//admin:guess1@", 1), "", func() string {
				if came.Load() != 2 || told.Load() != 1 { // the first asks whether a password is wanted
					return fmt.Sprintf("%d requests, %d with a password", came.Load(), told.Load())
				}
				return ""
			})
		})
	}
}

// A camera that wants authentication of an unknown kind is none to be asked all the
// time either.
func TestRefusedByUnknownAuthentication(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	var came atomic.Int32
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			came.Add(1)
			for in := bufio.NewScanner(c); in.Scan() && in.Text() != ""; { // one request
			}
			_, _ = io.WriteString(c, "RTSP/1.0 401 Unauthorized\r\nCSeq: 1\r\nWWW-Authenticate: Bearer realm=\"x\"\r\n\r\n")
			_ = c.Close()
		}
	}()
	checkRefused(t, "rtsp://admin:guess1@"+l.Addr().String()+"/x", "tcp", func() string {
		if n := came.Load(); n != 1 {
			return fmt.Sprintf("%d connections", n)
		}
		return ""
	})
}

// checkRefused watches a camera that refuses; wrong says what is wrong with how often
// it was asked.
func checkRefused(t *testing.T, url, transport string, wrong func() string) {
	t.Helper()
	var log lockedBuffer
	cfg := testConfig(url, transport)
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	w := start(t, cfg)
	e := &w.events
	eventually(t, "Retry", func() bool { e.mu.Lock(); defer e.mu.Unlock(); return len(e.retries) > 0 })
	time.Sleep(dialAgain + 20*cfg.maxBackoff) // time enough for many a dial
	_ = w.stop()
	if text := wrong(); text != "" || len(e.retries) != 1 {
		t.Errorf("%s, %d retries", text, len(e.retries))
	}
	if d := e.retries[0]; d < defaultMinRefused/2 || d > defaultMinRefused {
		t.Errorf("the pause is %v, want about %v", d, defaultMinRefused)
	}
	mustWrap(t, e.lastDown, ErrUnauthorized)
	for what, text := range map[string]string{"event": e.lastDown.Error(), "log": log.String()} {
		if !strings.Contains(text, "; next try in ") || strings.Contains(text, "guess1") {
			t.Errorf("%s: %s", what, text)
		}
	}
}

// Refusals are minutes apart, and more each time; what else fails meanwhile, a camera
// that is late included, makes it no sooner, and is itself tried again as promptly as
// ever afterwards.
func TestRefusalsAreFarApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(Config{URL: "rtsp://admin:guess1@192.0.2.1/x"})
		require.NoError(t, err)
		c := newCamera(s, func(*Frame) {})
		defer c.dialAt.Stop()
		refused, gone := fmt.Errorf("ingest: %w", ErrUnauthorized), errors.New("gone")
		for i, full := range []time.Duration{1, 2, 4, 8, 15, 15, 15} {
			full *= time.Minute
			c.failed(refused)
			if d := time.Until(c.dialDue); d < full/2 || d > full {
				t.Fatalf("refused %d times, the next try is in %v, want about %v", i+1, d, full)
			}
			due := c.dialDue
			c.failed(gone)
			c.dialIn(leastDoubt)
			if !c.dialDue.Equal(due) {
				t.Fatalf("the next try was due at %v and is at %v", due, c.dialDue)
			}
			synctest.Wait()
			<-c.dialAt.C
			if now := time.Now(); !now.Equal(due) {
				t.Fatalf("dialled at %v, due was %v", now, due)
			}
			c.failed(gone)
			if d := time.Until(c.dialDue); d > defaultMaxBackoff {
				t.Fatalf("after another fault the next try is in %v", d)
			}
		}
		c.up()
		c.failed(refused)
		if d := time.Until(c.dialDue); d > time.Minute {
			t.Errorf("pictures came between, and the next try is in %v", d)
		}
	})
}

// slowLocked is a camera so slow that it is dialled again before it refuses.
func slowLocked(t *testing.T) (*rawCamera, Config) {
	cam := serveRaw(t, h264Media())
	cam.user, cam.password = "admin", "s3cret"
	cam.slow = 3 * dialAgain
	cfg := testConfig(strings.Replace(cam.url(), "//", "//admin:guess1@", 1), "tcp")
	cfg.StallTimeout = patience
	return cam, cfg
}

// With a refusal ends what is under way with the same password.
func TestRefusalEndsOtherAttempts(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 7 s: a camera that is slow to refuse")
	}
	t.Parallel()
	cam, cfg := slowLocked(t)
	w := start(t, cfg)
	e := &w.events
	eventually(t, "a refusal", func() bool { e.mu.Lock(); defer e.mu.Unlock(); return len(e.retries) == 1 })
	time.Sleep(2 * cam.slow)
	_ = w.stop()
	n, credentials := cam.came()
	if n < 2 {
		t.Fatal("it was not dialled again before it refused")
	}
	assert.Len(t, credentials, 1, "passwords tried on %d connections", n)
}

// A camera that has refused is dialled once at a time, though it is slow.
func TestRefusedIsDialledOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 7 s: a camera that is slow to refuse")
	}
	t.Parallel()
	cam, cfg := slowLocked(t)
	cfg.minRefused, cfg.maxRefused = time.Millisecond, time.Millisecond
	w := start(t, cfg)
	e := &w.events
	after := func(refusals int) int {
		eventually(t, "refusals", func() bool { e.mu.Lock(); defer e.mu.Unlock(); return len(e.retries) >= refusals })
		n, _ := cam.came()
		return n
	}
	first := after(1)
	third := after(3)
	_ = w.stop()
	if third-first > 3 { // the next may have begun
		t.Errorf("%d connections for two refusals more", third-first)
	}
}
