package client

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
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

// A file is there, and whole, whatever happens after segd backup says so: its bytes reach the disk before its name does,
// and that before it is said. A failure leaves what there was.
func TestWriteWhole(t *testing.T) {
	content := bytes.Repeat([]byte("backup"), 1000)
	all := []string{"sync 6000 bytes", "rename", "sync folder"}
	for k, fails := range append([]string{"none"}, all...) {
		dir := t.TempDir()
		path := filepath.Join(dir, "home.tar")
		if err := os.WriteFile(path, []byte("before"), 0o644); err != nil {
			t.Fatal(err)
		}
		r := &recorded{t: t, fails: fails}
		err := writeWhole(r.disk(), path, func(w io.Writer) error {
			_, err := w.Write(content)
			return err
		})
		if want := all[:cmp.Or(k, len(all))]; !slices.Equal(r.did, want) || (err != nil) != (k > 0) {
			t.Errorf("%s fails: %q, %v; want %q", fails, r.did, err, want)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if want := map[bool][]byte{true: content, false: []byte("before")}[k == 0 || k == len(all)]; !bytes.Equal(got, want) {
			t.Errorf("%s fails: the file has %d bytes; want %d", fails, len(got), len(want))
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
			t.Errorf("%s fails: %v are there, %v", fails, left, err)
		}
	}
	dir := t.TempDir()
	if err := writeWhole(onDisk, filepath.Join(dir, "home.tar"), func(io.Writer) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "home.tar")); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v; want a file for its owner", info, err)
	}
}
