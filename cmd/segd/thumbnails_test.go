package main

import (
	"image/color"
	"image/jpeg"
	"math"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/cmd/segd/daemon/daemontest"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/internal/freeport"
	"github.com/segd/segd/internal/waitfor"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/outputs/draw"
)

// The event that a person entered has a thumbnail with the person, in the colour of its mask.
func TestThumbnail(t *testing.T) {
	t.Parallel()
	httpAddr, natsAddr := freeport.Addr(t), freeport.Addr(t)
	quick := strings.NewReplacer("short_side: 64", "short_side: 352", "nats: {", "nats: {pictures: {max_age: 1h}, ").Replace(daemontest.Quick(httpAddr, natsAddr))
	config := clitest.File(t, "segd.yaml", quick+"cameras:\n"+
		"  - {name: yard, loop: true, url: 'file:"+demo.FindClip()+"', detect: {classes: [person], every: 500ms}, zones: [{name: all, polygon: [[0, 0], [1, 0], [1, 1], [0, 1]]}]}\n")
	segd := start(t, "run", "-c", config)
	h := listen(t, natsAddr)
	var ev *segdv1.Event
	var m *segdv1.MaskFrame
	waitfor.True(t, "a person that entered", func() bool {
		if ev = h.event("yard", segdv1.EventKind_EVENT_KIND_OBJECT_ENTERED); ev == nil {
			return false
		}
		for _, m = range h.of("yard") {
			if m.Sequence == ev.Sequence {
				return true
			}
		}
		return false // masks may come after the event
	})
	if ev.ObjectClass != "person" || !strings.HasPrefix(ev.Thumbnail, "/api/v1/cameras/yard/thumbnails/") {
		t.Fatalf("%v; want a person's thumbnail", ev)
	}
	img, err := jpeg.Decode(strings.NewReader(get(t, "http://"+httpAddr+ev.Thumbnail)))
	require.NoError(t, err)
	size := img.Bounds().Size()
	if max(size.X, size.Y) > 320 || size.X < int(ev.Box.Width) && size.Y < int(ev.Box.Height) {
		t.Errorf("it is %v of a box %v", size, ev.Box)
	}
	var bits []uint8
	for _, o := range m.Objects {
		if o.Id == ev.ObjectId {
			rle, err := mask.Parse(o.Counts, int(m.Width), int(m.Height))
			require.NoError(t, err)
			bits = rle.Decode(nil)
		}
	}
	// Persons of the clip are small: a pixel of the thumbnail is one of the frame. The thumbnail begins a quarter of the
	// longer side before the box, where there is as much.
	margin := max(8, max(int(ev.Box.Width), int(ev.Box.Height))/4)
	left, top := max(0, int(ev.Box.X)-margin), max(0, int(ev.Box.Y)-margin)
	towards := chroma(draw.Colour(ev.ObjectId))
	length := math.Hypot(towards[0], towards[1])
	var tint [2]float64 // outside of the mask and in it, along its colour: the scene is nearly grey
	var pixels [2]int
	for y := range size.Y {
		for x := range size.X {
			in := min(1, bits[(top+y)*int(m.Width)+left+x])
			is := chroma(img.At(x, y))
			tint[in] += (is[0]*towards[0] + is[1]*towards[1]) / length
			pixels[in]++
		}
	}
	if in, out := tint[1]/float64(pixels[1]), tint[0]/float64(pixels[0]); pixels[1] < 50 || in-out < length/4 {
		t.Errorf("the %d pixels of the mask have %.0f of its colour, of %.0f, and the %d others %.0f", pixels[1], in, length, pixels[0], out)
	}
	if got := metric(t, httpAddr, `segd_thumbnails_total{camera="yard",outcome="made"}`); got == "0" || got == "" {
		t.Errorf("%q thumbnails are counted", got)
	}
	waitfor.True(t, "kept pictures", func() bool {
		n := metric(t, httpAddr, `segd_bus_pictures_total{outcome="kept"}`)
		return n != "0" && n != ""
	})
	text, err := os.ReadFile(config)
	require.NoError(t, err)
	// A camera that begins anew has forgotten it, and it is kept. One that hides persons from now on does not show it.
	for _, tt := range []struct {
		settings string
		want     int
	}{{"every: 600ms}", http.StatusOK}, {"every: 500ms}, privacy: {blur: [person]}", http.StatusNotFound}, {"every: 500ms}, privacy: {off: true}", http.StatusOK}} {
		require.NoError(t, os.WriteFile(config, []byte(strings.Replace(string(text), "every: 500ms}", tt.settings, 1)), 0o600))
		if resp, body := request(t, http.MethodPost, "http://"+httpAddr+"/api/v1/config/reload", ""); resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", resp.Status, body)
		}
		if resp, _ := request(t, http.MethodGet, "http://"+httpAddr+ev.Thumbnail, ""); resp.StatusCode != tt.want {
			t.Errorf("the thumbnail after a change to %s: %s; want %d", tt.settings, resp.Status, tt.want)
		}
	}
	segd.Cancel()
	assert.NoError(t, segd.Wait(t))
}

// chroma is a colour without its brightness.
func chroma(c color.Color) [2]float64 {
	ycc := color.YCbCrModel.Convert(c).(color.YCbCr)
	return [2]float64{float64(ycc.Cb) - 128, float64(ycc.Cr) - 128}
}
