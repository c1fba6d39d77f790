package features

import (
	"image"
	"math"
	"testing"
)

// lit is an image in another light: its bytes v as 255·gain·(v/255)^gamma.
func lit(bgr []byte, gain, gamma float64) []byte {
	out := make([]byte, len(bgr))
	for i, v := range bgr {
		out[i] = byte(math.Round(min(255, 255*gain*math.Pow(float64(v)/255, gamma))))
	}
	return out
}

// viewedModel keeps how it was shown the last image.
type viewedModel struct {
	fixedModel
	view    View
	smaller Exposure // how it was shown what was smaller
}

func (m *viewedModel) Features(dst Sight, bgr []byte, w, h int, v View) (Sight, error) {
	if v.Scale < 1 {
		m.smaller = v.Exposure
	} else {
		m.view = v
	}
	return m.fixedModel.Features(dst, bgr, w, h, v)
}

// What stands still is shown as it was, whatever the light; the model is told, and so is who reads the scene.
func TestExposureFollowsLight(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 6 s: a picture in many lights")
	}
	const w, h = 640, 360
	bgr := gradientImage(w, h)
	for i, v := range bgr { // nothing burns out, or is black
		bgr[i] = 20 + v/2
	}
	for _, tt := range []struct{ gain, gamma, left float64 }{{1, 1, 0}, {1.3, 1, 0.03}, {0.7, 1, 0.03}, {1, 1.3, 0.15}, {1, 0.8, 0.15}, {1.2, 1.3, 0.3}, {0.8, 0.75, 0.45}} {
		m := &viewedModel{fixedModel: fixedModel{maps: []Map{{Channels: 1, Height: 1, Width: 1, StrideX: w, StrideY: h, Data: []float32{1}}}}}
		e, err := New(Config{Superpixels: 50}, m)
		if err != nil {
			t.Fatal(err)
		}
		var s Scene
		see := func(bgr []byte, light Light) {
			t.Helper()
			if err := e.Extract(&s, bgr, w, h, Plan{Whole: true, Coarse: Everywhere, Light: light}); err != nil {
				t.Fatal(err)
			}
		}
		see(bgr, Light{})
		if s.Light.Exposure != (Exposure{}) || m.view.Exposure != (Exposure{}) {
			t.Fatalf("the first picture is shown by %+v, %+v", s.Light.Exposure, m.view.Exposure)
		}
		var light Light
		light.Copy(&s.Light)
		now := lit(bgr, tt.gain, tt.gamma)
		see(now, light)
		if s.Light.Exposure != m.view.Exposure {
			t.Errorf("light %v: the scene says %+v, the model saw %+v", tt, s.Light.Exposure, m.view.Exposure)
		}
		exposure := s.Light.Exposure
		if err := e.Extract(&s, now, w, h, Plan{Look: true, Light: light}); err != nil || m.view.Exposure != exposure {
			t.Errorf("light %v: in a look that shows nothing the model saw %+v, want %+v; %v", tt, m.view.Exposure, exposure, err)
		}
		off, before := 0.0, 0.0
		for i, v := range bgr {
			off += math.Abs(s.Light.Exposure.At(now[i])-float64(v)) / float64(len(bgr))
			before += math.Abs(float64(now[i])-float64(v)) / float64(len(bgr))
		}
		if t.Logf("light %v: %+v, %.2f levels off, %.2f as it is", tt, s.Light.Exposure, off, before); off > tt.left*before {
			t.Errorf("light %v: shown %.2f levels off by %+v; as it is %.2f, of which %v may be left", tt, off, s.Light.Exposure, before, tt.left)
		}
		if m.smaller != s.Light.Exposure {
			t.Errorf("smaller it is seen by %+v; want %+v", m.smaller, s.Light.Exposure)
		}
		shown := s.Light.Exposure
		const later = 20
		for range later { // it stays so, and is the scene's own by and by
			light.Copy(&s.Light)
			see(now, light)
		}
		if want := shown.Gain * math.Pow(1-lightFades, later); math.Abs(s.Light.Exposure.Gain-want) > 0.05*math.Abs(want) {
			t.Errorf("light %v: %d pictures later the gain is %.3f; want %.3f", tt, later, s.Light.Exposure.Gain, want)
		}
	}
}

// A third of an image that another thing covers is no light, and neither is another image.
func TestExposureOfOtherThings(t *testing.T) {
	const w, h = 640, 360
	bgr, _ := discsImage(w, h, 60, 5)
	other, _ := discsImage(w, h, 60, 9)
	var s Scene
	s.Thumbnail.Set(bgr, w, h)
	var light Light
	light.measure(&s.Thumbnail)
	covered := append([]byte(nil), bgr...)
	for y := range h {
		for x := w * 2 / 3; x < w; x++ {
			copy(covered[3*(y*w+x):][:3], []byte{210, 220, 230})
		}
	}
	for name, tt := range map[string]struct {
		bgr  []byte
		most float64
	}{"a third is white": {covered, 0.03}, "all is another thing": {other, 0.08}, "all is dark": {make([]byte, 3*w*h), 0}} {
		s.Thumbnail.Set(tt.bgr, w, h)
		var m lightMeter
		m.meter(&s.Light, &s.Thumbnail, &light)
		x := s.Light.Exposure
		if worst := math.Abs(math.Log(x.At(100) / 100)); worst > tt.most {
			t.Errorf("%s: shown by %+v, %.3f off at 100; want %.3f at most", name, x, worst, tt.most)
		}
	}
}

// Pictures of another size, and scenes that nothing of is seen, say nothing.
func TestExposureOfNothing(t *testing.T) {
	e, err := New(Config{Superpixels: 50}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var s Scene
	var light Light
	see := func(w, h int, bgr []byte, whole bool) Exposure {
		t.Helper()
		if err := e.Extract(&s, bgr, w, h, Plan{Whole: whole, Light: light}); err != nil {
			t.Fatal(err)
		}
		return s.Light.Exposure
	}
	bgr := gradientImage(640, 360)
	see(640, 360, bgr, true)
	light.Copy(&s.Light)
	if x := see(640, 360, lit(bgr, 0.7, 1), true); x == (Exposure{}) {
		t.Error("another light of the same size makes no exposure")
	}
	light.Exposure.Gain = 0.5
	if x := see(640, 480, gradientImage(640, 480), true); x != (Exposure{}) {
		t.Errorf("a picture of another size is shown by %+v", x)
	}
	see(640, 360, lit(bgr, 0.7, 1), true)
	if x := see(640, 360, bgr, false); x != (Exposure{}) || len(s.Light.levels) > 0 {
		t.Errorf("a scene that shows nothing has %+v and %d levels of the one before", x, len(s.Light.levels))
	}
}

// However the light changes a picture stays one.
func TestExposureEnds(t *testing.T) {
	var m lightMeter
	var s Scene
	bgr := noiseImage(128, 72, 1)
	for i := range 200 {
		var light Light
		light.Copy(&s.Light)
		s.Thumbnail.Set(lit(bgr, []float64{0.9, 0.3}[i%2], 1), 128, 72)
		m.meter(&s.Light, &s.Thumbnail, &light)
		if i%2 == 0 {
			s.Light.Exposure = Exposure{Gain: float64(i), Gamma: float64(i)} // of no picture
		} else if math.Abs(s.Light.Exposure.Gain) > mostGain || math.Abs(s.Light.Exposure.Gamma) > mostGamma {
			t.Fatalf("picture %d is shown by %+v", i, s.Light.Exposure)
		}
	}
	if x := (Exposure{Gain: 1}); x.At(255) != 255 || x.At(0) != 0 {
		t.Errorf("black and white are %v and %v", x.At(0), x.At(255))
	}
}

// Neither a negative nor a picture of one brightness leaves an exposure that is none, which the next
// pictures would inherit.
func TestExposureOfANegative(t *testing.T) {
	const w, h = 640, 360
	ramp, negative := make([]byte, 3*w*h), make([]byte, 3*w*h)
	for i := range ramp {
		v := i / 3 % w * 255 / w
		ramp[i], negative[i] = byte(v), byte(60+(255-v)/3)
	}
	pictures := [][]byte{ramp, negative, constantImage(w, h)}
	for i, before := range pictures {
		for j, now := range pictures {
			var s Scene
			var light Light
			var m lightMeter
			s.Thumbnail.Set(before, w, h)
			light.measure(&s.Thumbnail)
			s.Thumbnail.Set(now, w, h)
			m.meter(&s.Light, &s.Thumbnail, &light)
			x := s.Light.Exposure
			if !(math.Abs(x.Gain) <= mostGain && math.Abs(x.Gamma) <= mostGamma) {
				t.Errorf("picture %d after %d is shown by %+v", j, i, x)
			}
		}
	}
}

// Its memory is used again.
func TestExposureAllocs(t *testing.T) {
	var m lightMeter
	var s Scene
	s.Thumbnail.Set(noiseImage(640, 360, 1), 640, 360)
	var light, copied Light
	light.measure(&s.Thumbnail)
	if n := testing.AllocsPerRun(10, func() {
		copied.Copy(&light)
		m.meter(&light, &s.Thumbnail, &copied)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if light.cols != 640/2/(320/lightSide) || image.Pt(light.cols, light.rows) != image.Pt(copied.cols, copied.rows) {
		t.Errorf("%d×%d blocks, copied %d×%d", light.cols, light.rows, copied.cols, copied.rows)
	}
}

func BenchmarkExposure(b *testing.B) {
	var m lightMeter
	var s Scene
	bgr, _ := discsImage(854, 480, 60, 5)
	s.Thumbnail.Set(bgr, 854, 480)
	var light, earlier Light
	for b.Loop() {
		earlier.Copy(&light)
		m.meter(&light, &s.Thumbnail, &earlier)
	}
}
