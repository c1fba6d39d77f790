//go:build e2e

package streams

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/jpeg"
	_ "image/png"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/segd/segd/e2e/harness"
	"github.com/segd/segd/ingest/demo"
)

// The part of a picture that they show.
const stillWidth, stillHeight = 320, 240

// privacyWorld is cameras that show the same persons, of whom one is looked at.
type privacyWorld struct {
	*world
	person image.Rectangle
}

// TestPrivacy looks at a person, as a viewer and as an operator, in every kind of picture: where no one is hidden, where
// persons are, where operators see them, and where those are shown whom people marked, with the person marked under
// another name.
func TestPrivacy(t *testing.T) {
	addrs := harness.FreeAddrs(t, 4)
	w := &privacyWorld{world: &world{T: t, rtsp: addrs[2]}}
	still, crop := t.TempDir(), fmt.Sprintf("crop=%d:%d:320:90", stillWidth, stillHeight)
	if out, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-ss", "10", "-i", demo.FindClip(), "-vf", crop, "-frames:v", "1", filepath.Join(still, "0.png")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	camera := func(name, privacy string) string {
		return fmt.Sprintf("\n- {name: %s, url: 'dir:%s', loop: true, fps: 5, detect: {classes: [person], every: 5s}, privacy: {%s}}", name, still, privacy)
	}
	w.segd = harness.Run(t, fmt.Sprintf("http: {addr: '%s', token: %s, viewer_token: %s}\nnats: {addr: '%s'}\nrtsp: {addr: '%s'}\nwhip: {addr: '%s'}\n"+
		"superpixels: 100\nmodel: {short_side: 240}\nprivacy: {fill: [person]}\ncameras:%s\n",
		addrs[0], token, viewer, addrs[1], addrs[2], addrs[3],
		camera("gate", "off: true")+camera("hidden", "fill: [person]")+camera("seen", "fill: [person], show: operator")+camera("kept", "fill: [person], except: kept")))
	w.until("a person", w.find)

	const nobody, all, operators = 0, 1, 2
	for _, step := range []struct {
		camera, mark string
		seen         int // by whom, in pictures that are no stream
	}{
		{"gate", "", all}, {"hidden", "", nobody}, {"seen", "", operators}, {"kept", "", nobody}, {"kept", "door", nobody},
	} {
		t.Run(strings.TrimSpace(step.camera+" "+step.mark), func(t *testing.T) {
			w := &privacyWorld{&world{t, w.segd, w.rtsp}, w.person}
			if step.mark != "" {
				w.mark(step.camera, step.mark)
			}
			for _, as := range []string{viewer, token} {
				for kind, picture := range map[string]func(camera, as string) (image.Image, error){
					"snapshot": w.snapshot, "recording": w.recording, "RTSP": w.played, "WHEP": w.whep,
				} {
					stream := kind == "RTSP" || kind == "WHEP"
					want := step.seen == all || step.seen == operators && as == token && !stream
					w.look(fmt.Sprintf("%s, %s", kind, as[:6]), want, func() (image.Image, error) { return picture(step.camera, as) })
				}
			}
		})
	}
	status, body, err := w.ask(http.MethodPost, "api/v1/cameras/test", token, fmt.Sprintf(`{"url": "dir:%s"}`, still))
	var tried struct {
		Hidden  bool
		Picture []byte
	}
	if err != nil || status != http.StatusOK || json.Unmarshal(body, &tried) != nil || !tried.Hidden {
		t.Fatalf("the test picture: %v, %d, hidden %v", err, status, tried.Hidden)
	}
	w.look("the test picture", false, func() (image.Image, error) { return decode(tried.Picture) })
}

// find takes the leftmost person, who stands alone, of those that the camera marked by itself where no one is hidden.
func (w *privacyWorld) find() bool {
	_, body, err := w.ask(http.MethodGet, "api/v1/cameras/gate/objects", viewer, "")
	var list struct {
		Objects []struct {
			Box struct{ X, Y, Width, Height int }
		}
	}
	if err != nil || json.Unmarshal(body, &list) != nil {
		return false
	}
	for _, o := range list.Objects {
		if o.Box.Height > 0 && (w.person.Empty() || o.Box.X < w.person.Min.X) {
			w.person = image.Rect(0, 0, o.Box.Width, o.Box.Height).Add(image.Pt(o.Box.X, o.Box.Y))
		}
	}
	return !w.person.Empty()
}

// mark marks the person under that name, in place of what was marked.
func (w *privacyWorld) mark(camera, name string) {
	w.Helper()
	if status, body, err := w.ask(http.MethodDelete, "api/v1/cameras/"+camera+"/objects", token, ""); err != nil || status/100 != 2 {
		w.Fatalf("clearing: %v, %d %s", err, status, body)
	}
	status, body, err := w.ask(http.MethodPost, "api/v1/cameras/"+camera+"/annotations", token, fmt.Sprintf(
		`{"width": %d, "height": %d, "objects": [{"id": 1, "label": %q, "box": [%d, %d, %d, %d]}]}`, stillWidth, stillHeight, name, w.person.Min.X, w.person.Min.Y, w.person.Max.X, w.person.Max.Y))
	if err != nil || status != http.StatusOK {
		w.Fatalf("marking: %v, %d %s", err, status, body)
	}
}

// look looks at pictures. One that may be seen comes once all of a picture was looked at; of others each is hidden.
func (w *privacyWorld) look(what string, seen bool, picture func() (image.Image, error)) {
	w.Helper()
	if seen {
		harness.Until(w, limit, what+" that shows the person", func(context.Context) error {
			img, err := picture()
			if err != nil {
				return err
			}
			if part := filled(img, w.person); part > 0.5 {
				return fmt.Errorf("%.0f %% of the person is hidden", 100*part)
			}
			return nil
		})
		return
	}
	img, err := picture()
	if err != nil {
		w.Fatalf("%s: %v", what, err)
	}
	if part := filled(img, w.person); part < 0.85 {
		w.Errorf("%s: %.0f %% of the person is hidden", what, 100*part)
	}
}

// filled is which part of the middle of a box is as what is filled.
func filled(img image.Image, box image.Rectangle) float64 {
	box = image.Rect(box.Min.X+box.Dx()/4, box.Min.Y+box.Dy()/8, box.Max.X-box.Dx()/4, box.Max.Y-box.Dy()/8)
	grey := 0
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			c := color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)
			if least, most := min(c.R, c.G, c.B), max(c.R, c.G, c.B); least > 115 && most < 141 {
				grey++
			}
		}
	}
	return float64(grey) / float64(box.Dx()*box.Dy())
}

func decode(picture []byte) (image.Image, error) {
	img, _, err := image.Decode(bytes.NewReader(picture))
	return img, err
}

func (w *privacyWorld) snapshot(camera, as string) (image.Image, error) {
	status, body, err := w.ask(http.MethodGet, "api/v1/cameras/"+camera+"/snapshot", as, "")
	if err != nil || status != http.StatusOK {
		return nil, fmt.Errorf("%d %s %w", status, body, err)
	}
	return decode(body)
}

// recording is the first picture that segd record gets of the page.
func (w *privacyWorld) recording(camera, as string) (img image.Image, err error) {
	dir := w.TempDir()
	ctx, cancel := context.WithCancel(w.Context())
	cmd := exec.CommandContext(ctx, harness.Program(w), "record", camera, dir, "--every", "0s", "--page", w.segd.Page, "--token", as)
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	defer func() {
		cancel()
		_ = cmd.Wait()
	}()
	w.until("a recorded picture", func() bool {
		all, _ := filepath.Glob(filepath.Join(dir, "*.jpg"))
		if len(all) == 0 {
			return false
		}
		var picture []byte
		if picture, err = os.ReadFile(all[0]); err == nil {
			img, err = decode(picture)
		}
		return err == nil
	})
	return img, err
}

func (w *privacyWorld) played(camera, as string) (image.Image, error) {
	picture, err := exec.CommandContext(w.Context(), "ffmpeg", "-v", "error", "-nostdin", "-analyzeduration", "1000000", "-rtsp_transport", "tcp",
		"-i", "rtsp://segd:"+as+"@"+w.rtsp+"/"+camera, "-frames:v", "1", "-f", "image2pipe", "-c:v", "png", "-").Output()
	if err != nil {
		return nil, err
	}
	return decode(picture)
}

func (w *privacyWorld) whep(camera, as string) (image.Image, error) {
	file := filepath.Join(w.TempDir(), "picture")
	w.run("/usr/bin/python3", "whep.py", w.segd.Page+"whep/"+camera, as, "2", file)
	rgb, err := os.ReadFile(file)
	if err != nil || len(rgb) != 3*stillWidth*stillHeight {
		return nil, errors.Join(err, fmt.Errorf("%d bytes", len(rgb)))
	}
	img := image.NewRGBA(image.Rect(0, 0, stillWidth, stillHeight))
	for p := range stillWidth * stillHeight {
		img.SetRGBA(p%stillWidth, p/stillWidth, color.RGBA{rgb[3*p], rgb[3*p+1], rgb[3*p+2], 255})
	}
	return img, nil
}
