package web

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/objects/privacy"
)

// fragile is a camera some of whose commands panic.
type fragile struct{ asked }

func (f fragile) Camera(string) (Camera, error) { return f, nil }

func (fragile) Clear(_ context.Context, id uint32) error {
	var rows []string
	_ = rows[id]
	return nil
}

func (fragile) Picture(func(*segdv1.MaskFrame, *privacy.Picture) error) error {
	panic(http.ErrAbortHandler)
}

// lockedBuffer takes the log.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// A request that panics fails, is counted and logged with its stack, and that is all.
func TestPanics(t *testing.T) {
	var panics atomic.Int64
	log := new(lockedBuffer)
	_, h := serve(t, Config{
		Commands: fragile{asked{newCameras(), "gate"}}, Panicked: func() { panics.Add(1) },
		Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelError})),
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
			panic("in the middle")
		}),
	}, "gate")
	watching := dial(t, h.URL, "/api/v1/cameras/gate/live", nil)

	got := ask(t, http.MethodDelete, h.URL+"/api/v1/cameras/gate/objects/7", "", "")
	if got.status != http.StatusInternalServerError || got.header.Get("Content-Type") != "application/problem+json" ||
		!strings.Contains(got.body, "its log says more") || strings.Contains(got.body, "index out of range") {
		t.Errorf("a command that panics is answered %d %v %s", got.status, got.header, got.body)
	}
	if text := log.String(); !strings.Contains(text, "index out of range") || !strings.Contains(text, "recover_test.go") || !strings.Contains(text, "/api/v1/cameras/gate/objects/7") {
		t.Errorf("the log is %q; want the panic, its stack and the path", text)
	}
	assert.EqualValues(t, 1, panics.Load(), "panics counted")

	// What was begun cannot be taken back: the connection is cut.
	once := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // else it asks again
	resp, err := once.Get(h.URL + "/metrics")
	if err == nil {
		_, err = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
	}
	assert.Error(t, err, "half an answer looks whole")
	if n := panics.Load(); n != 2 || !strings.Contains(log.String(), "in the middle") {
		t.Errorf("%d panics counted, want 2, and the log %q", n, log.String())
	}

	// Who means to cut the connection does, and no fault is seen in it.
	if resp, err := once.Get(h.URL + "/api/v1/cameras/gate/snapshot"); err == nil {
		_ = resp.Body.Close()
		t.Errorf("an aborted request is answered %s", resp.Status)
	}
	assert.EqualValues(t, 2, panics.Load(), "panics counted")

	ask(t, http.MethodGet, h.URL+"/api/v1/cameras/gate/objects", "", "").want(t, http.StatusOK, "", "after the panics")
	assert.NoError(t, watching.Ping(watching.CloseRead(t.Context())), "who watched")
}
