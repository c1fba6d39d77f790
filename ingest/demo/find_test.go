package demo

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFindClip(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "a.avi"), filepath.Join(dir, "b.avi")
	if got := findClip(first, second); got != second {
		t.Errorf("with neither there: %s", got)
	}
	for _, path := range []string{second, first} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := findClip(first, second); got != path {
			t.Errorf("found %s, want %s", got, path)
		}
	}
}
