//go:build e2e

package streams

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/segd/segd/e2e/browser"
	"github.com/segd/segd/e2e/harness"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/outputs/draw"
)

var asJSON = flag.Bool("json", false, "print how late pictures are as lines of JSON")

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

// ask returns what segd answers to who has a token.
func (w *world) ask(method, path, as, body string) (status int, answer []byte, err error) {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), method, w.segd.Page+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+as)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// value is that of a metric, all labels together.
func (w *world) value(name string, labels ...string) float64 {
	w.Helper()
	_, text, err := w.ask(http.MethodGet, "metrics", viewer, "")
	if err != nil {
		w.Fatal(err)
	}
	metrics, err := harness.ParseMetrics(text)
	if err != nil {
		w.Fatal(err)
	}
	return metrics.Sum(name, labels...)
}

func (w *world) encoded() float64 { return w.value("segd_stream_frames_encoded_total") }
func (w *world) published() float64 {
	return w.value("segd_frames_total", "camera", "gate", "outcome", "published")
}

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

// square is a clip of one, light grey on dark grey.
const square = "color=c=0x404040:s=384x288:r=10:d=60,drawbox=x=120:y=80:w=120:h=120:color=0xc0c0c0:t=fill,format=yuv420p"

// clip has FFmpeg make one.
func clip(tb testing.TB, source string) (file string) {
	tb.Helper()
	file = filepath.Join(tb.TempDir(), "clip.mp4")
	if out, err := exec.CommandContext(tb.Context(), "ffmpeg", "-v", "error", "-f", "lavfi", "-i", source, "-c:v", "libx264", "-preset", "ultrafast", "-bf", "0", file).CombinedOutput(); err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
	return file
}

func TestStreams(t *testing.T) {
	addrs := harness.FreeAddrs(t, 4)
	w := &world{T: t, rtsp: addrs[2]}
	w.segd = harness.Run(t, fmt.Sprintf("http: {addr: '%s', token: %s, viewer_token: %s}\nnats: {addr: '%s'}\nrtsp: {addr: '%s'}\nwhip: {addr: '%s'}\n"+
		"superpixels: 100\nmodel: {short_side: 64}\ncameras: [{name: gate, loop: true, url: 'file:%s', detect: {off: true}}, {name: square, loop: true, url: 'file:%s', detect: {off: true}}]\n",
		addrs[0], token, viewer, addrs[1], addrs[2], addrs[3], demo.FindClip(), clip(t, square)))
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
		{"GStreamer plays both by WHEP, the masks in the object's colour, and ends", (*world).webrtcbin},
		{"two viewers of a stream have it encoded once", (*world).once},
		{"Chromium plays it by WHEP, in step with the masks", (*world).chromium},
		{"nothing is encoded once all have left", (*world).nobody},
	} {
		t.Run(step.name, func(t *testing.T) { step.do(&world{t, w.segd, w.rtsp}) })
	}
}

// it has no viewers.
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

// webrtcbin looks for an object's colour in the stream with masks, and in the one without.
func (w *world) webrtcbin() {
	status, body, err := w.ask(http.MethodPost, "api/v1/cameras/square/annotations", token, `{"width": 384, "height": 288, "objects": [{"id": 1, "box": [120, 80, 240, 200]}]}`)
	if err != nil || status != http.StatusOK {
		w.Fatalf("marking: %v, %d %s", err, status, body)
	}
	file := filepath.Join(w.TempDir(), "picture")
	coloured := func(stream string) (pixels int) {
		lines := w.run("/usr/bin/python3", "whep.py", w.segd.Page+"whep/"+stream, viewer, fmt.Sprint(pictures), file)
		want := append(slices.Repeat([]string{"384x288"}, pictures), "ended: 200, then 404")
		if !slices.Equal(lines, want) {
			w.Fatalf("%s: %q", stream, lines)
		}
		picture, err := os.ReadFile(file)
		if err != nil || len(picture) != 3*384*288 {
			w.Fatalf("%s: a picture of %d bytes: %v", stream, len(picture), err)
		}
		// An object has half of its colour. The clip is grey.
		colour := draw.Colour(1)
		least := (int(colour.B) - int(colour.R)) / 3
		for p := range slices.Chunk(picture, 3) {
			if int(p[2])-int(p[0]) > least {
				pixels++
			}
		}
		return pixels
	}
	with, without := coloured("square/overlay"), coloured("square")
	var now struct{ Objects []struct{ Area int } }
	if _, body, err = w.ask(http.MethodGet, "api/v1/cameras/square/objects", viewer, ""); err != nil {
		w.Fatal(err)
	}
	if err := json.Unmarshal(body, &now); err != nil || len(now.Objects) != 1 {
		w.Fatalf("%s: %v", body, err)
	}
	w.Logf("%d pixels of the stream with masks have the colour of the object, whose area is %d, and %d of the one without", with, now.Objects[0].Area, without)
	if area := now.Objects[0].Area; area < 120*120/2 || with < area/2 || without > 0 {
		w.Errorf("%d pixels with masks, %d without", with, without)
	}
	w.until("the sessions to end", func() bool { return w.value("segd_stream_viewers") == 0 })
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
	w.Logf("%d of %d pictures had their masks", seen.Found, seen.Shown)
	w.figures("Chromium, by WHEP", seen.Latency)
	w.figures("Chromium, by WHEP, after the page has the JPEG", seen.Later)
}

// latencyGoal is how soon half of the pictures should be there, on an idle machine. No test fails for it.
const latencyGoal = 300

// Figures say how late pictures are shown, in milliseconds.
type Figures struct {
	What   string  `json:"what"`
	Frames int     `json:"frames"`
	P50    float64 `json:"p50_ms"`
	P95    float64 `json:"p95_ms"`
	Within bool    `json:"p50_within_goal"`
}

func (w *world) figures(what string, late []float64) {
	w.Helper()
	if len(late) == 0 {
		w.Errorf("%s: no figures", what)
		return
	}
	slices.Sort(late)
	f := Figures{what, len(late), late[len(late)/2], late[len(late)*95/100], late[len(late)/2] < latencyGoal}
	w.Logf("%s: %.0f ms (median; 95%%: %.0f ms), of %d pictures", what, f.P50, f.P95, f.Frames)
	if *asJSON {
		line, err := json.Marshal(f)
		if err != nil {
			w.Fatal(err)
		}
		fmt.Println(string(line))
	}
}
