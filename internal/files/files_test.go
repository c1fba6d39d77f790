package files

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/internal/limit"
)

func write(t *testing.T, path string, text []byte) string {
	t.Helper()
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

// None of these is waited for, nor read without end.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	pipe, socket, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "socket"), filepath.Join(dir, "link")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	defer listener.Close()
	require.NoError(t, os.Symlink(pipe, link))
	small := Kind{"a poem", 1 << 10}
	for _, tt := range []struct{ name, path, want string }{
		{"a pipe", pipe, "is a named pipe; accepted: a regular file of at most 1 KiB with a poem"},
		{"a link to a pipe", link, "is a named pipe"},
		{"a terminal", "/dev/ptmx", "is a device"},
		{"zeros", "/dev/zero", "is a device"},
		{"a socket", socket, "is a socket"},
		{"a folder", dir, "is a folder"},
		{"too large", write(t, filepath.Join(dir, "large"), make([]byte, 1<<10+1)), "has 1025 bytes; accepted: a regular file of at most 1 KiB with a poem"},
		{"more than it says", "/proc/self/smaps", "has more than 1024 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if text, err := Read(t.Context(), tt.path, small); !errors.Is(err, ErrKind) || !strings.Contains(err.Error(), tt.path+" "+tt.want) {
				t.Errorf("%d bytes, %v", len(text), err)
			}
		})
	}
	_, err = Read(t.Context(), filepath.Join(dir, "none"), small)
	assert.ErrorIs(t, err, fs.ErrNotExist, "of a file that is not there")
	for n := range 3 {
		want := slices.Repeat([]byte("x"), n<<9)
		text, err := Read(t.Context(), write(t, filepath.Join(dir, "poem"), want), small)
		if err != nil || !slices.Equal(text, want) {
			t.Errorf("of %d bytes: %d, %v", len(want), len(text), err)
		}
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Read(done, filepath.Join(dir, "poem"), small)
	assert.ErrorIs(t, err, context.Canceled, "after the context")
	_, err = List(done, dir)
	assert.ErrorIs(t, err, context.Canceled, "listed after the context")
}

// What is no regular file is not opened, nor what a link leads out of the folder to.
func TestOpenIn(t *testing.T) {
	folder, small := t.TempDir(), Kind{"a poem", 1 << 10}
	out := write(t, filepath.Join(t.TempDir(), "out"), []byte("poem"))
	write(t, filepath.Join(folder, "in"), []byte("poem"))
	require.NoError(t, errors.Join(syscall.Mkfifo(filepath.Join(folder, "pipe"), 0o600), os.Symlink(out, filepath.Join(folder, "link"))))
	dir, err := os.OpenRoot(folder)
	require.NoError(t, err)
	defer dir.Close()
	for name, want := range map[string]string{"in": "", "pipe": "pipe is a named pipe; accepted: a regular file", "link": "path escapes", "none": "no such file"} {
		f, err := OpenIn(dir, name, small)
		if err == nil {
			f.Close()
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", name, err, want)
		}
	}
}

func TestList(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"c", "a", "b"} {
		write(t, filepath.Join(dir, name), nil)
	}
	var names []string
	entries, err := List(t.Context(), dir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if err != nil || !slices.Equal(names, []string{"a", "b", "c"}) {
		t.Errorf("%v, %v", names, err)
	}
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for _, path := range []string{pipe, filepath.Join(dir, "a"), "/dev/ptmx"} {
		if _, err := List(t.Context(), path); !errors.Is(err, ErrKind) || !strings.Contains(err.Error(), "accepted: a folder") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// docs/operations.md has the kinds and their sizes.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/operations.md")
	require.NoError(t, err)
	for _, k := range []Kind{Config, Annotation, Picture, Names, Model, Description, PEM, Key} {
		assert.Contains(t, string(text), "- "+k.name+": "+limit.Text(k.most)+"\n", "docs/operations.md")
	}
}
