package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/cmd/segd/daemon/daemontest"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/internal/waitfor"
)

// square is an annotation of the red square in the frame that comes next.
var square = strings.Replace(daemontest.Annotation, `"frame": 0, `, "", 1)

// follows has a camera follow the square, and waits until it is kept.
func (a *adding) follows(name string) {
	a.t.Helper()
	a.up(name)
	a.want(http.StatusOK, http.MethodPost, "/"+name+"/annotations", square)
	waitfor.True(a.t, "checkpoints of "+name, func() bool {
		objects := a.keptObjects()
		return slices.Contains(objects, name+".0") && slices.Contains(objects, name+".short")
	})
}

// jetStream is that of the server at url, until end is called.
func jetStream(t *testing.T, url string) (js jetstream.JetStream, end func()) {
	t.Helper()
	nc, err := nats.Connect(url)
	require.NoError(t, err)
	if js, err = jetstream.New(nc); err != nil {
		nc.Close()
		t.Fatal(err)
	}
	return js, nc.Close
}

// keptObjects are the names of the objects in the store of checkpoints.
func (a *adding) keptObjects() []string { return slices.Collect(maps.Keys(a.kept())) }

// kept are the objects in the store of checkpoints: by name, what is another with each write.
func (a *adding) kept() map[string]string {
	a.t.Helper()
	js, end := jetStream(a.t, "nats://"+a.nats)
	defer end()
	store, err := js.ObjectStore(a.t.Context(), "segd_home_checkpoints")
	if err != nil {
		return nil
	}
	list, err := store.List(a.t.Context())
	if err != nil {
		return nil
	}
	objects := map[string]string{}
	for _, o := range list {
		objects[o.Name] = o.NUID
	}
	return objects
}

// What was known of a camera that was added goes with it; of one that is taken out of the configuration it
// stays, and is there again when it comes back.
func TestCheckpointsOfRemovedCameras(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 8 s: segd started again and again")
	}
	t.Parallel()
	url := daemontest.Camera(t, demo.Config{}).URL()
	gate := "{name: gate, transport: tcp, url: '" + url + "'}"
	a, _ := keeping(t, gate)
	a.start()
	yard := fmt.Sprintf(`{"name": "yard", "url": %q, "transport": "tcp"}`, url)
	a.want(http.StatusCreated, http.MethodPost, "", yard)
	a.follows("yard")
	a.follows("gate")
	a.want(http.StatusNoContent, http.MethodDelete, "/yard", "")
	of := func(camera string) bool {
		return slices.ContainsFunc(a.keptObjects(), func(name string) bool { return strings.HasPrefix(name, camera+".") })
	}
	if of("yard") || !of("gate") {
		t.Errorf("after the removal there are %q", a.keptObjects())
	}
	a.write("{name: other, url: 'whip:'}")
	a.reloaded()
	if !of("gate") {
		t.Errorf("after gate was taken out there are %q", a.keptObjects())
	}
	a.want(http.StatusCreated, http.MethodPost, "", yard)
	a.up("yard")
	assert.NotContains(t, a.want(http.StatusOK, http.MethodGet, "/yard/objects", ""), "square", "the new camera knows of the old one's")
	a.write(gate)
	a.reloaded()
	a.up("gate")
	waitfor.True(t, "gate's square", func() bool {
		return strings.Contains(a.want(http.StatusOK, http.MethodGet, "/gate/objects", ""), "square")
	})
}

// segdIs runs a command line, wants that exit status, and some text in what it prints or says.
func segdIs(t *testing.T, status int, want string, args ...string) string {
	t.Helper()
	out, err := segdDoes(t, args...)
	var said strings.Builder
	got := cli.Report(&said, err)
	out += said.String()
	if got != status || !strings.Contains(out, want) || strings.Contains(out, cameraPassword) {
		t.Errorf("segd %q: exit status %d and\n%swant %d and %q", args, got, out, status, want)
	}
	return out
}

// What one segd knows of its cameras another goes on with: the configuration's and those that were added, with
// ids, names and settings.
func TestBackup(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 14 s: segd started again and again")
	}
	t.Parallel()
	gate := "{name: gate, transport: tcp, url: '" + daemontest.Camera(t, demo.Config{}).URL() + "'}"
	a, storeA := keeping(t, gate)
	a.start()
	server := "nats://" + a.nats
	dir := t.TempDir()
	file, withKey := filepath.Join(dir, "home.tar"), filepath.Join(dir, "key.tar")
	segdIs(t, 1, "nothing is kept", "backup", file, "--nats", server, "--site", "elsewhere")
	segdIs(t, 0, "added", "camera", "add", "yard", guardedCamera(t), "transport=tcp", "--nats", server,
		"--user", cameraUser, "--password-file", clitest.File(t, "secret", cameraPassword))
	a.follows("yard")
	a.follows("gate")
	segdIs(t, 0, "mine", "rename", "yard", "1", "mine", "--nats", server)
	for range 2 { // the first may have been under way
		before := a.kept()["yard.short"]
		waitfor.True(t, "that to be kept", func() bool { return a.kept()["yard.short"] != before })
	}
	segdIs(t, 2, `no camera "attic"; accepted: gate, yard`, "backup", file, "--cameras", "attic", "--nats", server)
	segdIs(t, 2, "--key FILE", "backup", file, "--with-key", "--nats", server)
	segdIs(t, 1, "leave out -c", "backup", file, "-c", a.file)
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("failures have left %v, %v", left, err)
	}
	out := segdIs(t, 0, "yard: settings, objects as of", "backup", file, "--nats", server)
	if !strings.Contains(out, "gate: objects as of") || !strings.Contains(out, "key that is not in the backup") {
		t.Error(out)
	}
	segdIs(t, 0, "has the key", "backup", withKey, "--nats", server, "--with-key", "--key", filepath.Join(storeA, "cameras.key"))
	key, err := os.ReadFile(filepath.Join(storeA, "cameras.key"))
	require.NoError(t, err)
	key = bytes.TrimSpace(key)
	for _, path := range []string{file, withKey} {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		if bytes.Contains(text, []byte(cameraPassword)) || bytes.Contains(text, key) != (path == withKey) {
			t.Errorf("%s has the password, or the key", path)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	}
	segdIs(t, 1, "a segd runs these cameras", "restore", file, "--nats", server)
	a.stop()
	segdIs(t, 0, "gate: objects", "backup", filepath.Join(dir, "later.tar"), "-c", a.file, "--cameras", "gate")

	// Without the key, and with it.
	b, storeB := keeping(t, gate)
	keyB := filepath.Join(storeB, "cameras.key")
	out = segdIs(t, 0, "yard: its settings are left out", "restore", file, "-c", b.file)
	if !strings.Contains(out, "yard: restored, objects as of") || !strings.Contains(out, "gate: restored, objects as of") {
		t.Error(out)
	}
	c, storeC := keeping(t)
	segdIs(t, 0, "yard: restored, settings, objects", "restore", withKey, "-c", c.file, "--cameras", "yard")
	if made, err := os.ReadFile(filepath.Join(storeC, "cameras.key")); err != nil || !bytes.Equal(bytes.TrimSpace(made), key) {
		t.Errorf("the key of the backup is not there: %v", err)
	}
	other := strings.Repeat("12", 32)
	require.NoError(t, os.WriteFile(keyB, []byte(other), 0o600))
	segdIs(t, 0, "does not open them", "restore", file, "-c", b.file)
	segdIs(t, 0, "yard: restored, settings, objects", "restore", withKey, "-c", b.file)
	if now, _ := os.ReadFile(keyB); string(now) != other {
		t.Errorf("the key that was there is now %q", now)
	}

	b.start()
	c.start()
	b.up("yard")
	b.up("gate")
	c.up("yard")
	for _, tt := range []struct {
		box         *adding
		name, label string
	}{{b, "yard", "mine"}, {b, "gate", "square"}, {c, "yard", "mine"}} {
		var list struct {
			Objects []struct {
				ID           uint32
				Label, State string
			}
		}
		waitfor.True(t, "the object of "+tt.name, func() bool {
			require.NoError(t, json.Unmarshal([]byte(tt.box.want(http.StatusOK, http.MethodGet, "/"+tt.name+"/objects", "")), &list))
			return len(list.Objects) == 1 && list.Objects[0].State == "STATE_VISIBLE"
		})
		if o := list.Objects[0]; o.ID != 1 || o.Label != tt.label {
			t.Errorf("%s: %+v; want object 1, %s", tt.name, o, tt.label)
		}
		if !clitest.LineWith(tt.box.segd.Err.String(), []string{"checkpoint taken up", "camera=" + tt.name}) {
			t.Errorf("%s has not taken up a checkpoint:\n%s", tt.name, tt.box.segd.Err.String())
		}
	}

	// What is newer stays, unless that is meant.
	server = "nats://" + b.nats
	segdIs(t, 1, "a segd runs these cameras", "restore", withKey, "--nats", server, "--cameras", "yard", "--replace")
	segdIs(t, 0, "paused", "camera", "pause", "yard", "--nats", server)
	waitfor.True(t, "a newer checkpoint", func() bool {
		_, err := segdDoes(t, "restore", file, "--nats", server, "--cameras", "yard")
		return err != nil && strings.Contains(err.Error(), "newer than")
	})
	segdIs(t, 1, "nothing was changed; accepted: --replace", "restore", file, "--nats", server, "--cameras", "yard")
	segdIs(t, 0, "yard: restored", "restore", withKey, "--nats", server, "--cameras", "yard", "--replace", "--key", keyB)
	segdIs(t, 0, "resumed", "camera", "resume", "yard", "--nats", server)
	b.up("yard")

	text, err := os.ReadFile(withKey)
	require.NoError(t, err)
	for _, bad := range [][]byte{nil, text[:len(text)/2], bytes.Repeat([]byte("x"), 2000)} {
		segdIs(t, 2, "not a whole backup", "restore", clitest.File(t, "bad.tar", string(bad)), "--nats", server, "--replace")
	}
}

// The store is not for everybody.
func TestBackupRights(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 6 s: segd started again")
	}
	t.Parallel()
	a, _ := keeping(t, "{name: gate, transport: tcp, url: '"+daemontest.Camera(t, demo.Config{}).URL()+"'}")
	text, err := os.ReadFile(a.file)
	require.NoError(t, err)
	const password = "0123456789abcdef"
	text = bytes.Replace(text, []byte("nats: {"), []byte("nats: {users: [{name: op, password: "+password+", role: operator}, {name: me, password: "+password+", role: admin}], "), 1)
	require.NoError(t, os.WriteFile(a.file, text, 0o600))
	a.start()
	a.up("gate")
	a.want(http.StatusOK, http.MethodPost, "/gate/annotations", square)
	file := filepath.Join(t.TempDir(), "home.tar")
	for _, command := range []string{"backup", "restore"} {
		if command == "restore" {
			waitfor.True(t, "a backup", func() bool {
				_, err := segdDoes(t, "backup", file, "--nats", "nats://me:"+password+"@"+a.nats)
				return err == nil
			})
			a.write("{name: other, url: 'whip:'}")
			require.NoError(t, os.WriteFile(a.file, bytes.Replace(text, []byte("{name: gate"), []byte("{name: other"), 1), 0o600))
			a.reloaded()
		}
		segdIs(t, 1, "role admin", command, file, "--nats", "nats://op:"+password+"@"+a.nats, "--wait", "2s")
	}
	segdIs(t, 0, "gate: restored", "restore", file, "--nats", "nats://me:"+password+"@"+a.nats, "--replace")
}
