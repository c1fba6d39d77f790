//go:build !ffmpeg7

package codec

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The library of filters is there once it is used, as the tests of deinterlacing show, and not before. Without it that is an error.
func TestFiltersAreLoadedLate(t *testing.T) {
	require.NotContains(t, imported(t), "libavfilter")
	const broken = "SEGD_TEST_BROKEN_LIBRARY"
	if os.Getenv(broken) != "" {
		require.EqualError(t, new(deinterlacer).open(nil), "no libavfilter")
		return
	}
	folder := t.TempDir()
	for version := range 20 {
		require.NoError(t, os.WriteFile(filepath.Join(folder, fmt.Sprint("libavfilter.so.", version)), nil, 0o644))
	}
	c := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$")
	c.Env = append(os.Environ(), "LD_LIBRARY_PATH="+folder, broken+"=1")
	out, err := c.CombinedOutput()
	require.NoErrorf(t, err, "%s", out)
}
