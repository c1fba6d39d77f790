//go:build e2e

package examples

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/e2e/browser"
	"github.com/segd/segd/e2e/harness"
	"github.com/segd/segd/mask"
)

// bundle is testdata/browser.js with the package and all that it needs, as a page that uses it has it.
func bundle(t *testing.T) []byte {
	t.Helper()
	root := harness.Root(t)
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "clients", "js", "node_modules", ".bin", "esbuild"), "--bundle", "--format=esm", "testdata/browser.js")
	cmd.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(root, "clients", "examples", "subscribe-js", "node_modules"))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v; make examples-test installs it", err)
	}
	return out
}

// seen is what testdata/browser.js tells of each mask.
func seen(t *testing.T, frames []*segdv1.MaskFrame) (all [][5]any) {
	t.Helper()
	for _, f := range frames {
		for _, o := range f.Objects {
			m, err := mask.Parse(o.Counts, int(f.Width), int(f.Height))
			if err != nil {
				continue // one that is to be left out
			}
			bits := m.Decode(nil)
			last := slices.Clone(bits)
			slices.Reverse(last)
			end := slices.Index(last, 1)
			if end >= 0 {
				end = len(bits) - 1 - end
			}
			all = append(all, [5]any{float64(f.Sequence), o.Label, float64(m.Area()), float64(slices.Index(bits, 1)), float64(end)})
		}
	}
	return all
}

// The package for JavaScript in Chromium, by a NATS server's WebSocket listener.
func TestBrowser(t *testing.T) {
	script := bundle(t)
	addr := harness.FreeAddrs(t, 1)[0]
	server := harness.StartNATS(t, fmt.Sprintf("websocket { listen: %q, no_tls: true }", addr))
	b, err := bus.Open(t.Context(), bus.Config{External: bus.External{URL: server.URL}})
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, b.Close())
	})
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/page.js" {
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = w.Write(script)
			return
		}
		_, _ = fmt.Fprint(w, `<!doctype html><link rel="icon" href="data:,"><script type="module" src="/page.js"></script>`)
	}))
	t.Cleanup(pages.Close)
	chromium := harness.Browser(t)
	page, err := chromium.Open(t.Context(), browser.Tab{URL: pages.URL + "/?nats=" + url.QueryEscape("ws://"+addr), Width: 400, Height: 300, Scale: 1})
	require.NoError(t, err)

	frames, _ := madeFrames()
	want := seen(t, frames)
	hello := &segdv1.MaskFrame{Camera: "hello", Width: 4, Height: 3, Objects: []*segdv1.Object{{Id: 1, Counts: "32112"}}}
	harness.Until(t, harness.StartLimit, "the page to subscribe", func(ctx context.Context) error {
		if err := b.PublishMask(hello); err != nil {
			return err
		}
		var n int
		if err := page.Evaluate(ctx, "window.seen?.length ?? 0", &n); err != nil || n > 0 {
			return err
		}
		return fmt.Errorf("it has seen nothing")
	})
	for _, f := range frames {
		require.NoError(t, b.PublishMask(f))
	}
	var got [][5]any
	harness.Until(t, harness.StartLimit, "all masks", func(ctx context.Context) error {
		if err := page.Evaluate(ctx, `window.seen.filter(([, label]) => label !== "")`, &got); err != nil {
			return err
		}
		if len(got) < len(want) {
			return fmt.Errorf("it has seen %d of %d", len(got), len(want))
		}
		return nil
	})
	if !slices.Equal(got, want) {
		t.Errorf("it sees %v, want %v", got, want)
	}
	if faults := chromium.Faults(); len(faults) > 0 {
		t.Errorf("the console complains: %q", faults)
	}
}
