//go:build e2e

package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/e2e/harness"
	"github.com/segd/segd/ingest/demo"
)

const (
	token  = "operator-0123456789abcdef"
	viewer = "viewer-0123456789abcdef"

	// limit is far above what anything here takes.
	limit = 4 * time.Minute
	fps   = 10
)

// world is a segd that records a camera.
type world struct{ harness.World }

// camera is one that serves the clip by RTSP, until the test ends.
func camera(t *testing.T) (url string) {
	t.Helper()
	clip, err := demo.Prepare(t.Context(), demo.FindClip(), demo.Shape{Width: 768, Height: 576, FPS: fps, Frames: 700}, nil)
	require.NoError(t, err)
	server, err := demo.NewServer(clip, demo.Config{})
	if err == nil {
		err = server.Start()
	}
	require.NoError(t, err)
	t.Cleanup(server.Close)
	return server.URL()
}

// start runs a segd that records the camera at url in dir; empty: that does not record.
func start(t *testing.T, url, dir string) *world {
	t.Helper()
	addrs := harness.FreeAddrs(t, 3)
	record := ""
	if dir != "" {
		record = ", record: true"
	}
	segd := harness.Run(t, fmt.Sprintf("http: {addr: '%s', token: %s, viewer_token: %s}\nwhip: {addr: '%s'}\nnats: {addr: '%s', store_dir: '%s'}\nrecording: {dir: '%s', max_mib: 64}\n"+
		"superpixels: 300\nmodel: {short_side: 352}\ncameras:\n- {name: yard, url: '%s', transport: tcp, detect: {classes: [person], every: 300ms}%s, "+
		"zones: [{name: left, polygon: [[0, 0], [0.5, 0], [0.5, 1], [0, 1]]}]}\n",
		addrs[0], token, viewer, addrs[2], addrs[1], t.TempDir(), dir, url, record))
	w := &world{harness.World{T: t, Segd: segd, Token: token, Limit: limit}}
	w.Until("masks", func() bool { return w.Metric("segd_frames_total", "outcome", "published") > 0 })
	return w
}

type segment struct {
	Name       string
	Start, End time.Time
	Bytes      int64
}

const recordings = "api/v1/cameras/yard/recordings"

func (w *world) segments() (state string, all []segment) {
	w.Helper()
	status, body, err := w.Ask(recordings, viewer)
	var list struct {
		State    string
		Segments []segment
	}
	if err != nil || status != http.StatusOK || json.Unmarshal(body, &list) != nil {
		w.Fatalf("recordings: %d, %.300s, %v", status, body, err)
	}
	return list.State, list.Segments
}

// TestRecording goes on from step to step.
func TestRecording(t *testing.T) {
	w := start(t, camera(t), t.TempDir())
	w.Until("two files", func() bool { _, all := w.segments(); return len(all) >= 2 })
	for _, step := range []struct {
		name string
		do   func(*world)
	}{
		{"a file has the video and its masks", (*world).file},
		{"each role gets what it may", (*world).roles},
		{"the page", (*world).page},
		{"segd is killed, and what it wrote is there after", (*world).killed},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.do(&world{harness.World{T: t, Segd: w.Segd, Token: token, Limit: limit}}) }) {
			t.FailNow()
		}
	}
}

// file looks at the first file by FFmpeg, and at its masks.
func (w *world) file() {
	state, all := w.segments()
	if state != "recording" {
		w.Errorf("state %s", state)
	}
	first := all[0]
	if gap := all[1].Start.Sub(first.End).Abs(); gap > time.Second/fps {
		w.Errorf("%v between two files", gap)
	}
	_, video, err := w.Ask(recordings+"/"+first.Name, viewer)
	if err != nil {
		w.Fatal(err)
	}
	path := filepath.Join(w.ArtifactDir(), "recorded.mp4")
	if err := os.WriteFile(path, video, 0o600); err != nil {
		w.Fatal(err)
	}
	out, err := exec.CommandContext(w.Context(), "ffprobe", "-v", "error", "-count_frames", "-show_entries", "stream=codec_name,width,height,nb_read_frames:format=duration", "-of", "default=nw=1", path).CombinedOutput()
	if err != nil {
		w.Fatalf("%v: %s", err, out)
	}
	frames := int(first.End.Sub(first.Start).Seconds()*fps + 0.5)
	for _, want := range []string{"codec_name=h264\n", "width=768\n", "height=576\n", fmt.Sprintf("nb_read_frames=%d\n", frames), fmt.Sprintf("duration=%.1f", first.End.Sub(first.Start).Seconds())} {
		if !bytes.Contains(out, []byte(want)) {
			w.Errorf("FFmpeg says %s; want %s", out, want)
		}
	}
	_, text, err := w.Ask(recordings+"/"+first.Name+"/masks", viewer)
	if err != nil {
		w.Fatal(err)
	}
	count, objects := 0, 0
	for line := range bytes.Lines(text) {
		var m struct {
			PtsNs       int64 `json:",string"`
			CaptureTime time.Time
			Objects     []struct{ Area int }
		}
		if err := json.Unmarshal(line, &m); err != nil {
			w.Fatalf("%s: %v", line, err)
		}
		count++
		objects += len(m.Objects)
		if at := time.Duration(m.PtsNs); at < 0 || at > first.End.Sub(first.Start) || (m.CaptureTime.Sub(first.Start)-at).Abs() > time.Second {
			w.Errorf("masks at %v of a frame of %v", at, m.CaptureTime)
		}
	}
	if count < frames/4 || count > frames || objects == 0 {
		w.Errorf("%d of %d frames have masks, of %d objects", count, frames, objects)
	}
	w.Logf("%s: %v, %d bytes, %d frames, %d with masks, of %d objects", first.Name, first.End.Sub(first.Start), first.Bytes, frames, count, objects)
}

func (w *world) roles() {
	_, all := w.segments()
	for _, path := range []string{recordings, recordings + "/" + all[0].Name, recordings + "/" + all[0].Name + "/masks"} {
		for as, want := range map[string]int{"": 401, "wrong-0123456789abcdef": 401, viewer: 200, token: 200} {
			if status, body, err := w.Ask(path, as); err != nil || status != want {
				w.Errorf("%s as %q: %d %.100s, %v; want %d", path, as, status, body, err, want)
			}
		}
	}
	if status, body, err := w.Ask("recordings", ""); err != nil || status != 200 || !bytes.Contains(body, []byte("Sign in")) {
		w.Errorf("the page for a stranger: %d, %v; want that to sign in", status, err)
	}
}

func (w *world) killed() {
	_, before := w.segments()
	last := before[len(before)-1]
	w.Until("some of the next file", func() bool { return time.Since(last.End) > 8*time.Second })
	w.Segd.Kill()
	if err := w.Segd.Start(w.Context()); err != nil {
		w.Fatal(err)
	}
	_, after := w.segments()
	if len(after) < len(before)+1 || !slices.Equal(after[:len(before)], before) {
		w.Fatalf("%d files, %d before", len(after), len(before))
	}
	cut := after[len(before)]
	if length := cut.End.Sub(cut.Start); length < 5*time.Second {
		w.Errorf("of the file that was written %v are left", length)
	}
	w.Until("that it goes on", func() bool { state, _ := w.segments(); return state == "recording" })
	w.Logf("of the file that was written %v are left", cut.End.Sub(cut.Start))
}

// TestFullDisk fills the disk of the recordings: video is lost and counted, masks go on, and with room it is recorded again.
func TestFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=32m"); err != nil {
		t.Fatalf("a small disk: %v; it takes root", err)
	}
	t.Cleanup(func() {
		assert.NoError(t, syscall.Unmount(disk, syscall.MNT_DETACH))
	})
	w := start(t, camera(t), disk)
	w.Until("a recording", func() bool { return w.Metric("segd_recording_written_bytes_total") > 1<<20 })
	var masks atomic.Int64
	_, err := harness.Connect(t, w.Segd.NATS).Subscribe("segd.v1.home.yard.mask", func(*nats.Msg) { masks.Add(1) })
	require.NoError(t, err)
	filler := filepath.Join(disk, "filler")
	f, err := os.Create(filler)
	require.NoError(t, err)
	for err = nil; err == nil; {
		_, err = f.Write(make([]byte, 4<<10))
	}
	if !errors.Is(err, syscall.ENOSPC) || f.Close() != nil {
		t.Fatal(err)
	}
	w.Until("lost video", func() bool { return w.Metric("segd_recording_lost_total", "reason", "disk") > 30 })
	if state, all := w.segments(); state != "failed" || len(all) == 0 {
		t.Errorf("%s, %d files", state, len(all))
	}
	before, heard := w.Metric("segd_frames_total", "outcome", "published"), masks.Load()
	w.Until("frames", func() bool { return w.Metric("segd_frames_total", "outcome", "published") > before+50 })
	if heard = masks.Load() - heard; heard < 40 {
		t.Errorf("%d masks heard of more than 50 frames", heard)
	}
	t.Logf("on the full disk: %d masks heard, %d frames of video lost", heard, w.Metric("segd_recording_lost_total", "reason", "disk"))
	require.NoError(t, os.Remove(filler))
	_, files := w.segments()
	w.Until("that it records again", func() bool {
		state, all := w.segments()
		return state == "recording" && len(all) > len(files)
	})
}

// TestCheck has segd check a camera whose video is not recorded.
func TestCheck(t *testing.T) {
	relay := harness.StartRelay(t)
	motion := harness.StartCamera(t, relay, "motion", harness.Video{Encoder: "mjpeg", Width: 320, Height: 240})
	addrs := harness.FreeAddrs(t, 3)
	file := filepath.Join(t.TempDir(), "segd.yaml")
	text := fmt.Sprintf("http: {addr: '%s'}\nwhip: {addr: '%s'}\nnats: {addr: '%s'}\nrecording: {dir: recordings}\ncameras: [{name: motion, url: '%s', transport: tcp, record: true}]\n", addrs[0], addrs[1], addrs[2], motion.URL())
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	out, err := exec.CommandContext(t.Context(), harness.Program(t), "check", "-c", file).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 || !bytes.Contains(out, []byte("camera motion: FAILED: record: true, and the video is MJPEG; H.264 and H.265 are recorded")) {
		t.Errorf("%v: %s", err, out)
	}
}

// TestCost measures what recording takes of the processor. It judges nothing: a machine is busy or not.
func TestCost(t *testing.T) {
	url := camera(t)
	for _, dir := range []string{"", t.TempDir(), "", t.TempDir()} {
		w := start(t, url, dir)
		const settle, during = 10 * time.Second, 40 * time.Second
		require.NoError(t, harness.Pause(t.Context(), settle))
		cpu := func() (seconds float64, frames int) {
			now := w.Metrics()
			return now.Sum("process_cpu_seconds_total"), int(now.Sum("segd_frames_total", "outcome", "published"))
		}
		before, framesBefore := cpu()
		require.NoError(t, harness.Pause(t.Context(), during))
		after, framesAfter := cpu()
		t.Logf("recording %v: %.1f core-ms a published frame, %d frames, %.2f cores", dir != "", 1000*(after-before)/float64(framesAfter-framesBefore), framesAfter-framesBefore, (after-before)/during.Seconds())
		w.Segd.End()
	}
}
