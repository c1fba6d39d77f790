package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/ingest/codec"
)

// street is a video of 12 frames in which a red post of 24×64 pixels walks right over
// grey-green, and its truth, which calls it 5.
func street(t *testing.T) (video, truth string) {
	t.Helper()
	const width, height = 160, 96
	video = filepath.Join(t.TempDir(), "street.mp4")
	m, err := codec.CreateFile(video, codec.EncoderConfig{Width: width, Height: height, FPS: 10, CRF: 10})
	require.NoError(t, err)
	var lines strings.Builder
	for n := range 12 {
		left := 20 + 3*n
		pix := make([]byte, 3*width*height)
		for i := range width * height {
			b, g, r := byte(70), byte(110+i%8), byte(80)
			if x, y := i%width, i/width; x >= left && x < left+24 && y >= 16 && y < 80 {
				b, g, r = 30, 30, 210
			}
			pix[3*i], pix[3*i+1], pix[3*i+2] = b, g, r
		}
		require.NoError(t, m.BGR(pix, time.Duration(n)*100*time.Millisecond))
		fmt.Fprintf(&lines, "%d,5,%d,17,24,64,1,-1,-1,-1\n", n+1, left+1)
	}
	require.NoError(t, m.Close())
	return video, clitest.File(t, "gt.txt", lines.String())
}

func TestEvalMot(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 7 s: videos")
	}
	video, truth := street(t)
	out := filepath.Join(t.TempDir(), "result.txt")
	c := start(t, "mot", "--video", video, "--truth", truth, "--superpixels", "300", "--frames", "3-10", "--follow", "all", "--out", out)
	require.NoError(t, c.Wait(t))
	for _, parts := range [][]string{{"frames 3 to 10, marked by box", "IDF1", "IDP", "IDR", "switches"}, {"alone", "1.000"}, {"together", "1.000"}, {"person", "marked", "present", "right", "false", "missed"}, {"5", "3", "7", "0"}} {
		if !clitest.LineWith(c.Out.String(), parts) {
			t.Errorf("no line has all of %q:\n%s", parts, c.Out.String())
		}
	}
	assert.Contains(t, c.Err.String(), "following the persons", "standard error is")
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	if lines := strings.Split(string(text), "\n"); len(lines) != 8 || !strings.HasPrefix(lines[0], "4,5,") || !strings.HasSuffix(lines[6], ",-1,-1,-1") {
		t.Errorf("%q; want a line for each frame from 4 to 10", text)
	}
}

// In a street without persons the detector finds no one.
func TestEvalMotAutomatic(t *testing.T) {
	video, truth := street(t)
	dir := t.TempDir()
	out, detections := filepath.Join(dir, "result.txt"), filepath.Join(dir, "det.txt")
	c := start(t, "mot", "--video", video, "--truth", truth, "--superpixels", "300", "--frames", "2-12", "--out", out, "--detections", detections, "--line", "0.28,0,0.28,1", "--boxes", "mask", "--classes", "person,car", "--json")
	require.NoError(t, c.Wait(t))
	var report map[string]any
	if err := json.Unmarshal([]byte(c.Out.String()), &report); err != nil {
		t.Fatalf("%v:\n%s", err, c.Out.String())
	}
	// The post walks over the line, and no one is counted.
	lines, _ := json.Marshal(report["lines"])
	assert.Equal(t, `[{"counted":{"a_to_b":0,"b_to_a":0},"line":[0.28,0,0.28,1],"true":{"a_to_b":0,"b_to_a":1}}]`, string(lines), "lines are %s", lines)
	if report["boxes"] != "mask" || fmt.Sprint(report["by_mask"]) != fmt.Sprint(report["by_extent"]) || report["by_mask"] == nil {
		t.Errorf("figures are not of masks, or not of both boxes:\n%s", c.Out.String())
	}
	for _, key := range []string{"mota", "idf1", "id_switches", "fragmentations", "recall", "ms_per_frame"} {
		if v, ok := report[key].(float64); !ok || (v != 0) != (key == "ms_per_frame") {
			t.Errorf("%s is not what nobody's is:\n%s", key, c.Out.String())
		}
	}
	if v, ok := report["precision"]; !ok || v != nil {
		t.Errorf("precision is not null:\n%s", c.Out.String())
	}
	if text, err := os.ReadFile(out); err != nil || len(text) > 0 {
		t.Errorf("%s: %q, %v; want an empty file", out, text, err)
	}
	_, err := os.Stat(detections)
	assert.NoError(t, err)
}

// MOTChallenge's videos are folders of pictures.
func TestEvalMotFolder(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 7 s: videos")
	}
	dir, lines := t.TempDir(), ""
	for n := range 5 {
		img := image.NewRGBA(image.Rect(0, 0, 160, 96))
		for i := range 160 * 96 {
			img.SetRGBA(i%160, i/160, color.RGBA{80, uint8(110 + i%8), 70, 255})
			if x, y := i%160, i/160; x >= 20+3*n && x < 44+3*n && y >= 16 && y < 80 {
				img.SetRGBA(x, y, color.RGBA{210, 30, 30, 255})
			}
		}
		var picture bytes.Buffer
		require.NoError(t, errors.Join(png.Encode(&picture, img), os.WriteFile(filepath.Join(dir, fmt.Sprintf("%06d.png", n+1)), picture.Bytes(), 0o600)))
		lines += fmt.Sprintf("%d,5,%d,17,24,64,1,-1,-1,-1\n", n+1, 21+3*n)
	}
	c := start(t, "mot", "--video", dir, "--fps", "10", "--truth", clitest.File(t, "gt.txt", lines), "--superpixels", "300", "--follow", "all")
	require.NoError(t, c.Wait(t))
	for _, parts := range [][]string{{"frames 1 to 5, marked by box, boxes: extent"}, {"together", "1.000"}, {"5", "1", "4", "4"}} {
		if !clitest.LineWith(c.Out.String(), parts) {
			t.Errorf("no line has all of %q:\n%s", parts, c.Out.String())
		}
	}
}

func TestEvalMotJSON(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 9 s: videos")
	}
	video, truth := street(t)
	c := start(t, "mot", "--video", video, "--truth", truth, "--superpixels", "300", "--follow", "5", "--mark", "ellipse", "--mode", "affinity", "--json")
	require.NoError(t, c.Wait(t))
	type group struct {
		IDF1     *float64
		Switches *int                                               `json:"id_switches"`
		Objects  []struct{ ID, Present, Right, False, Missed *int } `json:"per_object"`
	}
	var report struct {
		Mode, Mark      string
		Alone, Together *group
	}
	if err := json.Unmarshal([]byte(c.Out.String()), &report); err != nil {
		t.Fatalf("%v:\n%s", err, c.Out.String())
	}
	if report.Mode != "affinity" || report.Mark != "ellipse" {
		t.Errorf("report %s", c.Out.String())
	}
	for _, g := range []*group{report.Alone, report.Together} {
		if g == nil || g.IDF1 == nil || g.Switches == nil || len(g.Objects) != 1 {
			t.Fatalf("report %s", c.Out.String())
		}
		if o := g.Objects[0]; *o.ID != 5 || *o.Present != 11 || *o.Right+*o.Missed != 11 || o.False == nil {
			t.Errorf("report %s", c.Out.String())
		}
	}
}

func TestEvalMotRefuses(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 20 s: videos")
	}
	video, truth := street(t)
	cut := filepath.Join(t.TempDir(), "cut.mp4")
	whole, err := os.ReadFile(video)
	require.NoError(t, errors.Join(err, os.WriteFile(cut, whole[:len(whole)/2], 0o600)))
	long := clitest.File(t, "long.txt", "1,5,21,17,24,64,1\n40,5,21,17,24,64,1\n")
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		want   []string
	}{
		{"no video", []string{"--truth", truth}, 2, []string{`"video"`}},
		{"no truth", []string{"--video", video}, 2, []string{`"truth"`}},
		{"truth is missing", []string{"--video", video, "--truth", "/no/gt.txt"}, 2, []string{"--truth", "/no/gt.txt"}},
		{"truth is none", []string{"--video", video, "--truth", clitest.File(t, "bad.txt", "1,1,1,1,x,9,1\n")}, 2, []string{"--truth", "bad.txt:1", `width is "x"`, "want a number"}},
		{"frames", []string{"--video", video, "--truth", truth, "--frames", "9-2"}, 2, []string{"--frames", `"9-2"`, "A-B"}},
		{"frames without an end", []string{"--video", video, "--truth", truth, "--frames", "9"}, 2, []string{"--frames", `"9"`}},
		{"follow", []string{"--video", video, "--truth", truth, "--follow", "5,x"}, 2, []string{"--follow", `"x"`, "all, or whole numbers"}},
		{"mark", []string{"--video", video, "--truth", truth, "--follow", "all", "--mark", "star"}, 2, []string{"--mark", `"star"`, "box or ellipse"}},
		{"mark and nobody is marked", []string{"--video", video, "--truth", truth, "--mark", "box"}, 2, []string{"--mark without --follow", "accepted"}},
		{"every of what is marked", []string{"--video", video, "--truth", truth, "--follow", "5", "--every", "10"}, 2, []string{"--every with --follow", "accepted"}},
		{"score of what is marked", []string{"--video", video, "--truth", truth, "--follow", "5", "--score", "0.5"}, 2, []string{"--score with --follow", "accepted"}},
		{"detections of what is marked", []string{"--video", video, "--truth", truth, "--follow", "5", "--detections", "/no/det.txt"}, 2, []string{"--detections with --follow", "accepted"}},
		{"line of what is marked", []string{"--video", video, "--truth", truth, "--follow", "5", "--line", "0,0,1,1"}, 2, []string{"--line with --follow", "accepted"}},
		{"classes of what is marked", []string{"--video", video, "--truth", truth, "--follow", "5", "--classes", "car"}, 2, []string{"--classes with --follow", "accepted"}},
		{"height of what is marked", []string{"--video", video, "--truth", truth, "--follow", "5", "--min-height", "48"}, 2, []string{"--min-height with --follow", "accepted"}},
		{"class", []string{"--video", video, "--truth", truth, "--classes", "tank"}, 2, []string{"--classes", `"tank"`, "person"}},
		{"no class", []string{"--video", video, "--truth", truth, "--classes", ""}, 2, []string{"--classes", "at least one"}},
		{"height", []string{"--video", video, "--truth", truth, "--min-height", "-1"}, 2, []string{"--min-height -1", "0 or more"}},
		{"boxes", []string{"--video", video, "--truth", truth, "--boxes", "all"}, 2, []string{"--boxes", `"all"`, "extent or mask"}},
		{"pictures a second", []string{"--video", filepath.Dir(video), "--truth", truth, "--fps", "-1"}, 2, []string{"fps -1"}},
		{"line of three numbers", []string{"--video", video, "--truth", truth, "--line", "0,0,1"}, 2, []string{`--line "0,0,1"`, "X1,Y1,X2,Y2"}},
		{"line of words", []string{"--video", video, "--truth", truth, "--line", "a,b,c,d"}, 2, []string{`--line "a,b,c,d"`, "X1,Y1,X2,Y2"}},
		{"line outside", []string{"--video", video, "--truth", truth, "--line", "0,0.5,100,0.5"}, 2, []string{`--line "0,0.5,100,0.5"`, "0 to 1"}},
		{"line of one place", []string{"--video", video, "--truth", truth, "--line", "0.5,0.5,0.5,0.5"}, 2, []string{"--line", "two places"}},
		{"every", []string{"--video", video, "--truth", truth, "--every", "0"}, 2, []string{"--every 0", "from 1 on"}},
		{"score", []string{"--video", video, "--truth", truth, "--score", "1.5"}, 2, []string{"--score 1.5", "to 1"}},
		{"detections", []string{"--video", video, "--truth", truth, "--detections", "/no/such/det.txt"}, 2, []string{"--detections", "/no/such/det.txt"}},
		{"mode", []string{"--video", video, "--truth", truth, "--mode", "both"}, 2, []string{"--mode", `"both"`}},
		{"out", []string{"--video", video, "--truth", truth, "--out", "/no/such/result.txt"}, 2, []string{"--out", "/no/such/result.txt"}},
		{"no such person", []string{"--video", video, "--truth", truth, "--follow", "6"}, 1, []string{"no person 6"}},
		{"video is missing", []string{"--video", "/no/such.avi", "--truth", truth}, 1, []string{"/no/such.avi"}},
		{"video is too short", []string{"--video", video, "--truth", long, "--superpixels", "50", "--follow", "all"}, 1, []string{"ends with frame 12", "want 40"}},
		{"video is too short to find all", []string{"--video", video, "--truth", long, "--superpixels", "50"}, 1, []string{"ends with frame 12", "want 40"}},
		{"video is cut off", []string{"--video", cut, "--truth", truth, "--superpixels", "50"}, 1, []string{"mot: "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			refuses(t, tt.status, tt.want, append([]string{"mot"}, tt.args...)...)
		})
	}
}

func TestEvalMotScore(t *testing.T) {
	truth := clitest.File(t, "gt.txt", "1,5,21,17,24,64,1\n2,5,21,17,24,64,1\n3,5,21,17,24,64,1\n4,5,21,17,24,64,1\n5,5,21,17,24,64,0\n")
	result := clitest.File(t, "result.txt", "1,3,21,17,24,64,0.9,-1,-1,-1\n3,4,21,17,24,60,0.5,-1,-1,-1\n3,9,121,17,24,60,0.5,-1,-1,-1\n5,4,21,17,24,60,0.5,-1,-1,-1\n")
	score := func(args ...string) string {
		c := start(t, append([]string{"mot", "score", "--truth", truth, "--result", result}, args...)...)
		require.NoError(t, c.Wait(t))
		return c.Out.String()
	}
	// Of four, two are missed and one is found under another name; another is false.
	if got, want := score("--json"), `{"mota":0,"idf1":0.2857142857142857,"id_switches":1,"fragmentations":1,"recall":0.5,"precision":0.6666666666666666}`+"\n"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
	for _, parts := range [][]string{{"MOTA", "IDF1", "switches", "fragmentations", "recall", "precision"}, {"0.500", "0.667", "0", "0.500", "1.000"}} {
		if got := score("--frames", "1-2"); !clitest.LineWith(got, parts) {
			t.Errorf("no line has all of %q:\n%s", parts, got)
		}
	}
	// No one is 65 pixels tall.
	if got, want := score("--json", "--min-height", "65"), `{"mota":null,"idf1":null,"id_switches":0,"fragmentations":0,"recall":null,"precision":null}`+"\n"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
	for _, tt := range []struct {
		name string
		args []string
		want []string
	}{
		{"height", []string{"--truth", truth, "--result", result, "--min-height", "x"}, []string{"--min-height", `"x"`}},
		{"no truth", []string{"--result", result}, []string{`"truth"`}},
		{"no result", []string{"--truth", truth}, []string{`"result"`}},
		{"truth is missing", []string{"--truth", "/no/gt.txt", "--result", result}, []string{"--truth", "/no/gt.txt"}},
		{"result is missing", []string{"--truth", truth, "--result", "/no/result.txt"}, []string{"--result", "/no/result.txt"}},
		{"result is none", []string{"--truth", truth, "--result", clitest.File(t, "bad.txt", "1,1,1,1,9,x,1\n")}, []string{"--result", "bad.txt:1", `height is "x"`, "want a number"}},
		{"frames", []string{"--truth", truth, "--result", result, "--frames", "0-2"}, []string{"--frames", `"0-2"`, "A-B"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := start(t, append([]string{"mot", "score"}, tt.args...)...).Wait(t)
			if cli.Status(err) != 2 {
				t.Fatalf("exit status %d of %v; want 2", cli.Status(err), err)
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
		})
	}
}
