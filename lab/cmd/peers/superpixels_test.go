package main

import (
	"encoding/json"
	"image"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// superpixelsProgram compiles theirs/superpixels.cpp.
func superpixelsProgram(t *testing.T) string {
	t.Helper()
	return compiled(t, "superpixels", "-lopencv_ximgproc", "-lopencv_imgproc", "-lopencv_core")
}

// The command as it is: a disc that any superpixels can be told from its ground by.
func TestSuperpixels(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 13 s: a program that OpenCV is compiled into")
	}
	var stdout, stderr strings.Builder
	require.NoError(t, run(t.Context(), []string{"-only", "superpixels", "-slic", superpixelsProgram(t), "-davis", moving(t, 2)}, &stdout, &stderr))
	var got struct{ Superpixels []superpixelReport }
	if err := json.Unmarshal([]byte(stdout.String()), &got); err != nil || len(got.Superpixels) != 2 {
		t.Fatalf("%v: %s", err, &stdout)
	}
	for i, r := range got.Superpixels {
		if r.Superpixels != superpixelCounts[i] || math.Abs(r.Time-r.Segd.MS/r.SLIC.MS) > 1e-9 || r.Segd.Count != float64(r.Superpixels) {
			t.Errorf("%+v", r)
		}
		for _, f := range []superpixelFigures{r.Segd, r.SLIC} {
			if !(f.J > 0.9 && f.J <= 1 && f.MS > 0 && f.Count >= float64(r.Superpixels)) {
				t.Errorf("%d: %+v; want J above 0.9, a time and as many superpixels or more", r.Superpixels, f)
			}
		}
	}
	assert.Contains(t, stderr.String(), "1 pictures", "stderr: %s", &stderr)
}

func TestSuperpixelLimit(t *testing.T) {
	object := []bool{true, true, false, true, false, false, true, false}
	for _, tt := range []struct {
		labels []int32
		count  int
		want   float64
	}{
		{[]int32{0, 1, 2, 3, 4, 5, 6, 7}, 8, 1},
		{[]int32{0, 0, 0, 1, 1, 1, 1, 1}, 3, 2. / 5}, // 2 of 3, and 2 of 5; nothing is in the last
		{[]int32{0, 0, 0, 0, 0, 0, 0, 0}, 1, 0},
	} {
		if got, err := superpixelLimit(tt.labels, tt.count, object); err != nil || math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%v: %v, %v; want %v", tt.labels, got, err, tt.want)
		}
	}
	if got, err := superpixelLimit([]int32{0}, 1, []bool{false}); err != nil || got != 1 {
		t.Errorf("no object: %v, %v; want 1", got, err)
	}
	_, err := superpixelLimit([]int32{2}, 2, []bool{true})
	assert.ErrorContains(t, err, "label 2", "label 2 of 2")
}

// What answers otherwise is an error, no figure.
func TestSuperpixelAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 15 s: a program that OpenCV is compiled into")
	}
	for _, tt := range []struct{ name, script, want string }{
		{"one number", "echo 1", "want seconds"},
		{"none", "echo 1 0", "want seconds"},
		{"few labels", "echo 1 4; printf 123", "labels of"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			peer := filepath.Join(t.TempDir(), "peer")
			require.NoError(t, os.WriteFile(peer, []byte("#!/bin/sh\nread -r line\nhead -c 12 >/dev/null\n"+tt.script+"\n"), 0o700))
			c, err := start(t.Context(), peer)
			require.NoError(t, err)
			defer c.close()
			p := &superpixelPicture{bgr: make([]byte, 12), size: image.Pt(2, 2), true: make([]bool, 4)}
			if _, _, _, err := slic(c)(p, 4); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v; want one with %q", err, tt.want)
			}
		})
	}
	cmd := exec.Command(superpixelsProgram(t))
	cmd.Stdin = strings.NewReader("0 5 5\n")
	assert.Error(t, cmd.Run(), "no exit status when asked for no superpixels")
}

// Without sequences the other comparisons are what is left; asked for, it is an error.
func TestSuperpixelsWithoutSequences(t *testing.T) {
	var stderr strings.Builder
	if r, err := compareSuperpixels(t.Context(), options{davis: t.TempDir(), sequences: 8}, &stderr); r != nil || err != nil || !strings.Contains(stderr.String(), "left out") {
		t.Errorf("%v, %v, %s", r, err, &stderr)
	}
	assert.ErrorContains(t, run(t.Context(), []string{"-only", "superpixels", "-davis", "/no/davis"}, io.Discard, &stderr), "/no/davis")
}
