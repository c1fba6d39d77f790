//go:build e2e

package history

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image/jpeg"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/e2e/harness"
	"github.com/segd/segd/ingest/demo"
)

const (
	token     = "operator-0123456789abcdef"
	viewer    = "viewer-0123456789abcdef"
	publisher = "publisher-0123456789abcdef"

	// limit is far above what anything here takes.
	limit = 4 * time.Minute
)

// world is a segd that keeps what happens.
type world struct{ harness.World }

// start runs a segd that keeps its files in dir. The clip's persons walk through strips of the picture: one enters another
// about once a second.
func start(t *testing.T, dir, pictures string) *world {
	t.Helper()
	addrs := harness.FreeAddrs(t, 3)
	var zones []string
	for i := range 8 {
		left, right := float64(i)/8, float64(i+1)/8
		zones = append(zones, fmt.Sprintf("{name: strip-%d, polygon: [[%g, 0], [%g, 0], [%g, 1], [%g, 1]]}", i+1, left, right, right, left))
	}
	segd := harness.Run(t, fmt.Sprintf("http: {addr: '%s', token: %s, viewer_token: %s}\nwhip: {addr: '%s', token: %s}\nnats: {addr: '%s', store_dir: '%s', pictures: %s}\n"+
		"superpixels: 300\nmodel: {short_side: 352}\ncameras:\n- {name: yard, url: 'file:%s', loop: true, detect: {classes: [person], every: 300ms}, zones: [%s]}\n",
		addrs[0], token, viewer, addrs[2], publisher, addrs[1], dir, pictures, demo.FindClip(), strings.Join(zones, ", ")))
	w := &world{harness.World{T: t, Segd: segd, Token: token, Limit: limit}}
	w.Until("masks", func() bool { return w.Metric("segd_frames_total", "outcome", "published") > 0 })
	return w
}

// event is what is looked at of one.
type event struct {
	Camera, Time, Kind, Zone, ObjectClass, ObjectLabel, Sequence, Thumbnail string
	ObjectID                                                                uint32
}

func (e event) at() time.Time {
	at, _ := time.Parse(time.RFC3339Nano, e.Time)
	return at
}

// history are all events that a query wants, the newest first, asked for by pages.
func (w *world) history(query url.Values) (all []event, err error) {
	query.Set("limit", "50")
	for {
		status, body, err := w.Ask("api/v1/history?"+query.Encode(), viewer)
		if err != nil {
			return nil, err
		}
		var page struct {
			Events []event
			Next   string
		}
		if status != http.StatusOK || json.Unmarshal(body, &page) != nil {
			return nil, fmt.Errorf("%d: %.300s", status, body)
		}
		all = append(all, page.Events...)
		if page.Next == "" {
			return all, nil
		}
		query.Set("before", page.Next)
	}
}

// picture is that of an event, as a viewer gets it; nil where there is none.
func (w *world) picture(ev event) []byte {
	w.Helper()
	status, body, err := w.Ask(ev.Thumbnail, viewer)
	if err != nil || status != http.StatusOK && status != http.StatusNotFound {
		w.Fatalf("%s: %d, %v", ev.Thumbnail, status, err)
	}
	if status == http.StatusNotFound {
		return nil
	}
	if _, err := jpeg.Decode(bytes.NewReader(body)); err != nil {
		w.Fatalf("%s: %v", ev.Thumbnail, err)
	}
	return body
}

// count is a counter of the pictures.
func (w *world) count(outcome string) int {
	w.Helper()
	return w.Metric("segd_bus_pictures_total", "outcome", outcome)
}

// stream is how one of segd's is.
func (w *world) stream(kind bus.Kind) *jetstream.StreamInfo {
	w.Helper()
	js, err := jetstream.New(harness.Connect(w, w.Segd.NATS))
	if err != nil {
		w.Fatal(err)
	}
	stream, err := js.Stream(w.Context(), bus.StreamName("home", kind))
	if err != nil {
		w.Fatal(err)
	}
	return stream.CachedInfo()
}

// TestHistory goes on from step to step.
func TestHistory(t *testing.T) {
	w := start(t, t.TempDir(), "{max_age: 1h}")
	w.Until("events with pictures", func() bool {
		all, err := w.history(url.Values{"kind": {"object_entered"}})
		return err == nil && len(all) >= 30 && w.count("kept") >= 20
	})
	for _, step := range []struct {
		name string
		do   func(*world)
	}{
		{"what is chosen is what is there", (*world).chosen},
		{"each role gets what it may", (*world).roles},
		{"an export has the events and their pictures", (*world).exported},
		{"segd is killed, and knows all of it after", (*world).killed},
		{"the page", (*world).page},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.do(&world{harness.World{T: t, Segd: w.Segd, Token: token, Limit: limit}}) }) {
			t.FailNow()
		}
	}
}

// chosen compares what a query gives with what it should be of all events that there were.
func (w *world) chosen() {
	all, err := w.history(url.Values{})
	if err != nil {
		w.Fatal(err)
	}
	until := all[0].at() // later ones come meanwhile
	mid := all[len(all)/2]
	for name, tt := range map[string]struct {
		query url.Values
		is    func(event) bool
	}{
		"a zone":              {url.Values{"zone": {"strip-4"}}, func(e event) bool { return e.Zone == "strip-4" }},
		"a kind":              {url.Values{"kind": {"object_left"}}, func(e event) bool { return e.Kind == "EVENT_KIND_OBJECT_LEFT" }},
		"a class":             {url.Values{"class": {"person"}}, func(e event) bool { return e.ObjectClass == "person" }},
		"another class":       {url.Values{"class": {"car"}}, func(e event) bool { return e.ObjectClass == "car" }},
		"another camera":      {url.Values{"camera": {"gate"}}, func(event) bool { return false }},
		"a time":              {url.Values{"from": {mid.Time}}, func(e event) bool { return !e.at().Before(mid.at()) }},
		"before it":           {url.Values{"to": {mid.Time}}, func(e event) bool { return e.at().Before(mid.at()) }},
		"a camera and a zone": {url.Values{"camera": {"yard"}, "zone": {"strip-5"}}, func(e event) bool { return e.Camera == "yard" && e.Zone == "strip-5" }},
	} {
		got, err := w.history(tt.query)
		if err != nil {
			w.Fatalf("%s: %v", name, err)
		}
		got = slices.DeleteFunc(got, func(e event) bool { return e.at().After(until) || !slices.Contains(all, e) })
		want := slices.DeleteFunc(slices.Clone(all), func(e event) bool { return !tt.is(e) || e.at().After(until) })
		if !slices.Equal(got, want) {
			w.Errorf("%s: %d events, want %d", name, len(got), len(want))
		}
		w.Logf("%s: %d of %d events", name, len(got), len(all))
	}
}

func (w *world) roles() {
	all, err := w.history(url.Values{"kind": {"object_entered"}})
	if err != nil {
		w.Fatal(err)
	}
	i := slices.IndexFunc(all, func(e event) bool { return e.Thumbnail != "" })
	for _, path := range []string{"api/v1/history", "api/v1/history/export?limit=1", all[i].Thumbnail} {
		for as, want := range map[string]int{"": 401, "wrong-0123456789abcdef": 401, publisher: 401, viewer: 200, token: 200} {
			if status, body, err := w.Ask(path, as); err != nil || status != want {
				w.Errorf("%s as %q: %d %.100s, %v; want %d", path, as, status, body, err, want)
			}
		}
	}
	if status, body, err := w.Ask("history", ""); err != nil || status != 200 || !bytes.Contains(body, []byte("Sign in")) {
		w.Errorf("the page for a stranger: %d, %v; want that to sign in", status, err)
	}
	for query, want := range map[string]string{"limit=0": "limit", "kind=arrived": "kind", "camera=yard.*": "camera", "from=now": "from", "size=1": "size"} {
		if status, body, err := w.Ask("api/v1/history?"+query, viewer); err != nil || status != 400 || !bytes.Contains(body, fmt.Appendf(nil, `"field":%q`, want)) {
			w.Errorf("%s: %d %s, %v", query, status, body, err)
		}
	}
}

func (w *world) exported() {
	status, body, err := w.Ask("api/v1/history/export?zone=strip-4", viewer)
	if err != nil || status != 200 {
		w.Fatalf("%d, %v", status, err)
	}
	file, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		w.Fatal(err)
	}
	pictures, lines := 0, 0
	for _, f := range file.File {
		r, err := f.Open()
		if err != nil {
			w.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			w.Fatal(err)
		}
		if f.Name == "events.jsonl" {
			for line := range bytes.Lines(data) {
				var ev event
				if err := json.Unmarshal(line, &ev); err != nil || ev.Zone != "strip-4" {
					w.Errorf("%s: %v", line, err)
				}
				lines++
			}
			continue
		}
		if _, err := jpeg.Decode(bytes.NewReader(data)); err != nil || !strings.HasPrefix(f.Name, "pictures/yard/") {
			w.Errorf("%s: %v", f.Name, err)
		}
		pictures++
	}
	if lines == 0 || pictures == 0 {
		w.Errorf("%d events and %d pictures", lines, pictures)
	}
	w.Logf("%d events, %d pictures, %d bytes", lines, pictures, len(body))
}

func (w *world) killed() {
	before, err := w.history(url.Values{})
	if err != nil {
		w.Fatal(err)
	}
	pictures := map[string][]byte{}
	for _, ev := range before {
		if ev.Thumbnail != "" && len(pictures) < 20 {
			pictures[ev.Thumbnail] = w.picture(ev)
		}
	}
	kept := w.count("kept")
	w.Until("the newest picture to be kept, too", func() bool { return w.count("kept") > kept })
	w.Segd.Kill()
	if err := w.Segd.Start(w.Context()); err != nil {
		w.Fatal(err)
	}
	after, err := w.history(url.Values{})
	if err != nil {
		w.Fatal(err)
	}
	if i := slices.Index(after, before[0]); i < 0 || !slices.Equal(after[i:], before) {
		w.Errorf("of %d events that there were %d are there in order", len(before), len(after))
	}
	there := 0
	for name, want := range pictures {
		if want != nil && bytes.Equal(w.picture(event{Thumbnail: name}), want) {
			there++
		}
	}
	if there < len(pictures)-1 { // one may have been on its way
		w.Errorf("%d of %d pictures are as they were", there, len(pictures))
	}
	w.Logf("%d events and %d of %d pictures are as before segd was killed", len(before), there, len(pictures))
}

// TestRetention has more pictures kept than may be: the stream stays below its limit, and the oldest are gone.
func TestRetention(t *testing.T) {
	w := start(t, t.TempDir(), "{max_age: 1h, max_mib: 1}")
	w.Until("kept pictures", func() bool { return w.count("kept") >= 5 })
	all, err := w.history(url.Values{})
	require.NoError(t, err)
	slices.Reverse(all)
	i := slices.IndexFunc(all, func(e event) bool { return e.Thumbnail != "" })
	first := all[i]
	js, err := jetstream.New(harness.Connect(t, w.Segd.NATS))
	require.NoError(t, err)
	for n := range 300 { // as large as pictures of persons near a camera
		if _, err := js.Publish(t.Context(), fmt.Sprintf("segd.v1.home.yard.picture.0-0-%d", n), make([]byte, 10_000)); err != nil {
			t.Fatal(err)
		}
		if s := w.stream(bus.KindPicture); n%50 == 0 && (s.State.Bytes > 1<<20 || s.Config.MaxBytes != 1<<20 || s.Config.MaxAge != time.Hour) {
			t.Fatalf("%d bytes of %d, for %v", s.State.Bytes, s.Config.MaxBytes, s.Config.MaxAge)
		}
	}
	kept := w.count("kept")
	w.Until("more pictures", func() bool { return w.count("kept") > kept })
	s := w.stream(bus.KindPicture)
	t.Logf("%d pictures with %d bytes of 300 and more that there were", s.State.Msgs, s.State.Bytes)
	if s.State.Bytes > 1<<20 {
		t.Errorf("%d bytes", s.State.Bytes)
	}
	w.Segd.Kill() // its memory has the newest
	require.NoError(t, w.Segd.Start(t.Context()))
	if w.picture(first) != nil {
		t.Error("the first picture is still there")
	}
	if after, err := w.history(url.Values{}); err != nil || !slices.Contains(after, first) {
		t.Errorf("its event is not: %v", err)
	}
}

// TestFullDisk fills the disk below JetStream: pictures are lost and counted, masks and events go on, and with room pictures
// are kept again.
func TestFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=16m"); err != nil {
		t.Fatalf("a small disk: %v; it takes root", err)
	}
	t.Cleanup(func() {
		assert.NoError(t, syscall.Unmount(disk, syscall.MNT_DETACH))
	})
	w := start(t, disk, "{max_age: 1h}")
	w.Until("kept pictures", func() bool { return w.count("kept") >= 5 })
	var masks, events atomic.Int64
	nc := harness.Connect(t, w.Segd.NATS)
	for subject, n := range map[string]*atomic.Int64{"segd.v1.home.yard.mask": &masks, "segd.v1.home.yard.event": &events} {
		_, err := nc.Subscribe(subject, func(*nats.Msg) { n.Add(1) })
		require.NoError(t, err)
	}
	// How long masks take with room and without is not judged; that none is missing is.
	published := func() int { return w.Metric("segd_frames_total", "outcome", "published") }
	filler := filepath.Join(disk, "filler")
	f, err := os.Create(filler)
	require.NoError(t, err)
	for err = nil; err == nil; {
		_, err = f.Write(make([]byte, 64<<10))
	}
	for err = nil; err == nil; {
		_, err = f.Write(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ENOSPC) || f.Close() != nil {
		t.Fatal(err)
	}
	began := published()
	masksBefore, eventsBefore := masks.Load(), events.Load()
	w.Until("lost pictures", func() bool { return w.count("lost") > 0 })
	frames, failed := published(), w.Metric("segd_bus_lost_total", "kind", "mask")
	t.Logf("on the full disk: %d frames published, %d masks and %d events heard, %d pictures lost", frames-began, masks.Load()-masksBefore, events.Load()-eventsBefore, w.count("lost"))
	if heard := int(masks.Load() - masksBefore); failed != 0 || frames-began < 50 || heard < frames-began-10 {
		t.Errorf("%d frames were published, %d masks heard, %d lost", frames-began, heard, failed)
	}
	if events.Load() == eventsBefore {
		t.Error("no event came")
	}
	require.NoError(t, os.Remove(filler))
	kept := w.count("kept")
	w.Until("kept pictures again", func() bool { return w.count("kept") > kept })
	w.Until("the history", func() bool {
		all, err := w.history(url.Values{})
		return err == nil && len(all) > 0
	})
}
