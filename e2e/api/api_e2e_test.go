//go:build e2e

// Package api runs schemathesis against the API of a real demo: requests made from
// openapi.json, good and bad, must be answered as it says.
package api

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/e2e/harness"
)

var further = flag.String("st", "", "further arguments of schemathesis, separated by spaces")

func TestAPI(t *testing.T) {
	st := filepath.Join(harness.Root(t), "bin", "apitest", "bin", "st")
	if _, err := os.Stat(st); err != nil {
		t.Fatalf("%v; make api-test installs it", err)
	}
	t.Setenv("SEGD_RECORDING_DIR", t.TempDir())
	// Few pieces: this is about the API, and the requests should not wait for frames.
	demo := harness.Demo(t, "--by-hand", "--superpixels", "300")
	require.NoError(t, demo.Wait(t.Context(), harness.DemoLimit, "a recording", func(ctx context.Context) error {
		list, err := harness.Get(ctx, demo.Page+"api/v1/cameras/demo/recordings")
		if err == nil && !bytes.Contains(list, []byte(`"name"`)) {
			err = fmt.Errorf("none yet: %s", list)
		}
		return err
	}))
	// /events is left out because it never ends.
	args := []string{
		"--config-file", "schemathesis.toml", "run", demo.Page + "api/v1/openapi.json",
		"--url", demo.Page + "api/v1", "--exclude-path", "/events", "--request-timeout", "30",
		"--generation-database", "none", "--max-examples", "25", "--seed", "1",
	}
	cmd := exec.CommandContext(t.Context(), st, append(args, strings.Fields(*further)...)...)
	// Hypothesis keeps notes wherever it is run.
	cmd.Env = append(os.Environ(), "HYPOTHESIS_STORAGE_DIRECTORY="+t.TempDir(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH=.")
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	cmd.WaitDelay = time.Second
	assert.NoError(t, cmd.Run(), "schemathesis")
	select {
	case <-demo.Exited:
		t.Errorf("segd ended: %v", demo.Err())
	default:
	}
}
