package measure

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/segd/segd/eval/soak"
	"github.com/segd/segd/features"
	"github.com/segd/segd/internal/cli"
	"github.com/segd/segd/tracker"
)

type soakFlags struct {
	pictureFlags
	frames int
}

func evalSoakCommand(std cli.Streams) *cobra.Command {
	var f soakFlags
	cmd := &cobra.Command{
		Use:   "soak --root DIR --sequences NAME",
		Short: "Resident memory over a long run",
		Long: fmt.Sprintf("Follows the object of one sequence, which is played forwards and backwards over\n"+
			"and over, and prints the process' resident memory at frame %d and at the end, each\n"+
			"the median of 100 frames.", soak.Warm),
		Example: "  segd eval soak --root DAVIS --sequences car-shadow --frames 20000",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runSoak(cmd, std, f) },
	}
	f.add(cmd)
	cmd.Flags().IntVar(&f.frames, "frames", 20000, fmt.Sprintf("frames to follow, more than %d", soak.Warm))
	return cmd
}

func runSoak(cmd *cobra.Command, std cli.Streams, f soakFlags) error {
	mode, err := f.parseMode()
	if err != nil {
		return err
	}
	names := f.names()
	if len(names) != 1 {
		return cli.Usage(fmt.Errorf("--sequences %s; want the name of one sequence", f.sequences))
	}
	if f.frames <= soak.Warm {
		return cli.Usage(fmt.Errorf("--frames %d; want more than %d", f.frames, soak.Warm))
	}
	model, err := f.open()
	if err != nil {
		return err
	}
	defer model.Close()
	bar := cli.NewProgress(std.Err, "following the object")
	r, err := soak.Run(cmd.Context(), soak.Options{
		Root:      f.root,
		Sequence:  names[0],
		ModelName: f.modelName(),
		Model:     model,
		Features:  features.Config{Superpixels: f.superpixels},
		Tracker:   tracker.Config{Mode: mode},
		Frames:    f.frames,
		Progress:  bar.Step,
	})
	bar.End()
	if err != nil {
		return err
	}
	if f.json {
		return json.NewEncoder(std.Out).Encode(r)
	}
	_, err = fmt.Fprintf(std.Out, "%s, %d frames of %.0f ms, mean J %.3f\nresident: %.1f MiB at frame %d, %.1f at the end (%.3f of it), %.1f at most between\n",
		r.Sequence, r.Frames, r.MSPerFrame, r.J, r.WarmRSSMB, soak.Warm, r.RSSMB, r.Ratio, r.RSSMBHighest)
	return err
}
