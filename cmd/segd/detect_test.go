package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/cameras"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/cmd/segd/daemon"
	"github.com/segd/segd/cmd/segd/daemon/daemontest"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/internal/freeport"
	"github.com/segd/segd/internal/waitfor"
)

// Persons who walk through the picture are marked without an annotation, and can be kept, by the command line or by HTTP;
// the metrics tell of it.
func TestDetect(t *testing.T) {
	t.Parallel()
	httpAddr, natsAddr := freeport.Addr(t), freeport.Addr(t)
	segd := start(t, "run", "-c", clitest.File(t, "segd.yaml", strings.Replace(daemontest.Quick(httpAddr, natsAddr), "short_side: 64", "short_side: 352", 1)+"cameras:\n"+
		"  - {name: yard, loop: true, url: 'file:"+demo.FindClip()+"', detect: {classes: [person], every: 500ms}}\n"))
	h := listen(t, natsAddr)
	var seen *segdv1.Object
	var newest []*segdv1.Object
	waitfor.True(t, "somebody", func() bool {
		if e := h.event("yard", segdv1.EventKind_EVENT_KIND_OBJECT_APPEARED); e == nil {
			return false
		} else if e.Message != `detected as "person"` || e.ObjectId < 256 {
			t.Fatalf("event %v", e)
		}
		masks := h.of("yard") // they may come after the event
		if len(masks) > 0 {
			newest = masks[len(masks)-1].Objects
		}
		for _, o := range newest {
			if o.State == segdv1.State_STATE_VISIBLE {
				seen = o
				return true
			}
		}
		return false
	})
	if !seen.Automatic || seen.Class != "person" || seen.Label != "person" {
		t.Errorf("object %v; want an automatic person", seen)
	}
	ask := func(arguments string) (string, error) {
		c := start(t, append(strings.Fields(arguments), "--nats", "nats://"+natsAddr)...)
		err := c.Wait(t)
		return c.Out.String(), err
	}
	file := filepath.Join(t.TempDir(), "yard.json")
	save := "objects yard --save " + file + " --wait 3s --page http://" + httpAddr
	if _, err := ask(save); err == nil || !strings.Contains(err.Error(), "that people marked or keep") {
		t.Errorf("automatic objects are saved: %v", err)
	}
	// One that is kept stays, while others come and go.
	var kept *segdv1.Object
	waitfor.True(t, "one to keep", func() bool {
		masks := h.of("yard")
		for _, o := range masks[len(masks)-1].Objects {
			if o.State == segdv1.State_STATE_VISIBLE && o.Area > 500 {
				out, err := ask(fmt.Sprintf("keep yard %d", o.Id))
				if err == nil && strings.Contains(out, `is kept`) {
					kept = o
				}
				return err == nil
			}
		}
		return false
	})
	if out, err := ask("objects yard"); err != nil || !strings.Contains(out, "kept, as person") {
		t.Errorf("%v:\n%s\nwant object %d kept", err, out, kept.Id)
	}
	assert.Contains(t, get(t, "http://"+httpAddr+"/api/v1/cameras/yard/objects"), `"class":"person","automatic":false`, "the API lists")
	if out, err := ask(strings.Replace(save, "3s", "60s", 1)); err == nil { // unless it is out of sight by now
		a, err := cameras.ReadAnnotation(t.Context(), file)
		if err != nil || len(a.Objects) != 1 || a.Objects[0].ID > 255 || a.Objects[0].Label != "person" {
			t.Errorf("%s%v: %+v; want the one that is kept under a number that a mask holds", out, err, a)
		}
	}
	for series, at := range map[string]string{
		`segd_detections_total{camera="yard",class="person"}`: "", `segd_automatic_objects{camera="yard"}`: "",
	} {
		if got := metric(t, httpAddr, series); got == at {
			t.Errorf("%s is %q", series, got)
		}
	}
	assert.Equal(t, "0", metric(t, httpAddr, `segd_detector_failures_total{camera="yard"}`), "looks failed")
	segd.Cancel()
	assert.NoError(t, segd.Wait(t))
}

// A detector that cannot be used ends segd at the start, with the reason.
func TestBadDetector(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 4 s: a segd that tries detectors")
	}
	t.Parallel()
	for _, tt := range []struct{ name, detector, class, want string }{
		{"no file", "path: none.onnx", "person", "none.onnx"},
		{"no model", "path: " + clitest.File(t, "text.onnx", "not a model"), "person", "text.onnx"},
		{"a feature model", "path: ../../features/dnn/models/segd-p64.onnx", "person", "detector"},
		{"a list of names too short", "names: " + clitest.File(t, "names.txt", "person\n"), "person", "names.txt"},
		{"a class that it does not know", "path: ''", "persn", `"persn"; accepted: one of the 80 classes that the detector knows, such as person`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := start(t, "run", "--base", ".", "-c", clitest.File(t, "segd.yaml", daemontest.Quick(freeport.Addr(t), freeport.Addr(t))+"whip: {addr: '"+freeport.Addr(t)+"'}\ndetector: {"+tt.detector+"}\ncameras:\n"+
				"  - {name: yard, url: 'whip:', detect: {classes: ["+tt.class+"]}}\n"))
			err := c.Wait(t)
			var printed strings.Builder
			if code := cli.Report(&printed, err); code != cli.ExitUsage || !strings.Contains(printed.String(), tt.want) {
				t.Errorf("exit status %d with %q; want %d with %q", code, printed.String(), cli.ExitUsage, tt.want)
			}
		})
	}
}

// The demo as it comes finds who walks through its clip, and says so in its report. It runs until that has
// been seen, however few frames a second this machine publishes.
func TestDemoDetects(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 14 s: the demo with its clip")
	}
	t.Parallel()
	natsAddr := freeport.Addr(t)
	c := start(t, "demo", "--json", "--addr", freeport.Addr(t), "--nats", natsAddr, "--superpixels", "300")
	h := listen(t, natsAddr)
	const enough = 10 // frames in which one is seen who is followed, and not only detected
	waitfor.True(t, "two persons who are followed", func() bool {
		visible, followed := map[uint32]int{}, 0
		for _, m := range h.of("demo") {
			for _, o := range m.Objects {
				if o.State == segdv1.State_STATE_VISIBLE {
					if visible[o.Id]++; visible[o.Id] == enough {
						followed++ // whether or not that one is still in the picture when another one is
					}
				}
			}
		}
		return followed >= 2
	})
	c.Cancel()
	require.NoError(t, c.Wait(t))
	var r daemon.DemoReport
	if err := json.Unmarshal([]byte(c.Out.String()), &r); err != nil {
		t.Fatalf("%v in %s", err, c.Out.String())
	}
	for _, o := range r.Objects {
		if o.ID < 256 || o.Label != "person" || o.VisibleFrames > r.FramesPublished {
			t.Errorf("object %+v of %d frames; want what the detector found alone", o, r.FramesPublished)
		}
	}
	if r.FramesPublished < enough || len(r.Objects) == 0 {
		t.Errorf("%d frames, %+v", r.FramesPublished, r.Objects)
	}
}
