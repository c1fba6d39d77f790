package web

import (
	"encoding/json"
	"image"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/api"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/mask"
)

func TestSnapshot(t *testing.T) {
	c := newCameras()
	c.width, c.height = 64, 48
	bits := make([]uint8, 64*48)
	for y := 16; y < 32; y++ {
		for x := 16; x < 48; x++ {
			bits[64*y+x] = 1
		}
	}
	c.objects = []*segdv1.Object{{Id: 1, Counts: mask.Encode(bits, 64, 48).String()}}
	_, h := serve(t, Config{Commands: c}, "gate")
	shot := func(query string) image.Image {
		a := ask(t, "GET", h.URL+"/api/v1/cameras/gate/snapshot"+query, "", "")
		if a.status != 200 || a.header.Get("Content-Type") != "image/jpeg" || a.header.Get(api.HeaderSequence) != "41" {
			t.Fatalf("%s: %d, %v", query, a.status, a.header)
		}
		img, err := jpeg.Decode(strings.NewReader(a.body))
		require.NoError(t, err)
		if img.Bounds() != image.Rect(0, 0, 64, 48) {
			t.Fatalf("%s: %v", query, img.Bounds())
		}
		return img
	}
	grey := func(img image.Image, x, y int) bool {
		r, g, b, _ := img.At(x, y).RGBA()
		d := func(a, b uint32) uint32 { return max(a, b) - min(a, b) }
		return d(r, g) < 10<<8 && d(g, b) < 10<<8
	}
	plain, drawn := shot(""), shot("?overlay=true")
	if !grey(plain, 32, 24) || !grey(drawn, 4, 4) || grey(drawn, 32, 24) {
		t.Errorf("middle %v plain, %v with the overlay; corner %v", plain.At(32, 24), drawn.At(32, 24), drawn.At(4, 4))
	}
	ask(t, "GET", h.URL+"/api/v1/cameras/gate/snapshot?overlay=yes", "", "").want(t, 400, "", "overlay=yes")
	c.objects = append(c.objects, &segdv1.Object{Id: 256, Counts: "nonsense"}, &segdv1.Object{Id: 257})
	if drawn := shot("?overlay=true"); grey(drawn, 32, 24) || !grey(drawn, 4, 4) {
		t.Errorf("beside masks that are none: middle %v, corner %v", drawn.At(32, 24), drawn.At(4, 4))
	}
}

func TestMask(t *testing.T) {
	c := newCameras()
	_, h := serve(t, Config{Commands: c}, "gate")
	for _, tt := range []struct{ query, accept, want string }{
		{"", "", typePNG},
		{"", "*/*", typePNG},
		{"", "application/json", typeJSON},
		{"", "image/png;q=0.2, application/*;q=0.5", typeJSON},
		{"", "application/json;q=0, */*", typePNG},
		{"?format=json", "image/png", typeJSON},
		{"?format=png", "application/json", typePNG},
	} {
		a := ask(t, "GET", h.URL+"/api/v1/cameras/gate/frames/7/mask"+tt.query, "", "", "Accept", tt.accept)
		if a.status != 200 || a.header.Get("Content-Type") != tt.want || a.header.Get(api.HeaderSequence) != "7" {
			t.Errorf("%q with %q: %d, %v; want %s", tt.query, tt.accept, a.status, a.header, tt.want)
			continue
		}
		box := image.Rect(1, 2, 4, 6)
		if tt.want == typeJSON {
			var f frameInfo
			require.NoError(t, json.Unmarshal([]byte(a.body), &f))
			if f.Sequence != 7 || len(f.Objects) != 2 || f.Objects[0].Size != [2]int32{8, 6} || f.Objects[0].Counts != counts(box) {
				t.Errorf("got %+v", f)
			}
			continue
		}
		img, err := png.Decode(strings.NewReader(a.body))
		require.NoError(t, err)
		grey, ok := img.(*image.Gray)
		if !ok || grey.Rect != image.Rect(0, 0, 6, 8) {
			t.Fatalf("a %T of %v", img, img.Bounds())
		}
		for p, id := range grey.Pix {
			if want := (image.Point{X: p % 6, Y: p / 6}).In(box); (id == 1) != want || id > 1 {
				t.Errorf("pixel %d has id %d", p, id)
			}
		}
	}
	// Objects that segd marked by itself have ids that need 16 bits, and more in the end.
	url := h.URL + "/api/v1/cameras/gate/frames/7/mask"
	c.objects[1].Id = 300
	c.objects[1].Counts = counts(image.Rect(0, 0, 1, 1))
	img, err := png.Decode(strings.NewReader(ask(t, "GET", url, "", "").body))
	if grey, ok := img.(*image.Gray16); err != nil || !ok || grey.Gray16At(0, 0).Y != 300 || grey.Gray16At(1, 2).Y != 1 || grey.Gray16At(5, 7).Y != 0 {
		t.Errorf("with object 300: a %T, %v", img, err)
	}
	c.objects = append(c.objects, &segdv1.Object{Id: 301}) // has no mask
	if a := ask(t, "GET", url, "", ""); a.status != 200 {
		t.Errorf("with an object without a mask: %d %s", a.status, a.body)
	} else if img, err := png.Decode(strings.NewReader(a.body)); err != nil || img.(*image.Gray16).Gray16At(0, 0).Y != 300 {
		t.Errorf("with an object without a mask: %v, the others are %v", err, img)
	}
	c.objects = c.objects[:2]
	c.objects[1].Id = 65536
	ask(t, "GET", url, "", "").want(t, 406, "object id 65536; a PNG holds ids up to 65535; ask for application/json", "with object 65536")
	for _, tt := range []struct {
		path, accept string
		status       int
	}{
		{"7/mask?format=gif", "", 400},
		{"7/mask?format=png&format=json", "", 400},
		{"7/mask", "text/html", 406},
		{"last/mask", "", 400},
		{"-1/mask", "", 400},
	} {
		ask(t, "GET", h.URL+"/api/v1/cameras/gate/frames/"+tt.path, "", "", "Accept", tt.accept).want(t, tt.status, "", "%s with %q", tt.path, tt.accept)
	}
	c.fail = &api.Refusal{Status: 404, Detail: "frame not kept: 7 is no longer kept; accepted: 100 to 355"}
	ask(t, "GET", h.URL+"/api/v1/cameras/gate/frames/7/mask", "", "").want(t, 404, "accepted: 100 to 355", "a frame that is gone")
}

func TestSettings(t *testing.T) {
	const settings = `{"cameras":[],"http":{},"nats":{},"site":"home"}`
	_, h := serve(t, Config{Settings: func() json.RawMessage { return json.RawMessage(settings) }}, "gate")
	if a := ask(t, "GET", h.URL+"/api/v1/config", "", ""); a.status != 200 || a.body != settings+"\n" {
		t.Errorf("%d %q", a.status, a.body)
	}
}
