package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/lab/mot"
)

type motScoreFlags struct {
	truth, result, frames, ignore string
	minHeight                     float64
	json                          bool
}

func motScoreCommand(std cli.Streams) *cobra.Command {
	var f motScoreFlags
	cmd := &cobra.Command{
		Use:   "score --truth GT --result FILE",
		Short: "Any tracker's result, as py-motmetrics scores it",
		Long: "Compares the boxes that a tracker found, segd's or another's, with the true ones; both\n" +
			"files are MOTChallenge's. A box is right where its intersection over union with the\n" +
			"true box is at least 0.5. The figures are py-motmetrics':\n\n" +
			"  MOTA            1 − (missed + false + switches) / true boxes\n" +
			"  IDF1            by the assignment of found to true persons that is best for the\n" +
			"                  whole video: 2·right / (true + found)\n" +
			"  switches        of identity, as CLEAR-MOT counts them\n" +
			"  fragmentations  times that a person is lost, and found again later\n" +
			"  recall          share of the true boxes that are found\n" +
			"  precision       share of the found boxes that are right\n\n" +
			"True boxes of flag 0 are not counted, nor is a found box that is paired with one. With\n" +
			"--min-height true boxes less tall count as little, and found ones less tall that are\n" +
			"paired with none are left out. So are, with --ignore, those with their middle in a region.",
		Example: "  segd eval mot score --truth gt.txt --result result.txt --frames 1-400\n" +
			"  segd eval mot score --truth gt.txt --result result.txt --json",
		Args: cli.Args,
		RunE: func(*cobra.Command, []string) error { return runMotScore(std, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.truth, "truth", "", "true boxes, MOTChallenge's gt.txt")
	flags.StringVar(&f.result, "result", "", "found boxes, as results of MOTChallenge")
	flags.StringVar(&f.frames, "frames", "", "A-B: first and last frame looked at, counted from 1 (default all of either file)")
	addMinHeight(cmd, &f.minHeight, "")
	addIgnore(cmd, &f.ignore)
	flags.BoolVar(&f.json, "json", false, "print one JSON object on standard output")
	requireFlags(cmd, "truth", "result")
	return cmd
}

func runMotScore(std cli.Streams, f motScoreFlags) error {
	first, last, err := parseFrames(f.frames)
	if err != nil {
		return cli.Usage(fmt.Errorf("--frames: %w", err))
	}
	truth, err := readTruth(f.truth, f.minHeight, f.ignore)
	if err != nil {
		return err
	}
	result, err := readBoxes(f.result, mot.ParseResult)
	if err != nil {
		return cli.Usage(fmt.Errorf("--result: %w", err))
	}
	return printed(std, f.json, mot.Score(truth, result, first, last), func(w io.Writer, f mot.Figures) { printFigures(w, row{"result", f}) })
}

// row are the figures of something.
type row struct {
	of string
	mot.Figures
}

func printFigures(w io.Writer, rows ...row) {
	fmt.Fprintln(w, "\tMOTA\tIDF1\tswitches\tfragmentations\trecall\tprecision")
	for _, f := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\t%s\n", f.of, figure(f.MOTA), figure(f.IDF1), f.IDSwitches, f.Fragmentations, figure(f.Recall), figure(f.Precision))
	}
}
