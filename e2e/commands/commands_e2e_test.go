//go:build e2e

// Package commands runs the commands that README.md and docs/ tell people to run, as
// testscripts: set-up of a camera, the daemon, and what talks to it.
package commands

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/e2e/harness"
)

// A script has a camera at $CAMERA, and the program called segd; what that serves is on
// ports of the script's own, at $PAGE and $NATS, without their being asked for. $SERVER is a NATS server of the script's own.
func TestCommands(t *testing.T) {
	program := harness.Program(t)
	camera := harness.StartCamera(t, harness.StartRelay(t), "gate", harness.Video{Width: 320, Height: 240, Rate: 10})
	server := harness.StartNATS(t, "")
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			bin := filepath.Join(env.WorkDir, "bin")
			if err := os.Mkdir(bin, 0o755); err != nil {
				return err
			}
			if err := os.Symlink(program, filepath.Join(bin, "segd")); err != nil {
				return err
			}
			addrs := harness.FreeAddrs(t, 2)
			env.Setenv("PATH", bin+string(filepath.ListSeparator)+env.Getenv("PATH"))
			env.Setenv("CAMERA", camera.URL())
			env.Setenv("SEGD_HTTP_ADDR", addrs[0])
			env.Setenv("SEGD_NATS_ADDR", addrs[1])
			env.Setenv("PAGE", "http://"+addrs[0])
			env.Setenv("NATS", "nats://"+addrs[1])
			env.Setenv("SERVER", server.URL)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			// published CAMERA waits until it has published masks.
			"published": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 1 {
					ts.Fatalf("usage: published CAMERA")
				}
				ts.Check(await(t.Context(), "masks of "+args[0], func(ctx context.Context) error {
					text, err := harness.Get(ctx, ts.Getenv("PAGE")+"/metrics")
					if err != nil {
						return err
					}
					m, err := harness.ParseMetrics(text)
					if err == nil && m.Sum("segd_frames_total", "camera", args[0], "outcome", "published") == 0 {
						err = errors.New("none yet")
					}
					return err
				}))
			},
			// written FILE waits until there is something in a file, or a file in a folder.
			"written": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 1 {
					ts.Fatalf("usage: written FILE")
				}
				ts.Check(await(t.Context(), args[0], func(context.Context) error {
					info, err := os.Stat(ts.MkAbs(args[0]))
					switch {
					case err != nil:
						return err
					case info.IsDir():
						entries, err := os.ReadDir(ts.MkAbs(args[0]))
						if err == nil && len(entries) == 0 {
							err = errors.New("it is empty")
						}
						return err
					case info.Size() == 0:
						return errors.New("it is empty")
					}
					return nil
				}))
			},
		},
	})
}

func await(ctx context.Context, what string, ask func(context.Context) error) error {
	return harness.Wait(ctx, 2*time.Minute, what, ask)
}

// elsewhere are commands that want data or a machine to themselves.
var elsewhere = map[string]string{
	"eval":    "tests of its own, with small data",
	"bench":   "tests of its own",
	"model":   "tests of its own",
	"backup":  "tests of its own", // it takes a store
	"restore": "tests of its own",
}

// Every command of segd that README.md or docs/ name is run by a script.
func TestAll(t *testing.T) {
	root := harness.Root(t)
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	scripts, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	var run strings.Builder
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		require.NoError(t, err)
		run.Write(text)
	}
	named := regexp.MustCompile("(?:`|^ {4}|^)(?:bin/)?segd ([a-z]+)\\b")
	seen := map[string]bool{}
	for _, file := range append(files, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		inside := false // a block of code
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "```") {
				inside = !inside
			}
			for _, m := range named.FindAllStringSubmatch(line, -1) {
				prose := !inside && !strings.HasPrefix(line, "    ") && !strings.HasPrefix(m[0], "`")
				if command := m[1]; !prose && !seen[command] {
					seen[command] = true
					if elsewhere[command] == "" && !strings.Contains(run.String(), "exec segd "+command) {
						t.Errorf("%s has segd %s, which no script runs", filepath.Base(file), command)
					}
				}
			}
		}
	}
	for _, command := range []string{"demo", "check", "run", "eval"} {
		if !seen[command] {
			t.Errorf("segd %s is not in README.md or docs/, or this test does not find it", command)
		}
	}
	fmt.Fprintf(t.Output(), "%d commands are named\n", len(seen))
}
