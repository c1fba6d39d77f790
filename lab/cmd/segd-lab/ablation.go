package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/features"
	"github.com/segd/segd/lab/davis"
)

type ablationFlags struct {
	pictureFlags
	repeat int
}

func ablationCommand(std cli.Streams) *cobra.Command {
	var f ablationFlags
	cmd := &cobra.Command{
		Use:   "ablation --root DIR",
		Short: "What each part of the model is worth, and what it costs",
		Long: "Follows the object of each DAVIS-2016 sequence from the first frame's true mask by\n" +
			"parts of the model and by the whole, all on the same scenes, which are computed once:\n\n" +
			"  affinity alone  labels spread to what looks alike in earlier frames\n" +
			"  labels fixed    and the classifier is re-estimated, from those labels\n" +
			"  joint, without  and the labels with it, but nothing is known of windows before\n" +
			"  joint, cold     and the classifier is drawn to the last window's; solves start at zero\n" +
			"  joint, warm     and at what the last window ended with, as in the daemon\n\n" +
			"Each solve ends once it has converged, after 200 iterations at most; the daemon\n" +
			"ends it after 10. Repeats change the pictures as those of segd eval davis do. J and\n" +
			"F are means over sequences, with their standard deviation over repeats; gain is J\n" +
			"less affinity's in the same repeat. core-ms is the processor time of a frame but for\n" +
			"its features, solve-ms a solve's part of it. Iterations, the share of solves that\n" +
			"converge, and solve-ms are means over the frames after the marked one.",
		Example: "  segd eval ablation --root DAVIS\n  segd eval ablation --root DAVIS --sequences dog,libby --repeat 5 --json",
		Args:    cli.Args,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runAblation(cmd, std, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.root, "root", "", "folder with JPEGImages/480p and Annotations/480p")
	flags.StringVar(&f.sequences, "sequences", "all", "names, separated by commas, or all")
	f.addModel(cmd)
	flags.IntVar(&f.repeat, "repeat", 3, "runs of each sequence under tiny changes")
	flags.Uint64Var(&f.seed, "seed", 1, "of the changes")
	requireFlags(cmd, "root")
	return cmd
}

func runAblation(cmd *cobra.Command, std cli.Streams, f ablationFlags) error {
	if f.repeat < 1 {
		return cli.Usage(fmt.Errorf("--repeat %d; accepted: 1 or more", f.repeat))
	}
	model, err := f.open()
	if err != nil {
		return err
	}
	defer model.Close()
	return measured(std, f.json, "following the objects", func(step func(int, int)) (*davis.Ablation, error) {
		r, err := davis.RunAblation(cmd.Context(), davis.Options{
			Root: f.root, Sequences: f.names(), Model: model, ModelName: f.modelName(), Features: features.Config{Superpixels: f.superpixels},
			Repeat: f.repeat, Seed: f.seed, Progress: step,
		}, davis.Variants)
		if err == nil {
			err = unfailed(model)
		}
		return r, err
	}, printAblation)
}

func printAblation(w io.Writer, r *davis.Ablation) {
	fmt.Fprintf(w, "%s, %d repeats, seed %d\n\n", r.Model, r.Repeats, r.Seed)
	fmt.Fprintf(w, "\tJ\tF\tgain\tcore-ms\titerations\tconverged\tsolve-ms\n")
	for _, row := range r.Rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s", row.Name, row.J.Format(3), row.F.Format(3), row.Gain.Format(3), row.CoreMS.Format(1))
		if s := row.Windows; s != nil {
			fmt.Fprintf(w, "\t%s\t%s\t%s", s.Iterations.Format(1), s.Converged.Format(3), s.SolveMS.Format(1))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "\nJ")
	for _, s := range r.Rows[0].Sequences {
		fmt.Fprintf(w, "\t%s", s.Name)
	}
	fmt.Fprintln(w)
	for _, row := range r.Rows {
		fmt.Fprint(w, row.Name)
		for _, s := range row.Sequences {
			fmt.Fprintf(w, "\t%s", s.J.Format(3))
		}
		fmt.Fprintln(w)
	}
	printSkipped(w, r.Skipped)
}
