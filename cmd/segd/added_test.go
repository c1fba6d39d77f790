package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image/jpeg"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/cmd/segd/daemon/daemontest"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/internal/waitfor"
)

// listedCamera is one of the API's list.
type listedCamera struct {
	Name, URL, Source, Fault string
	Paused, Kept             bool
	Status                   *struct{ Up bool }
	Settings                 map[string]any
}

// adding is a segd to which cameras are added.
type adding struct {
	*reloading
	segd *clitest.Command
}

func newAdding(t *testing.T, head string, cameras ...string) *adding {
	t.Helper()
	a := &adding{reloading: newReloading(t, head, cameras...)}
	if len(cameras) == 0 {
		require.NoError(t, os.WriteFile(a.file, []byte(a.head+"cameras: []\n"), 0o600))
	}
	return a
}

// start starts it, and waits for its page.
func (a *adding) start() {
	a.t.Helper()
	a.segd = start(a.t, "run", "-c", a.file, "--watch=false")
	waitfor.True(a.t, "the page", func() bool {
		if a.segd.Ended() {
			a.t.Fatal("segd has ended before its page was there")
		}
		resp, err := http.Get("http://" + a.http + "/readyz")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// restart ends segd and starts it again.
func (a *adding) restart() {
	a.t.Helper()
	a.stop()
	a.start()
}

func (a *adding) stop() {
	a.t.Helper()
	a.segd.Cancel()
	if err := a.segd.Wait(a.t); err != nil {
		a.t.Fatal(err)
	}
}

// ask sends a request about cameras and returns the status and the answer.
func (a *adding) ask(method, path, body string) (int, string) {
	a.t.Helper()
	for {
		status, text := send(a.t, method, "http://"+a.http+"/api/v1/cameras"+path, body)
		if status != http.StatusTooManyRequests {
			return status, text
		}
		time.Sleep(time.Second) // until there is allowance again
	}
}

// want is ask whose status is known.
func (a *adding) want(status int, method, path, body string) string {
	a.t.Helper()
	got, text := a.ask(method, path, body)
	if got != status {
		a.t.Fatalf("%s %s %s: %d %s; want %d", method, path, body, got, text, status)
	}
	return text
}

func (a *adding) list() map[string]listedCamera {
	a.t.Helper()
	var list struct{ Cameras []listedCamera }
	if err := json.Unmarshal([]byte(a.want(http.StatusOK, http.MethodGet, "", "")), &list); err != nil {
		a.t.Fatal(err)
	}
	byName := map[string]listedCamera{}
	for _, c := range list.Cameras {
		byName[c.Name] = c
	}
	return byName
}

// up waits until a camera shows pictures.
func (a *adding) up(name string) {
	a.t.Helper()
	waitfor.True(a.t, "camera "+name, func() bool {
		c := a.list()[name]
		return c.Status != nil && c.Status.Up
	})
}

// The password that cameras of these tests want; it must be found nowhere.
const (
	cameraUser     = "wächter"
	cameraPassword = "geheim/&@ :#?%"
)

func guardedCamera(t *testing.T) (address string) {
	t.Helper()
	return daemontest.Camera(t, demo.Config{User: cameraUser, Password: cameraPassword}).URL()
}

func member(name, value string) string {
	text, _ := json.Marshal(map[string]string{name: value})
	return strings.Trim(string(text), "{}")
}

// A camera is added, shows pictures, is changed and paused, is there again after a restart with its password,
// and is removed; the one of the configuration loses no frame meanwhile. The password is in no file and in
// no answer.
func TestAddedCameras(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 8 s: segd started again")
	}
	t.Parallel()
	store := filepath.Join(t.TempDir(), "store")
	gate := rtspCamera(t, "gate", "")
	a := newAdding(t, "", gate)
	a.head = strings.Replace(a.head, "nats: {", fmt.Sprintf("nats: {store_dir: %q, ", store), 1)
	a.write(gate)
	a.start()
	h := listen(t, a.nats)
	a.up("gate")

	var said strings.Builder // all answers
	note := func(text string) string { said.WriteString(text); return text }
	address := guardedCamera(t)
	note(a.want(http.StatusCreated, http.MethodPost, "", `{"name": "yard", "transport": "tcp", "url": "`+address+`", `+member("user", cameraUser)+`, `+member("password", cameraPassword)+`}`))
	a.up("yard")
	yard := a.list()["yard"]
	shown := strings.Replace(address, "rtsp://", "rtsp://xxxxx@", 1)
	if yard.URL != shown || yard.Source != "added" || !yard.Kept || yard.Paused || yard.Settings["transport"] != "tcp" || yard.Settings["url"] != shown {
		t.Errorf("%+v; want url %s", yard, shown)
	}
	if gate := a.list()["gate"]; gate.Source != "file" || !gate.Kept || gate.URL == "" || gate.Settings != nil {
		t.Errorf("%+v", gate)
	}

	// A url as it is listed keeps the password.
	zone := `[{"name": "porch", "polygon": [[0, 0], [1, 0], [1, 1]]}]`
	note(a.want(http.StatusOK, http.MethodPatch, "/yard", `{"url": "`+shown+`", "zones": `+zone+`}`))
	a.up("yard")
	assert.Contains(t, get(t, "http://"+a.http+"/api/v1/cameras/yard"), "porch", "the zones are not there")
	if e := h.event("yard", segdv1.EventKind_EVENT_KIND_CAMERA_DOWN); e != nil {
		t.Errorf("the zones alone were changed, and the camera was down: %s", e.Message)
	}
	note(a.want(http.StatusOK, http.MethodPatch, "/yard", `{"paused": true}`))
	if yard := a.list()["yard"]; !yard.Paused || yard.Status != nil || yard.Fault != "" {
		t.Errorf("paused: %+v", yard)
	}
	assert.Contains(t, note(a.want(http.StatusNotFound, http.MethodGet, "/yard/objects", "")), "is paused")
	a.restart()
	if yard := a.list()["yard"]; !yard.Paused || yard.URL != shown {
		t.Errorf("paused, after a restart: %+v", yard)
	}
	note(a.want(http.StatusOK, http.MethodPatch, "/yard", `{"paused": null}`))
	a.up("yard")
	a.restart()
	a.up("yard")
	a.up("gate")
	if out := a.reloaded(); len(out.Added)+len(out.Changed)+len(out.Removed) > 0 {
		t.Errorf("a reload of what has not changed: %+v", out)
	}
	a.up("yard")

	// Nothing holds the password.
	note(get(t, "http://"+a.http+"/api/v1/config"))
	note(a.segd.Err.String())
	secrets := []string{cameraPassword, url.QueryEscape(cameraPassword), url.PathEscape(cameraPassword), url.UserPassword("x", cameraPassword).String()[2:], base64.StdEncoding.EncodeToString([]byte(cameraPassword)), "geheim"}
	files := 0
	err := filepath.WalkDir(store, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files++
		for _, s := range secrets {
			if bytes.Contains(text, []byte(s)) {
				t.Errorf("%s holds %q", path, s)
			}
		}
		return err
	})
	if err != nil || files < 3 {
		t.Errorf("%d files, %v", files, err)
	}
	for _, s := range secrets {
		assert.NotContains(t, said.String(), s, "an answer or the log holds %q", s)
	}
	if info, err := os.Stat(filepath.Join(store, "cameras.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", info, err)
	}

	h = listen(t, a.nats)
	waitfor.True(t, "masks", func() bool { return len(h.of("gate")) > 5 })
	a.want(http.StatusNoContent, http.MethodDelete, "/yard", "")
	a.want(http.StatusNotFound, http.MethodDelete, "/yard", "")
	if _, there := a.list()["yard"]; there || strings.Contains(get(t, "http://"+a.http+"/metrics"), `"yard"`) {
		t.Error("the removed camera is there")
	}
	from := len(h.of("gate"))
	waitfor.True(t, "more masks", func() bool { return len(h.of("gate")) > from+5 })
	a.untouched(h, "gate")
	a.restart()
	if _, there := a.list()["yard"]; there {
		t.Error("the removed camera is there after a restart")
	}
}

// What is tried shows a picture, or the field that is wrong.
func TestTryCamera(t *testing.T) {
	t.Parallel()
	a := newAdding(t, "")
	a.start()
	if list := a.list(); len(list) != 0 {
		t.Errorf("%+v", list)
	}
	address := guardedCamera(t)
	var tried struct {
		Width, Height int
		Codec         string
		Picture       []byte
	}
	text := a.want(http.StatusOK, http.MethodPost, "/test", `{"url": "`+address+`", `+member("user", cameraUser)+`, `+member("password", cameraPassword)+`}`)
	require.NoError(t, json.Unmarshal([]byte(text), &tried))
	picture, err := jpeg.DecodeConfig(bytes.NewReader(tried.Picture))
	if err != nil || picture.Width != daemontest.Width || tried.Width != daemontest.Width || tried.Height != daemontest.Height || tried.Codec == "" {
		t.Errorf("%d×%d of %q, %+v, %v", tried.Width, tried.Height, tried.Codec, picture, err)
	}
	const noPicture = `"type":"no-picture"` // of what could be added all the same
	for name, tt := range map[string]struct{ body, want string }{
		"no user":        {`{"url": "` + address + `"}`, `"/user"`},
		"wrong password": {`{"url": "` + address + `", ` + member("user", cameraUser) + `, "password": "geheim"}`, `"/user"`},
		"wrong path":     {`{"url": "` + address + `nothing", ` + member("user", cameraUser) + `, ` + member("password", cameraPassword) + `}`, `"/url"`},
	} {
		status, text := a.ask(http.MethodPost, "/test", tt.body)
		if status != http.StatusUnprocessableEntity || !strings.Contains(text, tt.want) || strings.Contains(text, "geheim") {
			t.Errorf("%s: %d %s; want 422 with %s", name, status, text, tt.want)
		}
		if !strings.Contains(text, noPicture) || strings.Contains(text, "ingest:") || strings.Contains(text, "codec:") {
			t.Errorf("%s: %s; want that it could be added", name, text)
		}
	}

	// The first camera of a segd without any, whose name is that of an operation.
	a.want(http.StatusCreated, http.MethodPost, "", `{"name": "test", "transport": "tcp", "url": "`+address+`", `+member("user", cameraUser)+`, `+member("password", cameraPassword)+`}`)
	a.up("test")
	a.want(http.StatusOK, http.MethodPost, "/test", `{"camera": "test", "url": "`+a.list()["test"].URL+`"}`)
	a.want(http.StatusUnprocessableEntity, http.MethodPost, "/test", `{"camera": "test"}`)
	a.want(http.StatusConflict, http.MethodPost, "/test", `{"name": "test", "url": "`+address+`"}`)
	a.want(http.StatusNoContent, http.MethodDelete, "/test", "")
	a.want(http.StatusMethodNotAllowed, http.MethodGet, "/test", "")
}

// typed is text that is typed slowly.
type typed struct {
	io.Reader
	pause time.Duration
}

func (t *typed) Read(b []byte) (int, error) {
	time.Sleep(t.pause)
	t.pause = 0
	return t.Reader.Read(b)
}

// What --wait bounds is the answer, not how long it takes to type what is sent.
func TestTypingIsNotWaiting(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 7 s: somebody types")
	}
	t.Parallel()
	const wait = 5 * time.Second
	a := newAdding(t, "", fmt.Sprintf("{name: gate, url: 'dir:%s', fps: 5, loop: true}", daemontest.Pictures(t, 20)))
	a.start()
	a.up("gate")
	marks := &typed{strings.NewReader(strings.Replace(daemontest.Annotation, `"frame": 0, `, "", 1)), wait + time.Second}
	var out, errs bytes.Buffer
	args := []string{"annotate", "gate", "-", "--site", "home", "--nats", "nats://" + a.nats, "--wait", wait.String()}
	if err := run(t.Context(), args, marks, &out, &errs); err != nil || !strings.Contains(out.String(), "accepted") {
		t.Errorf("%v: %s%s", err, &out, &errs)
	}
}
