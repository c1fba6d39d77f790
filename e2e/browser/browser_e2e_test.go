//go:build e2e

package browser

import (
	"bytes"
	"context"
	"image/png"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const body = `<!doctype html><title>t</title><body style="margin:0">
<button id=b style="position:absolute;left:10px;top:20px;width:100px;height:40px">b</button>
<input id=i style="position:absolute;left:10px;top:100px"><p id=hidden hidden></p>
<script>
window.seen = [];
const see = (what) => window.seen.push(what);
const near = (at) => 10 * Math.round(at / 10); // the scale rounds
document.getElementById("b").addEventListener("click", (e) => see("click " + near(e.clientX) + " " + near(e.clientY)));
addEventListener("keydown", (e) => see("key " + e.key));
addEventListener("pointermove", (e) => { if (e.buttons) see("drag " + near(e.clientX)); });
addEventListener("touchstart", (e) => see("fingers " + e.touches.length));
</script>`

func open(t *testing.T, tab Tab) (*Browser, *Page) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/none" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	var said bytes.Buffer
	b, err := Start(t.Context(), &said, "chromium")
	if err != nil {
		t.Fatalf("%v; it said:\n%s", err, said.String())
	}
	t.Cleanup(b.End)
	tab.URL = server.URL
	p, err := b.Open(t.Context(), tab)
	require.NoError(t, err)
	for ready := false; !ready; {
		require.NoError(t, p.Evaluate(t.Context(), `document.readyState === "complete" && !!window.seen`, &ready))
	}
	return b, p
}

func TestPage(t *testing.T) {
	b, p := open(t, Tab{Theme: "dark", Width: 400, Height: 300, Scale: 2})
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}
	box, err := p.Find(ctx, "#b")
	if err != nil || box != (Box{10, 20, 100, 40}) {
		t.Errorf("the button is at %v, %v", box, err)
	}
	_, err = p.Find(ctx, "#hidden")
	assert.ErrorContains(t, err, "not shown", "what is hidden")
	for _, key := range []string{"n", " ", kb.Enter, kb.ArrowRight, kb.Escape} {
		must(p.Press(ctx, key))
	}
	must(p.Click(ctx, box.Middle()))
	must(p.Drag(ctx, Point{200, 200}, Point{220, 200}, Point{240, 200}))
	var seen []string
	must(p.Evaluate(ctx, "window.seen", &seen))
	want := []string{"key n", "key  ", "key Enter", "key ArrowRight", "key Escape", "click 60 40", "drag 220", "drag 240"}
	assert.Equal(t, want, seen, "the page saw")

	input, err := p.Find(ctx, "#i")
	must(err)
	must(p.Click(ctx, input.Middle()))
	must(p.Type(ctx, "grüß"))
	var typed string
	must(p.Evaluate(ctx, `new Promise((r) => setTimeout(() => r(document.getElementById("i").value), 10))`, &typed))
	assert.Equal(t, "grüß", typed, "typed")
	assert.ErrorContains(t, p.Evaluate(ctx, `nonsense()`, new(string)), "nonsense is not defined", "what throws")
	var dark bool
	if must(p.Evaluate(ctx, `matchMedia("(prefers-color-scheme: dark)").matches`, &dark)); !dark {
		t.Error("the page is not in the dark")
	}
	data, err := p.Capture(ctx)
	must(err)
	picture, err := png.Decode(bytes.NewReader(data))
	if must(err); picture.Bounds().Dx() != 800 || picture.Bounds().Dy() != 600 {
		t.Errorf("a picture of %v", picture.Bounds())
	}

	// What is bounded ends, and the page goes on.
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	assert.ErrorContains(t, p.Evaluate(short, `new Promise(() => {})`, new(string)), "deadline", "what never ends")
	if faults := b.Faults(); len(faults) > 0 {
		t.Errorf("complaints of a page that is well: %q", faults)
	}
	for _, tt := range []struct{ script, says string }{
		{`console.warn("careful")`, "careful"},
		{`console.error("wrong")`, "wrong"},
		{`setTimeout(() => nowhere())`, "nowhere is not defined"},
		{`fetch("/none").then(() => 0)`, "404"},
		{`fetch("http://127.0.0.1:1/").catch(() => 0)`, "ERR_"},
	} {
		before := len(b.Faults())
		must(p.Evaluate(ctx, "("+tt.script+", 1)", new(int)))
		deadline := time.Now().Add(30 * time.Second)
		for !strings.Contains(strings.Join(b.Faults()[before:], "\n"), tt.says) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: complaints are %q", tt.script, b.Faults()[before:])
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	// What was complained of last may be told twice.
	must(p.Evaluate(ctx, `new Promise((r) => setTimeout(() => r(1), 500))`, new(int)))
	before := len(b.Faults())
	must(p.Evaluate(ctx, `(() => { const c = new AbortController(); const f = fetch("/", { signal: c.signal }).catch(() => 1); c.abort(); return f; })()`, new(int)))
	must(p.Evaluate(ctx, `new Promise((r) => setTimeout(() => r(1), 100))`, new(int)))
	if more := b.Faults()[before:]; len(more) > 0 {
		t.Errorf("a fetch that the page calls off: %q", more)
	}
}

func TestTouchAndSuspend(t *testing.T) {
	b, p := open(t, Tab{Theme: "light", Width: 390, Height: 844, Scale: 1, Touch: true})
	require.NoError(t, p.Touch(t.Context(), []Point{{100, 300}, {80, 300}}, []Point{{200, 300}, {220, 300}}))
	var seen []string
	if err := p.Evaluate(t.Context(), "window.seen", &seen); err != nil || !slices.Contains(seen, "fingers 2") {
		t.Errorf("the page saw %q, %v", seen, err)
	}
	require.NoError(t, b.Suspend())
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	assert.Error(t, p.Evaluate(short, "1", new(int)), "a suspended browser answers")
	b.End()
}

func TestNoBrowser(t *testing.T) {
	_, err := Start(t.Context(), new(bytes.Buffer), "/nonexistent/chromium")
	assert.ErrorContains(t, err, "/nonexistent/chromium", "a browser that is not there")
}
