//go:build e2e

package streams

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/segd/segd/demo"
	"github.com/segd/segd/e2e/browser"
	"github.com/segd/segd/e2e/harness"
)

const (
	token  = "operator-0123456789abcdef"
	viewer = "viewer-0123456789abcdef"
	limit  = 5 * time.Minute // which only what hangs takes
)

//go:embed watch.js
var watch string

// world is a segd whose camera is watched.
type world struct {
	*testing.T
	segd *harness.Segd
	rtsp string // host and port
}

// value is that of a metric, all labels together.
func (w *world) value(name string, labels ...string) float64 {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), http.MethodGet, w.segd.Page+"metrics", http.NoBody)
	if err != nil {
		w.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+viewer)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var text bytes.Buffer
	if _, err := text.ReadFrom(resp.Body); err != nil {
		w.Fatal(err)
	}
	metrics, err := harness.ParseMetrics(text.Bytes())
	if err != nil {
		w.Fatal(err)
	}
	return metrics.Sum(name, labels...)
}

func (w *world) encoded() float64   { return w.value("segd_stream_frames_encoded_total") }
func (w *world) published() float64 { return w.value("segd_frames_total", "outcome", "published") }

// until waits until is is true.
func (w *world) until(what string, is func() bool) {
	w.Helper()
	harness.Until(w, limit, what, func(context.Context) error {
		if !is() {
			return fmt.Errorf("not yet")
		}
		return nil
	})
}

// run returns the lines that a program says.
func (w *world) run(program string, args ...string) []string {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), limit)
	defer cancel()
	var faults bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stderr = &faults
	out, err := cmd.Output()
	if err != nil {
		w.Errorf("%s %q: %v\n%s", program, args, err, &faults)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

func (w *world) url(stream string) string {
	return "rtsp://segd:" + viewer + "@" + w.rtsp + "/" + stream
}

const pictures = 30

// ffmpeg decodes so many pictures of a stream.
func (w *world) ffmpeg(stream string, options ...string) {
	w.Helper()
	lines := w.run("ffmpeg", append(append([]string{"-v", "error", "-nostdin"}, options...), "-i", w.url(stream), "-frames:v", fmt.Sprint(pictures), "-f", "framemd5", "-")...)
	text := strings.Join(lines, "\n")
	if n := strings.Count("\n"+text, "\n0, "); n != pictures || !strings.Contains(text, "#dimensions 0: 768x576") {
		w.Errorf("FFmpeg decoded %d of %d pictures:\n%s", n, pictures, text)
	}
}

func TestStreams(t *testing.T) {
	addrs := harness.FreeAddrs(t, 4)
	w := &world{T: t, rtsp: addrs[2]}
	w.segd = harness.Run(t, fmt.Sprintf("http: {addr: '%s', token: %s, viewer_token: %s}\nnats: {addr: '%s'}\nrtsp: {addr: '%s'}\nwhip: {addr: '%s'}\n"+
		"superpixels: 100\nmodel: {short_side: 64}\ncameras: [{name: gate, loop: true, url: 'file:%s'}]\n", addrs[0], token, viewer, addrs[1], addrs[2], addrs[3], demo.FindClip()))
	w.until("masks", func() bool { return w.published() > 5 })
	for _, step := range []struct {
		name string
		do   func(*world)
	}{
		{"nothing is encoded while nobody looks", (*world).nobody},
		{"FFmpeg plays the stream by RTSP, which it first asks for over UDP", func(w *world) { w.ffmpeg("gate") }},
		{"FFmpeg plays the one with masks by RTSP over TCP", func(w *world) { w.ffmpeg("gate/overlay", "-rtsp_transport", "tcp") }},
		{"a wrong password and a camera that there is not are told apart", (*world).refused},
		{"GStreamer plays it by RTSP", (*world).gstreamer},
		{"two viewers of a stream have it encoded once", (*world).once},
		{"Chromium plays it by WHEP, in step with the masks", (*world).chromium},
		{"nothing is encoded once all have left", (*world).nobody},
	} {
		t.Run(step.name, func(t *testing.T) { step.do(&world{t, w.segd, w.rtsp}) })
	}
}

// nobody looks.
func (w *world) nobody() {
	w.until("the last viewer to leave", func() bool { return w.value("segd_stream_viewers") == 0 })
	encoded, published := w.encoded(), w.published()
	w.until("more masks", func() bool { return w.published() > published+10 })
	if now := w.encoded(); now != encoded {
		w.Errorf("%v frames were encoded for nobody", now-encoded)
	}
}

func (w *world) refused() {
	for url, want := range map[string]string{
		"rtsp://segd:guess-guess-guess@" + w.rtsp + "/gate": "401 Unauthorized",
		w.url("yard"): "404 Not Found",
	} {
		out, err := exec.CommandContext(w.Context(), "ffprobe", "-v", "error", url).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			w.Errorf("%s: %v %s, want %s", url, err, out, want)
		}
	}
}

func (w *world) gstreamer() {
	// Debian's own, which has its packages.
	for i, size := range w.run("/usr/bin/python3", "play.py", w.url("gate/overlay"), fmt.Sprint(pictures)) {
		if size != "768x576" {
			w.Errorf("picture %d is %q", i, size)
		}
	}
}

// once counts what is encoded while two watch.
func (w *world) once() {
	encoded, published := w.encoded(), w.published()
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { w.ffmpeg("gate", "-rtsp_transport", "tcp") })
	}
	both.Wait()
	encoded, published = w.encoded()-encoded, w.published()-published
	if encoded < pictures || encoded > published {
		w.Errorf("%v frames were encoded of %v", encoded, published)
	}
	w.Logf("for two viewers %v of %v frames were encoded", encoded, published)
}

func (w *world) chromium() {
	ctx, cancel := context.WithTimeout(w.Context(), limit)
	defer cancel()
	b := harness.Browser(w)
	page, err := b.Open(ctx, browser.Tab{URL: w.segd.Page + "?token=" + viewer, Theme: "light", Width: 1280, Height: 800, Scale: 1})
	if err != nil {
		w.Fatal(err)
	}
	w.until("the page", func() bool {
		var ready bool
		return page.Evaluate(ctx, `location.search === "" && document.readyState === "complete"`, &ready) == nil && ready
	})
	var seen struct {
		Size           []int
		Shown, Found   int
		Latency, Later []float64
	}
	if err := page.Evaluate(ctx, fmt.Sprintf("(%s)('/whep/gate/overlay', 'gate', %d)", watch, 3*pictures), &seen); err != nil {
		w.Fatal(err)
	}
	// Masks of some come later, or not at all to a page that is too slow.
	if !slices.Equal(seen.Size, []int{768, 576}) || seen.Found*2 < seen.Shown {
		w.Errorf("%+v", seen)
	}
	for _, one := range [][]float64{seen.Latency, seen.Later} {
		slices.Sort(one)
	}
	w.Logf("Chromium shows a picture %.0f ms after its capture (median; 95%%: %.0f ms), and %.0f ms after the page has it as a JPEG with masks; %d of %d had their masks",
		seen.Latency[len(seen.Latency)/2], seen.Latency[len(seen.Latency)*95/100], seen.Later[len(seen.Later)/2], seen.Found, seen.Shown)
}
