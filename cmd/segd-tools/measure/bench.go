package measure

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/internal/pause"
)

const (
	// benchMostCameras keeps a slip of the finger from taking all ports.
	benchMostCameras = 256
	// benchPatience is how long the cameras may take to show their first frames, and
	// the last frames to arrive.
	benchPatience = 2 * time.Minute
)

// Command is segd bench.
func Command(std cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "bench",
		Short:   "Measure what segd costs on this machine",
		Example: "  segd bench ingest --cameras 16",
		Args:    cli.Args,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(benchIngestCommand(std), benchPipelineCommand(std), benchCrowdCommand(std), benchCamerasCommand(std))
	return cmd
}

// benchFlags say which cameras are measured, and for how long.
type benchFlags struct {
	cameras    int
	size, clip string
	duration   time.Duration
	json       bool

	width, height int // of size
}

// check refuses what cannot be measured.
func (f *benchFlags) check() error {
	n, err := fmt.Sscanf(f.size, "%dx%d", &f.width, &f.height)
	switch {
	case n != 2 || err != nil || fmt.Sprintf("%dx%d", f.width, f.height) != f.size ||
		f.width < 64 || f.height < 64 || f.width > 7680 || f.height > 4320 || f.width%2 != 0 || f.height%2 != 0:
		return cli.Usage(fmt.Errorf("--size %q: accepted: even numbers from 64x64 to 7680x4320, such as 1920x1080", f.size))
	case f.cameras < 1 || f.cameras > benchMostCameras:
		return cli.Usage(fmt.Errorf("--cameras %d: accepted: 1 to %d", f.cameras, benchMostCameras))
	case f.duration < time.Second:
		return cli.Usage(fmt.Errorf("--for %v: accepted: a duration of 1s or more, such as 20s", f.duration))
	}
	return nil
}

// await asks until there is no error.
func await(ctx context.Context, what string, ask func() error) error {
	for end := time.Now().Add(benchPatience); ; {
		err := ask()
		if err == nil {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("waited %v in vain for %s: %w", benchPatience, what, err)
		}
		if err := pause.For(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// measuring waits for d, visibly.
func measuring(ctx context.Context, std cli.Streams, d time.Duration) error {
	bar := cli.NewProgress(std.Err, "measuring")
	defer bar.End()
	steps := int(d / (100 * time.Millisecond))
	began := time.Now()
	for i := range steps {
		if err := pause.For(ctx, time.Until(began.Add(d*time.Duration(i+1)/time.Duration(steps)))); err != nil {
			return err
		}
		bar.Step(i+1, steps)
	}
	return nil
}

// median is how long work takes by a clock, in milliseconds: the median of some runs.
func median(runs int, clock func() time.Duration, work func() error) (float64, error) {
	took := make([]float64, runs)
	for i := range took {
		before := clock()
		if err := work(); err != nil {
			return 0, err
		}
		took[i] = milliseconds(clock() - before)
	}
	slices.Sort(took)
	return took[runs/2], nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
