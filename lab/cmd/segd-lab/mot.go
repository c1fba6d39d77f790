package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/features"
	"github.com/segd/segd/lab/internal/offline"
	"github.com/segd/segd/lab/mot"
	"github.com/segd/segd/objects/marking"
	"github.com/segd/segd/objects/track"
	"github.com/segd/segd/objects/zones"
)

type motFlags struct {
	trackingFlags
	looks                                                              lookFlags
	video, truth, frames, follow, mark, boxes, out, detections, ignore string
	lines, classes                                                     []string
	fps, minHeight                                                     float64
	stride                                                             int
	backwards                                                          bool
	crossings                                                          bool
}

func motCommand(std cli.Streams) *cobra.Command {
	var f motFlags
	cmd := &cobra.Command{
		Use:   "mot --video FILE --truth GT",
		Short: "Persons or vehicles of a video, found or marked, and followed",
		Long: "Follows the persons of a video, or --classes, whose true boxes GT has in MOTChallenge's\n" +
			"format, finds them by itself, and scores their boxes as py-motmetrics does: see segd eval\n" +
			"mot score. The model looks at all of every --every'th frame. With --min-height\n" +
			"true boxes less tall count as little as those of flag 0, and found ones less tall that are\n" +
			"on none are left out. So are, with --ignore, those with their middle in a region.\n" +
			"--boxes says which boxes are scored: extent, the full ones by the objects' tracks, also\n" +
			"while they are hidden, and of an object without a track its mask's; or mask, those of all\n" +
			"masks. --json has the figures of both. Beside them are those of plain ByteTrack (2021) on\n" +
			"the same detections, and what is found by the height of boxes in pixels.\n" +
			"--stride N shows every Nth frame alone, at its time, and --backwards all from the last to\n" +
			"the first; frames count from 1 then.\n" +
			"--line counts who crosses a line, by the feet of extents or masks as a camera does and\n" +
			"by the true boxes' lower middles, which have to settle on the other side likewise.\n\n" +
			"With --follow each is marked once, by the true box of the first frame in which it is\n" +
			"whole and at least 60 pixels tall (or that of its tallest box, if it never is), and\n" +
			"followed from then on: alone, by a tracker of its own, and together, by one tracker of\n" +
			"all. A box is right where its intersection over union with the person's\n" +
			"true box is at least 0.3. Counted is from the frame after the mark on:\n\n" +
			"  IDF1, IDP, IDR  by the assignment of found to true persons that is best for the\n" +
			"                  whole video, as py-motmetrics has them; alone: sums over the persons\n" +
			"  switches        of identity, as CLEAR-MOT counts them\n" +
			"  present         frames with a true box\n" +
			"  right, missed   of these, those where the person's own box is right, and the others\n" +
			"  false           frames with a box that is not right, the person present or not\n" +
			"  gone            frames more than a second after the last true box\n" +
			"  strangers       of these, those with a box: in each person's row; above, per thousand\n" +
			"  score from      of the masks' boxes with a score in a tenth of 0 to 1, alone and\n" +
			"                  together, how many are right\n\n" +
			"With --crossings two persons are marked where they cross, and followed for 200 frames:\n" +
			"all pairs whose true boxes overlap with an intersection over union of 0.3 or more while\n" +
			"both are whole and at least 60 pixels tall, and who are in sight and apart 50 frames\n" +
			"later. They are marked in the frame of the largest overlap, and each pair has a tracker\n" +
			"of its own. Right is the share of the persons' true boxes where their own box is right.\n\n" +
			"True boxes of flag 0 are not counted, nor are a person's own boxes on them. The boxes\n" +
			"of all persons together are written to --out, as results of MOTChallenge.",
		Example: "  segd eval mot --video vtest.avi --truth gt.txt --frames 1-400 --out result.txt\n" +
			"  segd eval mot --video MOT16-02/img1 --fps 30 --truth MOT16-02/gt/gt.txt --every 15\n" +
			"  segd eval mot --video street.mp4 --truth gt.txt --classes car,truck,bus --min-height 48\n" +
			"  segd eval mot --video vtest.avi --truth gt.txt --stride 4 --backwards --every 3\n" +
			"  segd eval mot --video vtest.avi --truth gt.txt --line .5,0,.5,1 --line 0,.5,1,.5\n" +
			"  segd eval mot --video vtest.avi --truth gt.txt --follow all --mark ellipse\n" +
			"  segd eval mot --video vtest.avi --truth gt.txt --frames 1-400 --crossings\n" +
			"  segd eval mot --video vtest.avi --truth gt.txt --frames 100-250 --follow 9,13 --json",
		Args: cli.Args,
		RunE: func(cmd *cobra.Command, _ []string) error { return runMot(cmd, std, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.video, "video", "", "video file, of any container FFmpeg opens, or folder of pictures in the order of their names")
	flags.Float64Var(&f.fps, "fps", 0, "pictures a second of a folder (default 25)")
	flags.StringVar(&f.truth, "truth", "", "its true boxes, MOTChallenge's gt.txt")
	flags.StringVar(&f.frames, "frames", "", "A-B: first and last frame looked at, counted from 1 (default all of the truth)")
	flags.StringVar(&f.follow, "follow", "", "mark these: ids of persons, separated by commas, or all (default nobody: all are found)")
	flags.BoolVar(&f.crossings, "crossings", false, "mark two persons wherever two cross; not with --follow")
	f.looks.add(cmd, 10, "; not with --follow")
	flags.StringSliceVar(&f.classes, "classes", []string{"person"}, "what is found, by the names of COCO's classes; not with --follow")
	addMinHeight(cmd, &f.minHeight, "; not with --follow")
	addIgnore(cmd, &f.ignore)
	flags.IntVar(&f.stride, "stride", 1, "show only every so many-th frame")
	flags.BoolVar(&f.backwards, "backwards", false, "show the last frame first; all are kept in memory")
	flags.StringVar(&f.boxes, "boxes", mot.Extents.String(), "which boxes figures and --out are of: extent or mask")
	flags.StringVar(&f.detections, "detections", "", "file to write what was detected to, as MOTChallenge's det.txt; not with --follow")
	flags.StringArrayVar(&f.lines, "line", nil, "X1,Y1,X2,Y2, fractions of the picture's width and height: count who crosses this line; repeat it for more; not with --follow")
	flags.StringVar(&f.mark, "mark", mot.MarkBox.String(), "what persons are marked by, with --follow or --crossings: box, or ellipse, the outline of the one in the box")
	flags.StringVar(&f.out, "out", "", "file to write the boxes found to")
	f.add(cmd)
	requireFlags(cmd, "video", "truth")
	cmd.AddCommand(motScoreCommand(std))
	return cmd
}

func runMot(cmd *cobra.Command, std cli.Streams, f motFlags) (err error) {
	opt := mot.Options{
		Video:     offline.Play(f.video, f.fps, false),
		ModelName: f.modelName(),
		Features:  features.Config{Superpixels: f.superpixels},
	}
	if err := refuseIdle(cmd, f.follow != "", f.crossings); err != nil {
		return err
	}
	if opt.Tracker.Mode, err = f.parseMode(); err != nil {
		return err
	}
	if opt.First, opt.Last, err = parseFrames(f.frames); err != nil {
		return cli.Usage(fmt.Errorf("--frames: %w", err))
	}
	if f.follow != "" {
		if opt.Follow, err = parseIDs(f.follow); err != nil {
			return cli.Usage(fmt.Errorf("--follow: %w", err))
		}
	}
	if opt.Mark, err = mot.ParseMark(f.mark); err != nil {
		return cli.Usage(fmt.Errorf("--mark: %w", err))
	}
	if opt.Boxes, err = mot.ParseBoxes(f.boxes); err != nil {
		return cli.Usage(fmt.Errorf("--boxes: %w", err))
	}
	if err := f.looks.check(); err != nil {
		return err
	}
	if len(f.classes) == 0 {
		return cli.Usage(errors.New("--classes: none; accepted: at least one, such as person"))
	}
	lines, err := parseLines(f.lines)
	if err != nil {
		return err
	}
	if opt.Truth, err = readTruth(f.truth, f.minHeight, f.ignore); err != nil {
		return err
	}
	if f.stride < 1 {
		return cli.Usage(fmt.Errorf("--stride %d; accepted: 1 or more", f.stride))
	}
	if f.stride > 1 || f.backwards {
		if err := opt.Replay(f.stride, f.backwards); err != nil {
			return err
		}
	}
	// Better a fault now than after the last frame.
	var out, detections *os.File
	for _, file := range []struct {
		flag, path string
		to         **os.File
	}{{"--out", f.out, &out}, {"--detections", f.detections, &detections}} {
		if file.path == "" {
			continue
		}
		created, fault := os.Create(file.path)
		if fault != nil {
			return cli.Usage(fmt.Errorf("%s: %w", file.flag, fault))
		}
		defer func() { err = errors.Join(err, created.Close()) }()
		*file.to = created
	}
	model, err := f.open()
	if err != nil {
		return err
	}
	defer model.Close()
	opt.Model = model

	const what = "following the persons"
	if f.crossings {
		return measured(std, f.json, what, func(step func(int, int)) (*mot.MeetingsReport, error) {
			opt.Progress = step
			return mot.RunMeetings(cmd.Context(), opt)
		}, printMeetings)
	}
	if f.follow == "" {
		if err := f.looks.known(model, f.classes); err != nil {
			return cli.Usage(fmt.Errorf("--classes: %w", err))
		}
		auto := mot.Automatic{Marking: marking.Config{Classes: f.classes, Track: track.Config{Confirm: f.looks.score}}, Every: f.looks.every, Lines: lines}
		return measured(std, f.json, what, func(step func(int, int)) (*mot.AutomaticReport, error) {
			opt.Progress = step
			report, err := mot.RunAutomatic(cmd.Context(), opt, auto)
			if err == nil {
				err = errors.Join(writeBoxes(out, report.Boxes), writeBoxes(detections, report.Detected))
			}
			return report, err
		}, printAutomatic)
	}
	return measured(std, f.json, what, func(step func(int, int)) (*mot.Report, error) {
		opt.Progress = step
		report, err := mot.Run(cmd.Context(), opt)
		if err == nil {
			err = writeBoxes(out, report.Boxes)
		}
		return report, err
	}, printMot)
}

// refuseIdle refuses flags that would do nothing.
func refuseIdle(cmd *cobra.Command, follow, crossings bool) error {
	idle := func(with string, names ...string) error {
		for _, name := range names {
			if cmd.Flags().Changed(name) {
				return cli.Usage(fmt.Errorf("--%s with --%s; accepted: one of them, where persons are marked they alone are followed", name, with))
			}
		}
		return nil
	}
	switch {
	case crossings:
		return idle("crossings", "follow", "every", "score", "classes", "min-height", "detections", "line", "boxes", "out")
	case follow:
		return idle("follow", "every", "score", "classes", "min-height", "detections", "line")
	case cmd.Flags().Changed("mark"):
		return cli.Usage(errors.New("--mark without --follow or --crossings; accepted: one of these with it, else nobody is marked"))
	}
	return nil
}

func printAutomatic(w io.Writer, r *mot.AutomaticReport) {
	printFigures(w, row{r.Counted, r.Figures}, row{"plain ByteTrack", r.ByteTrack})
	fmt.Fprintln(w, "\npixels tall\ttrue\trecall\tfalse")
	for _, h := range r.ByHeight {
		size := fmt.Sprintf("%g or more", h.From)
		if h.To != nil {
			size = fmt.Sprintf("%g to %g", h.From, *h.To)
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%d\n", size, h.True, figure(h.Recall), h.False)
	}
	if len(r.Lines) > 0 {
		fmt.Fprintln(w, "\nline\tcounted: a to b\tb to a\ttrue: a to b\tb to a")
	}
	for _, l := range r.Lines {
		fmt.Fprintf(w, "from (%v, %v) to (%v, %v)\t%d\t%d\t%d\t%d\n",
			l.Line[0], l.Line[1], l.Line[2], l.Line[3], l.Counted.AToB, l.Counted.BToA, l.True.AToB, l.True.BToA)
	}
	fmt.Fprintf(w, "\n%.0f ms a frame\n", r.Milliseconds)
}

// parseLines reads X1,Y1,X2,Y2 of each.
func parseLines(texts []string) (lines [][2]zones.Point, err error) {
	if len(texts) > zones.MaxLines {
		return nil, cli.Usage(fmt.Errorf("%d times --line; accepted: at most %d", len(texts), zones.MaxLines))
	}
	for _, text := range texts {
		parts := strings.Split(text, ",")
		var v [4]float64
		fault := len(parts) != len(v)
		for i := range min(len(parts), len(v)) {
			n, err := strconv.ParseFloat(strings.TrimSpace(parts[i]), 64)
			v[i], fault = n, fault || err != nil
		}
		a, b := zones.Point{v[0], v[1]}, zones.Point{v[2], v[3]}
		l := zones.Layout{Lines: []zones.Line{{Name: "line", Points: []zones.Point{a, b}}}}
		if fault || len(l.Faults()) > 0 {
			return nil, cli.Usage(fmt.Errorf("--line %q; accepted: X1,Y1,X2,Y2, fractions of the picture's width and height from 0 to 1, of two places", text))
		}
		lines = append(lines, [2]zones.Point{a, b})
	}
	return lines, nil
}

// writeBoxes writes to a file, if there is one.
func writeBoxes(file *os.File, boxes []mot.Found) error {
	if file == nil {
		return nil
	}
	return mot.WriteBoxes(file, boxes)
}

// parseFrames reads A-B; nothing is 0, 0.
func parseFrames(s string) (first, last int, err error) {
	if s == "" {
		return 0, 0, nil
	}
	a, b, _ := strings.Cut(s, "-")
	first, faultA := strconv.Atoi(a)
	last, faultB := strconv.Atoi(b)
	if faultA != nil || faultB != nil || first < 1 || last < first {
		return 0, 0, fmt.Errorf("%q; accepted: A-B, whole numbers from 1 on, B not below A", s)
	}
	return first, last, nil
}

// parseIDs reads numbers separated by commas; all is nil.
func parseIDs(s string) ([]int, error) {
	if s == "all" {
		return nil, nil
	}
	var ids []int
	for part := range strings.SplitSeq(s, ",") {
		id, err := strconv.Atoi(part)
		if err != nil || id < 1 {
			return nil, fmt.Errorf("%q in %q; accepted: all, or whole numbers from 1 on, separated by commas", part, s)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// addMinHeight adds the flag that readTruth takes.
func addMinHeight(cmd *cobra.Command, to *float64, when string) {
	cmd.Flags().Float64Var(to, "min-height", 0, "pixels that a box is tall to count"+when)
}

// addIgnore adds the flag that readTruth takes.
func addIgnore(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "ignore", "", "file of regions where nothing counts: lines of left,top,width,height in pixels")
}

// readTruth reads true boxes, of which those less tall than minHeight, or in a region of the file ignore, do not count.
func readTruth(path string, minHeight float64, ignore string) (*mot.Truth, error) {
	if !(minHeight >= 0) {
		return nil, cli.Usage(fmt.Errorf("--min-height %v; accepted: 0 or more", minHeight))
	}
	truth, err := readBoxes(path, mot.ParseTruth)
	if err != nil {
		return nil, cli.Usage(fmt.Errorf("--truth: %w", err))
	}
	truth.IgnoreBelow(minHeight)
	if ignore != "" {
		regions, err := readBoxes(ignore, mot.ParseRegions)
		if err != nil {
			return nil, cli.Usage(fmt.Errorf("--ignore: %w", err))
		}
		truth.IgnoreIn(regions)
	}
	return truth, nil
}

func readBoxes[T any](path string, parse func(io.Reader, string) (T, error)) (boxes T, err error) {
	file, err := os.Open(path)
	if err != nil {
		return boxes, err
	}
	defer file.Close()
	return parse(file, path)
}

func printMot(w io.Writer, r *mot.Report) {
	fmt.Fprintf(w, "frames %d to %d, marked by %s, boxes: %s\tIDF1\tIDP\tIDR\tswitches\tstrangers\n", r.FirstFrame, r.LastFrame, r.Mark, r.Counted)
	for _, g := range []struct {
		name  string
		group *mot.Group
	}{{"alone", &r.Alone}, {"together", &r.Together}} {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\n", g.name, figure(g.group.IDF1), figure(g.group.IDP), figure(g.group.IDR), g.group.IDSwitches, figure(g.group.Strangers))
	}
	fmt.Fprintf(w, "\nperson\tmarked\tpresent\tgone\talone: right\tfalse\tmissed\tstrangers\ttogether: right\tfalse\tmissed\tstrangers\n")
	for k, a := range r.Alone.PerObject {
		t := r.Together.PerObject[k]
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n",
			a.ID, a.Marked, a.Present, a.Gone, a.Right, a.False, a.Missed, a.Strangers, t.Right, t.False, t.Missed, t.Strangers)
	}
	fmt.Fprintln(w)
	printReliability(w, r.Reliability)
}

func printMeetings(w io.Writer, r *mot.MeetingsReport) {
	fmt.Fprintf(w, "marked by %s\tpersons\tIoU\textent: IDF1\tright\tmask: IDF1\tright\n", r.Mark)
	for _, m := range r.Meetings {
		fmt.Fprintf(w, "frame %d\t%d and %d\t%.2f", m.Marked, m.IDs[0], m.IDs[1], m.IoU)
		for _, g := range []*mot.Group{&m.ByExtent, &m.ByMask} {
			means := g.Means()
			fmt.Fprintf(w, "\t%.3f\t%.3f", means.IDF1, means.Right)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "mean\t\t\t%.3f\t%.3f\t%.3f\t%.3f\n", r.ByExtent.IDF1, r.ByExtent.Right, r.ByMask.IDF1, r.ByMask.Right)
}
