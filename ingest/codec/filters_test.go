//go:build !ffmpeg7

package codec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The tests of deinterlacing show that it is there once it is used.
func TestFiltersAreLoadedLate(t *testing.T) {
	require.NotContains(t, imported(t), "libavfilter")
}
