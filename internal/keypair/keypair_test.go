package keypair

import (
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/internal/keypair/keypairtest"
)

// A renewed certificate is used without a restart; a broken one leaves the old.
func TestCertificateIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := keypairtest.Write(t, dir, 1)
	c, err := Open(certFile, keyFile, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	serial := func() int64 {
		c.checked = time.Time{}
		pair, err := c.Get(nil)
		require.NoError(t, err)
		return pair.Leaf.SerialNumber.Int64()
	}
	keypairtest.Write(t, dir, 2)
	later := time.Now().Add(time.Minute)
	require.NoError(t, os.Chtimes(certFile, later, later))
	if got := serial(); got != 2 {
		t.Errorf("serial number %d after renewal, want 2", got)
	}
	require.NoError(t, os.WriteFile(certFile, []byte("half of it"), 0o600))
	if got := serial(); got != 2 {
		t.Errorf("serial number %d while the file is broken, want 2", got)
	}
	keypairtest.Write(t, dir, 3)
	if got := serial(); got != 3 {
		t.Errorf("serial number %d once mended, want 3", got)
	}
}
