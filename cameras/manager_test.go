package cameras

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/config"
	"github.com/segd/segd/fleet"
)

const (
	gate = "{name: gate, url: 'whip:'}"
	none = "cameras: []\n"
)

// A camera is added, changed, paused and removed, and is there again with its password when segd starts again;
// that of the configuration is not touched by any of it. What is kept does not show the password.
func TestAddedCameras(t *testing.T) {
	kept, key := &memory{}, keyFile(t)
	file := "cameras: [" + gate + "]\n"
	r := begin(t, &testHost{}, false, file, kept, key)
	r.host.begun()
	r.add(`{"name": "yard", "url": "rtsp://127.0.0.1:1/a", "user": "wächter", "password": "geheim/&"}`)
	r.runs("gate", "yard")
	const shown = "rtsp://xxxxx@127.0.0.1:1/a"
	if d := r.declared("yard"); d.URL != shown || d.Source != "added" || !d.Kept || d.Paused || bytes.Contains(d.Given, []byte("geheim")) {
		t.Errorf("%+v", d)
	}
	if d := r.declared("gate"); d.Source != "file" || !d.Kept || d.Given != nil {
		t.Errorf("%+v", d)
	}
	for name, value := range kept.values {
		if bytes.Contains(value, []byte("geheim")) || bytes.Contains(value, []byte("rtsp")) {
			t.Errorf("%s is kept as %s", name, value)
		}
	}
	if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", info, err)
	}

	// Zones alone do not have the camera begin anew. A url as it is listed keeps the password.
	const zones = `, "zones": [{"name": "porch", "polygon": [[0, 0], [1, 0], [1, 1]]}]}`
	require.NoError(t, r.set("yard", []byte(`{"url": "`+shown+`"`+zones)))
	cam, err := r.Running().Camera("yard")
	if err != nil || len(cam.zones.Zones) != 1 {
		t.Errorf("%v, %v", cam.zones, err)
	}
	require.NoError(t, r.set("yard", []byte(`{"rotate": 90}`)))
	assert.Equal(t, []string{"yard", "yard"}, r.host.begun(), "were built")
	require.NoError(t, r.set("yard", []byte(`{"paused": true}`)))
	r.runs("gate")
	if d := r.declared("yard"); !d.Paused || d.Fault != "" {
		t.Errorf("%+v", d)
	}
	assert.Contains(t, r.host.removed, "yard", "what was counted of the paused camera stays")
	r.stop()

	r = begin(t, &testHost{}, false, file, kept, key)
	r.runs("gate")
	require.NoError(t, r.set("", []byte(`{"name": "yard", "paused": null}`)))
	r.runs("gate", "yard")
	if i := slices.IndexFunc(r.Settings().Cameras, func(c config.Camera) bool { return c.Name == "yard" }); !strings.Contains(r.Settings().Cameras[i].URL, "geheim") {
		t.Error("it has lost its password")
	}
	r.stop()

	r = begin(t, &testHost{}, false, file, kept, key)
	r.runs("gate", "yard")
	require.NoError(t, r.Remove(t.Context(), "yard"))
	r.runs("gate")
	assert.Equal(t, []string{"yard"}, r.host.gone, "were said to go")
	if len(kept.values) > 0 || !slices.Equal(kept.deleted, []string{"yard"}) {
		t.Errorf("%d cameras are kept, checkpoints of %q were deleted", len(kept.values), kept.deleted)
	}
	refused(t, r.Remove(t.Context(), "yard"), http.StatusNotFound, "yard")
}

// What is refused names the field, and nothing has changed.
func TestRefusals(t *testing.T) {
	r := begin(t, &testHost{}, false, "cameras: ["+gate+"]\n", nil, "")
	r.add(`{"name": "attic", "url": "rtsp://u:geheim@127.0.0.1:1/a", "paused": true}`)
	if r.declared("attic").Kept {
		t.Error("nothing is kept, and the camera is said to be")
	}
	add := func(body string) error { _, err := r.Add(t.Context(), []byte(body)); return err }
	set := func(camera string) func(string) error {
		return func(body string) error { return r.set(camera, []byte(body)) }
	}
	remove := func(camera string) error { return r.Remove(t.Context(), camera) }
	try := func(body string) error { _, err := r.Try(t.Context(), []byte(body)); return err }
	for name, tt := range map[string]struct {
		do     func(string) error
		body   string
		status int
		want   string
	}{
		"name of the file's":  {add, `{"name": "gate", "url": "whip:"}`, 409, "/name"},
		"name of an added":    {add, `{"name": "attic", "url": "whip:"}`, 409, "/name"},
		"several":             {add, `{"name": "a b", "url": "ftp://x/", "fps": "5", "zones": [{"name": "z", "polygon": [[0, 0], [1, 1]]}]}`, 422, "/zones/0/polygon"},
		"url":                 {add, `{"name": "b"}`, 422, "/url"},
		"hidden url":          {add, `{"name": "b", "url": "rtsp://xxxxx@127.0.0.1/"}`, 422, "/url"},
		"user of no host":     {add, `{"name": "b", "url": "dir:/tmp", "user": "u"}`, 422, "/user"},
		"junk beside a user":  {add, `{"name": "b", "url": "junk", "user": "u"}`, 422, "/url neither a scheme nor a host"},
		"try junk":            {try, `{"url": "rtsp//x y", "user": "u", "password": "p"}`, 422, "/url"},
		"try no host":         {try, `{"url": "rtsp://", "user": "u"}`, 422, "/url"},
		"try a strange url":   {try, `{"url": "ftp://x/", "user": "u", "password": "p"}`, 422, "/url"},
		"user and no url":     {add, `{"name": "b", "user": "u", "password": "p"}`, 422, "/url"},
		"null beside faults":  {add, `{"name": "a b", "url": "dir:/tmp", "user": null, "password": null}`, 422, "/name"},
		"password alone":      {add, `{"name": "b", "url": "rtsp://127.0.0.1/", "password": "p"}`, 422, "/user"},
		"annotation":          {add, `{"name": "b", "url": "whip:", "annotation": "/nothing.json"}`, 422, "/annotation"},
		"class":               {add, `{"name": "b", "url": "whip:", "detect": {"classes": ["unicorn"]}}`, 422, "/detect/classes/0"},
		"paused":              {add, `{"name": "b", "url": "whip:", "paused": 1}`, 422, "/paused"},
		"unknown":             {add, `{"name": "b", "url": "whip:", "colour": 1}`, 422, "/colour"},
		"no JSON":             {add, `{"name"`, 400, "not a JSON object"},
		"null":                {add, `null`, 400, "not a JSON object"},
		"two":                 {add, `{}{}`, 400, "something follows"},
		"long":                {add, `{"name": "` + strings.Repeat("b", 300<<10) + `"}`, 422, "/name"},
		"change the file's":   {set("gate"), `{"fps": 3}`, 409, "declared in the configuration"},
		"remove the file's":   {remove, "gate", 409, "declared in the configuration"},
		"change none":         {set("b"), `{}`, 404, "b"},
		"another name":        {set("attic"), `{"name": "b"}`, 422, "/name"},
		"another host hidden": {set("attic"), `{"url": "rtsp://xxxxx@127.0.0.2:1/a"}`, 422, "/url"},
		"no url":              {set("attic"), `{"url": null}`, 422, "/url"},
		"try the file's":      {try, `{"url": "rtsp://127.0.0.1/", "camera": "gate"}`, 422, "/camera"},
		"try one there is":    {try, `{"name": "attic", "url": "rtsp://127.0.0.1:1/"}`, 409, "/name"},
		"try no scheme":       {try, `{"url": "192.0.2.10"}`, 422, "is an address and not a URL; accepted: such as rtsp://192.0.2.10/PATH"},
		"try http":            {try, `{"url": "http://192.0.2.10/video"}`, 422, "mjpeg+http://192.0.2.10/video if the camera sends MJPEG"},
		"try no file":         {try, `{"url": "cam.local"}`, 422, "no-picture"},
		"try a bad class":     {try, `{"detect": {"classes": ["persn"]}, "url": "rtsp://127.0.0.1:1/"}`, 422, "/detect/classes/0"},
		"try nobody there":    {try, `{"url": "rtsp://127.0.0.1:1/"}`, 422, "no-picture"},
		"try no url":          {try, `{"camera": "attic"}`, 422, "/url"},
		"try publishers":      {try, `{"url": "whip:", "user": null, "password": null}`, 422, "/url whip: waits for publishers"},
	} {
		t.Run(name, func(t *testing.T) { refused(t, tt.do(tt.body), tt.status, tt.want) })
	}
	r.runs("gate")
	if all, _ := r.Declared(); len(all) != 2 || !r.declared("attic").Paused {
		t.Errorf("%+v", all)
	}
}

// Whatever goes wrong with a change, nothing has changed, and the next one finds everything as it was.
func TestNothingChangesByHalf(t *testing.T) {
	for _, tt := range []struct {
		name   string
		wrong  func(*testHost, *memory, error)
		err    error
		status int
		says   string
	}{
		{"what cameras need cannot be opened", func(h *testHost, _ *memory, err error) { h.openErr = err }, &config.SettingError{Path: "cameras[1].url", Err: errors.New("no port")}, 422, "/url no port"},
		{"another segd has the camera", func(h *testHost, _ *memory, err error) {
			h.claimErr = func(names []string) error {
				if slices.Contains(names, "yard") {
					return err
				}
				return nil
			}
		}, fmt.Errorf("yard: %w", bus.ErrTaken), 409, "yard"},
		{"it cannot be kept", func(_ *testHost, b *memory, err error) { b.fail(err) }, errors.New("the disk is full"), 503, "nothing was changed, since it cannot be kept: the disk is full"},
		{"it cannot be built", func(h *testHost, _ *memory, err error) {
			h.unable = ""
			if err != nil {
				h.unable = "yard"
			}
		}, errors.New("unable"), 422, "yard was tried and does not run"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			kept := &memory{}
			r := begin(t, &testHost{}, false, "cameras: ["+gate+"]\n", kept, keyFile(t))
			r.add(`{"name": "attic", "url": "whip:"}`)
			r.host.begun()
			tt.wrong(r.host, kept, tt.err)
			_, err := r.Add(t.Context(), []byte(`{"name": "yard", "url": "whip:"}`))
			refused(t, err, tt.status, tt.says)
			kept.fail(nil)
			r.runs("gate", "attic")
			if all, _ := r.Declared(); len(all) != 2 || len(kept.values) != 1 || len(r.host.begun()) > 0 {
				t.Errorf("%+v are declared, and %d kept", all, len(kept.values))
			}
			tt.wrong(r.host, kept, nil)
			r.host.claimErr = nil
			r.add(`{"name": "yard", "url": "whip:"}`)
			r.runs("gate", "attic", "yard")
		})
	}
}

// An added camera whose change cannot be built is as it was, and says why if not even that runs any more.
func TestChangeThatCannotBeBuilt(t *testing.T) {
	kept := &memory{}
	r := begin(t, &testHost{}, false, none, kept, keyFile(t))
	r.add(`{"name": "yard", "url": "whip:"}`)
	before := kept.values["yard"]
	r.host.unable = "yard"
	refused(t, r.set("yard", []byte(`{"rotate": 90}`)), 422, "does not run")
	refused(t, r.set("", []byte(`{"rotate": 90}`)), 422, "/name: missing; accepts that of the camera to change")
	if d := r.declared("yard"); d.Fault == "" || strings.Contains(string(d.Given), "rotate") || bytes.Equal(kept.values["yard"], before) {
		t.Errorf("%+v", d) // it is kept once more, encrypted anew
	}
	r.host.unable = ""
	require.NoError(t, r.set("yard", []byte(`{"rotate": 180}`)))
	r.runs("yard")
	if d := r.declared("yard"); d.Fault != "" {
		t.Errorf("%+v", d)
	}
}

// A reload does what differs, and leaves alone what does not and what was added. A camera of the file that was also
// added is the file's.
func TestReload(t *testing.T) {
	marks := clitest.File(t, "a.json", `{"frame": 0, "width": 96, "height": 64, "objects": [{"id": 1, "label": "square", "scribbles": [{"width": 14, "points": [[22, 32]]}]}]}`)
	marked := fmt.Sprintf("{name: gate, url: 'whip:', annotation: %q}", marks)
	r := begin(t, &testHost{}, false, "cameras: ["+marked+", {name: old, url: 'whip:'}]\n", nil, "")
	r.add(`{"name": "yard", "url": "whip:"}`)
	assert.Equal(t, []string{"gate marked", "old", "yard"}, r.host.begun(), "were built")
	reload := func(text string) (added, changed, removed, restart []string, err error) {
		out, err := r.Reload(t.Context(), func(context.Context) (*config.Config, error) { return parse(t, text), nil })
		return out.Added, out.Changed, out.Removed, out.Restart, err
	}
	added, changed, removed, restart, err := reload("site: there\nlog: {level: debug}\ncameras: [{name: new, url: 'whip:'}, {name: gate, url: 'whip:'}]\n")
	if err != nil || !slices.Equal(added, []string{"new"}) || !slices.Equal(changed, []string{"gate"}) || !slices.Equal(removed, []string{"old"}) || !slices.Equal(restart, []string{"site"}) {
		t.Errorf("added %q, changed %q, removed %q, restart for %q, %v", added, changed, removed, restart, err)
	}
	r.runs("new", "gate", "yard")
	if got := r.host.begun(); !slices.Equal(got, []string{"new", "gate"}) || r.Settings().Site != "home" || r.Settings().Log.Level != "debug" {
		t.Errorf("%q were built, with %+v", got, r.Settings())
	}

	_, _, _, _, err = reload("cameras: [{name: gate, url: 'whip:'}, {name: b, url: 'whip:', annotation: /a.json}, {name: c, url: 'whip:', annotation: /b.json}]\n")
	refused(t, err, 422, "/cameras/1/annotation")
	refused(t, err, 422, "/cameras/2/annotation")
	r.runs("new", "gate", "yard")

	if _, changed, _, _, err := reload("cameras: [{name: yard, url: 'whip:', rotate: 90}]\n"); err != nil || !slices.Equal(changed, []string{"yard"}) {
		t.Errorf("changed %q, %v", changed, err)
	}
	r.runs("yard")
	if d := r.declared("yard"); d.Source != "file" || !strings.Contains(r.log.String(), "in the configuration too") {
		t.Errorf("%+v; the log says\n%s", d, r.log)
	}
	refused(t, r.Remove(t.Context(), "yard"), 409, "declared in the configuration")
	if _, _, _, _, err := reload(none); err != nil {
		t.Error(err)
	}
	r.runs("yard")
	if d := r.declared("yard"); d.Source != "added" {
		t.Errorf("%+v", d)
	}
	if cams := r.Settings().Cameras; len(cams) != 1 || cams[0].Rotate != 0 {
		t.Errorf("%+v; want the one that was added", cams)
	}
}

// What is hidden in all cameras is a reload's to change: those that have nothing of their own are built anew with it, the
// added ones with what follows of it; one that cannot be leaves everything as it was.
func TestReloadPrivacy(t *testing.T) {
	const file = "{name: gate, url: 'whip:', detect: {classes: [person]}}, {name: own, url: 'whip:', privacy: {off: true}}"
	r := begin(t, &testHost{}, false, "cameras: ["+file+"]\n", nil, "")
	r.add(`{"name": "yard", "url": "whip:", "detect": {"classes": ["person"]}}`)
	r.add(`{"name": "rest", "url": "whip:", "paused": true, "detect": {"classes": ["car"]}}`)
	r.host.begun()
	out := r.reload("privacy: {blur: [person]}\ncameras: [" + file + "]\n")
	if len(out.Added)+len(out.Removed)+len(out.Restart) > 0 || !slices.Equal(out.Changed, []string{"gate", "yard"}) {
		t.Errorf("%+v", out)
	}
	r.runs("gate", "own", "yard")
	assert.Equal(t, []string{"gate", "yard"}, r.host.begun(), "were built")
	for _, cam := range r.Settings().Cameras {
		if every := cam.Detect.Every; cam.Name != "own" && every != config.DefaultPrivacyEvery {
			t.Errorf("camera %s is looked at every %s", cam.Name, every)
		}
	}
	refused(t, r.set("rest", []byte(`{"paused": false}`)), http.StatusUnprocessableEntity, "which privacy hides in all cameras")

	_, err := r.Reload(t.Context(), func(context.Context) (*config.Config, error) {
		return parse(t, "privacy: {fill: [car]}\ncameras: [{name: gate, url: 'whip:', detect: {classes: [car]}}]\n"), nil
	})
	refused(t, err, http.StatusUnprocessableEntity, "camera yard, which was added")
	if got := r.host.begun(); len(got) > 0 || !slices.Equal(r.Settings().Privacy.Blur, []string{"person"}) {
		t.Errorf("%q were built, and %+v runs", got, r.Settings().Privacy)
	}
	r.runs("gate", "own", "yard")

	if out := r.reload("cameras: [" + file + "]\n"); !slices.Equal(out.Changed, []string{"gate", "yard"}) {
		t.Errorf("%+v", out)
	}
}

// Changes come one after another. Who waits longer than they may, or comes too late, is told so.
func TestOneAfterAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := begin(t, &testHost{}, false, none, nil, "")
		hold := make(chan struct{})
		done := make(chan error)
		read := parse(t, "cameras: ["+gate+"]\n")
		go func() {
			_, err := r.Reload(t.Context(), func(context.Context) (*config.Config, error) {
				<-hold
				return read, nil
			})
			done <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := r.Add(ctx, []byte(`{"name": "yard", "url": "whip:"}`))
		refused(t, err, http.StatusGatewayTimeout, "another change of the cameras is in hand")
		close(hold)
		assert.NoError(t, <-done)
		r.runs("gate")
		r.stop()
		_, err = r.Add(t.Context(), []byte(`{"name": "yard", "url": "whip:"}`))
		refused(t, err, http.StatusServiceUnavailable, "has ended")
		if faults := r.Assign(t.Context(), nil); len(faults) > 0 {
			t.Error(faults)
		}
	})
}

// What is kept comes once the store does; until then nothing is added. Where there is no place for a key, never.
func TestStoreThatComesLater(t *testing.T) {
	kept, key := &memory{}, keyFile(t)
	r := begin(t, &testHost{}, false, none, kept, key)
	r.add(`{"name": "yard", "url": "whip:"}`)
	r.stop()
	kept.fail(errors.New("no server"))
	synctest.Test(t, func(t *testing.T) {
		r := begin(t, &testHost{}, false, none, kept, key)
		r.runs()
		_, err := r.Add(t.Context(), []byte(`{"name": "attic", "url": "whip:"}`))
		refused(t, err, http.StatusServiceUnavailable, "no server")
		if _, adding := r.Declared(); adding.Kept || adding.Fault == "" || r.Complete() {
			t.Errorf("%+v, complete: %t", adding, r.Complete())
		}
		kept.fail(nil)
		time.Sleep(reloadKept)
		synctest.Wait()
		if r.runs("yard"); !r.Complete() {
			t.Error("not complete when the store could be read")
		}
		r.add(`{"name": "attic", "url": "whip:"}`)
		r.runs("attic", "yard")
		r.stop()
	})
	r = begin(t, &testHost{}, false, none, kept, "")
	_, err := r.Add(t.Context(), []byte(`{"name": "attic", "url": "whip:"}`))
	if refused(t, err, http.StatusConflict, "nats.cameras_key"); !r.Complete() {
		t.Error("not complete where none can be kept")
	}
}

// lease is one of a camera with that token.
func lease(camera string, token uint64) *fleet.Lease {
	return &fleet.Lease{Camera: camera, Token: token}
}

// A box runs the cameras that it has leases of, builds them anew with another token, with what is marked in them, and
// is not kept from some by others that cannot be built.
func TestAssign(t *testing.T) {
	marks := clitest.File(t, "a.json", `{"frame": 0, "width": 96, "height": 64, "objects": [{"id": 1, "label": "square", "scribbles": [{"width": 14, "points": [[22, 32]]}]}]}`)
	file := fmt.Sprintf("cameras: [{name: gate, url: 'whip:', annotation: %q}, {name: yard, url: 'whip:'}, {name: attic, url: 'whip:'}]\n", marks)
	r := begin(t, &testHost{}, true, file, nil, "")
	here := func(want ...string) {
		t.Helper()
		var got []string
		for _, c := range r.Running().Cameras() {
			got = append(got, c.Name())
		}
		if !slices.Equal(got, want) || !slices.Equal(r.host.claimed, want) {
			t.Errorf("%q run, and %q are claimed; want %q", got, r.host.claimed, want)
		}
		if all := []string{"gate", "yard", "attic"}; !slices.Equal(r.host.listed, all) || !slices.Equal(names(r.Settings().Cameras), all) {
			t.Errorf("%q are listed; want those of other boxes too", r.host.listed)
		}
	}
	here()
	for _, tt := range []struct {
		leases []*fleet.Lease
		built  []string
		here   []string
		unable string
	}{
		{[]*fleet.Lease{lease("gate", 1)}, []string{"gate 1 marked"}, []string{"gate"}, ""},
		{[]*fleet.Lease{lease("gate", 1), lease("yard", 2)}, []string{"yard 2"}, []string{"gate", "yard"}, ""},
		{[]*fleet.Lease{lease("gate", 3), lease("yard", 2)}, []string{"gate 3 marked"}, []string{"gate", "yard"}, ""},
		{[]*fleet.Lease{lease("gate", 3), lease("yard", 4), lease("attic", 5)}, []string{"attic 5"}, []string{"gate", "attic"}, "yard"},
		{[]*fleet.Lease{lease("attic", 5)}, nil, []string{"attic"}, ""},
		{nil, nil, nil, ""},
		{[]*fleet.Lease{lease("attic", 6)}, []string{"attic 6"}, []string{"attic"}, ""},
	} {
		r.host.unable = tt.unable
		faults := r.Assign(t.Context(), tt.leases)
		if got := r.host.begun(); !slices.Equal(got, tt.built) {
			t.Errorf("%d leases: %q were built; want %q", len(tt.leases), got, tt.built)
		}
		if (faults[tt.unable] != nil) != (tt.unable != "") || len(faults) > 1 {
			t.Errorf("%d leases: %v", len(tt.leases), faults)
		}
		here(tt.here...)
	}

	// What is not marked any more is not either once the camera comes back.
	r.reload("cameras: [{name: gate, url: 'whip:'}, {name: yard, url: 'whip:'}, {name: attic, url: 'whip:'}]\n")
	if faults := r.Assign(t.Context(), []*fleet.Lease{lease("gate", 7)}); len(faults) > 0 {
		t.Error(faults)
	}
	assert.Equal(t, []string{"gate 7"}, r.host.begun(), "were built")
}

// What is added while a box reads what is kept stays, and what the configuration has too keeps its checkpoints.
func TestFleetAddsWhileItFollows(t *testing.T) {
	kept, key := &memory{}, keyFile(t)
	synctest.Test(t, func(t *testing.T) {
		r := begin(t, &testHost{}, true, none, kept, key)
		synctest.Wait()
		slow := make(chan struct{})
		kept.mu.Lock()
		kept.read = func() { <-slow }
		kept.mu.Unlock()
		r.add(`{"name": "gate", "url": "whip:"}`)
		var second sync.WaitGroup
		second.Go(func() {
			_, err := r.Add(t.Context(), []byte(`{"name": "yard", "url": "whip:"}`))
			assert.NoError(t, err)
		})
		synctest.Wait()
		close(slow)
		second.Wait()
		synctest.Wait()
		if r.declared("yard").Source != "added" || len(kept.deleted) > 0 {
			t.Errorf("%+v is there; of %q the checkpoints were removed", r.declared("yard"), kept.deleted)
		}
		r.stop()
		both := begin(t, &testHost{}, true, "cameras: [{name: gate, url: 'whip:'}]", kept, key)
		synctest.Wait()
		require.NoError(t, kept.ForgetCamera(t.Context(), "gate"))
		synctest.Wait()
		if slices.Contains(kept.deleted, "gate") || both.declared("gate").Source != "file" {
			t.Errorf("of %q the checkpoints were removed; %+v is there", kept.deleted, both.declared("gate"))
		}
		both.stop()
	})
}

// What one box of a fleet adds, changes and removes the other one hears of.
func TestFleetFollows(t *testing.T) {
	kept, key := &memory{}, keyFile(t)
	synctest.Test(t, func(t *testing.T) {
		one := begin(t, &testHost{}, true, none, kept, key)
		two := begin(t, &testHost{}, true, none, kept, key)
		one.add(`{"name": "gate", "url": "whip:"}`)
		one.add(`{"name": "yard", "url": "whip:"}`)
		synctest.Wait()
		if d := two.declared("gate"); d.Source != "added" {
			t.Errorf("%+v", d)
		}
		if faults := two.Assign(t.Context(), []*fleet.Lease{lease("gate", 1), lease("yard", 2)}); len(faults) > 0 {
			t.Error(faults)
		}
		assert.Equal(t, []string{"gate 1", "yard 2"}, two.host.begun(), "were built")
		assert.NoError(t, one.set("gate", []byte(`{"rotate": 90}`)))
		synctest.Wait()
		if got := two.host.begun(); !slices.Equal(got, []string{"gate 1"}) || two.Settings().Cameras[0].Rotate != 90 {
			t.Errorf("%q were built, of %+v", got, two.Settings().Cameras)
		}
		assert.NoError(t, one.Remove(t.Context(), "gate"))
		synctest.Wait()
		if got := names(two.Settings().Cameras); !slices.Equal(got, []string{"yard"}) || two.declared("gate").Name != "" || !slices.Contains(kept.deleted, "gate") {
			t.Errorf("%q are there", got)
		}
		assert.Equal(t, 1, len(two.Running().Cameras()), "cameras run")
		one.stop()
		two.stop()
	})
}

// A picture of a folder is one, and a path is taken from the base.
func TestTry(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "pictures"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "pictures", "0.png"), picture(t, 96, 64, 0), 0o600))
	r := begin(t, &testHost{}, false, none, nil, "")
	r.base = dir
	tried, err := r.Try(t.Context(), []byte(`{"url": "dir:pictures"}`))
	if err != nil || tried.Width != 96 || tried.Height != 64 || len(tried.BGR) != 3*96*64 {
		t.Errorf("%+v, %v", tried, err)
	}
	// Where objects are hidden, it is not known whether there is one in it.
	settings := *r.current.Load()
	settings.Privacy = config.Privacy{Fill: []string{"person"}, Show: config.ShowNobody}
	r.current.Store(&settings)
	tried, err = r.Try(t.Context(), []byte(`{"url": "dir:pictures"}`))
	grey := bytes.Repeat([]byte{0x80}, 3*96*64)
	if err != nil || !tried.Hidden || !bytes.Equal(tried.BGR, grey) {
		t.Errorf("a picture that is to be hidden: %v", err)
	}
	// An added camera's own settings count where it is named.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "pictures", "0.png"), picture(t, 96, 64, 255), 0o600))
	_, err = r.Add(t.Context(), []byte(`{"name": "half", "url": "dir:pictures", "privacy": {"off": true}, "ignore": [[[0, 0], [0.5, 0], [0.5, 1], [0, 1]]]}`))
	require.NoError(t, err)
	tried, err = r.Try(t.Context(), []byte(`{"camera": "half", "url": "dir:pictures"}`))
	require.NoError(t, err)
	if left, right := tried.BGR[3*10], tried.BGR[3*90]; tried.Hidden || left != 0 || right != 255 {
		t.Errorf("where nobody looks it is %d, elsewhere %d; want 0 and 255", left, right)
	}
	// So do those of one that is described, and of one that does not run.
	settings.Privacy = config.Privacy{}
	r.current.Store(&settings)
	const hides = `"detect": {"classes": ["person"]}, "privacy": {"fill": ["person"]}`
	_, err = r.Add(t.Context(), []byte(`{"name": "rest", "url": "dir:pictures", "paused": true, `+hides+`}`))
	require.NoError(t, err)
	rests := r.known.Load().added["rest"]
	r.known.Store(r.known.Load().with(&addedCamera{storedCamera: rests.storedCamera})) // as after a start
	for body, hidden := range map[string]bool{
		`{"url": "dir:pictures"}`:                                  false,
		`{"url": "dir:pictures", ` + hides + `}`:                   true,
		`{"camera": "rest", "url": "dir:pictures"}`:                true,
		`{"camera": "half", "url": "dir:pictures"}`:                false,
		`{"camera": "half", "url": "dir:pictures", ` + hides + `}`: true,
	} {
		if tried, err = r.Try(t.Context(), []byte(body)); err != nil || tried.Hidden != hidden || bytes.Equal(tried.BGR, grey) != hidden {
			t.Errorf("%s: hidden %v, %v", body, tried != nil && tried.Hidden, err)
		}
	}
}

func picture(t *testing.T, width, height int, grey uint8) []byte {
	t.Helper()
	img := image.NewGray(image.Rect(0, 0, width, height))
	for i := range img.Pix {
		img.Pix[i] = grey
	}
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, img))
	return b.Bytes()
}
