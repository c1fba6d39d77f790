package client

import (
	"fmt"
	"image/color"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/cmd/segd/client/clienttest"
	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/internal/waitfor"
)

// saved runs frames through what --save and --masks start, and returns what they
// said and how they ended.
func saved(t *testing.T, f watchFlags, frames int) (said string, err error) {
	t.Helper()
	var out, errs clitest.Output
	savers, err := openSavers(cli.Streams{Out: &out, Err: &errs}, f)
	require.NoError(t, err)
	for i := range frames {
		m, picture := clienttest.LiveFrame(t, uint64(i), 64, 48)
		for _, s := range savers {
			s.Offer(Picture{Masks: m, JPEG: picture})
		}
	}
	for _, s := range savers {
		if e := s.Close(); e != nil {
			err = e
		}
	}
	return errs.String(), err
}

// The folder's disk is full for two of six frames: one line when that begins, one
// when it ends, and neither the others nor the count suffer.
func TestSaveFullDisk(t *testing.T) {
	for name, flags := range map[string]func(dir string) watchFlags{
		"pictures": func(dir string) watchFlags { return watchFlags{save: dir} },
		"masks":    func(dir string) watchFlags { return watchFlags{masks: dir} },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, n := range []int{2, 3} {
				clienttest.FullDisk(t, filepath.Join(dir, fmt.Sprintf("gate-%06d.png", n)))
			}
			said, err := saved(t, flags(dir), 6)
			lines := strings.Split(strings.TrimSpace(said), "\n")
			if len(lines) != 2 || !strings.Contains(lines[0], "frame 2 is not saved") || !strings.Contains(lines[0], "no space left on device") ||
				!strings.Contains(lines[1], "saved again from frame 4 on, 2 were not") {
				t.Errorf("it said:\n%s", said)
			}
			assert.ErrorContains(t, err, "4 frames saved, 2 not, 0 left out", "it ended with")
			for n, want := range []bool{true, true, false, false, true, true} {
				_, err := os.Stat(filepath.Join(dir, fmt.Sprintf("gate-%06d.png", n)))
				if (err == nil) != want {
					t.Errorf("frame %d: %v; want there = %v", n, err, want)
				}
			}
		})
	}
}

// Whatever is checked before: a name leads to no other folder.
func TestSaveOutside(t *testing.T) {
	dir := t.TempDir()
	for name, f := range map[string]watchFlags{"masks": {masks: filepath.Join(dir, "in")}, "pictures": {save: filepath.Join(dir, "in")}} {
		t.Run(name, func(t *testing.T) {
			var errs clitest.Output
			savers, err := openSavers(cli.Streams{Err: &errs}, f)
			require.NoError(t, err)
			m, picture := clienttest.LiveFrame(t, 1, 64, 48)
			m.Camera = "../outside"
			savers[0].Offer(Picture{Masks: m, JPEG: picture})
			if err := savers[0].Close(); err == nil || !strings.Contains(errs.String(), "path escapes from parent") {
				t.Errorf("it ended with %v and said %s", err, errs.String())
			}
			if list := clienttest.FilesIn(t, dir); len(list) != 0 {
				t.Errorf("written: %q", list)
			}
		})
	}
}

func TestSaveVideoFullDisk(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.mp4")
	require.NoError(t, os.Symlink("/dev/full", file))
	said, err := saved(t, watchFlags{save: file}, 60)
	if strings.Count(said, "\n") != 1 || !strings.Contains(said, "No space left on device") {
		t.Errorf("it said:\n%s", said)
	}
	assert.ErrorContains(t, err, "frames saved", "it ended with")
}

// A disk that takes nothing costs what the queue has no room for, and delays nothing else.
func TestSaveSlowDisk(t *testing.T) {
	const frames = 3 * SaveQueue
	var errs clitest.Output
	release := make(chan struct{})
	s := NewSaver("slow", SaveQueue, func(Picture) error { <-release; return nil },
		func(line string) { fmt.Fprintln(&errs, line) }, nil)
	for i := range frames {
		s.Offer(Picture{Masks: &segdv1.MaskFrame{Sequence: uint64(i)}})
	}
	close(release)
	err := s.Close()
	// One may be in hand beside those in the queue.
	if s.saved < SaveQueue || s.saved > SaveQueue+1 || s.saved+s.dropped != frames {
		t.Errorf("%d saved, %d left out of %d with a queue of %d", s.saved, s.dropped, frames, SaveQueue)
	}
	assert.ErrorContains(t, err, fmt.Sprintf("%d left out", s.dropped), "it ended with")
	if said := errs.String(); strings.Count(said, "\n") != 1 || !strings.Contains(said, "slower than the stream") {
		t.Errorf("it said:\n%s", said)
	}
}

// Large pictures wait in fewer frames: for two of these there is room, and again once they are written.
func TestSaveLargePictures(t *testing.T) {
	release, large := make(chan struct{}), make([]byte, saveBytes/2)
	written := make(chan uint64, 4)
	s := NewSaver("large", SaveQueue, func(p Picture) error {
		<-release
		written <- p.Masks.Sequence
		return nil
	}, func(string) {}, nil)
	offer := func(sequence uint64, picture []byte) {
		s.Offer(Picture{Masks: &segdv1.MaskFrame{Sequence: sequence}, JPEG: picture})
	}
	for seq := range uint64(4) {
		offer(seq, large)
	}
	assert.Equal(t, 2, s.dropped, "of 4 are left out")
	close(release)
	for seq := range uint64(2) {
		if got := waitfor.Next(t, "a frame", written); got != seq {
			t.Errorf("frame %d is written; want %d", got, seq)
		}
	}
	waitfor.True(t, "room", func() bool { return s.waiting.Load() == 0 })
	offer(4, large)
	if err := s.Close(); s.saved != 3 || s.dropped != 2 || err == nil {
		t.Errorf("%d saved, %d left out, %v", s.saved, s.dropped, err)
	}
}

// The video has every frame at its time, the object's half bluer than the other.
func TestSaveVideo(t *testing.T) {
	const frames = 30
	file := filepath.Join(t.TempDir(), "a.mp4")
	said, err := saved(t, watchFlags{save: file}, frames)
	if said != "" || err != nil {
		t.Fatalf("it said %q and ended with %v", said, err)
	}
	in, err := codec.OpenFile(file)
	require.NoError(t, err)
	defer in.Close()
	if w, h := in.Size(); w != 64 || h != 48 {
		t.Errorf("it is %d×%d, want 64×48", w, h)
	}
	bgr := make([]byte, 3*64*48)
	for i := range frames {
		p, err := in.Next()
		require.NoError(t, err)
		assert.Equal(t, time.Duration(i)*100*time.Millisecond, time.Duration(p.PTS), "frame %d is shown at", i)
		require.NoError(t, p.BGR(bgr))
		at := func(x int) color.RGBA { i := 3 * (24*64 + x); return color.RGBA{bgr[i+2], bgr[i+1], bgr[i], 255} }
		if in, out := at(16), at(48); in.B < in.R+60 || out.B > out.R+20 {
			t.Errorf("frame %d is %v inside the mask and %v outside", i, in, out)
		}
	}
	_, err = in.Next()
	assert.ErrorIs(t, err, io.EOF, "after %d frames", frames)
}

// What is saved of a frame are the objects of people, in sight, under numbers that a mask holds.
func TestSavedAreThoseOfPeople(t *testing.T) {
	m := &segdv1.MaskFrame{Sequence: 7, Width: 64, Height: 48, Objects: []*segdv1.Object{
		{Id: 1, Label: "door", Area: 5, Counts: "x"}, {Id: 2, Label: "gone"},
		{Id: 256, Label: "person", Area: 9, Automatic: true, Class: "person"},
		{Id: 257, Label: "Ada", Area: 9, Class: "person", Counts: "y"}, {Id: 70000, Label: "Eve", Area: 9, Class: "person"},
	}}
	var got []string
	for _, o := range peoples(m).GetObjects() {
		got = append(got, fmt.Sprint(o.GetId(), o.GetLabel(), o.GetCounts()))
	}
	assert.Equal(t, []string{"1doorx", "3Aday", "4Eve"}, got, "saved")
	assert.EqualValues(t, 257, m.Objects[3].Id, "the frame itself was changed")
}
