//go:build e2e

package page

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/config"
	"github.com/segd/segd/e2e/browser"
	"github.com/segd/segd/e2e/harness"
	"github.com/segd/segd/ingest/onvif/onviftest"
)

// Who may watch the second camera, and ask it for its streams.
const (
	cameraUser     = "admin"
	cameraPassword = "s3cr&t pass"
)

// cameraWorld is a segd without a camera, and cameras that it can have.
type cameraWorld struct {
	*world

	segd   *harness.Segd
	store  string
	free   *harness.Camera // anybody may watch it
	locked *harness.Camera
	onvif  string // host and port of a device that names the locked one's stream
	http   string // the addresses of segd
	nats   string
	unused string // an address that nothing listens at
}

// A user adds cameras in the page, by URL and found by ONVIF, is told what is wrong beside the
// field, changes, pauses and removes them; and after a restart those that were added are there.
func TestCameras(t *testing.T) {
	w := &cameraWorld{world: &world{pictures: t.ArtifactDir()}, store: t.TempDir()}
	w.chromium = harness.Browser(t)
	open, closed := harness.StartRelay(t), harness.StartRelay(t)
	video := harness.Video{Width: 320, Height: 240, Rate: 5}
	w.free = harness.StartCamera(t, open, "free", video)
	w.locked = harness.StartCamera(t, closed, "locked", video)
	closed.Lock(cameraUser, cameraPassword)
	w.onvif = (&onviftest.Camera{User: cameraUser, Password: cameraPassword, Version: 2, Stream: w.locked.URL()}).Start(t)
	addrs := harness.FreeAddrs(t, 3)
	w.http, w.nats, w.unused = addrs[0], addrs[1], addrs[2]
	w.segd = harness.Run(t, w.config("{addr: '"+w.http+"'}", "[]"))
	w.url = w.segd.Page
	w.steps(t, []step{
		{"without a camera the page invites to add one", w.invited},
		{"a wrong port is told beside the URL", w.wrongPort},
		{"the right one shows a picture, and is added", w.byURL},
		{"a name that exists is told beside it", w.nameTaken},
		{"one found by ONVIF is added with its password", w.byONVIF},
		{"it is edited, and keeps its password", w.edited},
		{"it is paused, and resumed", w.paused},
		{"one that somebody else adds comes, and goes", w.comesAndGoes},
		{"by keyboard alone: the dialog opens, holds the focus, and closes", w.dialogKeys},
		{"on a phone the dialog fits", w.dialogOnPhone},
		{"one is removed, when asked twice", w.removed},
		{"the console has no complaints", w.cameraConsole}, // pages complain of the restart that follows
		{"after a restart the added one is there, beside one of the configuration, which is not edited", w.restarted},
		{"who has a viewer's token sees none of it", w.viewers},
	})
}

// Tokens of the second start.
const operatorToken, viewerToken = "the-token-of-the-operator", "of-who-only-looks-on"

// config is a configuration with those cameras and that section http, as YAML.
func (w *cameraWorld) config(section, cameras string) string {
	return fmt.Sprintf("http: %s\nnats: {addr: '%s', store_dir: '%s'}\ncameras: %s\n", section, w.nats, w.store, cameras)
}

// cameraTab opens the page and waits until it knows the cameras.
func (w *cameraWorld) cameraTab(ctx context.Context, tab browser.Tab) (*hand, error) {
	tab.URL = w.url
	page, err := w.chromium.Open(ctx, tab)
	if err != nil {
		return nil, err
	}
	h := &hand{Page: page, w: w.world, touch: tab.Touch}
	return h, h.inSight(ctx, "body[data-ready]")
}

func (w *cameraWorld) invited(ctx context.Context, t *testing.T) {
	var err error
	w.desk, err = w.cameraTab(ctx, browser.Tab{Theme: "light", Width: 1280, Height: 800, Scale: 1})
	require.NoError(t, err)
	require.NoError(t, w.desk.says(ctx, "#veil-title", "No camera yet"))
	require.NoError(t, w.desk.picture(ctx, "1-none"))
	require.NoError(t, w.desk.outOfSight(ctx, "#mark"))
	// Without a fleet nothing of one is there, and nothing is asked about one.
	require.NoError(t, w.desk.outOfSight(ctx, "#boxes"))
	var asked int
	if err := w.desk.Evaluate(ctx, `performance.getEntriesByType("resource").filter((e) => e.name.includes("/fleet") && !e.name.includes("/assets/")).length`, &asked); err != nil || asked > 0 {
		t.Fatal(errors.Join(err, fmt.Errorf("%d requests about a fleet", asked)))
	}
	require.NoError(t, w.desk.press(ctx, "#add-first"))
	// What will be marked by itself is there to be seen.
	require.NoError(t, w.desk.inSight(ctx, "#camera-detect"))
	require.NoError(t, w.desk.eventually(ctx, "what is marked by default", fmt.Sprintf(`document.querySelector("#camera-detect").value === %q`, strings.Join(config.DefaultDetectClasses(), ", "))))
}

func (w *cameraWorld) wrongPort(ctx context.Context, t *testing.T) {
	h := w.desk
	// What can be no camera is not offered to be added.
	require.NoError(t, h.fill(ctx, "#camera-url", "http://192.0.2.10/video"))
	require.NoError(t, h.press(ctx, "#camera-submit"))
	require.NoError(t, h.beside(ctx, "url", "mjpeg+http://192.0.2.10/video if"))
	require.NoError(t, h.outOfSight(ctx, "#camera-anyway"))
	require.NoError(t, h.fill(ctx, "#camera-url", "rtsp://"+w.unused+"/free"))
	require.NoError(t, h.fill(ctx, "#camera-name", "gate"))
	require.NoError(t, h.press(ctx, "#camera-submit"))
	require.NoError(t, h.beside(ctx, "url", "refused"))
	require.NoError(t, h.says(ctx, "#camera-anyway", "Add all the same"))
	require.NoError(t, h.picture(ctx, "2-wrong-port"))
}

func (w *cameraWorld) byURL(ctx context.Context, t *testing.T) {
	h := w.desk
	require.NoError(t, h.fill(ctx, "#camera-url", w.free.URL()))
	require.NoError(t, h.outOfSight(ctx, "[data-field=url] .field-fault"))
	require.NoError(t, h.tested(ctx))
	require.NoError(t, h.picture(ctx, "3-test-picture"))
	require.NoError(t, h.press(ctx, "#camera-submit"))
	require.NoError(t, h.outOfSight(ctx, "#camera-dialog"))
	require.NoError(t, h.live(ctx, "gate"))
	all, err := harness.Get(ctx, w.url+"api/v1/config")
	require.NoError(t, err)
	if want := `"detect":{"classes":["` + strings.Join(config.DefaultDetectClasses(), `","`) + `"]`; !strings.Contains(string(all), want) {
		t.Fatalf("the configuration is %s; want a camera with %s", all, want)
	}
	require.NoError(t, h.picture(ctx, "4-added"))
}

func (w *cameraWorld) nameTaken(ctx context.Context, t *testing.T) {
	h := w.desk
	require.NoError(t, h.press(ctx, "#add-camera"))
	require.NoError(t, h.fill(ctx, "#camera-name", "gate"))
	require.NoError(t, h.fill(ctx, "#camera-url", w.free.URL()))
	require.NoError(t, h.press(ctx, "#camera-submit"))
	require.NoError(t, h.beside(ctx, "name", "There is a camera of that name"))
	if err := h.outOfSight(ctx, "#camera-picture"); err != nil { // no one has waited for one
		t.Fatal(err)
	}
	require.NoError(t, h.picture(ctx, "5-name-taken"))
	require.NoError(t, h.press(ctx, "#camera-cancel"))
}

func (w *cameraWorld) byONVIF(ctx context.Context, t *testing.T) {
	h := w.desk
	require.NoError(t, h.press(ctx, "#add-camera"))
	require.NoError(t, h.press(ctx, "#camera-ways label:has([value=find])"))
	require.NoError(t, h.fill(ctx, "#camera-host", w.onvif))
	require.NoError(t, h.press(ctx, "#camera-find"))
	require.NoError(t, h.says(ctx, "#camera-found-list", "user and password"))
	require.NoError(t, h.picture(ctx, "6-found-locked"))
	require.NoError(t, h.fill(ctx, "#camera-user", cameraUser))
	require.NoError(t, h.fill(ctx, "#camera-password", cameraPassword))
	require.NoError(t, h.press(ctx, "#camera-find"))
	require.NoError(t, h.says(ctx, "#camera-found-list", "suits segd best"))
	// The one camera is chosen, and of its streams the one that suits.
	require.NoError(t, h.eventually(ctx, "the stream that suits to be chosen", fmt.Sprintf(
		`document.querySelector(".stream:has(.stream-best) input").checked && document.querySelector("#camera-url").value === %q`, w.locked.URL())))
	require.NoError(t, h.fill(ctx, "#camera-name", "yard"))
	require.NoError(t, h.tested(ctx))
	require.NoError(t, h.picture(ctx, "7-found"))
	require.NoError(t, h.press(ctx, "#camera-submit"))
	require.NoError(t, h.live(ctx, "yard"))
	require.NoError(t, w.is(ctx, "gate", "yard"))
}

// is an error unless the API lists just these, and no password.
func (w *cameraWorld) is(ctx context.Context, names ...string) error {
	text, err := harness.Get(ctx, w.url+"api/v1/cameras")
	if err != nil {
		return err
	}
	if bytes.Contains(text, []byte("s3cr")) {
		return fmt.Errorf("a password is told: %s", text)
	}
	var list struct{ Cameras []struct{ Name string } }
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	var got []string
	for _, c := range list.Cameras {
		got = append(got, c.Name)
	}
	slices.Sort(got)
	if !slices.Equal(got, names) {
		return fmt.Errorf("the cameras are %q; want %q", got, names)
	}
	return nil
}

// cameraConsole is console, less what Chromium says of answers that are refusals, which some
// requests here were to get, and of streams that ended with their cameras.
func (w *cameraWorld) cameraConsole(_ context.Context, t *testing.T) {
	refused := func(fault string) bool {
		return strings.Contains(fault, "/api/v1/cameras") && (strings.Contains(fault, "422 (") || strings.Contains(fault, "409 (")) || streamEnded(fault)
	}
	if faults := slices.DeleteFunc(w.chromium.Faults(), refused); len(faults) > 0 {
		t.Fatalf("%d complaints:\n%s", len(faults), strings.Join(faults, "\n"))
	}
}

// streamEnded tells whether Chromium complains of a stream, or of the masks for it, that has ended with its camera or box.
func streamEnded(fault string) bool {
	return (strings.Contains(fault, "/whep/") || strings.Contains(fault, "pictures=streamed")) &&
		(strings.Contains(fault, "404") || strings.Contains(fault, "502 (") || strings.Contains(fault, "closed before the connection is established"))
}
