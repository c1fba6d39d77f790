package davis

import (
	"bytes"
	"encoding/json"
	"image"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/features"
	"github.com/segd/segd/lab/internal/clip"
	"github.com/segd/segd/lab/internal/clip/cliptest"
	"github.com/segd/segd/lab/internal/offline"
	"github.com/segd/segd/tracker"
)

func openClip(t *testing.T, root, name string) *take {
	t.Helper()
	clips, err := clip.Open(root, []string{name})
	require.NoError(t, err)
	return &take{Clip: clips[0]}
}

func readFrame(t *testing.T, c *take, i int) *offline.Picture {
	t.Helper()
	p, err := c.Read(i)
	require.NoError(t, err)
	return p
}

func clone(p *offline.Picture) *offline.Picture {
	return &offline.Picture{Width: p.Width, Height: p.Height, BGR: slices.Clone(p.BGR), Truth: slices.Clone(p.Truth)}
}

func TestPatch(t *testing.T) {
	c := openClip(t, cliptest.New(t, "square", 40), "square")
	p, err := newPatch(1, c)
	require.NoError(t, err)
	if p.start < 1 || p.gone()+afterFrames > len(c.Images)-1 || p.gone()-p.covered() != coverFrames+slideFrames {
		t.Fatalf("the patch comes in frame %d, covers from %d and is gone in %d of %d", p.start, p.covered(), p.gone(), len(c.Images))
	}
	for i := range c.Images {
		before := readFrame(t, c, i)
		after := clone(before)
		p.apply(i, after)
		there := i >= p.start && i < p.gone()
		if there == bytes.Equal(before.BGR, after.BGR) {
			t.Errorf("frame %d: patch there is %v, pixels changed %v", i, there, !there)
		}
		if covered := i >= p.covered() && i < p.covered()+coverFrames; covered && slices.Contains(after.Truth, 1) {
			t.Errorf("frame %d: the object shows", i)
		}
		r := p.rect(i)
		for k := range before.Truth {
			in := image.Pt(k%before.Width, k/before.Width).In(r)
			if !in && !bytes.Equal(before.BGR[3*k:3*k+3], after.BGR[3*k:3*k+3]) {
				t.Fatalf("frame %d: pixel %d outside %v changed", i, k, r)
			}
			if want := before.Truth[k]; after.Truth[k] != want && (!in || after.Truth[k] != 0) {
				t.Fatalf("frame %d: the truth of pixel %d is %d behind %v; it was %d", i, k, after.Truth[k], r, want)
			}
		}
	}
	// It slides.
	first, last := p.rect(p.start), p.rect(p.gone()-1)
	if d := p.rect(p.covered()); first.Min.X == d.Min.X || (first.Min.X < d.Min.X) == (last.Min.X < d.Min.X) {
		t.Errorf("it comes at %v, covers at %v and goes at %v; want in from one side and out at the other", first, d, last)
	}
}

// The texture is no flat colour, at any scale: neighbours differ, and so do the
// means of its quarters.
func TestPatchIsTextured(t *testing.T) {
	c := openClip(t, cliptest.New(t, "square", 40), "square")
	p, err := newPatch(1, c)
	require.NoError(t, err)
	w, h := p.bounds.Dx(), p.bounds.Dy()
	steps, quarters := 0.0, [4]float64{}
	for y := range h {
		for x := range w {
			v := float64(p.bgr[3*(y*w+x)])
			if x > 0 {
				steps += math.Abs(v-float64(p.bgr[3*(y*w+x-1)])) / float64(w*h)
			}
			quarters[2*(2*y/h)+2*x/w] += 4 * v / float64(w*h)
		}
	}
	if steps < 4 || slices.Max(quarters[:])-slices.Min(quarters[:]) < 4 {
		t.Errorf("neighbours differ by %.1f in the mean, quarters are %.0f; want a texture", steps, quarters)
	}
}

func TestDisturbancesAreSeeded(t *testing.T) {
	root := cliptest.New(t, "square", 40)
	cliptest.Add(t, root, "other", 40)
	square, other := openClip(t, root, "square"), openClip(t, root, "other")
	for _, kind := range []Perturbation{Occlusion, Lighting, Noise} {
		run := func(seed uint64, c *take) (out []byte) {
			d, err := newDisturbance(kind, seed, c)
			require.NoError(t, err)
			for i := range c.Images {
				p := readFrame(t, square, i) // the same pixels for both names
				d.apply(i, p)
				out = append(out, p.BGR...)
			}
			return out
		}
		same := run(1, square)
		if !bytes.Equal(same, run(1, square)) {
			t.Errorf("%s: one seed, two outcomes", kind)
		}
		if bytes.Equal(same, run(2, square)) {
			t.Errorf("%s: two seeds, one outcome", kind)
		}
		if bytes.Equal(same, run(1, other)) {
			t.Errorf("%s: two sequences, one outcome", kind)
		}
	}
}

func TestLighting(t *testing.T) {
	c := &take{Clip: &clip.Clip{Name: "x", Images: make([]string, 41)}}
	l := newLighting(1, c)
	for v := range 256 {
		require.Equal(t, byte(v), l[0][v], "the annotated frame's %d became", v)
	}
	for i := range l {
		if !slices.IsSorted(l[i][:]) {
			t.Errorf("frame %d: a brighter pixel became darker", i)
		}
	}
	// Gain and gamma are 0.6 and 1 at three quarters, 1.4 and 1 at one quarter, 1.2
	// and 1.4 at one eighth, 1.2 and 0.6 at three; the flicker adds up to 10 %.
	for _, tt := range []struct {
		frame, value int
		want         float64
	}{
		{30, 255, 0.6 * 255}, {30, 100, 0.6 * 100}, {10, 100, 1.4 * 100},
		{5, 100, 1.2 * 255 * math.Pow(100./255, 1.4)}, {15, 100, 1.2 * 255 * math.Pow(100./255, 0.6)},
	} {
		if got := float64(l[tt.frame][tt.value]); got < 0.9*tt.want-1 || got > 1.1*tt.want+1 {
			t.Errorf("frame %d: %d became %.0f; want %.0f ± 10 %%", tt.frame, tt.value, got, tt.want)
		}
	}
	flicker := map[byte]bool{}
	for i := range l {
		flicker[l[i][128]] = true
	}
	if len(flicker) < 20 {
		t.Errorf("mid grey has %d values in 41 frames; want a flicker", len(flicker))
	}
}

func TestNoise(t *testing.T) {
	for _, v := range []float64{60, 128, 200} {
		p := &offline.Picture{Width: 200, Height: 200, BGR: bytes.Repeat([]byte{byte(v)}, 3*200*200)}
		noise{1, 2}.apply(3, p)
		m, s := 0.0, 0.0
		for _, b := range p.BGR {
			m += float64(b) / float64(len(p.BGR))
			s += (float64(b) - v) * (float64(b) - v) / float64(len(p.BGR))
		}
		if want := math.Sqrt(36 + 144*v/255); math.Abs(m-v) > 0.2 || math.Abs(math.Sqrt(s)-want) > 0.02*want {
			t.Errorf("at %.0f: mean %.2f, standard deviation %.2f; want %.2f", v, m, math.Sqrt(s), want)
		}
		again := &offline.Picture{Width: 200, Height: 200, BGR: bytes.Repeat([]byte{byte(v)}, 3*200*200)}
		noise{1, 2}.apply(4, again)
		if bytes.Equal(p.BGR, again.BGR) {
			t.Error("two frames have the same noise")
		}
	}
}

func TestPerturbed(t *testing.T) {
	root := cliptest.New(t, "square", 40)
	cliptest.Add(t, root, "brief", 12)
	opt := Options{Root: root, Features: features.Config{Superpixels: 200}, Seed: 7}
	opt.Sequences = []string{"square"}
	plain, err := Run(t.Context(), opt)
	require.NoError(t, err)
	opt.Sequences = []string{"brief", "square"}

	for _, mode := range []tracker.Mode{tracker.Joint, tracker.Affinity} {
		opt.Perturb, opt.Tracker.Mode = Occlusion, mode
		p, err := newPatch(opt.Seed, openClip(t, root, "square"))
		require.NoError(t, err)
		var area, j []float64
		ticks := 0
		opt.Frame = func(_ string, i int, f Frame) error {
			area, j = append(area, float64(f.Result.Objects[0].Mask.Area())), append(j, f.J)
			if i >= p.covered() && i < p.covered()+coverFrames && f.Truth.Area() != 0 {
				t.Errorf("frame %d: the truth shows behind the patch", i)
			}
			return nil
		}
		opt.Progress = func(_, total int) {
			if ticks++; total != 80 {
				t.Errorf("of %d frames; want 80, both runs", total)
			}
		}
		r, err := Run(t.Context(), opt)
		require.NoError(t, err)
		if len(r.Skipped) != 1 || r.Skipped[0].Name != "brief" || !strings.Contains(r.Skipped[0].Reason, "12 frames") || len(r.Sequences) != 1 || ticks != 80 {
			t.Fatalf("%d ticks, report %+v; want brief skipped and square run twice", ticks, r)
		}
		row := r.Sequences[0]
		if mode == tracker.Joint && *row.JUndisturbed != plain.Sequences[0].J {
			t.Errorf("J undisturbed is %v; without the perturbation it is %v", *row.JUndisturbed, plain.Sequences[0].J)
		}
		var shares []float64
		for i := p.covered(); i < p.covered()+15; i++ {
			shares = append(shares, area[i]/900)
		}
		slices.Sort(shares)
		after := 0.0
		for i := p.gone(); i < p.gone()+10; i++ {
			after += j[i] / 10
		}
		if *row.FalseWhileCovered != shares[7] || math.Abs(*row.JAfter-after) > 1e-12 || math.Abs(*row.JAfterRatio**row.JAfterUndisturbed-after) > 1e-12 ||
			*row.JDrop != *row.JUndisturbed-row.J || *r.MedianFalseWhileCovered != shares[7] || *r.MeanJAfterRatio != *row.JAfterRatio {
			t.Errorf("%s: false %v, J after %v; want %v and %v; row %+v", mode, *row.FalseWhileCovered, *row.JAfter, shares[7], after, row)
		}
		text, err := json.Marshal(r)
		require.NoError(t, err)
		for _, key := range []string{`"perturb":"occlusion","seed":7`, `"false_while_covered":`, `"j_after_ratio":`, `"j_undisturbed":`, `"skipped":[{"name":"brief","reason":"12 frames`, `"mean_j_after_ratio":`} {
			if !strings.Contains(string(text), key) {
				t.Errorf("report %s lacks %s", text, key)
			}
		}
	}
}

// Lighting, noise and night take any length and leave the occlusion's figures out.
func TestOtherPerturbations(t *testing.T) {
	root := cliptest.New(t, "square", 8)
	for _, kind := range []Perturbation{Lighting, Noise, Night} {
		r, err := Run(t.Context(), Options{Root: root, Features: features.Config{Superpixels: 200}, Perturb: kind})
		require.NoError(t, err)
		row := r.Sequences[0]
		if row.FalseWhileCovered != nil || row.JAfterRatio != nil || r.MeanJAfterRatio != nil || *row.JDrop != *row.JUndisturbed-row.J || *r.MeanJDrop != *row.JDrop || *row.JUndisturbed < 0.9 {
			t.Errorf("%s: %+v", kind, row)
		}
	}
}

// Night has no colour and half the light in its third of the sequence, and the day is as it was but after the switch.
func TestNight(t *testing.T) {
	const frames, size = 30, 64
	d := newNight(noise{1, 2}, frames)
	for i := range frames {
		p := &offline.Picture{Width: size, Height: size, BGR: bytes.Repeat([]byte{40, 80, 120}, size*size)}
		d.apply(i, p)
		var mean [3]float64
		for k, v := range p.BGR {
			mean[k%3] += float64(v) / size / size
		}
		grey, gain := i >= 10 && i < 20, 1.0
		if i >= 10 {
			gain = math.Exp2(math.Exp2(-float64(i % 10)))
		}
		want := [3]float64{40, 80, 120}
		if grey {
			want, gain = [3]float64{87, 87, 87}, gain/2
		}
		for c := range want {
			if math.Abs(mean[c]-gain*want[c]) > 0.03*gain*want[c] || grey && mean[c] != mean[0] {
				t.Errorf("frame %d: mean %v; want %v × %v", i, mean, gain, want)
				break
			}
		}
	}
}

func TestPerturbationRefuses(t *testing.T) {
	_, err := Run(t.Context(), Options{Root: cliptest.New(t, "square", 34), Perturb: Occlusion})
	if err == nil || !strings.Contains(err.Error(), "34 frames") || !strings.Contains(err.Error(), "takes 35") {
		t.Errorf("error is %v; want one that names 34 and 35 frames", err)
	}
	for _, p := range []Perturbation{Undisturbed, Occlusion, Lighting, Noise, Night} {
		if got, err := ParsePerturbation(p.String()); got != p || err != nil {
			t.Errorf("ParsePerturbation(%q) = %v, %v", p, got, err)
		}
	}
	if _, err := ParsePerturbation("fog"); err == nil || !strings.Contains(err.Error(), `"fog"`) || !strings.Contains(err.Error(), "lighting") {
		t.Errorf("error is %v; want one that names fog and what is accepted", err)
	}
}
