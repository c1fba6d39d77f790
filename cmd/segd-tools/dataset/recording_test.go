package dataset

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRecordingIsBounded(t *testing.T) {
	dir := t.TempDir()
	m, picture := frame(t, "gate", 1)
	one, err := OpenRecording(dir, "gate", 1<<20)
	require.NoError(t, err)
	require.NoError(t, one.Add(m, picture))
	size := one.total
	require.NoError(t, one.Close())
	put(t, filepath.Join(dir, "gate-1795294724651-000000000.jpg"), "cut short")
	put(t, filepath.Join(dir, "gate-1795294724651-000000000.part"), "cut short")
	put(t, filepath.Join(dir, "yard-1795294724651-000000000.jpg"), "of another camera, which may be recording")
	put(t, filepath.Join(dir, "notes.txt"), "somebody's")
	others := []string{"notes.txt", "yard-1795294724651-000000000.jpg"}

	r, err := OpenRecording(dir, "gate", 3*size+size/2)
	require.NoError(t, err)
	defer r.Close()
	want(t, dir, append(others, "gate-1795294724651-000000001.jpg", "gate-1795294724651-000000001.json")...)
	for seq := uint64(2); seq <= 5; seq++ {
		m, picture := frame(t, "gate", seq)
		require.NoError(t, r.Add(m, picture))
	}
	names := others
	for seq := 3; seq <= 5; seq++ {
		names = append(names, fmt.Sprintf("gate-1795294724651-%09d.jpg", seq), fmt.Sprintf("gate-1795294724651-%09d.json", seq))
	}
	want(t, dir, names...)
	// After a restart with less room the oldest go as well.
	less, err := OpenRecording(dir, "gate", 2*size+size/2)
	require.NoError(t, err)
	defer less.Close()
	for seq := uint64(6); seq <= 7; seq++ {
		names = slices.DeleteFunc(names, func(n string) bool { return strings.Contains(n, fmt.Sprintf("%09d", seq-3)) })
		want(t, dir, names...)
		m, picture := frame(t, "gate", seq)
		require.NoError(t, less.Add(m, picture))
		names = append(names, fmt.Sprintf("gate-1795294724651-%09d.jpg", seq), fmt.Sprintf("gate-1795294724651-%09d.json", seq))
	}
	if r.total > r.most {
		t.Errorf("%d bytes are kept, of %d that may be", r.total, r.most)
	}
	if err := r.Add(m, make([]byte, r.most)); err == nil || len(r.kept) != 3 {
		t.Errorf("of a frame larger than all that may be: %v, %d others are kept", err, len(r.kept))
	}
}

// A full disk costs the frame that there is no room for, and nothing else.
func TestRecordingFullDisk(t *testing.T) {
	for _, ext := range []string{extPicture, extPart} {
		dir := t.TempDir()
		r, err := OpenRecording(dir, "gate", 1<<20)
		require.NoError(t, err)
		defer r.Close()
		for seq := range uint64(3) {
			m, picture := frame(t, "gate", seq)
			if seq == 1 {
				fullDisk(t, filepath.Join(dir, nameOf(m).String()+ext))
			}
			if err := r.Add(m, picture); errors.Is(err, syscall.ENOSPC) != (seq == 1) {
				t.Errorf("%s of frame %d: %v", ext, seq, err)
			}
		}
		want(t, dir, "gate-1795294724651-000000000.jpg", "gate-1795294724651-000000000.json", "gate-1795294724651-000000002.jpg", "gate-1795294724651-000000002.json")
	}
	_, err := OpenRecording(filepath.Join(os.DevNull, "x"), "gate", 1<<20)
	assert.Error(t, err, "a folder below a device was opened")
}

func TestNames(t *testing.T) {
	for file, want := range map[string]string{
		"gate-1795294724651-000001234.jpg":                  "gate 1795294724651 1234 .jpg",
		"gate-2-1795294724651-000001234.json":               "gate-2 1795294724651 1234 .json",
		"gate-0000000000000-12345678901.mp4":                "gate 0 12345678901 .mp4",
		"gate-000123.png":                                   "",
		"-1795294724651-000001234.jpg":                      "",
		"../x-1795294724651-000001234.jpg":                  "",
		"gate-99999999999999999999-000001234.jpg":           "",
		"holiday.jpg":                                       "",
		"gate-1795294724651-000001234-1795294724651-1.json": "",
	} {
		got := ""
		if n, ext, ok := parseName(file); ok {
			got = fmt.Sprint(n.camera, " ", n.epoch, " ", n.sequence, " ", ext)
			assert.Equal(t, file, n.String()+ext, "is written as %s", n)
		}
		assert.Equal(t, want, got, "%s", file)
	}
}
