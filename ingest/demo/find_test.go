package demo

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFindClip(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "a.avi"), filepath.Join(dir, "b.avi")
	assert.Equal(t, second, findClip(first, second), "with neither there")
	for _, path := range []string{second, first} {
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		assert.Equal(t, path, findClip(first, second), "found")
	}
}
