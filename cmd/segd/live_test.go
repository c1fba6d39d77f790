package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/bus/bustest"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/cmd/segd/daemon"
	"github.com/segd/segd/cmd/segd/daemon/daemontest"
	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/internal/freeport"
	"github.com/segd/segd/internal/waitfor"
	"github.com/segd/segd/outputs/draw"
)

// heard is what a subscriber got.
type heard struct {
	mu     sync.Mutex
	masks  []*segdv1.MaskFrame
	events []*segdv1.Event
	status map[string]*segdv1.Status // the newest, by camera
}

// listen subscribes to what every camera says, once the NATS server at addr is
// there, and fails the test when a message is not what is promised. It stays away from commands: who listens to those counts as answering.
func listen(t *testing.T, addr string) *heard {
	t.Helper()
	h := &heard{status: map[string]*segdv1.Status{}}
	take := func(m proto.Message, f func()) {
		assert.NoError(t, bustest.Check(m))
		h.with(f)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	for _, kind := range []string{"event", "status", "mask"} {
		ready := make(chan struct{})
		running.Go(func() {
			for ctx.Err() == nil {
				_ = bus.Watch(ctx, "nats://"+addr, "segd.v1.*.*."+kind, bus.Handlers{
					Ready:  func() { close(ready) },
					Mask:   func(m *segdv1.MaskFrame) { take(m, func() { h.masks = append(h.masks, m) }) },
					Event:  func(e *segdv1.Event) { take(e, func() { h.events = append(h.events, e) }) },
					Status: func(s *segdv1.Status) { take(s, func() { h.status[s.Camera] = s }) },
					Bad: func(subject string, err error) {
						if errors.Is(err, bus.ErrMessage) {
							t.Errorf("%s: %v", subject, err)
						}
					},
				})
				time.Sleep(20 * time.Millisecond) // the server is not there yet
			}
		})
		select {
		case <-ready:
		case <-time.After(waitfor.Limit):
			t.Fatalf("no NATS server at %s", addr)
		}
	}
	return h
}

func (h *heard) with(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
}

// of returns the masks of one camera.
func (h *heard) of(camera string) (masks []*segdv1.MaskFrame) {
	h.with(func() {
		for _, m := range h.masks {
			if m.Camera == camera {
				masks = append(masks, m)
			}
		}
	})
	return masks
}

func (h *heard) event(camera string, kind segdv1.EventKind) (found *segdv1.Event) {
	h.with(func() {
		for _, e := range h.events {
			if e.Camera == camera && e.Kind == kind {
				found = e
			}
		}
	})
	return found
}

// metric returns the line of /metrics that begins with name.
func metric(t *testing.T, addr, name string) string {
	t.Helper()
	return daemontest.Value(get(t, "http://"+addr+"/metrics"), name)
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s: %s", url, resp.Status, body)
	}
	return string(body)
}

// The RTSP server is killed for ten seconds: the frames resume by themselves, in
// order, and the reconnect is counted. A camera beside it that never answers,
// and one whose file is missing, change nothing.
func TestCameraGoesAwayAndComesBack(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 14 s: a camera away for 10 s")
	}
	t.Parallel()
	const outage = 10 * time.Second
	addr := freeport.Addr(t)
	server := daemontest.Camera(t, demo.Config{Addr: addr})
	httpAddr, natsAddr := freeport.Addr(t), freeport.Addr(t)
	config := daemontest.Quick(httpAddr, natsAddr) + "cameras:\n" +
		"  - {name: gate, transport: tcp, url: '" + server.URL() + "', annotation: '" + clitest.File(t, "a.json", daemontest.Annotation) + "'}\n" +
		"  - {name: dead, url: 'rtsp://127.0.0.1:1/x'}\n" +
		"  - {name: gone, url: 'file:gone.avi'}\n"
	segd := start(t, "run", "-c", clitest.File(t, "segd.yaml", config))
	h := listen(t, natsAddr)

	waitfor.True(t, "twenty frames", func() bool { return len(h.of("gate")) >= 20 })
	for name, want := range map[string]string{
		`segd_ingest_reconnects_total{camera="gate"}`: "0",
		`segd_ingest_reconnects_total{camera="dead"}`: "0",
	} {
		assert.Equal(t, want, metric(t, httpAddr, name), "before the outage %s is", name)
	}
	if last := h.of("gate"); last[len(last)-1].Objects[0].State != segdv1.State_STATE_VISIBLE {
		t.Errorf("the square is not visible: %v", last[len(last)-1])
	}

	server.Close()
	killed := time.Now()
	waitfor.True(t, "the event that the camera is down", func() bool {
		return h.event("gate", segdv1.EventKind_EVENT_KIND_CAMERA_DOWN) != nil
	})
	time.Sleep(outage - time.Since(killed))
	before := h.of("gate")
	for _, m := range before {
		if late := m.GetCaptureTime().AsTime().Sub(killed); late > time.Second {
			t.Errorf("frame %d is of %v after the server was killed", m.Sequence, late)
		}
	}

	daemontest.Camera(t, demo.Config{Addr: addr})
	waitfor.True(t, "frames after the outage", func() bool { return len(h.of("gate")) >= len(before)+10 })
	masks := h.of("gate")
	for i, m := range masks[1:] {
		if before := masks[i]; m.Sequence <= before.Sequence || m.PtsNs <= before.PtsNs {
			t.Errorf("frame %d at %d ns came after frame %d at %d ns", m.Sequence, m.PtsNs, before.Sequence, before.PtsNs)
		}
	}
	assert.Equal(t, "1", metric(t, httpAddr, `segd_ingest_reconnects_total{camera="gate"}`), "reconnects counted")
	if up := h.event("gate", segdv1.EventKind_EVENT_KIND_CAMERA_UP); up == nil || up.GetTime().AsTime().Before(killed) {
		t.Errorf("no event that the camera is up again: %v", up)
	}
	for _, name := range []string{"dead", "gone"} {
		h.with(func() {
			if s := h.status[name]; s == nil || s.Up || s.Error == "" || s.DownSince == nil {
				t.Errorf("camera %s is not told to be down: %v", name, s)
			}
		})
	}

	segd.Cancel()
	assert.NoError(t, segd.Wait(t), "run ended with")
	ups := 0
	for line := range strings.Lines(segd.Err.String()) {
		if _, msg, _ := strings.Cut(line, " msg="); strings.Contains(msg, " up\"") && strings.Contains(msg, "camera=gate") {
			ups++
		}
	}
	if ups != 2 {
		t.Errorf("%d lines of the log say that the camera is up; want one for each time:\n%s", ups, segd.Err.String())
	}
	if !clitest.LineWith(segd.Out.String(), []string{"gate after", "frames in"}) || !clitest.LineWith(segd.Out.String(), []string{"1 reconnects"}) {
		t.Errorf("the summary says\n%s", segd.Out.String())
	}
}

// The demo with the two persons that are marked by hand: JSON alone on standard output, a line a second
// beside it, masks for `segd watch`, and an annotation while it runs.
func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 15 s: the demo with its clip")
	}
	t.Parallel()
	httpAddr, natsAddr := freeport.Addr(t), freeport.Addr(t)
	url := "nats://" + natsAddr
	segd := start(t, "demo", "--by-hand", "--json", "--addr", httpAddr, "--nats", natsAddr, "--superpixels", "300")
	h := listen(t, natsAddr)

	dir := t.TempDir()
	watch := start(t, "watch", "demo", "--nats", url, "--masks", dir)
	overlays := t.TempDir()
	page := start(t, "watch", "demo", "--save", overlays, "--page", "http://"+httpAddr)
	waitfor.True(t, "three overlays", func() bool { return strings.Count(page.Out.String(), "\n") >= 3 })
	page.Cancel()
	assert.NoError(t, page.Wait(t), "watching the page ended with")
	waitfor.True(t, "watch to print three frames", func() bool { return strings.Count(watch.Out.String(), "\n") >= 3 })

	assert.Contains(t, get(t, "http://"+httpAddr+"/"), "<html", "the page is no HTML")
	get(t, "http://"+httpAddr+"/livez")
	get(t, "http://"+httpAddr+"/readyz")

	wrong := start(t, "annotate", "demo", maskFile(t, 64, 64), "--nats", url)
	var printed strings.Builder
	assert.Equal(t, 2, cli.Report(&printed, wrong.Wait(t)), "a mask of another size: exit status")
	checkLine(t, printed.String(), []string{"64×64", "768×576"})

	printed.Reset()
	nobody := start(t, "annotate", "backyard", maskFile(t, 768, 576), "--nats", url)
	assert.Equal(t, 2, cli.Report(&printed, nobody.Wait(t)), "an unknown camera: exit status")
	checkLine(t, printed.String(), []string{`"backyard"`, "home/demo"})

	right := start(t, "annotate", "demo", maskFile(t, 768, 576), "--nats", url)
	assert.NoError(t, right.Wait(t), "annotating")

	// A correction of what was seen a moment ago.
	seen := h.of("demo")
	correction := fmt.Sprintf(`{"frame": %d, "width": 768, "height": 576, "objects": [], "background": [{"width": 8, "points": [[20, 30], [300, 30]]}]}`,
		seen[max(0, len(seen)-3)].Sequence)
	past := start(t, "annotate", "demo", clitest.File(t, "past.json", correction), "--nats", url)
	if err := past.Wait(t); err != nil {
		t.Errorf("annotating frame %d when %d had come: %v", seen[max(0, len(seen)-3)].Sequence, seen[len(seen)-1].Sequence, err)
	}

	const seconds = 8 // what a fast machine has not yet done by now
	waitfor.True(t, "a line a second", func() bool { return strings.Count(segd.Err.String(), "  demo  in ") >= seconds })
	segd.Cancel()
	if err := segd.Wait(t); err != nil {
		t.Fatalf("demo ended with %v\n%s", err, segd.Err.String())
	}
	watch.Cancel()
	assert.NoError(t, watch.Wait(t), "watch ended with")

	var r struct {
		FramesIn        *uint64  `json:"frames_in"`
		FramesDropped   *uint64  `json:"frames_dropped"`
		FramesPublished *uint64  `json:"frames_published"`
		FPS             *float64 `json:"fps"`
		LatencyMS       *struct{ P50, P95, P99 *float64 }
		Objects         []struct {
			ID            *uint32 `json:"id"`
			Label         *string `json:"label"`
			VisibleFrames *uint64 `json:"visible_frames"`
		}
	}
	out := segd.Out.String()
	out = strings.Replace(out, `"latency_ms"`, `"LatencyMS"`, 1)
	dec := json.NewDecoder(strings.NewReader(out))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil || dec.More() {
		t.Fatalf("standard output is not one JSON object of the promised form: %v\n%s", err, segd.Out.String())
	}
	if r.FramesIn == nil || r.FramesDropped == nil || r.FramesPublished == nil || r.FPS == nil ||
		r.LatencyMS == nil || r.LatencyMS.P50 == nil || r.LatencyMS.P95 == nil || r.LatencyMS.P99 == nil {
		t.Fatalf("a field is missing:\n%s", segd.Out.String())
	}
	if *r.FramesIn != *r.FramesDropped+*r.FramesPublished {
		t.Errorf("%d frames in are not %d dropped and %d published", *r.FramesIn, *r.FramesDropped, *r.FramesPublished)
	}
	masks := h.of("demo")
	if got := uint64(len(masks)); got != *r.FramesPublished {
		t.Errorf("a subscriber from the start got %d masks, %d were published", got, *r.FramesPublished)
	}
	first, last := masks[0], masks[len(masks)-1]
	if *r.FramesIn <= last.Sequence {
		t.Errorf("%d frames in, and frame %d was published", *r.FramesIn, last.Sequence)
	}
	if step := time.Duration(last.PtsNs-first.PtsNs) / time.Duration(last.Sequence-first.Sequence); step.Round(time.Millisecond) != 100*time.Millisecond {
		t.Errorf("a frame every %v; the clip has 10 a second", step)
	}
	if len(r.Objects) == 0 || *r.Objects[0].ID != 1 || *r.Objects[0].VisibleFrames == 0 {
		t.Errorf("objects: %s", segd.Out.String())
	}
	checkPersons(t, masks)
	checkSaved(t, dir, h)
	checkOverlay(t, overlays, h)
}

// A demo that is given a time ends by itself, with its report; of a clip far shorter than the sample.
func TestDemoEnds(t *testing.T) {
	t.Parallel()
	video := filepath.Join(t.TempDir(), "square.mp4")
	m, err := codec.CreateFile(video, codec.EncoderConfig{Width: daemontest.Width, Height: daemontest.Height, FPS: daemontest.FPS})
	require.NoError(t, err)
	for n := range 10 {
		require.NoError(t, m.BGR(daemontest.Picture(n%20), time.Duration(n)*time.Second/daemontest.FPS))
	}
	require.NoError(t, m.Close())
	c := start(t, "demo", "--for", "1s", "--json", "--clip", video, "--addr", freeport.Addr(t), "--nats", freeport.Addr(t))
	require.NoError(t, c.Wait(t))
	var r daemon.DemoReport
	if err := json.Unmarshal([]byte(c.Out.String()), &r); err != nil || r.Objects == nil {
		t.Errorf("%v in %s", err, c.Out.String())
	}
}

// checkPersons holds the first masks, which were not corrected yet, against where
// the two persons of the demo are, as seen by eye: the second one stands still.
func checkPersons(t *testing.T, masks []*segdv1.MaskFrame) {
	t.Helper()
	for _, m := range masks[:3] {
		if m.Sequence > 5 {
			continue // a slow machine's; the first person has walked on
		}
		if len(m.Objects) != 2 {
			t.Fatalf("frame %d has %d objects, want the two that the first frame was annotated with", m.Sequence, len(m.Objects))
		}
		for k, want := range []image.Rectangle{image.Rect(160, 350, 320, 530), image.Rect(610, 280, 700, 420)} {
			o := m.Objects[k]
			got := image.Rect(int(o.Box.X), int(o.Box.Y), int(o.Box.X+o.Box.Width), int(o.Box.Y+o.Box.Height))
			if o.State != segdv1.State_STATE_VISIBLE || o.Area < 1000 || !got.In(want) {
				t.Errorf("frame %d: object %d is %v with %d pixels in %v, want visible with 1000 or more in %v", m.Sequence, o.Id, o.State, o.Area, got, want)
			}
		}
	}
}

// checkOverlay holds a picture that watch wrote against its masks: bluer inside
// object 1 than the picture is around, because that is its colour.
func checkOverlay(t *testing.T, dir string, h *heard) {
	t.Helper()
	for _, m := range h.of("demo") {
		f, err := os.Open(filepath.Join(dir, fmt.Sprintf("demo-%06d.png", m.Sequence)))
		if err != nil {
			continue // another frame
		}
		defer f.Close()
		img, err := png.Decode(f)
		require.NoError(t, err)
		labels, err := draw.Labels(m)
		require.NoError(t, err)
		var blue, pixels [2]int
		for y := range int(m.Height) {
			for x := range int(m.Width) {
				r, _, b, _ := img.At(x, y).RGBA()
				in := int(labels.(*image.Paletted).ColorIndexAt(x, y))
				if in > 1 {
					continue
				}
				blue[in] += int(b>>8) - int(r>>8)
				pixels[in]++
			}
		}
		if pixels[1] == 0 || blue[1]/pixels[1] < blue[0]/pixels[0]+30 {
			t.Errorf("frame %d: blue beyond red is %v over %v pixels; want much more inside the mask", m.Sequence, blue, pixels)
		}
		return
	}
	t.Errorf("no overlay in %s is of a frame that was published", dir)
}

// checkSaved holds the PNGs that watch wrote against the masks on the bus.
func checkSaved(t *testing.T, dir string, h *heard) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		t.Fatalf("watch saved nothing: %v", err)
	}
	masks := map[string]*segdv1.MaskFrame{}
	for _, m := range h.of("demo") {
		masks[fmt.Sprintf("demo-%06d.png", m.Sequence)] = m
	}
	name := entries[len(entries)/2].Name()
	f, err := os.Open(filepath.Join(dir, name))
	require.NoError(t, err)
	defer f.Close()
	img, err := png.Decode(f)
	require.NoError(t, err)
	m := masks[name]
	if m == nil {
		t.Fatalf("%s is no frame that was published", name)
	}
	if img.Bounds().Dx() != int(m.Width) || img.Bounds().Dy() != int(m.Height) {
		t.Errorf("%s is %v, the frame %d×%d", name, img.Bounds(), m.Width, m.Height)
	}
	want, err := draw.Labels(m)
	require.NoError(t, err)
	object := 0
	for y := range int(m.Height) {
		for x := range int(m.Width) {
			if img.At(x, y) != want.At(x, y) {
				t.Fatalf("%s differs from the mask at (%d,%d)", name, x, y)
			}
			if want.(*image.Paletted).ColorIndexAt(x, y) == 1 {
				object++
			}
		}
	}
	if len(m.Objects) == 1 && object != int(m.Objects[0].Area) {
		t.Errorf("%s has %d pixels of the object, its area is %d", name, object, m.Objects[0].Area)
	}
}

// A file that ends ends the daemon, with every frame of it accounted for.
func TestRunEndsWithItsSources(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for n := range 5 {
		data, err := os.ReadFile(maskFile(t, 64, 48))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.png", n)), data, 0o600))
	}
	config := daemontest.Quick("127.0.0.1:0", "127.0.0.1:0") + "cameras: [{name: pictures, url: 'dir:" + dir + "', fps: 5}]\n"
	segd := start(t, "run", "-c", clitest.File(t, "segd.yaml", config))
	assert.NoError(t, segd.Wait(t))
	if !clitest.LineWith(segd.Out.String(), []string{"pictures after", "5 frames in, 5 published (100.0 %)"}) {
		t.Errorf("the summary says\n%s", segd.Out.String())
	}
}
