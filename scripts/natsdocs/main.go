// Command natsdocs runs the examples of docs/nats.md: every line of its sh blocks, by
// NATS' own program at the server of a segd demo. Each must end well within a limit.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/segd/segd/scripts/process"
)

func main() { process.Main("natsdocs", run) }

const commandLimit = 30 * time.Second

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("natsdocs", flag.ContinueOnError)
	flags.SetOutput(stderr)
	segd := flags.String("segd", "bin/segd", "program to ask")
	cli := flags.String("nats", "bin/nats", "NATS' program")
	doc := flags.String("doc", "docs/nats.md", "what to try")
	verbose := flags.Bool("v", false, "show what each says")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	text, err := os.ReadFile(*doc)
	if err != nil {
		return err
	}
	lines := examples(string(text))
	if len(lines) == 0 {
		return fmt.Errorf("%s has no sh block", *doc)
	}
	program, err := filepath.Abs(*cli)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "segd-natsdocs-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()

	for name, value := range map[string]string{
		"SEGD_NATS_FORMAT": "json", "SEGD_NATS_MASKS_MAX_AGE": "10m", "SEGD_NATS_STORE_DIR": filepath.Join(dir, "store"),
	} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	demo, err := process.StartDemo(ctx, io.Discard, *segd)
	if err != nil {
		return err
	}
	defer demo.End()
	if err := firstMask(ctx, demo); err != nil {
		return err
	}
	failed := 0
	for _, line := range lines {
		out, err := try(ctx, dir, program, demo.NATS, line)
		if err != nil {
			failed++
			fmt.Fprintf(stdout, "FAILED  %s: %v\n%s\n", line, err, out)
			continue
		}
		fmt.Fprintln(stdout, "ok      "+line)
		if *verbose {
			fmt.Fprintf(stdout, "%s\n", out)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d lines failed", failed, len(lines))
	}
	return nil
}

// examples returns the lines of a Markdown text's sh blocks.
func examples(text string) (lines []string) {
	inside := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```sh"
		case inside && line != "" && line[0] != '#':
			lines = append(lines, line)
		}
	}
	return lines
}

// firstMask waits for the demo's first mask.
func firstMask(ctx context.Context, demo *process.Demo) error {
	return demo.Wait(ctx, func(ctx context.Context) bool {
		nc, err := nats.Connect(demo.NATS)
		if err != nil {
			return false
		}
		defer nc.Close()
		sub, err := nc.SubscribeSync("segd.v1.home.demo.mask")
		if err != nil {
			return false
		}
		_, err = sub.NextMsgWithContext(ctx)
		return err == nil
	})
}

// try runs one line by the shell, with nats being program, in dir.
func try(ctx context.Context, dir, program, url, line string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, commandLimit, fmt.Errorf("not done after %v", commandLimit))
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", line)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "NATS_URL="+url, "HOME="+dir, "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return out, err
}
