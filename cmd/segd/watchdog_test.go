package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/segd/segd/config"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/internal/freeport"
	"github.com/segd/segd/internal/waitfor"
)

// /livez of a running segd: well while its camera advances, not when it is up and stands
// still for longer than the watchdog is patient, and well again without any camera.
func TestLivez(t *testing.T) {
	t.Parallel()
	server := camera(t, demo.Config{})
	httpAddr := freeport.Addr(t)
	cfg, err := config.Parse("livez", []byte(quick(httpAddr, freeport.Addr(t))+"cameras: [{name: gate, transport: tcp, url: '"+server.URL()+"'}]\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := openDaemon(t.Context(), cfg, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := d.serve(ctx, nil); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
		if err := d.close(); err != nil {
			t.Error(err)
		}
	})
	livez := func() string {
		resp, err := http.Get("http://" + httpAddr + "/livez")
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return fmt.Sprint(resp.StatusCode, " ", string(text), err)
	}
	waitfor.True(t, "a frame", func() bool { return d.snapshots()[0].Published > 0 })
	if got := livez(); !strings.HasPrefix(got, "200 ok") {
		t.Errorf("of a camera that advances: %s", got)
	}
	d.watch.mu.Lock()
	d.watch.patience["gate"] = -time.Hour // whatever comes, it comes too late
	d.watch.mu.Unlock()
	if got := livez(); !strings.HasPrefix(got, "503 not alive: camera gate is up, and no frame has come out for ") {
		t.Errorf("of one that stands still: %s", got)
	}
	server.Close()
	waitfor.True(t, "the camera to be down", func() bool { return !d.snapshots()[0].Up })
	if got := livez(); !strings.HasPrefix(got, "200 ok") {
		t.Errorf("without a camera that is up: %s", got)
	}
}
