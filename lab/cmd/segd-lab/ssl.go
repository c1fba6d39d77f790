package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/lab/ssl"
)

type sslFlags struct {
	root, datasets string
	growth, json   bool
	samples        []int
}

func sslCommand(std cli.Streams) *cobra.Command {
	var f sslFlags
	cmd := &cobra.Command{
		Use:   "ssl --root DIR",
		Short: "Accuracy on the semi-supervised learning benchmark",
		Long: "Finds the labels of the unlabeled samples of each split of the benchmark of\n" +
			"Chapelle, Schölkopf and Zien and prints how many are right, mean and standard\n" +
			"deviation over the splits, for 10 and 100 labeled samples and two kernels:\n\n" +
			"  inductive    by the classifier of the labeled samples, within the classes' balance\n" +
			"  DC-ADMM      from there\n" +
			"  cold         from α = λ = 0 and labels by chance, as the paper starts\n" +
			"  δ            as DC-ADMM, with a δ > 0 in the descent condition of labels\n" +
			"  paper, SDP   the paper's own figures, and those it gives of the relaxation of\n" +
			"               Joulin and Bach\n\n" +
			"--growth measures what a solve costs by its number of samples instead, of two classes\n" +
			"of 241 Gaussian features: processor time and memory, and by which power they grow.",
		Example: "  segd eval ssl --root SSL\n  segd eval ssl --growth",
		Args:    cli.Args,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runSSL(cmd, std, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.root, "root", "", "folder with a folder for each data set")
	flags.StringVar(&f.datasets, "datasets", "all", "names, separated by commas, or all: "+strings.Join(ssl.Datasets, ","))
	flags.BoolVar(&f.growth, "growth", false, "measure time and memory by the number of samples")
	flags.IntSliceVar(&f.samples, "samples", ssl.GrowthSizes, "numbers of samples that --growth takes")
	flags.BoolVar(&f.json, "json", false, "print one JSON object on standard output")
	return cmd
}

func runSSL(cmd *cobra.Command, std cli.Streams, f sslFlags) error {
	if f.growth {
		for _, n := range f.samples {
			if n < 20 || n > 100_000 {
				return cli.Usage(fmt.Errorf("--samples %d: accepted: 20 to 100000", n))
			}
		}
		return measured(std, f.json, "solves", func(step func(int, int)) (*ssl.Growth, error) {
			return ssl.MeasureGrowth(cmd.Context(), f.samples, step)
		}, printGrowth)
	}
	if f.root == "" {
		return cli.Usage(fmt.Errorf(`required flag(s) "root" not set`))
	}
	opt := ssl.Options{Root: f.root}
	if f.datasets != "all" {
		opt.Datasets = strings.Split(f.datasets, ",")
		for _, name := range opt.Datasets {
			if !slices.Contains(ssl.Datasets, name) {
				return cli.Usage(fmt.Errorf("--datasets: no %q; there are %s", name, strings.Join(ssl.Datasets, ", ")))
			}
		}
	}
	return measured(std, f.json, "runs", func(step func(int, int)) (*ssl.Report, error) {
		opt.Progress = step
		return ssl.Run(cmd.Context(), opt)
	}, printSSL)
}

func printSSL(w io.Writer, r *ssl.Report) {
	for _, s := range r.Settings {
		fmt.Fprintln(w, s)
	}
	fmt.Fprintf(w, "\ndata set\tlabeled\tkernel\tinductive\tDC-ADMM\tcold\tδ\tpaper\tSDP\n")
	for _, c := range r.Cells {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%.1f\t%s\t%s\n", c.Dataset, c.Labeled, c.Kernel, c.Inductive.Format(1), c.DCADMM.Format(1),
			c.Cold.Format(1), c.WithDelta.Mean, orDash("%.1f", c.PaperOurs), orDash("%.1f", c.PaperSDP))
	}
	s := r.Summary
	if s.Cells == 0 {
		return
	}
	fmt.Fprintf(w, "mean of %d\t\t\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\n\n", s.Cells, s.Inductive, s.DCADMM, s.Cold, s.WithDelta, s.PaperOurs, s.PaperSDP)
	fmt.Fprintf(w, "DC-ADMM is above its inductive start in %d of %d cells, and more than a point below the paper's figure in %d.\n", s.Above, s.Cells, s.Below)
	fmt.Fprintf(w, "The last change of a label is in iteration %.0f; with δ = %g in iteration %.0f.\n", s.Settled, r.Settings[0].Delta, s.SettledWithDelta)
}

func printGrowth(w io.Writer, g *ssl.Growth) {
	fmt.Fprintf(w, "%s\n\nsamples\tseconds\tMB\n", g.Setting)
	for i, n := range g.Samples {
		fmt.Fprintf(w, "%d\t%.3f\t%.1f\n", n, g.Seconds[i], g.Bytes[i]/1e6)
	}
	fmt.Fprintf(w, "power\t%.2f\t%.2f\n", g.SecondsExponent, g.BytesExponent)
}
