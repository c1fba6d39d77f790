package sealed_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/internal/sealed"
)

func TestKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store", "cameras.key")
	_, err := sealed.ReadKey(path)
	assert.ErrorIs(t, err, fs.ErrNotExist, "no file")
	made, err := sealed.MakeKey(path)
	require.NoError(t, err)
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("in the folder: %v, %v", left, err)
	}
	read, err := sealed.ReadKey(path)
	require.NoError(t, err)
	if plain, err := read.Open(made.Seal([]byte("geheim"))); err != nil || string(plain) != "geheim" {
		t.Errorf("%q, %v", plain, err)
	}
	_, err = sealed.MakeKey(path)
	assert.ErrorIs(t, err, fs.ErrExist, "a second key")
	for _, text := range []string{"", "12", strings.Repeat("z", 64), strings.Repeat("1", 66), strings.Repeat("1", 1<<20)} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		if _, err := sealed.ReadKey(path); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%.70q: %v", text, err)
		}
	}
}

func TestSealed(t *testing.T) {
	var keys [2]*sealed.Key
	for i := range keys {
		var err error
		keys[i], err = sealed.MakeKey(filepath.Join(t.TempDir(), "key"))
		require.NoError(t, err)
	}
	box := keys[0].Seal([]byte("geheim"))
	if bytes.Contains(box, []byte("geheim")) || bytes.Equal(box, keys[0].Seal([]byte("geheim"))) {
		t.Errorf("%q", box)
	}
	_, err := keys[1].Open(box)
	assert.ErrorIs(t, err, sealed.ErrKey, "another key")
	for i := range box {
		damaged := bytes.Clone(box)
		damaged[i] ^= 1
		_, err := keys[0].Open(damaged)
		require.ErrorIs(t, err, sealed.ErrKey, "byte %d changed", i)
		_, err = keys[0].Open(box[:i])
		require.ErrorIs(t, err, sealed.ErrKey, "%d bytes of it", i)
	}
}
