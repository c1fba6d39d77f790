package dataset

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/ingest/codec"
)

// clipped records frames 0 to n, of which some are chosen, and returns the folder.
func clipped(t *testing.T, n uint64, beside bool, chosen ...uint64) string {
	t.Helper()
	dir := t.TempDir()
	r, err := OpenRecording(dir, "gate", 64<<20)
	require.NoError(t, err)
	defer r.Close()
	clips := NewClips(r, beside)
	for seq := range n {
		m, picture := frame(t, "gate", seq, &segdv1.Object{Id: 1, Box: box(0, 0, 32, 48)})
		is := false
		for _, c := range chosen {
			is = is || c == seq
		}
		require.NoError(t, clips.Add(m, picture, is))
	}
	require.NoError(t, clips.Close())
	return dir
}

// video returns when the pictures of a video are shown, and how much more blue than red the first has inside and outside the mask.
func video(t *testing.T, file string) (shown []time.Duration, in, out int) {
	t.Helper()
	v, err := codec.OpenFile(file)
	require.NoError(t, err)
	defer v.Close()
	width, height := v.Size()
	if width != testWidth&^1 || height != testHeight {
		t.Errorf("%s is %d×%d", file, width, height)
	}
	for {
		p, err := v.Next()
		if errors.Is(err, io.EOF) {
			return shown, in, out
		}
		require.NoError(t, err)
		if len(shown) == 0 {
			bgr := make([]byte, 3*width*height)
			require.NoError(t, p.BGR(bgr))
			at := func(x int) int { p := bgr[3*(24*width+x):]; return int(p[0]) - int(p[2]) }
			in, out = at(16), at(48)
		}
		shown = append(shown, time.Duration(p.PTS))
	}
}

func TestClips(t *testing.T) {
	// Two events within one clip, and one long after.
	dir := clipped(t, 600, false, 100, 150, 500)
	want(t, dir, "gate-1795294724651-000000050.mp4", "gate-1795294724651-000000450.mp4")
	for file, frames := range map[string]int{"gate-1795294724651-000000050.mp4": 201, "gate-1795294724651-000000450.mp4": 150} {
		shown, in, out := video(t, filepath.Join(dir, file))
		if len(shown) != frames || shown[0] != 0 || shown[len(shown)-1] != time.Duration(frames-1)*100*time.Millisecond {
			t.Errorf("%s: %d pictures, from %v to %v; want %d", file, len(shown), shown[0], shown[len(shown)-1], frames)
		}
		if in < 60 || out > 20 {
			t.Errorf("%s: blue less red is %d in the mask and %d outside", file, in, out)
		}
	}
}

// What lasts is in more than one file, with each frame once.
func TestLongClip(t *testing.T) {
	var chosen []uint64
	for seq := uint64(60); seq < 1000; seq += 50 {
		chosen = append(chosen, seq)
	}
	dir := clipped(t, 1200, true, chosen...)
	names := []string{"gate-1795294724651-000000010", "gate-1795294724651-000000610"}
	want(t, dir, names[0]+".mp4", names[0]+".jsonl", names[1]+".mp4", names[1]+".jsonl")
	for i, frames := range []int{600, 451} {
		shown, in, _ := video(t, filepath.Join(dir, names[i]+".mp4"))
		text, err := os.ReadFile(filepath.Join(dir, names[i]+".jsonl"))
		require.NoError(t, err)
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		if len(shown) != frames || len(lines) != frames || in > 20 {
			t.Errorf("%d pictures and %d masks; want %d; blue less red is %d", len(shown), len(lines), frames, in)
		}
		for k, line := range lines {
			var m segdv1.MaskFrame
			if err := bus.Unmarshal(bus.TypeJSON, []byte(line), &m); err != nil || m.GetSequence() != uint64(10+600*i+k) || len(m.GetObjects()) != 1 {
				t.Fatalf("line %d: %v, frame %d", k+1, err, m.GetSequence())
			}
		}
	}
}

// Another size or another epoch begins another video; a picture that is none is left out.
func TestClipsEnd(t *testing.T) {
	dir := t.TempDir()
	r, err := OpenRecording(dir, "gate", 64<<20)
	require.NoError(t, err)
	defer r.Close()
	clips := NewClips(r, false)
	m, picture := frame(t, "gate", 7)
	require.NoError(t, clips.Add(m, picture, true))
	m, picture = frame(t, "gate", 8)
	m.Epoch++
	require.NoError(t, clips.Add(m, picture, true))
	m, _ = frame(t, "gate", 9)
	m.Epoch++
	if err := clips.Add(m, []byte("no JPEG"), false); err == nil || !strings.Contains(err.Error(), "1 damaged pictures are left out of the clip; the first: frame 9: ") {
		t.Errorf("of a picture that is none: %v", err)
	}
	m, picture = frame(t, "gate", 10)
	m.Epoch++
	assert.NoError(t, clips.Add(m, picture, false), "after a picture that is none")
	m, picture = frame(t, "gate", 11)
	m.Epoch++
	assert.NoError(t, clips.Add(m, picture, true))
	assert.NoError(t, clips.Close())
	want(t, dir, "gate-1795294724651-000000007.mp4", "gate-1795294724652-000000008.mp4")
	shown, _, _ := video(t, filepath.Join(dir, "gate-1795294724652-000000008.mp4"))
	assert.Equal(t, []time.Duration{0, 200 * time.Millisecond, 300 * time.Millisecond}, shown, "pictures at")
}

// Before a clip too: it begins with the first picture that is one, and the fault is told once.
func TestClipBeginsAfterDamage(t *testing.T) {
	dir := t.TempDir()
	r, err := OpenRecording(dir, "gate", 64<<20)
	require.NoError(t, err)
	defer r.Close()
	clips := NewClips(r, true)
	var said []string
	for seq := range uint64(6) {
		m, picture := frame(t, "gate", seq)
		if seq < 2 || seq == 3 {
			picture = picture[:len(picture)/8]
		}
		if err := clips.Add(m, picture, seq == 4); err != nil {
			said = append(said, err.Error())
		}
	}
	assert.NoError(t, clips.Close())
	if len(said) != 1 || !strings.HasPrefix(said[0], "3 damaged pictures are left out of the clip; the first: frame 0: ") {
		t.Errorf("it said %q", said)
	}
	want(t, dir, "gate-1795294724651-000000002.jsonl", "gate-1795294724651-000000002.mp4")
	text, err := os.ReadFile(filepath.Join(dir, "gate-1795294724651-000000002.jsonl"))
	shown, _, _ := video(t, filepath.Join(dir, "gate-1795294724651-000000002.mp4"))
	if lines := strings.Count(string(text), "\n"); err != nil || lines != 3 || len(shown) != 3 {
		t.Errorf("%d lines and %d pictures, %v; want 3", lines, len(shown), err)
	}
}

func TestClipsFullDisk(t *testing.T) {
	dir := t.TempDir()
	r, err := OpenRecording(dir, "gate", 64<<20)
	require.NoError(t, err)
	defer r.Close()
	clips := NewClips(r, false)
	require.NoError(t, os.Symlink("/dev/full", filepath.Join(dir, "gate-1795294724651-000000000.mp4")))
	failed := 0
	for seq := range uint64(60) {
		m, picture := frame(t, "gate", seq)
		if err := clips.Add(m, picture, seq == 0); err != nil {
			failed++
		}
	}
	if failed == 0 {
		t.Error("nothing was said")
	}
	// There is room again.
	m, picture := frame(t, "gate", 200)
	assert.NoError(t, clips.Add(m, picture, true))
	assert.NoError(t, clips.Close())
	if shown, _, _ := video(t, filepath.Join(dir, "gate-1795294724651-000000200.mp4")); len(shown) != 1 {
		t.Errorf("%d pictures of the frame after", len(shown))
	}
}

// A clip for which there is no room at all is told of.
func TestClipTooLarge(t *testing.T) {
	r, err := OpenRecording(t.TempDir(), "gate", 64<<20)
	require.NoError(t, err)
	defer r.Close()
	r.most = 100
	clips := NewClips(r, false)
	m, picture := frame(t, "gate", 0)
	require.NoError(t, clips.Add(m, picture, true))
	assert.ErrorContains(t, clips.Close(), "all of the recording may have 100")
}

// The oldest clip makes room for the next.
func TestClipsAreBounded(t *testing.T) {
	dir := t.TempDir()
	r, err := OpenRecording(dir, "gate", 64<<20)
	require.NoError(t, err)
	defer r.Close()
	for _, seq := range []uint64{0, 500} {
		clips := NewClips(r, false)
		m, picture := frame(t, "gate", seq)
		require.NoError(t, clips.Add(m, picture, true))
		require.NoError(t, clips.Close())
		r.most = r.total + r.total/2
	}
	want(t, dir, "gate-1795294724651-000000500.mp4")
}
