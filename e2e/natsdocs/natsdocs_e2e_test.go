//go:build e2e

package natsdocs

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/e2e/harness"
)

var (
	cli = flag.String("nats", "bin/nats", "NATS' program, relative to the repository's root")
	doc = flag.String("doc", "docs/nats.md", "what to try, relative to the repository's root")
)

// commandLimit is how long a line may take; those that follow something end by themselves.
const commandLimit = 30 * time.Second

func TestExamplesRun(t *testing.T) {
	root := harness.Root(t)
	path := func(p string) string {
		if !filepath.IsAbs(p) {
			p = filepath.Join(root, p)
		}
		return p
	}
	text, err := os.ReadFile(path(*doc))
	require.NoError(t, err)
	lines := examples(string(text))
	if len(lines) == 0 {
		t.Fatalf("%s has no sh block", *doc)
	}
	program := path(*cli)
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v; make natsdocs builds it", err)
	}
	dir := t.TempDir()
	t.Setenv("SEGD_NATS_FORMAT", "json")
	t.Setenv("SEGD_NATS_MASKS_MAX_AGE", "10m")
	t.Setenv("SEGD_NATS_STORE_DIR", filepath.Join(dir, "store"))
	demo := harness.Demo(t, "--by-hand")
	require.NoError(t, demo.Published(t.Context(), harness.DemoLimit))
	for _, line := range lines {
		t.Run(line, func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), commandLimit, fmt.Errorf("not done after %v", commandLimit))
			defer cancel()
			cmd := exec.CommandContext(ctx, "bash", "-c", line)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "NATS_URL="+demo.NATS, "HOME="+dir, "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			} else {
				t.Logf("%s", out)
			}
		})
	}
}
