package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/segd/segd/internal/cli"
	"github.com/segd/segd/lab/ssl"
)

type sslFlags struct {
	root, datasets string
	json           bool
}

func sslCommand(std cli.Streams) *cobra.Command {
	var f sslFlags
	cmd := &cobra.Command{
		Use:   "ssl --root DIR",
		Short: "Accuracy on the semi-supervised learning benchmark",
		Long: "Finds the labels of the unlabeled samples of each split of the benchmark of\n" +
			"Chapelle, Schölkopf and Zien and prints how many are right, mean and standard\n" +
			"deviation over the splits, for 10 and 100 labeled samples and two kernels.",
		Example: "  segd eval ssl --root SSL",
		Args:    cli.Args,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runSSL(cmd, std, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.root, "root", "", "folder with a folder for each data set")
	flags.StringVar(&f.datasets, "datasets", "all", "names, separated by commas, or all: "+strings.Join(ssl.Datasets, ","))
	flags.BoolVar(&f.json, "json", false, "print one JSON object on standard output")
	if err := cmd.MarkFlagRequired("root"); err != nil {
		panic(err) // the flag is defined above
	}
	return cmd
}

func runSSL(cmd *cobra.Command, std cli.Streams, f sslFlags) error {
	opt := ssl.Options{Root: f.root}
	if f.datasets != "all" {
		opt.Datasets = strings.Split(f.datasets, ",")
		for _, name := range opt.Datasets {
			if !slices.Contains(ssl.Datasets, name) {
				return cli.Usage(fmt.Errorf("--datasets: no %q; there are %s", name, strings.Join(ssl.Datasets, ", ")))
			}
		}
	}
	bar := cli.NewProgress(std.Err, "runs")
	opt.Progress = bar.Step
	report, err := ssl.Run(cmd.Context(), opt)
	bar.End()
	if err != nil {
		return err
	}
	if f.json {
		return json.NewEncoder(std.Out).Encode(report)
	}
	for _, s := range report.Settings {
		fmt.Fprintln(std.Out, s)
	}
	fmt.Fprintln(std.Out)
	w := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "data set\tlabeled\tkernel\tsegd\tpaper, ours\tpaper, SDP\t\n")
	paper := func(v *float64) string {
		if v == nil {
			return "–"
		}
		return fmt.Sprintf("%.2f", *v)
	}
	for _, c := range report.Cells {
		mark := ""
		if c.PaperOurs != nil && c.Accuracy < *c.PaperOurs-1 {
			mark = "more than a point below"
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%.2f ± %.2f\t%s\t%s\t%s\n", c.Dataset, c.Labeled, c.Kernel, c.Accuracy, c.Std, paper(c.PaperOurs), paper(c.PaperSDP), mark)
	}
	if sum := report.Summary(); sum.Cells > 0 {
		fmt.Fprintf(w, "mean of %d\t\t\t%.2f\t%.2f\t%.2f\t%d below\n", sum.Cells, sum.Accuracy, sum.PaperOurs, sum.PaperSDP, sum.Below)
	}
	return w.Flush()
}
