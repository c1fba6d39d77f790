// Command pagetest uses the page of the running demo as people do, in a headless
// Chromium: it freezes the picture, draws on a walking person, looks at the preview,
// accepts, and then sees on NATS whether the masks cover that person.
//
// What they are compared with was made from the clip alone, see reference.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/segd/segd/scripts/browser"
	"github.com/segd/segd/scripts/process"
	"github.com/segd/segd/scripts/steps"
)

func main() { process.Main("pagetest", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("pagetest", flag.ContinueOnError)
	flags.SetOutput(stderr)
	segd := flags.String("segd", "bin/segd", "program whose demo is used")
	chromium := flags.String("browser", "chromium", "Chromium to drive")
	pictures := flags.String("pictures", "bin/pagetest", "folder for pictures of the page")
	timeout := flags.Duration("timeout", 15*time.Minute, "give up after this")
	within := flags.Duration("within", 2*time.Second, "from accepting to the first masks with the object")
	draw := flags.Duration("draw", time.Minute, "how long somebody slow takes to draw")
	superpixels := flags.Int("superpixels", 0, "pieces a frame is cut into, fewer for a slow machine; 0: the demo's own number")
	only := flags.String("only", "", "take only the steps whose names hold this, beside the first")
	verbose := flags.Bool("v", false, "show what segd says")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, *timeout, fmt.Errorf("not done after %v", *timeout))
	defer cancel()
	if err := os.MkdirAll(*pictures, 0o755); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(*pictures, "*.png"))
	if err != nil {
		return err
	}
	for _, name := range old {
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	w := &world{pictures: *pictures, draw: *draw, within: *within, out: stdout}
	if w.walker, err = readWalker("scripts/pagetest/testdata/walker.json"); err != nil {
		return err
	}
	// The browser first: the clip begins to play when the demo starts.
	if w.chromium, err = browser.Start(ctx, *chromium); err != nil {
		return err
	}
	defer w.chromium.End()
	said := io.Discard
	if *verbose {
		said = stderr
	}
	demo, err := process.StartDemo(ctx, said, *segd, "--superpixels", strconv.Itoa(*superpixels))
	if err != nil {
		return err
	}
	defer demo.End()
	w.url = demo.Page
	if err := w.listen(ctx, demo.NATS); err != nil {
		return err
	}
	defer w.conn.Close()
	all := w.steps()
	chosen := slices.Clone(all[:1])
	for _, step := range all[1:] {
		if strings.Contains(step.Name, *only) {
			chosen = append(chosen, step)
		}
	}
	return steps.Follow(ctx, stdout, chosen)
}
