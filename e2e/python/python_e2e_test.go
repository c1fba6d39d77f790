//go:build e2e

// Package python runs the Python package's tests that want a demo, those of its examples and its notebook among them.
package python

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/e2e/harness"
)

func TestPython(t *testing.T) {
	root := harness.Root(t)
	python := filepath.Join(root, "bin", "python-test", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		t.Fatalf("%v; make python-test makes it", err)
	}
	demo := harness.Demo(t, "--superpixels", "500")
	require.NoError(t, demo.Published(t.Context(), harness.DemoLimit))
	cmd := exec.CommandContext(t.Context(), python, append([]string{"-m", "unittest", "-v", "test_demo"}, flag.Args()...)...)
	cmd.Dir = filepath.Join(root, "clients", "python", "tests")
	cmd.Env = append(os.Environ(), "SEGD_CLIENT_NATS="+demo.NATS, "SEGD_CLIENT_PAGE="+demo.Page)
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	assert.NoError(t, err)
}
