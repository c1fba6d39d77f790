package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/api"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/cmd/segd/daemon"
	"github.com/segd/segd/cmd/segd/daemon/daemontest"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/internal/freeport"
	"github.com/segd/segd/internal/waitfor"
)

// reloading is a segd whose configuration changes.
type reloading struct {
	t          *testing.T
	file, head string
	http, nats string
}

func newReloading(t *testing.T, head string, cameras ...string) *reloading {
	t.Helper()
	r := &reloading{t: t, file: filepath.Join(t.TempDir(), "segd.yaml"), http: freeport.Addr(t), nats: freeport.Addr(t)}
	r.head = daemontest.Quick(r.http, r.nats) + fmt.Sprintf("whip: {addr: %q}\n", freeport.Addr(t)) + head
	r.write(cameras...)
	return r
}

// text is the configuration with these cameras.
func (r *reloading) text(cameras ...string) string {
	text := r.head + "cameras:\n"
	for _, c := range cameras {
		text += "- " + c + "\n"
	}
	return text
}

// write has the file hold these cameras, from one moment to the next.
func (r *reloading) write(cameras ...string) {
	r.t.Helper()
	if err := os.WriteFile(r.file+".new", []byte(r.text(cameras...)), 0o600); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Rename(r.file+".new", r.file); err != nil {
		r.t.Fatal(err)
	}
}

// reload asks for it, and returns the status and the answer.
func (r *reloading) reload() (int, string) {
	r.t.Helper()
	return send(r.t, http.MethodPost, "http://"+r.http+"/api/v1/config/reload", "")
}

func (r *reloading) reloaded() (out api.Reloaded) {
	r.t.Helper()
	status, text := r.reload()
	if status != http.StatusOK {
		r.t.Fatalf("reload: %d %s", status, text)
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		r.t.Fatal(err)
	}
	return out
}

// untouched checks that a camera of daemontest.FPS frames a second was not begun anew, and that no frame is
// missing but those it dropped by itself.
func (r *reloading) untouched(h *heard, name string) {
	r.t.Helper()
	masks := h.of(name)
	missing := uint64(0)
	for i, m := range masks[1:] {
		before := masks[i]
		if m.Sequence <= before.Sequence {
			r.t.Fatalf("camera %s began anew: frame %d came after frame %d", name, m.Sequence, before.Sequence)
		}
		missing += m.Sequence - before.Sequence - 1
		step := time.Duration(m.PtsNs-before.PtsNs) / time.Duration(m.Sequence-before.Sequence)
		if step > 1500*time.Millisecond/daemontest.FPS {
			r.t.Errorf("camera %s: %v a frame between %d and %d; the camera sends one in %v", name, step, before.Sequence, m.Sequence, time.Second/daemontest.FPS)
		}
	}
	dropped := 0.0
	text := get(r.t, "http://"+r.http+"/metrics")
	for _, outcome := range []string{"dropped_features", "dropped_tracker", "failed"} {
		var n float64
		_, _ = fmt.Sscan(daemontest.Value(text, fmt.Sprintf("segd_frames_total{camera=%q,outcome=%q}", name, outcome)), &n)
		dropped += n
	}
	if float64(missing) > dropped {
		r.t.Errorf("camera %s: %d of %d frames are missing, and it dropped %v", name, missing, len(masks), dropped)
	}
	if e := h.event(name, segdv1.EventKind_EVENT_KIND_CAMERA_DOWN); e != nil {
		r.t.Errorf("camera %s was down: %s", name, e.Message)
	}
}

func rtspCamera(t *testing.T, name, more string) string {
	t.Helper()
	return fmt.Sprintf("{name: %s, transport: tcp, url: '%s'%s}", name, daemontest.Camera(t, demo.Config{}).URL(), more)
}

// At SIGHUP cameras are added, changed and removed, and another one loses no frame; a file that is wrong
// changes nothing, and SIGTERM still ends segd in order.
func TestHangup(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 7 s: a segd that is reloaded")
	}
	t.Parallel()
	dir := daemontest.Pictures(t, 20)
	gate := rtspCamera(t, "gate", "")
	yard := func(fps int) string { return fmt.Sprintf("{name: yard, url: 'dir:%s', loop: true, fps: %d}", dir, fps) }
	attic := fmt.Sprintf("{name: attic, url: 'dir:%s', loop: true, fps: 5}", dir)
	r := newReloading(t, "", gate, yard(5))

	segd := startProcess(t, "run", "-c", r.file, "--watch=false")
	said := func() int { return strings.Count(segd.err.String(), "why=SIGHUP") }
	hangUp := func() {
		t.Helper()
		n := said()
		segd.signal(syscall.SIGHUP)
		waitfor.True(t, "a word about SIGHUP", func() bool {
			if len(segd.ended) > 0 {
				t.Fatalf("segd ended with %v", segd.end())
			}
			return said() > n
		})
	}
	h := listen(t, r.nats)
	more := func(name string) {
		t.Helper()
		from := len(h.of(name))
		waitfor.True(t, "masks of "+name, func() bool { return len(h.of(name)) >= from+5 })
	}
	down := func(why string) { // events come after what the log says
		t.Helper()
		waitfor.True(t, "the event that yard is down: "+why, func() bool {
			e := h.event("yard", segdv1.EventKind_EVENT_KIND_CAMERA_DOWN)
			return e != nil && strings.Contains(e.Message, why)
		})
	}
	more("gate")
	more("yard")

	hangUp() // nothing differs
	r.write(gate, yard(10), attic)
	hangUp()
	if !clitest.LineWith(segd.err.String(), []string{"was read again", "why=SIGHUP", "added=[attic]", "changed=[yard]", "removed=[]"}) {
		t.Errorf("it says\n%s", segd.err.String())
	}
	more("attic")
	down("the camera's configuration has changed")
	before := len(h.of("yard"))
	more("yard")
	again := h.of("yard")[before:]
	if step := time.Duration(again[4].PtsNs-again[0].PtsNs) / time.Duration(again[4].Sequence-again[0].Sequence); step != 100*time.Millisecond {
		t.Errorf("a frame every %v of the camera that was changed; want 10 a second", step)
	}

	r.write(gate, yard(10), "{name: attic, url: 'ftp://x/'}")
	hangUp()
	if !clitest.LineWith(segd.err.String(), []string{"is not taken over", "why=SIGHUP", "cameras[2].url"}) {
		t.Errorf("of a wrong file it says\n%s", segd.err.String())
	}
	more("attic")
	more("yard")

	r.write(gate, attic)
	hangUp()
	down("the camera was removed")
	if text := get(t, "http://"+r.http+"/metrics"); strings.Contains(text, `"yard"`) || !strings.Contains(text, `"attic"`) {
		t.Error("the metrics have the wrong cameras")
	}
	if status, text := send(t, http.MethodDelete, "http://"+r.http+"/api/v1/cameras/yard/objects", ""); status != http.StatusNotFound {
		t.Errorf("the removed camera is asked: %d %s", status, text)
	}
	assert.NotContains(t, get(t, "http://"+r.http+"/api/v1/cameras"), `"yard"`, "the list has it still")
	more("gate")
	r.untouched(h, "gate")

	segd.signal(syscall.SIGTERM)
	if err := segd.end(); err != nil || !strings.Contains(segd.out.String(), "gate after") { // the summary is written after draining
		t.Errorf("segd ended with %v", err)
	}
}

// process is segd in a process of its own, which gets signals.
type process struct {
	t        *testing.T
	cmd      *exec.Cmd
	out, err clitest.Output
	ended    chan error // holds how it ended, once it has
}

// startProcess starts segd with args. What it wrote is told of if the test fails.
func startProcess(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.CommandContext(t.Context(), os.Args[0], args...), ended: make(chan error, 1)}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	require.NoError(t, p.cmd.Start())
	go func() { p.ended <- p.cmd.Wait() }()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
		if t.Failed() {
			t.Logf("segd wrote\n%s%s", p.out.String(), p.err.String())
		}
	})
	return p
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// end waits until it has ended, and returns with what.
func (p *process) end() error {
	p.t.Helper()
	err := waitfor.Next(p.t, "segd to end", p.ended)
	p.ended <- err
	return err
}

// What the API answers: what was done and what takes a restart; where a file is wrong; and nothing is done
// then, by half either.
func TestReloadAnswers(t *testing.T) {
	t.Parallel()
	gate := rtspCamera(t, "gate", "")
	r := newReloading(t, "", gate)
	segd := start(t, "run", "-c", r.file, "--watch=false")
	h := listen(t, r.nats)
	waitfor.True(t, "masks", func() bool { return len(h.of("gate")) > 5 })
	cameras := func() (names []string) {
		var list struct{ Cameras []struct{ Name string } }
		require.NoError(t, json.Unmarshal([]byte(get(t, "http://"+r.http+"/api/v1/cameras")), &list))
		for _, c := range list.Cameras {
			names = append(names, c.Name)
		}
		return names
	}

	for name, tt := range map[string]struct{ cameras, pointer string }{
		"a wrong url":            {"{name: b, url: 'ftp://x/'}", `"pointer":"/cameras/1/url"`},
		"no annotation file":     {"{name: b, url: 'rtsp://127.0.0.1:1/', annotation: nothing.json}", `"pointer":"/cameras/1/annotation"`},
		"not YAML":               {"{name: b", "not YAML"},
		"two of one name":        {gate, `"pointer":"/cameras/1/name"`},
		"a class that is no one": {"{name: b, url: 'rtsp://127.0.0.1:1/', detect: {classes: [unicorn]}}", `"pointer":"/cameras/1/detect/classes/0"`},
	} {
		r.write(gate, tt.cameras, "{name: c, url: 'rtsp://127.0.0.1:1/'}")
		if status, text := r.reload(); status != http.StatusUnprocessableEntity || !strings.Contains(text, tt.pointer) {
			t.Errorf("%s: %d %s; want %s", name, status, text, tt.pointer)
		}
		require.Equal(t, []string{"gate"}, cameras(), "%s: the cameras are", name)
	}

	// What cannot be done now is named, and the rest is done.
	head := r.head
	r.head = strings.Replace(head, "short_side: 64", "short_side: 96", 1) + "site: there\nlog: {level: debug, format: json}\n"
	r.write("{name: b, url: 'rtsp://127.0.0.1:1/'}", gate)
	out := r.reloaded()
	if !slices.Equal(out.Added, []string{"b"}) || len(out.Changed)+len(out.Removed) > 0 || !slices.Equal(out.Restart, []string{"site", "model.short_side", "log.format"}) {
		t.Errorf("%+v", out)
	}
	assert.Equal(t, []string{"b", "gate"}, cameras(), "the cameras are")
	var running struct {
		Site string
		Log  struct{ Level string }
	}
	if err := json.Unmarshal([]byte(get(t, "http://"+r.http+"/api/v1/config")), &running); err != nil || running.Site != "home" || running.Log.Level != "debug" {
		t.Errorf("what runs is told to be %+v, %v", running, err)
	}
	if out := r.reloaded(); len(out.Added) > 0 || len(out.Restart) != 3 {
		t.Errorf("again: %+v", out)
	}
	resp, err := http.Get("http://" + r.http + "/api/v1/cameras/gate/live") // no WebSocket: refused, and logged at the new level
	require.NoError(t, err)
	_ = resp.Body.Close()
	waitfor.True(t, "a line of the new level", func() bool { return strings.Contains(segd.Err.String(), "level=DEBUG") })

	// Zones alone are others: the camera goes on with them.
	r.head = head
	zoned := strings.TrimSuffix(gate, "}") + ", zones: [{name: door, polygon: [[0, 0], [1, 0], [1, 1]]}]}"
	r.write(zoned)
	if out := r.reloaded(); !slices.Equal(out.Changed, []string{"gate"}) || !slices.Equal(out.Removed, []string{"b"}) || len(out.Restart) > 0 {
		t.Errorf("%+v", out)
	}
	assert.Equal(t, "0", metric(t, r.http, `segd_zone_objects{camera="gate",zone="door"}`), "objects in the new zone")

	// Another client asks, and is told the same.
	r.write(zoned, "{name: b, url: 'rtsp://127.0.0.1:1/'}")
	ask := start(t, "reload", "--nats", "nats://"+r.nats)
	if err := ask.Wait(t); err != nil || ask.Out.String() != "added: b\n" {
		t.Errorf("segd reload: %v, %q", err, ask.Out.String())
	}
	r.write("{name: b, url: 'ftp://x/'}")
	ask = start(t, "reload", "--nats", "nats://"+r.nats)
	assert.ErrorContains(t, ask.Wait(t), "cameras[0].url", "segd reload of a wrong file")
	more := len(h.of("gate"))
	waitfor.True(t, "more masks", func() bool { return len(h.of("gate")) >= more+5 })
	r.untouched(h, "gate")
}

// Two who ask at once are answered one after the other: the camera is added once.
func TestTwoReloads(t *testing.T) {
	t.Parallel()
	const one, two = "{name: a, url: 'rtsp://127.0.0.1:1/'}", "{name: b, url: 'rtsp://127.0.0.1:1/'}"
	r := newReloading(t, "", one)
	start(t, "run", "-c", r.file, "--watch=false")
	listen(t, r.nats)
	for round := range 4 {
		want := 0
		if round%2 == 0 {
			r.write(one, two)
			want = 1
		} else {
			r.write(one)
		}
		var answers [3]api.Reloaded
		var asking sync.WaitGroup
		for i := range answers {
			asking.Go(func() { answers[i] = r.reloaded() })
		}
		asking.Wait()
		added, removed := 0, 0
		for _, a := range answers {
			added, removed = added+len(a.Added), removed+len(a.Removed)
		}
		if added != want || removed != 1-want {
			t.Errorf("round %d: added %d times, removed %d times", round, added, removed)
		}
	}
}

// A client that waits for a camera that is removed is told so; and one who asks for a reload while segd ends does
// not keep it.
func TestRemovedWhileAnnotated(t *testing.T) {
	t.Parallel()
	const gate = "{name: gate, url: 'whip:'}"
	yard := rtspCamera(t, "yard", "")
	r := newReloading(t, "", gate, yard)
	segd := start(t, "run", "-c", r.file, "--watch=false")
	h := listen(t, r.nats)
	waitfor.True(t, "masks", func() bool { return len(h.of("yard")) > 20 })
	answer := waits(t, "http://"+r.http+"/api/v1/cameras/gate/annotations")
	r.write(yard)
	if out := r.reloaded(); !slices.Equal(out.Removed, []string{"gate"}) {
		t.Errorf("%+v", out)
	}
	if got := <-answer; got.status != http.StatusServiceUnavailable || !strings.Contains(got.text, "the camera was removed") {
		t.Errorf("the annotation is answered %+v", got)
	}
	r.untouched(h, "yard")

	r.write(gate, yard)
	var asking sync.WaitGroup
	asking.Go(func() {
		resp, err := http.Post("http://"+r.http+"/api/v1/config/reload", "", nil)
		if err == nil { // whatever it is told
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	})
	time.Sleep(50 * time.Millisecond)
	segd.Cancel()
	assert.NoError(t, segd.Wait(t), "ended while it reloads")
	asking.Wait()
}

type answered struct {
	status int
	text   string
}

// waits has a client wait for a frame of a camera without publisher, so that none comes however long
// this machine takes, and returns once that one does, with where its answer comes: of two who ask for the same
// frame the second is told that another one waits.
func waits(t *testing.T, url string) <-chan answered {
	t.Helper()
	answers := make(chan answered, 2)
	for range cap(answers) {
		go func() {
			status, text := send(t, http.MethodPost, url, daemontest.Annotation)
			answers <- answered{status, text}
		}()
	}
	if got := <-answers; got.status != http.StatusConflict || !strings.Contains(got.text, "another annotation waits") {
		t.Fatalf("nobody waits: %+v", got)
	}
	return answers
}

// A camera that publishers come to is the first of its kind, and one that marks by itself another one: what
// these need is there in time, and goes with them.
func TestReloadOpensWhatIsNeeded(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 6 s: a segd that opens its detector at a reload")
	}
	t.Parallel()
	gate := rtspCamera(t, "gate", "")
	detector, err := filepath.Abs("../../features/dnn/testdata/nanodet-m.onnx")
	require.NoError(t, err)
	r := newReloading(t, fmt.Sprintf("detector: {path: %q}\n", detector), gate)
	segd := start(t, "run", "-c", r.file, "--watch=false")
	h := listen(t, r.nats)
	url := "http://" + r.http + "/whip/door"
	if status, text := send(t, http.MethodPost, url, "x"); status != http.StatusNotFound {
		t.Errorf("without such a camera: %d %s", status, text)
	}
	const door = "{name: door, url: 'whip:'}"
	r.write(gate, door)
	r.reloaded()
	sendWHIP(t, url)
	waitfor.True(t, "the publisher's masks", func() bool { return len(h.of("door")) > 5 })

	detects := func(class string) string {
		return strings.TrimSuffix(gate, "}") + ", detect: {classes: [" + class + "]}}"
	}
	for _, class := range []string{"person", "car", "car, person"} {
		r.write(detects(class), door)
		if out := r.reloaded(); !slices.Equal(out.Changed, []string{"gate"}) {
			t.Errorf("%+v", out)
		}
		assert.Equal(t, 1, strings.Count(segd.Err.String(), "the detector\""), "detectors were opened")
		from := len(h.of("gate"))
		waitfor.True(t, "masks", func() bool { return len(h.of("gate")) >= from+5 })
	}
	r.write(gate)
	r.reloaded()
	if status, text := send(t, http.MethodPost, url, "x"); status != http.StatusNotFound {
		t.Errorf("with that camera removed: %d %s", status, text)
	}
	segd.Cancel()
	assert.NoError(t, segd.Wait(t))
}

// The file is read again once it has changed, by whichever way, and no more often.
func TestFileIsWatched(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 16 s: real files, looked at every few seconds")
	}
	t.Parallel()
	r := newReloading(t, "", "{name: a, url: 'rtsp://127.0.0.1:1/'}")
	// As Kubernetes has it: segd.yaml leads to ..data/segd.yaml, and ..data to a folder of that version.
	dir := filepath.Dir(r.file)
	version := func(name string, cameras ...string) {
		t.Helper()
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, "segd.yaml"), []byte(r.text(cameras...)), 0o600))
		require.NoError(t, os.Symlink(name, filepath.Join(dir, "..tmp")))
		require.NoError(t, os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")))
	}
	segd := start(t, "run", "-c", r.file)
	listen(t, r.nats)
	n := 0
	count := func() int { return strings.Count(segd.Err.String(), `why="the file has changed"`) }
	changes := func(what string, change func()) {
		t.Helper()
		change()
		n++
		waitfor.True(t, what, func() bool { return count() >= n })
		time.Sleep(4 * daemon.SettleTime) // for what must not come
		if got := count(); got != n {
			t.Errorf("%s: read %d times, want once", what, got-n+1)
			n = got
		}
	}
	const a, b, c = "{name: a, url: 'rtsp://127.0.0.1:1/'}", "{name: b, url: 'rtsp://127.0.0.1:1/'}", "{name: c, url: 'rtsp://127.0.0.1:1/'}"
	time.Sleep(4 * daemon.SettleTime)
	assert.NotContains(t, segd.Err.String(), "read again", "before any change it says")
	changes("a rename", func() { r.write(a, b) })
	// A machine that halts this in the middle of it has left the file as it was for long enough.
	text, halts := r.text(a, b, c), 0
	f, err := os.Create(r.file)
	require.NoError(t, err)
	for i, last := 0, time.Now(); i < len(text); i++ {
		if _, err := f.WriteString(text[i : i+1]); err != nil {
			t.Fatal(err)
		}
		if time.Since(last) >= daemon.SettleTime {
			halts++
		}
		last = time.Now()
		time.Sleep(3 * time.Millisecond)
	}
	require.NoError(t, f.Close())
	waitfor.True(t, "what a burst of writes has left", func() bool {
		return strings.Contains(get(t, "http://"+r.http+"/api/v1/cameras"), `"name":"c"`)
	})
	time.Sleep(4 * daemon.SettleTime)
	if got := count(); got > n+1+halts {
		t.Errorf("a burst of writes: read %d times, want once", got-n)
	}
	n = count()
	changes("a link in its place", func() {
		require.NoError(t, os.Remove(r.file))
		version("..1", a, c)
		require.NoError(t, os.Symlink("..data/segd.yaml", r.file))
	})
	changes("another version", func() { version("..2", a, b) })
	changes("a version within a folder", func() { // through all links
		require.NoError(t, os.WriteFile(filepath.Join(dir, "..2", "segd.yaml"), []byte(r.text(a, b, c)), 0o600))
	})
	changes("a fault", func() { version("..3", "{name: a, url: 'ftp://x/'}") })
	changes("mended, beside other files", func() {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("x"), 0o600))
		version("..4", a)
	})
	if list := get(t, "http://"+r.http+"/api/v1/cameras"); strings.Count(list, `"name":`) != 1 {
		t.Errorf("the cameras in the end: %s", list)
	}
	segd.Cancel()
	assert.NoError(t, segd.Wait(t))
}
