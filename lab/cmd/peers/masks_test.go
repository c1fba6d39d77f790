package main

import (
	"bytes"
	"encoding/json"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// masksProgram compiles theirs/masks.cpp.
func masksProgram(t *testing.T) string {
	t.Helper()
	return compiled(t, "masks", "-lopencv_tracking", "-lopencv_video", "-lopencv_imgproc", "-lopencv_core")
}

// compiled is the program of a file of theirs/ that wants OpenCV's contributed modules.
func compiled(t *testing.T, name string, libraries ...string) string {
	t.Helper()
	if _, err := os.Stat("/usr/include/opencv4/opencv2/tracking.hpp"); err != nil {
		t.Skip("no libopencv-contrib-dev: scripts/setup peers installs it")
	}
	source, err := os.Open("theirs/" + name + ".cpp") // so that go test knows that it may change
	require.NoError(t, err)
	defer source.Close()
	program := filepath.Join(t.TempDir(), "peer-"+name)
	args := []string{"-I/usr/include/opencv4", "-std=c++17", "-O1", "-Wall", "-Werror", "-o", program, "-x", "c++", "-"}
	cmd := exec.Command("g++", append(args, libraries...)...)
	cmd.Stdin = source
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	return program
}

// moving writes a drawn sequence of DAVIS' layout: a disc that moves by two pixels a frame.
func moving(t *testing.T, frames int) (root string) {
	t.Helper()
	root = t.TempDir()
	for i := range frames {
		img, truth := image.NewRGBA(image.Rect(0, 0, 200, 120)), image.NewGray(image.Rect(0, 0, 200, 120))
		for y := range 120 {
			for x := range 200 {
				texture := func(x, y int) uint8 { return uint8(20 + 20*math.Sin(float64(x)/5)*math.Sin(float64(y)/7)) }
				v := texture(x, y)
				c := color.RGBA{60 + v, 140 + v, 70 + v, 255}
				if math.Hypot(float64(x-60-2*i), float64(y-60)) < 30 {
					v = texture(y, x-2*i)
					c = color.RGBA{190 + v, 60 + v, 50 + v, 255}
					truth.SetGray(x, y, color.Gray{Y: 255})
				}
				img.SetRGBA(x, y, c)
			}
		}
		name := "0000" + strconv.Itoa(i)
		write := func(path string, encode func(io.Writer) error) {
			path = filepath.Join(root, path)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			f, err := os.Create(path)
			require.NoError(t, err)
			defer f.Close()
			require.NoError(t, encode(f))
		}
		write("JPEGImages/480p/disc/"+name+".jpg", func(w io.Writer) error { return jpeg.Encode(w, img, nil) })
		write("Annotations/480p/disc/"+name+".png", func(w io.Writer) error { return png.Encode(w, truth) })
	}
	return root
}

// The command as it is, with OpenCV's methods and segd's own: a disc is easy for all.
func TestMasks(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 20 s: a program that OpenCV is compiled into")
	}
	var stdout, stderr strings.Builder
	require.NoError(t, run(t.Context(), []string{"-only", "masks", "-masks", masksProgram(t), "-davis", moving(t, 6)}, &stdout, &stderr))
	var got map[string]map[string]map[string]float64
	if err := json.Unmarshal([]byte(stdout.String()), &got); err != nil || len(got) != 1 || len(got["masks"]) != 4 {
		t.Fatalf("%v: %s", err, &stdout)
	}
	for _, side := range []string{"segd", "dis", "csrt_grabcut", "grabcut"} {
		f := got["masks"][side]
		if len(f) != 3 || !(f["j"] > 0.85 && f["j"] <= 1 && f["f"] > 0.85 && f["f"] <= 1 && f["ms"] > 0) {
			t.Errorf("%s: %v; want J and F above 0.85 and a time", side, f)
		}
	}
	for _, line := range []string{"segd's network by", "csrt_grabcut", "\ndisc ", "\nmean "} {
		if !strings.Contains(stderr.String(), line) {
			t.Errorf("no %q in\n%s", line, &stderr)
		}
	}
}

// A second sequence, of another size, is followed as it is after no other, an object may
// be lost, and what is not a frame ends the program.
func TestMaskPeers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 20 s: a program that OpenCV is compiled into")
	}
	program := masksProgram(t)
	scene := func(i, width, height, noise int) (bgr, truth []byte) {
		for y := range height {
			for x := range width {
				in := math.Hypot(float64(x-25-2*i), float64(y-25)) < 15
				at, c := x, [3]int{60, 130, 90}
				if in {
					at, c = x-2*i+1000, [3]int{60, 60, 170}
				}
				r := rand.New(rand.NewPCG(uint64(at), uint64(y)))
				for _, v := range c {
					bgr = append(bgr, byte(v+r.IntN(noise)))
				}
				truth = append(truth, map[bool]byte{true: 9}[in])
			}
		}
		return bgr, truth
	}
	for _, side := range maskSides[1:] {
		t.Run(side.name, func(t *testing.T) {
			follow := func(p *maskPeer, size image.Point, noise, tolerance int) (masks [][]byte) {
				for i := range 4 {
					bgr, truth := scene(i, size.X, size.Y, noise)
					first := truth
					if i > 0 {
						first = nil
					}
					_, err := p.follow(bgr, first, size)
					require.NoError(t, err)
					off := 0
					for k, v := range p.mask {
						if v > 1 {
							t.Fatalf("byte %d; want 0 or 1", v)
						}
						if v != min(truth[k], 1) {
							off++
						}
					}
					if i == 0 && off > 0 || off > tolerance {
						t.Errorf("frame %d: %d of 700 pixels are off", i, off)
					}
					masks = append(masks, p.mask)
				}
				return masks
			}
			open := func() *maskPeer {
				p, err := startMaskPeer(t.Context(), program, side.name)
				require.NoError(t, err)
				return p
			}
			p := open()
			follow(p, image.Pt(120, 80), 60, 200)
			// Where masks depend on what GrabCut draws.
			second := follow(p, image.Pt(90, 110), 150, 90*110)
			require.NoError(t, p.close())
			p = open()
			if !slices.EqualFunc(second, follow(p, image.Pt(90, 110), 150, 90*110), slices.Equal) {
				t.Error("other masks after another sequence")
			}
			// Nothing like the object is left: any mask will do.
			for range 3 {
				_, err := p.follow(make([]byte, 3*90*110), nil, image.Pt(90, 110))
				require.NoError(t, err)
			}
			dot := make([]byte, 90*110) // and one of four pixels
			for _, at := range []int{0, 1, 90, 91} {
				dot[at] = 1
			}
			for _, first := range [][]byte{dot, nil, nil} {
				_, err := p.follow(bytes.Repeat([]byte{5, 90, 200, 7}, 3*90*110/4), first, image.Pt(90, 110))
				require.NoError(t, err)
			}
			_, err := p.ask("next -1 5")
			assert.Error(t, err, "a frame of -1×5 has an answer")
			assert.Error(t, p.close(), "no exit status after a frame of -1×5")
		})
	}
}

// What answers otherwise is an error, no figure. The peers read all they are sent: what they say is
// meant, and no broken pipe.
func TestMaskPeerAnswers(t *testing.T) {
	for _, tt := range []struct{ name, script, want string }{
		{"dead", "exit 0", "first 2 2"},
		{"two numbers", "echo 1 2", "want seconds"},
		{"no number", "echo soon", "soon"},
		{"negative", "echo -1", "want seconds"},
		{"short mask", "echo 1; printf 123", "3 bytes; want 2×2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			peer := filepath.Join(t.TempDir(), "peer")
			require.NoError(t, os.WriteFile(peer, []byte("#!/bin/sh\nread -r line\nhead -c 16 >/dev/null\n"+tt.script+"\n"), 0o700))
			p, err := startMaskPeer(t.Context(), peer, "dis")
			require.NoError(t, err)
			defer p.close()
			_, err = p.follow(make([]byte, 12), make([]byte, 4), image.Pt(2, 2))
			assert.ErrorContains(t, err, tt.want)
		})
	}
	_, err := startMaskPeer(t.Context(), "no/such/peer", "dis")
	assert.ErrorContains(t, err, "make peers")
}

// Each side's figures are its own: peers that call all of the picture the object, and take
// other times.
func TestMaskReport(t *testing.T) {
	peer := filepath.Join(t.TempDir(), "peer")
	script := `#!/bin/sh
case $1 in dis) ms=1;; csrt_grabcut) ms=2;; grabcut) ms=3;; esac
while read -r what w h; do
	[ $what = next ] && bytes=$((3*w*h)) || bytes=$((4*w*h))
	head -c $bytes >/dev/null
	echo 0.00$ms
	head -c $((w*h)) /dev/zero | tr '\0' '\001'
done
`
	require.NoError(t, os.WriteFile(peer, []byte(script), 0o700))
	r, err := compareMasks(t.Context(), options{masks: peer, davis: moving(t, 4), sequences: 1}, io.Discard)
	require.NoError(t, err)
	if r.Segd.J < 0.85 {
		t.Errorf("segd's J is %.3f", r.Segd.J)
	}
	for k, f := range []maskFigures{r.DIS, r.CSRTGrabCut, r.GrabCut} {
		if want := math.Pi * 30 * 30 / (200 * 120); math.Abs(f.J-want) > 0.01 || math.Abs(f.MS-float64(k+1)) > 1e-9 {
			t.Errorf("%s: %+v; want J %.2f and %d ms", maskSides[k+1].name, f, want, k+1)
		}
	}
}

func TestMaskFigures(t *testing.T) {
	var tally maskTally
	full, half, none := []byte{1, 1, 1, 1}, []byte{1, 1, 0, 0}, make([]byte, 4)
	for i, got := range [][]byte{none, full, half, none} {
		tally.add(got, full, image.Pt(2, 2), []float64{100, 2, 4, 100}[i])
	}
	if f := tally.figures(); f.J != 0.75 || f.MS != 3 {
		t.Errorf("%+v; want J 0.75 and 3 ms, without the first frame and the last", f)
	}
	var r maskReport
	r.add(&maskReport{GrabCut: maskFigures{J: 0.5, F: 1, MS: 8}}, 0.5)
	r.add(&maskReport{GrabCut: maskFigures{J: 1, F: 1, MS: 4}, Segd: maskFigures{J: 1}}, 0.5)
	if want := (maskReport{GrabCut: maskFigures{0.75, 1, 6}, Segd: maskFigures{J: 0.5}}); r != want {
		t.Errorf("mean %+v; want %+v", r, want)
	}
}

// Without sequences the other comparisons are what is left; asked for, it is an error.
func TestMasksWithoutSequences(t *testing.T) {
	var stderr strings.Builder
	if r, err := compareMasks(t.Context(), options{davis: t.TempDir(), sequences: 8}, &stderr); r != nil || err != nil || !strings.Contains(stderr.String(), "left out") {
		t.Errorf("%v, %v, %s", r, err, &stderr)
	}
	assert.ErrorContains(t, run(t.Context(), []string{"-only", "masks", "-davis", "/no/davis"}, io.Discard, &stderr), "/no/davis")
}
