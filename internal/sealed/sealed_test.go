package sealed_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/segd/segd/internal/sealed"
)

func TestKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store", "cameras.key")
	if _, err := sealed.ReadKey(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	made, err := sealed.MakeKey(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("in the folder: %v, %v", left, err)
	}
	read, err := sealed.ReadKey(path)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := read.Open(made.Seal([]byte("geheim"))); err != nil || string(plain) != "geheim" {
		t.Errorf("%q, %v", plain, err)
	}
	if _, err := sealed.MakeKey(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second key: %v", err)
	}
	for _, text := range []string{"", "12", strings.Repeat("z", 64), strings.Repeat("1", 66), strings.Repeat("1", 1<<20)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := sealed.ReadKey(path); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%.70q: %v", text, err)
		}
	}
}

func TestSealed(t *testing.T) {
	var keys [2]*sealed.Key
	for i := range keys {
		var err error
		if keys[i], err = sealed.MakeKey(filepath.Join(t.TempDir(), "key")); err != nil {
			t.Fatal(err)
		}
	}
	box := keys[0].Seal([]byte("geheim"))
	if bytes.Contains(box, []byte("geheim")) || bytes.Equal(box, keys[0].Seal([]byte("geheim"))) {
		t.Errorf("%q", box)
	}
	if _, err := keys[1].Open(box); !errors.Is(err, sealed.ErrKey) {
		t.Errorf("another key: %v", err)
	}
	for i := range box {
		damaged := bytes.Clone(box)
		damaged[i] ^= 1
		if _, err := keys[0].Open(damaged); !errors.Is(err, sealed.ErrKey) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
		if _, err := keys[0].Open(box[:i]); !errors.Is(err, sealed.ErrKey) {
			t.Fatalf("%d bytes of it: %v", i, err)
		}
	}
}
