package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/segd/segd/config"
	"github.com/segd/segd/eval"
	"github.com/segd/segd/features"
	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/tracker"
)

func evalCommand(std streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "eval",
		Short: "Measure segd on benchmark data",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(evalDavisCommand(std), evalMoonsCommand(std), evalSSLCommand(std))
	return cmd
}

type davisFlags struct {
	root, sequences, model, mode string
	superpixels                  int
	json                         bool
}

func evalDavisCommand(std streams) *cobra.Command {
	var f davisFlags
	cmd := &cobra.Command{
		Use:   "davis --root DIR",
		Short: "J and F on DAVIS-2016 sequences",
		Long: "Follows the object of each sequence from the first frame's true mask, as a camera\n" +
			"would be followed, and prints the mean intersection over union (J) and boundary\n" +
			"measure (F) of all frames but the first and the last. Frame t's mask uses no later\n" +
			"frame.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDavis(cmd, std, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.root, "root", "", "folder with JPEGImages/480p and Annotations/480p")
	flags.StringVar(&f.sequences, "sequences", "all", "names, separated by commas, or all")
	flags.StringVar(&f.model, "model", "", "ONNX or Caffe model (default the one in the binary)")
	flags.StringVar(&f.mode, "mode", tracker.Joint.String(), "joint, affinity or frozen")
	flags.IntVar(&f.superpixels, "superpixels", 0, fmt.Sprintf("pieces a frame is cut into (default %d)", features.DefaultSuperpixels))
	flags.BoolVar(&f.json, "json", false, "print one JSON object on standard output")
	if err := cmd.MarkFlagRequired("root"); err != nil {
		panic(err) // the flag is defined above
	}
	return cmd
}

func runDavis(cmd *cobra.Command, std streams, f davisFlags) error {
	mode, err := tracker.ParseMode(f.mode)
	if err != nil {
		return usageError{fmt.Errorf("--mode: %w", err)}
	}
	opt := eval.DavisOptions{
		Root:      f.root,
		ModelName: dnn.EmbeddedName,
		Features:  features.Config{Superpixels: f.superpixels},
		Tracker:   tracker.Config{Mode: mode},
	}
	if f.sequences != "all" {
		opt.Sequences = strings.Split(f.sequences, ",")
	}
	if f.model != "" {
		opt.ModelName = f.model
	}
	model, err := openModel(config.Model{Path: f.model})
	if err != nil {
		return err
	}
	defer model.Close()
	opt.Model = model

	bar := newProgress(std.err, "following the objects")
	opt.Progress = bar.step
	report, err := eval.Davis(cmd.Context(), opt)
	bar.end()
	if err != nil {
		return err
	}
	if f.json {
		enc := json.NewEncoder(std.out)
		return enc.Encode(report)
	}
	w := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "sequence\tframes\tJ\tF\tms/frame\n")
	for _, s := range report.Sequences {
		fmt.Fprintf(w, "%s\t%d\t%.3f\t%.3f\t%.0f\n", s.Name, s.Frames, s.J, s.F, s.MSPerFrame)
	}
	fmt.Fprintf(w, "mean\t\t%.3f\t%.3f\t\n", report.MeanJ, report.MeanF)
	return w.Flush()
}
