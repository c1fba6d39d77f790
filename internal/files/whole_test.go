package files

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// recorded is what writeWhole did to a disk, in order.
type recorded struct {
	t     *testing.T
	did   []string
	fails string // what is not done
}

func (r *recorded) does(what string) error {
	r.did = append(r.did, what)
	if what == r.fails {
		return errors.New("no " + what)
	}
	return nil
}

func (r *recorded) disk() disk {
	return disk{
		sync: func(f *os.File) error {
			info, err := f.Stat()
			if err != nil {
				r.t.Fatal(err)
			}
			if info.IsDir() {
				return r.does("sync folder")
			}
			return r.does(fmt.Sprintf("sync %d bytes", info.Size()))
		},
		rename: func(from, to string) error {
			if err := r.does("rename"); err != nil {
				return err
			}
			return os.Rename(from, to)
		},
	}
}

// A file is there, and whole, whatever happens after WriteWhole has returned: its bytes reach the disk before its name does,
// and that before it is said. A failure leaves what there was.
func TestWriteWhole(t *testing.T) {
	content := bytes.Repeat([]byte("backup"), 1000)
	all := []string{"sync 6000 bytes", "rename", "sync folder"}
	for k, fails := range append([]string{"none"}, all...) {
		dir := t.TempDir()
		path := filepath.Join(dir, "home.tar")
		require.NoError(t, os.WriteFile(path, []byte("before"), 0o644))
		r := &recorded{t: t, fails: fails}
		err := r.disk().writeWhole(path, 0o644, content)
		if want := all[:cmp.Or(k, len(all))]; !slices.Equal(r.did, want) || (err != nil) != (k > 0) {
			t.Errorf("%s fails: %q, %v; want %q", fails, r.did, err, want)
		}
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		if want := map[bool][]byte{true: content, false: []byte("before")}[k == 0 || k == len(all)]; !bytes.Equal(got, want) {
			t.Errorf("%s fails: the file has %d bytes; want %d", fails, len(got), len(want))
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
			t.Errorf("%s fails: %v are there, %v", fails, left, err)
		}
	}
	path := filepath.Join(t.TempDir(), "home.tar")
	require.NoError(t, WriteWhole(path, 0o600, nil))
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v; want a file for its owner", info, err)
	}
}

// A link leads to the file that is replaced, and what is none is refused: a device is not replaced by a file.
func TestWriteWholeOver(t *testing.T) {
	dir := t.TempDir()
	file, link, pipe := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	require.NoError(t, errors.Join(os.WriteFile(file, []byte("before"), 0o600), os.Symlink("file", link), syscall.Mkfifo(pipe, 0o600)))
	after := []byte("after")
	require.NoError(t, WriteWhole(link, 0o644, after))
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v; want a file for its owner still", info, err)
	}
	text, err := os.ReadFile(file)
	if info, fault := os.Lstat(link); err != nil || fault != nil || string(text) != "after" || info.Mode().IsRegular() {
		t.Errorf("%q, %v; the link is %v, %v", text, err, info, fault)
	}
	for path, want := range map[string]string{pipe: "is a named pipe; accepted: a regular file, or none yet", dir: "is a folder; accepted:"} {
		assert.ErrorContains(t, WriteWhole(path, 0o600, after), want, "%s", path)
	}
}
