package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/lab/moons"
)

type moonsFlags struct {
	seeds, starts int
	seed          uint64
	json          bool
}

func moonsCommand(std cli.Streams) *cobra.Command {
	var f moonsFlags
	cmd := &cobra.Command{
		Use:   "moons",
		Short: "Label error on four interlocked moons without a label",
		Long: "Draws 600 samples of four interlocked moons and 25 random cliques of 25 of them,\n" +
			"tells each method how often each class occurs in each clique, give or take 3, and\n" +
			"counts the labels it gets wrong. No label is given and no classes are permuted.\n" +
			"DC-ADMM starts from zero, the others from labels by chance within the bounds.",
		Example: "  segd eval moons\n  segd eval moons --seeds 10 --starts 8",
		Args:    cli.Args,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runMoons(cmd, std, f) },
	}
	flags := cmd.Flags()
	flags.IntVar(&f.seeds, "seeds", moons.DefaultSeeds, "instances to draw")
	flags.IntVar(&f.starts, "starts", 1, "starts of each method, of which the one of lowest energy counts")
	flags.Uint64Var(&f.seed, "seed", 100, "seed of the first instance; the others follow it (the settings were chosen on 0 to 5)")
	flags.BoolVar(&f.json, "json", false, "print one JSON object on standard output")
	return cmd
}

func runMoons(cmd *cobra.Command, std cli.Streams, f moonsFlags) error {
	for flag, v := range map[string]int{"seeds": f.seeds, "starts": f.starts} {
		if v < 1 {
			return cli.Usage(fmt.Errorf("--%s: %d; want at least 1", flag, v))
		}
	}
	return measured(std, f.json, "runs", func(step func(int, int)) (*moons.Report, error) {
		return moons.Run(cmd.Context(), moons.Options{Seed: f.seed, Seeds: f.seeds, Starts: f.starts, Progress: step})
	}, printMoons)
}

func printMoons(w io.Writer, r *moons.Report) {
	fmt.Fprintf(w, "method\tmean\tmedian\tbest\tworst\tpaper\n")
	for _, m := range []struct {
		name  string
		e     moons.Errors
		paper float64
	}{
		{"constrained kernel k-means", r.KernelKMeans, moons.PaperKernelKMeans},
		{"coordinate descent", r.CoordinateDescent, moons.PaperCoordinateDescent},
		{"DC-ADMM", r.DCADMM, moons.PaperDCADMM},
	} {
		fmt.Fprintf(w, "%s\t%.1f ± %.1f %%\t%.1f %%\t%.1f %%\t%.1f %%\t%.1f %%\n", m.name, 100*m.e.Mean, 100*m.e.SD, 100*m.e.Median,
			100*slices.Min(m.e.Errors), 100*slices.Max(m.e.Errors), 100*m.paper)
	}
}
