package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/cmd/segd/daemon/daemontest"
	"github.com/segd/segd/internal/waitfor"
)

// segdDoes runs a command line to its end and returns what it prints.
func segdDoes(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out, errs bytes.Buffer
	err := run(t.Context(), args, strings.NewReader(""), &out, &errs)
	return out.String() + errs.String(), err
}

// keeping is a segd with a store.
func keeping(t *testing.T, cameras ...string) (a *adding, store string) {
	t.Helper()
	store = filepath.Join(t.TempDir(), "store")
	a = newAdding(t, "", cameras...)
	a.head = strings.Replace(a.head, "nats: {", fmt.Sprintf("nats: {store_dir: %q, ", store), 1)
	a.write(cameras...)
	if len(cameras) == 0 {
		require.NoError(t, os.WriteFile(a.file, []byte(a.head+"cameras: []\n"), 0o600))
	}
	return a, store
}

// With a server elsewhere cameras are kept there if a key file is named, and else refused. While it is
// away nothing is changed; where it comes later than segd, so do its cameras.
func TestCamerasKeptElsewhere(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 9 s: segd and a server started again")
	}
	t.Parallel()
	host, _ := keeping(t) // whose server is the one elsewhere
	host.head = strings.Replace(host.head, "http:", "site: host\nhttp:", 1)
	require.NoError(t, os.WriteFile(host.file, []byte(host.head+"cameras: []\n"), 0o600))
	dir := daemontest.Pictures(t, 20)
	a := newAdding(t, "")
	key := filepath.Join(t.TempDir(), "there", "cameras.key")
	configure := func(more string) {
		text := strings.Replace(a.head, "nats: {", fmt.Sprintf("nats: {url: \"nats://%s\"%s, ", host.nats, more), 1)
		require.NoError(t, os.WriteFile(a.file, []byte(text+"cameras: []\n"), 0o600))
	}
	host.start()
	configure("")
	a.start()
	camera := `{"name": "yard", "url": "dir:` + dir + `", "loop": true, "fps": 5}`
	assert.Contains(t, a.want(http.StatusConflict, http.MethodPost, "", camera), "nats.cameras_key")
	if text := get(t, "http://"+a.http+"/api/v1/cameras"); !strings.Contains(text, "nats.cameras_key") || !strings.Contains(text, `"kept":false`) {
		t.Error(text)
	}
	a.stop()
	configure(fmt.Sprintf(", cameras_key: %q", key))
	a.start()
	a.want(http.StatusCreated, http.MethodPost, "", camera)
	a.up("yard")

	host.stop()
	waitfor.True(t, "the loss of the connection", func() bool {
		resp, err := http.Get("http://" + a.http + "/readyz")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusServiceUnavailable
	})
	assert.Contains(t, a.want(http.StatusServiceUnavailable, http.MethodPost, "", strings.Replace(camera, "yard", "attic", 1)), "nothing was changed")
	a.want(http.StatusServiceUnavailable, http.MethodDelete, "/yard", "")
	if list := a.list(); len(list) != 1 || list["yard"].Status == nil {
		t.Errorf("%+v", list)
	}
	a.segd.Cancel()
	_ = a.segd.Wait(t) // it says what is lost

	a.segd = start(t, "run", "-c", a.file, "--watch=false") // its server is not there yet
	waitfor.True(t, "the page", func() bool {
		resp, err := http.Get("http://" + a.http + "/livez")
		if err != nil {
			return false
		}
		return resp.Body.Close() == nil
	})
	if list := a.list(); len(list) != 0 {
		t.Errorf("%+v", list)
	}
	a.want(http.StatusServiceUnavailable, http.MethodPost, "", camera)
	host.start()
	waitfor.True(t, "the camera that is kept", func() bool { return a.list()["yard"].Status != nil })
}

// The command line adds, changes, lists and removes over NATS.
func TestCameraCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 4 s: segd and the commands")
	}
	t.Parallel()
	gate := rtspCamera(t, "gate", "")
	a := newAdding(t, "", gate)
	a.start()
	secret := clitest.File(t, "secret", cameraPassword+"\n")
	where := []string{"--nats", "nats://" + a.nats}
	does := func(want string, args ...string) {
		t.Helper()
		out, err := segdDoes(t, append(append([]string{"camera"}, args...), where...)...)
		if err != nil || !strings.Contains(out, want) || strings.Contains(out, "geheim") {
			t.Errorf("segd camera %q: %q, %v; want %q", args, out, err, want)
		}
	}
	fails := func(want string, args ...string) {
		t.Helper()
		out, err := segdDoes(t, append(append([]string{"camera"}, args...), where...)...)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("segd camera %q: %q, %v; want an error with %q", args, out, err, want)
		}
	}
	does("yard: added, until segd ends", "add", "yard", guardedCamera(t), "transport=tcp", "--user", cameraUser, "--password-file", secret)
	a.up("yard")
	does("rtsp://xxxxx@", "list")
	does(`"source": "added"`, "list", "--json")
	does("yard: changed", "set", "yard", "detect=person,car", "detect.score=0.5", "slow=")
	if d, _ := a.list()["yard"].Settings["detect"].(map[string]any); fmt.Sprint(d["classes"]) != "[person car]" || fmt.Sprint(d["score"]) != "0.5" {
		t.Errorf("%v", a.list()["yard"].Settings)
	}
	does("yard: changed", "set", "yard", "detect=")
	a.up("yard")
	does("yard: paused", "pause", "yard")
	does("paused", "list")
	does("yard: resumed", "resume", "yard")
	a.up("yard")
	fails("declared in the configuration", "remove", "gate")
	fails("fps: found", "set", "yard", "fps=-1")
	fails("there is a camera", "add", "yard", "whip:")
	fails(`no camera "attic"`, "remove", "attic")
	fails("KEY=VALUE", "set", "yard", "fps")
	fails("nothing to change", "set", "yard")
	fails("accepted: --user", "set", "yard", "password=geheim")
	does("yard: removed", "remove", "yard")
	if list := a.list(); len(list) != 1 {
		t.Errorf("%+v", list)
	}
}

// Who marks on a camera that is removed meanwhile is answered soon.
func TestRemovedWhileMarked(t *testing.T) {
	t.Parallel()
	a := newAdding(t, "")
	a.start()
	a.want(http.StatusCreated, http.MethodPost, "", `{"name": "yard", "url": "whip:"}`)
	answer := waits(t, "http://"+a.http+"/api/v1/cameras/yard/annotations")
	a.want(http.StatusNoContent, http.MethodDelete, "/yard", "")
	if got := <-answer; got.status != http.StatusServiceUnavailable || !strings.Contains(got.text, "the camera was removed") {
		t.Errorf("who marked on it is answered %+v", got)
	}
	if status, text := a.ask(http.MethodPost, "/yard/annotations", daemontest.Annotation); status != http.StatusNotFound {
		t.Errorf("afterwards: %d %s", status, text)
	}
}
