package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/ingest/codec"
)

// davisFolder is DAVIS' layout with two sequences of some frames each, in which
// nothing moves: a red square on green.
func davisFolder(t *testing.T, frames int) string {
	t.Helper()
	return davisSequences(t, frames, "one", "two")
}

// davisSequences has sequences of other names.
func davisSequences(t *testing.T, frames int, names ...string) string {
	t.Helper()
	root := t.TempDir()
	img, truth := image.NewRGBA(image.Rect(0, 0, 97, 65)), image.NewGray(image.Rect(0, 0, 97, 65))
	for y := range 65 {
		for x := range 97 {
			img.SetRGBA(x, y, color.RGBA{40, uint8(120 + x%8), 60, 255})
			if x >= 30 && x < 60 && y >= 16 && y < 46 {
				img.SetRGBA(x, y, color.RGBA{200, 30, 30, 255})
				truth.SetGray(x, y, color.Gray{Y: 255})
			}
		}
	}
	for _, name := range names {
		for i := range frames {
			write := func(folder, ext string, encode func(io.Writer) error) {
				dir := filepath.Join(root, folder, "480p", name)
				require.NoError(t, os.MkdirAll(dir, 0o755))
				f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%05d%s", i, ext)))
				require.NoError(t, err)
				require.NoError(t, errors.Join(encode(f), f.Close()))
			}
			write("JPEGImages", ".jpg", func(w io.Writer) error { return jpeg.Encode(w, img, nil) })
			write("Annotations", ".png", func(w io.Writer) error { return png.Encode(w, truth) })
		}
	}
	return root
}

func TestEvalPicturesRefuse(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 15 s: sequences of pictures")
	}
	root := davisFolder(t, 3)
	taken := clitest.File(t, "taken", "a file")
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		want   []string
	}{
		{"mode", []string{"davis", "--root", root, "--mode", "both"}, 2, []string{"--mode", `"both"`, "joint, affinity, fixed, memoryless, cold"}},
		{"mode of scribbles", []string{"scribbles", "--root", root, "--mode", "both"}, 2, []string{"--mode", `"both"`}},
		{"perturbation", []string{"davis", "--root", root, "--perturb", "fog"}, 2, []string{"--perturb", `"fog"`, "occlusion, lighting, noise or night"}},
		{"seed", []string{"davis", "--root", root, "--seed", "-1"}, 2, []string{"--seed", `"-1"`}},
		{"repeat", []string{"davis", "--root", root, "--repeat", "-1"}, 2, []string{"--repeat -1", "0 or more"}},
		{"too short to begin later", []string{"davis", "--root", root, "--repeat", "8"}, 1, []string{"one has", "want at least 3"}},
		{"seeds", []string{"scribbles", "--root", root, "--seeds", "0"}, 2, []string{"--seeds 0", "at least 1"}},
		{"no root", []string{"scribbles"}, 2, []string{`"root"`}},
		{"no data", []string{"scribbles", "--root", "/no/davis"}, 1, []string{"/no/davis/JPEGImages/480p", "Annotations/480p"}},
		{"overlay is a file", []string{"davis", "--root", root, "--overlay", taken}, 2, []string{"--overlay", taken}},
		{"video in no folder", []string{"davis", "--root", root, "--overlay", "/no/such/a.mp4"}, 2, []string{"--overlay", "/no/such/a.mp4"}},
		{"mosaic of two", []string{"davis", "--root", root, "--mosaic"}, 1, []string{"mosaic of 2 sequences", "at least 4"}},
		{"mosaic disturbed", []string{"davis", "--root", root, "--mosaic", "--perturb", "noise"}, 2, []string{"--mosaic", "--perturb noise", "none"}},
		{"inset of a word", []string{"davis", "--root", root, "--inset", "1080p"}, 2, []string{`--inset "1080p"`, "WIDTHxHEIGHT", "1920x1080"}},
		{"inset and more", []string{"davis", "--root", root, "--inset", "640x360x2"}, 2, []string{`--inset "640x360x2"`}},
		{"inset too low", []string{"davis", "--root", root, "--inset", "640x63"}, 2, []string{`--inset "640x63"`, "64 to 8192"}},
		{"inset too wide", []string{"davis", "--root", root, "--inset", "8193x64"}, 2, []string{`--inset "8193x64"`, "64 to 8192"}},
		{"mosaic inset", []string{"davis", "--root", root, "--mosaic", "--inset", "640x360"}, 2, []string{"--mosaic", "--inset", "one of them"}},
		{"mosaic of copies", []string{"davis", "--root", root, "--mosaic", "--stabilise"}, 2, []string{"--mosaic with --stabilise", "one of them"}},
		{"marks", []string{"davis", "--root", root, "--marks", "box"}, 2, []string{`--marks "box"`, "mask, detector"}},
		{"beside", []string{"davis", "--root", root, "--beside", "all"}, 2, []string{`--beside "all"`, "nothing, detector"}},
		{"mosaic marked by a detector", []string{"davis", "--root", root, "--mosaic", "--marks", "detector"}, 2, []string{"--mosaic with --marks detector", "one of them"}},
		{"mosaic with others", []string{"davis", "--root", root, "--mosaic", "--beside", "detector"}, 2, []string{"--mosaic with --beside detector"}},
		{"detected while disturbed", []string{"davis", "--root", root, "--marks", "detector", "--perturb", "noise"}, 2, []string{"--marks detector with --perturb noise", "--perturb none"}},
		{"nothing the detector knows", []string{"davis", "--root", root, "--marks", "detector"}, 1, []string{"no object is detected: one", "none of 3 frames"}},
		{"soak of nothing", []string{"soak"}, 2, []string{"neither --video nor --root", "want --video FILE, or --root DIR --sequences NAME"}},
		{"soak of both", []string{"soak", "--root", root, "--video", "a.avi"}, 2, []string{"--video with --root", "want --video FILE, or --root DIR"}},
		{"soak of a video's sequence", []string{"soak", "--sequences", "one", "--video", "a.avi"}, 2, []string{"--video with --root or --sequences"}},
		{"soak of all", []string{"soak", "--root", root}, 2, []string{"--sequences all", "one sequence"}},
		{"soak of a sequence that is looked at", []string{"soak", "--root", root, "--sequences", "one", "--every", "5"}, 2, []string{"--every with --root", "--video"}},
		{"soak too short", []string{"soak", "--video", "a.avi", "--frames", "2000"}, 2, []string{"--frames 2000", "more than 2000"}},
		{"soak never looks", []string{"soak", "--video", "a.avi", "--every", "0"}, 2, []string{"--every 0", "from 1 on"}},
		{"soak's score", []string{"soak", "--video", "a.avi", "--score", "0"}, 2, []string{"--score 0", "0.01 to 1"}},
		{"soak's class", []string{"soak", "--video", "a.avi", "--classes", "tank"}, 2, []string{"--classes", `"tank"`, "person"}},
		{"soak's file", []string{"soak", "--video", "/no/such.avi"}, 1, []string{"/no/such.avi"}},
		{"too short to cover", []string{"davis", "--root", root, "--perturb", "occlusion"}, 1, []string{"one has 3 frames", "takes 35"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			refuses(t, tt.status, tt.want, tt.args...)
		})
	}
}

func TestEvalDavis(t *testing.T) {
	root, out := davisFolder(t, 3), t.TempDir()
	c := start(t, "davis", "--root", root, "--sequences", "two", "--superpixels", "200", "--perturb", "noise", "--overlay", out)
	require.NoError(t, c.Wait(t))
	for _, parts := range [][]string{{"sequence", "J", "F", "J decay", "F decay", "instability", "ms/frame"}, {"false", "outline", "near", "far"}, {"ms/frame", "features", "(network)", "projection", "affinity", "solve", "mask"}, {"noise, seed 1", "J undisturbed", "J drop"}, {"two"}, {"mean"}} {
		if !clitest.LineWith(c.Out.String(), parts) {
			t.Errorf("no line has all of %q:\n%s", parts, c.Out.String())
		}
	}
	// The first frame's mask is the truth: both outlines run along the square, and
	// within it the red is mixed with the first object's colour, a blue.
	img := readPNG(t, filepath.Join(out, "two-00000.png"))
	if got := img.At(30, 30); got != (color.RGBA{0, 255, 0, 255}) {
		t.Errorf("the truth's outline is %v; want green", got)
	}
	if r, g, b, _ := img.At(45, 30).RGBA(); b>>8 < 100 || r>>8 > 160 || g>>8 < 80 {
		t.Errorf("the object is %v; want it tinted blue", img.At(45, 30))
	}
	if files, err := os.ReadDir(out); err != nil || len(files) != 3 {
		t.Errorf("%d files, %v; want one a frame, of the disturbed run", len(files), err)
	}
}

func TestEvalDavisRepeat(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 14 s: sequences of pictures")
	}
	root := davisFolder(t, 6)
	c := start(t, "davis", "--root", root, "--sequences", "two", "--superpixels", "200", "--repeat", "2", "--backwards")
	require.NoError(t, c.Wait(t))
	for _, parts := range [][]string{{"played backwards"}, {"2 repeats, seed 1"}, {"two", "±"}, {"mean", "±"}} {
		if !clitest.LineWith(c.Out.String(), parts) {
			t.Errorf("no line has all of %q:\n%s", parts, c.Out.String())
		}
	}
}

func TestEvalDavisJSONAndVideo(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 7 s: sequences of pictures")
	}
	video := filepath.Join(t.TempDir(), "all.MP4")
	c := start(t, "davis", "--root", davisFolder(t, 3), "--superpixels", "200", "--mode", "fixed", "--json", "--overlay", video)
	require.NoError(t, c.Wait(t))
	var report struct {
		Mode      string
		Sequences []struct {
			Name    string
			J       *float64
			StageMS *struct{ Network float64 } `json:"stage_ms"`
		}
	}
	if err := json.Unmarshal([]byte(c.Out.String()), &report); err != nil {
		t.Fatalf("%v:\n%s", err, c.Out.String())
	}
	if report.Mode != "fixed" || len(report.Sequences) != 2 || report.Sequences[1].J == nil || report.Sequences[1].StageMS.Network <= 0 {
		t.Errorf("report %s", c.Out.String())
	}
	in, err := codec.OpenFile(video)
	require.NoError(t, err)
	defer in.Close()
	if w, h := in.Size(); w != 96 || h != 64 || in.FrameCount() != 6 {
		t.Errorf("a video of %d frames of %d×%d; want 6 of 96×64", in.FrameCount(), w, h)
	}
}

func TestEvalDavisMosaic(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 35 s: sequences of pictures")
	}
	root, out := davisSequences(t, 6, "one", "two", "three", "four", "five"), t.TempDir()
	c := start(t, "davis", "--root", root, "--superpixels", "400", "--mosaic", "--sequences", "one,two,three,four", "--overlay", out)
	require.NoError(t, c.Wait(t))
	for _, parts := range [][]string{{"mosaic", "sequence", "frames", "J", "J alone", "difference"}, {"1", "one", "4"}, {"four"}, {"mean"}} {
		if !clitest.LineWith(c.Out.String(), parts) {
			t.Errorf("no line has all of %q:\n%s", parts, c.Out.String())
		}
	}
	// Each object has its own colour, in its quadrant, and the truth's outline.
	img := readPNG(t, filepath.Join(out, "mosaic-1-00005.png"))
	if b := img.Bounds(); b.Dx() != 2*97 || b.Dy() != 2*65 {
		t.Fatalf("a picture of %d×%d; want 194×130", b.Dx(), b.Dy())
	}
	seen := map[color.Color]bool{}
	for _, at := range []image.Point{{45, 30}, {97 + 45, 30}, {45, 65 + 30}, {97 + 45, 65 + 30}} {
		seen[img.At(at.X, at.Y)] = true
		if got := img.At(at.X-15, at.Y); got != (color.RGBA{0, 255, 0, 255}) {
			t.Errorf("the truth's outline is %v at %v; want green", got, at)
		}
	}
	assert.Len(t, seen, 4, "the four objects are")

	c = start(t, "davis", "--root", root, "--superpixels", "400", "--mosaic", "--json", "--repeat", "1")
	require.NoError(t, c.Wait(t))
	var report struct {
		Mosaic []struct {
			Sequence      string
			Mosaic        int
			J, Difference *float64
			JAlone        *float64 `json:"j_alone"`
		}
		Repeat         struct{ N int }
		MeanDifference *float64 `json:"mean_difference"`
	}
	if err := json.Unmarshal([]byte(c.Out.String()), &report); err != nil {
		t.Fatalf("%v:\n%s", err, c.Out.String())
	}
	if len(report.Mosaic) != 5 || report.Repeat.N != 1 || report.MeanDifference == nil {
		t.Fatalf("report %s; want five rows, of one repeat", c.Out.String())
	}
	for i, name := range []string{"five", "four", "one", "three", "two"} {
		if row := report.Mosaic[i]; row.Sequence != name || row.Mosaic != 1+i/4 || row.J == nil || row.JAlone == nil || *row.Difference != *row.J-*row.JAlone {
			t.Errorf("row %d of %s; want %s with its J alone", i, c.Out.String(), name)
		}
	}
}

// The object is before a picture that stands, and the copies' figures are said to be theirs.
func TestEvalDavisStabilise(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 5 s: sequences of pictures")
	}
	out := t.TempDir()
	c := start(t, "davis", "--root", davisFolder(t, 4), "--sequences", "two", "--superpixels", "200", "--stabilise", "--overlay", out)
	require.NoError(t, c.Wait(t))
	for _, parts := range [][]string{{"standing copies"}, {"camera", "motion/frame", "J", "F"}, {"two", "0.00 %", "standing"}, {"mean of 1", "standing"}} {
		if !clitest.LineWith(c.Out.String(), parts) {
			t.Errorf("no line has all of %q:\n%s", parts, c.Out.String())
		}
	}
	// The square of 30 pixels begins smaller, so that there is room for three times that.
	img := readPNG(t, filepath.Join(out, "two-00000.png"))
	if r, g, b, _ := img.At(32, 18).RGBA(); g <= r || g <= b {
		t.Errorf("beside the smaller square is %v; want green", img.At(32, 18))
	}
}

func TestEvalDavisInset(t *testing.T) {
	out := t.TempDir()
	c := start(t, "davis", "--root", davisFolder(t, 3), "--sequences", "two", "--superpixels", "200", "--inset", "320x200", "--overlay", out)
	require.NoError(t, c.Wait(t))
	for _, parts := range [][]string{{"shrunk into 320×200", "scale"}, {"two", "1.000"}, {"mean"}} {
		if !clitest.LineWith(c.Out.String(), parts) {
			t.Errorf("no line has all of %q:\n%s", parts, c.Out.String())
		}
	}
	if b := readPNG(t, filepath.Join(out, "two-00000.png")).Bounds(); b.Dx() != 320 || b.Dy() != 200 {
		t.Errorf("a picture of %d×%d; want 320×200", b.Dx(), b.Dy())
	}
}

func TestEvalScribbles(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 5 s: sequences of pictures")
	}
	root, out := davisFolder(t, 3), t.TempDir()
	c := start(t, "scribbles", "--root", root, "--superpixels", "200", "--sequences", "one", "--seeds", "2", "--overlay", out)
	require.NoError(t, c.Wait(t))
	for _, parts := range [][]string{{"J, 2 seeds", "segd", "k-means"}, {"one"}, {"median of all"}, {"mean of all"}} {
		if !clitest.LineWith(c.Out.String(), parts) {
			t.Errorf("no line has all of %q:\n%s", parts, c.Out.String())
		}
	}
	for _, name := range []string{"one-1-segd", "one-1-kmeans", "one-2-segd", "one-2-kmeans"} {
		img := readPNG(t, filepath.Join(out, name+".png"))
		seen := map[color.Color]bool{}
		for i := range 97 * 65 {
			seen[img.At(i%97, i/97)] = true
		}
		for what, colour := range map[string]color.RGBA{"stroke on the object": {255, 255, 0, 255}, "stroke on the background": {0, 0, 255, 255}, "outline": {0, 255, 0, 255}} {
			if !seen[colour] {
				t.Errorf("%s shows no %s", name, what)
			}
		}
	}
}

func readPNG(t *testing.T, path string) image.Image {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	img, err := png.Decode(f)
	require.NoError(t, err)
	return img
}

// Beside squares the detector finds nothing, and they are followed as without.
func TestEvalDavisBeside(t *testing.T) {
	root := davisFolder(t, 4)
	run := func(args ...string) string {
		c := start(t, append([]string{"davis", "--root", root, "--superpixels", "100", "--short-side", "64", "--beside", "detector"}, args...)...)
		require.NoError(t, c.Wait(t))
		return c.Out.String()
	}
	for _, parts := range [][]string{{"marked beside", "objects"}, {"two", "0"}} {
		if out := run(); !clitest.LineWith(out, parts) {
			t.Errorf("no line has all of %q:\n%s", parts, out)
		}
	}
	for _, part := range []string{`"beside":"detector"`, `"others":0`} {
		assert.Contains(t, run("--json"), part)
	}
}

func TestEvalAblation(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 5 s: sequences of pictures")
	}
	root := davisFolder(t, 6)
	c := start(t, "ablation", "--root", root, "--sequences", "one", "--superpixels", "150", "--repeat", "1")
	require.NoError(t, c.Wait(t))
	for _, parts := range [][]string{{"1 repeats, seed 1"}, {"J", "F", "gain", "core-ms"}, {"affinity alone", "0.000 ± 0.000"}, {"joint, without"}, {"joint, cold"}, {"joint, warm"}, {"labels fixed"}, {"J", "one"}} {
		if !clitest.LineWith(c.Out.String(), parts) {
			t.Errorf("no line has all of %q:\n%s", parts, c.Out.String())
		}
	}
	if err := start(t, "ablation", "--root", root, "--repeat", "0").Wait(t); cli.Status(err) != cli.ExitUsage || !strings.Contains(err.Error(), "--repeat 0; accepted: 1 or more") {
		t.Errorf("no repeats: %v", err)
	}
}
