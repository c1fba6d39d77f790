package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/cmd/segd/daemon/daemontest"
	"github.com/segd/segd/fleet"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/internal/freeport"
	"github.com/segd/segd/internal/waitfor"
)

// boxes are segd that share cameras.
type boxes struct {
	t      *testing.T
	nats   string
	key    string
	heard  *heard
	http   string // more of every box's http, from a comma on
	whip   string // likewise
	byName map[string]*adding
	token  map[string]string // of those that have one
}

func newBoxes(t *testing.T) *boxes {
	t.Helper()
	b := &boxes{t: t, nats: freeport.Addr(t), key: filepath.Join(t.TempDir(), "cameras.key"), byName: map[string]*adding{}, token: map[string]string{}}
	natsServer(t, b.nats, "secret")
	b.heard = listen(t, "segd:secret@"+b.nats)
	return b
}

// start starts a box with cameras in its file.
func (b *boxes) start(name, more string, cameras ...string) *adding {
	b.t.Helper()
	a := newAdding(b.t, "", cameras...)
	a.head = fmt.Sprintf("http: {addr: %q%s}\nwhip: {addr: %q%s}\nnats: {url: 'nats://segd:secret@%s', cameras_key: %q}\nfleet: {box: %s, ttl: 1s%s}\nsuperpixels: 96\nmodel: {short_side: 64}\n",
		a.http, b.http, freeport.Addr(b.t), b.whip, b.nats, b.key, name, more)
	if len(cameras) > 0 {
		a.write(cameras...)
	} else {
		if err := os.WriteFile(a.file, []byte(a.head+"cameras: []\n"), 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
	a.start()
	b.byName[name] = a
	if of := regexp.MustCompile(`\btoken: ([^,]+)`).FindStringSubmatch(b.http); of != nil {
		b.token[name] = of[1]
	}
	return a
}

// status is what a box tells of the fleet, over NATS.
func (b *boxes) status() (s fleet.Status) {
	b.t.Helper()
	text, err := segdDoes(b.t, "fleet", "status", "--json", "--site", "home", "--nats", "nats://segd:secret@"+b.nats)
	if err != nil {
		b.t.Fatal(text, err)
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		b.t.Fatal(err)
	}
	return s
}

// do runs a command of segd fleet.
func (b *boxes) do(args ...string) (string, error) {
	b.t.Helper()
	return segdDoes(b.t, append(append([]string{"fleet"}, args...), "--site", "home", "--nats", "nats://segd:secret@"+b.nats)...)
}

// move moves a camera to a box, once whichever box answers has heard of that one.
func (b *boxes) move(camera, box string) {
	b.t.Helper()
	waitfor.True(b.t, "box "+box+" to be known", func() bool {
		text, err := b.do("move", camera, box)
		if err != nil && !strings.Contains(text+err.Error(), "unknown box") {
			b.t.Fatal(text, err)
		}
		return err == nil
	})
}

// holder waits until a camera is run by a box other than those, and publishes from there, and every box has heard of that.
func (b *boxes) holder(camera string, not ...string) (box string) {
	b.t.Helper()
	waitfor.True(b.t, "masks of camera "+camera, func() bool {
		for _, c := range b.status().Cameras {
			if c.Name != camera || c.Box == "" || slices.Contains(not, c.Box) {
				continue
			}
			masks := b.heard.of(camera)
			if n := len(masks); n > 0 && masks[n-1].Lease == c.Token {
				box = c.Box
				return true
			}
		}
		return false
	})
	for name, a := range b.byName {
		waitfor.True(b.t, "box "+name+" to hear of camera "+camera, func() bool {
			if a.segd.Ended() {
				return true
			}
			_, text := request(b.t, http.MethodGet, "http://"+a.http+"/api/v1/cameras", "", "Authorization", "Bearer "+b.token[name])
			return strings.Contains(text, fmt.Sprintf("%q", camera))
		})
	}
	return box
}

// Two boxes share cameras; one is moved, one box is drained, and ends, and another starts: each time the camera goes on
// elsewhere with its object, under a greater token, and nothing of two boxes is mixed.
func TestFleet(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 5 s: boxes that come and go")
	}
	t.Parallel()
	b := newBoxes(t)
	cam := daemontest.Camera(t, demo.Config{})
	marks := clitest.File(t, "a.json", daemontest.Annotation)
	file := []string{fmt.Sprintf("{name: gate, url: %q, transport: tcp, annotation: %q}", cam.URL(), marks), fmt.Sprintf("{name: yard, url: 'dir:%s', fps: 5, loop: true, requires: [near=yard]}", daemontest.Pictures(t, 20))}
	one := b.start("one", ", labels: [near=yard], page: 'http://127.0.0.1:1/'", file...)
	two := b.start("two", "", file...)
	first := b.holder("gate")
	assert.Equal(t, "one", b.holder("yard"), "a camera does not run on the box that has its label")
	other := map[string]string{"one": "two", "two": "one"}[first]
	b.move("gate", other)
	b.holder("gate", first)
	if e := b.heard.event("gate", segdv1.EventKind_EVENT_KIND_CAMERA_MOVED); e == nil || !strings.Contains(e.Message, first) || e.Lease == 0 {
		t.Errorf("the event of the move: %v", e)
	}
	if text, err := b.do("move", "yard", "two"); err == nil || !strings.Contains(text+err.Error(), "near") {
		t.Errorf("moved to a box without the label: %s %v", text, err)
	}
	if text, err := b.do("drain", "nosuch"); err == nil || !strings.Contains(text+err.Error(), `"one" "two"`) {
		t.Errorf("an unknown box: %s %v", text, err)
	}

	// Drained, a box gives away what others may run.
	if text, err := b.do("drain", other); err != nil {
		t.Fatal(text, err)
	}
	b.holder("gate", other)
	if text, err := b.do("status"); err != nil || !strings.Contains(text, "drained") {
		t.Errorf("%s %v", text, err)
	}
	if text, err := b.do("uncordon", other); err != nil {
		t.Fatal(text, err)
	}

	// One that ends gives its cameras up at once.
	b.byName[first].stop()
	b.holder("gate", first)
	for _, c := range b.status().Cameras {
		if c.Name == "gate" && (c.Why != fleet.WhyLeft || c.From != first) {
			t.Errorf("the camera is back because of %q, from box %q; want that box %s has left it", c.Why, c.From, first)
		}
	}

	// What subscribers get of the camera is of one box at a time.
	masks := b.heard.of("gate")
	last, leases, with := uint64(0), 0, 0
	for _, m := range masks {
		if m.Lease < last {
			t.Fatalf("a mask under lease %d came after one under %d, and no box has failed", m.Lease, last)
		}
		if m.Lease > last {
			last = m.Lease
			leases++
		}
		if len(m.Objects) > 0 && m.Objects[0].Label == "square" && m.Objects[0].Id == 1 {
			with++
		}
	}
	// The object in all but the first that a box publishes, however few that are.
	if with < len(masks)-leases {
		t.Errorf("%d of %d masks have the object", with, len(masks))
	}
	for _, a := range []*adding{one, two} {
		if a != b.byName[first] {
			if got := metricOf(a.http, "segd_fleet_box_cameras"); got == "" {
				t.Error("no metrics of the fleet")
			}
		}
	}
}

// A camera that is added at one box is run by another where that has its label; it is listed, changed and removed at
// any.
func TestFleetAdds(t *testing.T) {
	t.Parallel()
	b := newBoxes(t)
	one, two := b.start("one", ""), b.start("two", ", labels: [near=gate]")
	dir := daemontest.Pictures(t, 20)
	one.want(http.StatusCreated, http.MethodPost, "", fmt.Sprintf(`{"name": "gate", "url": "dir:%s", "fps": 5, "loop": true, "requires": ["near=gate"]}`, dir))
	if box := b.holder("gate"); box != "two" {
		t.Errorf("box %s runs it", box)
	}
	for _, a := range []*adding{one, two} {
		if c, ok := a.list()["gate"]; !ok || c.Source != "added" {
			t.Errorf("it is not listed: %+v", c)
		}
	}
	one.want(http.StatusOK, http.MethodPatch, "/gate", `{"requires": []}`)
	one.want(http.StatusOK, http.MethodPatch, "/gate", `{"fps": 10}`)
	waitfor.True(t, "the other box to be told", func() bool {
		return strings.Contains(two.list()["gate"].Settings["url"].(string), dir) && fmt.Sprint(two.list()["gate"].Settings["fps"]) == "10"
	})
	b.holder("gate")
	two.want(http.StatusNoContent, http.MethodDelete, "/gate", "")
	waitfor.True(t, "it is gone", func() bool { return len(one.list()) == 0 && len(b.status().Cameras) == 0 })
}

// Any box answers for a camera that another one runs: pictures, annotations, live, and what publishers ask.
func TestFleetForwards(t *testing.T) {
	t.Parallel()
	b := newBoxes(t)
	cam := daemontest.Camera(t, demo.Config{})
	file := []string{
		fmt.Sprintf("{name: gate, url: %q, transport: tcp, requires: [a=b]}", cam.URL()),
		"{name: door, url: 'whip:', requires: [a=b]}", "{name: gap, url: 'whip:', requires: [c=d]}",
	}
	one := b.start("one", ", labels: [a=b]", file...)
	two := b.start("two", "", file...)
	three := b.start("three", ", labels: [c=d], page: 'http://127.0.0.1:1/segd/'", file...)
	if box := b.holder("gate"); box != "one" {
		t.Fatalf("box %s runs it", box)
	}
	marks := strings.Replace(daemontest.Annotation, `"frame": 0, `, "", 1)
	two.want(http.StatusOK, http.MethodPost, "/gate/annotations", marks)
	assert.Contains(t, two.want(http.StatusOK, http.MethodGet, "/gate/objects", ""), "square", "objects")
	if text := two.want(http.StatusOK, http.MethodGet, "/gate/snapshot", ""); !strings.HasPrefix(text, "\xff\xd8") {
		t.Errorf("a snapshot of %d bytes that is no JPEG", len(text))
	}
	two.want(http.StatusBadRequest, http.MethodPut, "/gate/zones", `{"zones": [{"name": "a b", "polygon": []}], "lines": []}`)
	one.want(http.StatusNotFound, http.MethodGet, "/nosuch/objects", "")

	ctx, cancel := context.WithTimeout(t.Context(), waitfor.Limit)
	defer cancel()
	live, _, err := websocket.Dial(ctx, "ws://"+two.http+"/api/v1/cameras/gate/live", nil)
	require.NoError(t, err)
	defer func() { _ = live.CloseNow() }()
	live.SetReadLimit(1 << 20)
	for pictures := 0; pictures < 5; {
		kind, _, err := live.Read(ctx)
		require.NoError(t, err)
		if kind == websocket.MessageBinary {
			pictures++
		}
	}
	waitfor.True(t, "the status of a camera that another box runs", func() bool {
		c := two.list()["gate"]
		return c.Status != nil && c.Status.Up
	})

	// A publisher is sent to the box, or asks it through this one.
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	post := func(camera string) *http.Response {
		t.Helper()
		b.byName["two"].want(http.StatusOK, http.MethodGet, "", "")
		resp, err := client.Post("http://"+two.http+"/whip/"+camera, "application/sdp", strings.NewReader("v=0\n"))
		require.NoError(t, err)
		resp.Body.Close()
		return resp
	}
	waitfor.True(t, "all cameras have a box", func() bool {
		return !slices.ContainsFunc(b.status().Cameras, func(c fleet.CameraStatus) bool { return c.Box == "" })
	})
	if resp := post("gap"); resp.StatusCode != http.StatusTemporaryRedirect || resp.Header.Get("Location") != "http://127.0.0.1:1/segd/whip/gap" {
		t.Errorf("%s, to %q", resp.Status, resp.Header.Get("Location"))
	}
	if resp := post("door"); resp.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("%s; want that of the box that runs it, which this SDP is none for", resp.Status)
	}
	if resp := post("gate"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("%s of a camera that takes no publishers", resp.Status)
	}

	// What cannot be handed on is said. The box falls silent only later.
	one.segd.Cancel()
	waitfor.True(t, "nobody answers", func() bool {
		status, _ := two.ask(http.MethodGet, "/gate/snapshot", "")
		return status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusNotFound
	})
	_ = three
}

// A camera that is moved while both boxes run shows on: the new box does not wait for a key frame of its own.
func TestFleetMovesAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 5 s: two boxes")
	}
	t.Parallel()
	b := newBoxes(t)
	c, err := daemontest.RareKeys()
	require.NoError(t, err)
	s, err := demo.NewServer(c, demo.Config{})
	require.NoError(t, err)
	require.NoError(t, s.Start())
	t.Cleanup(s.Close)
	file := fmt.Sprintf("{name: gate, url: %q, transport: tcp, annotation: %q}", s.URL(), clitest.File(t, "a.json", daemontest.Annotation))
	b.start("one", "", file)
	first := b.holder("gate")
	b.start("two", "", file)
	other := map[string]string{"one": "two", "two": "one"}[first]
	before := len(b.heard.of("gate"))
	b.move("gate", other)
	b.holder("gate", first)
	masks := b.heard.of("gate")[before-1:]
	i := slices.IndexFunc(masks, func(m *segdv1.MaskFrame) bool { return m.Lease != masks[0].Lease })
	gap := masks[i].PublishTime.AsTime().Sub(masks[i-1].PublishTime.AsTime())
	t.Logf("%v without masks", gap)
	// A slow machine takes its time, and goes on with any frame: who waits goes on with a key frame, in which
	// the square is where it begins, give or take a superpixel.
	const atKey = 13
	if gap > daemontest.KeysApart/2 && (len(masks[i].Objects) == 0 || masks[i].Objects[0].Box.X < atKey) {
		t.Errorf("%v without masks; its key frames are %v apart", gap, daemontest.KeysApart)
	}
}
