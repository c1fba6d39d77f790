package main

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/configured"
	"github.com/segd/segd/cmd/segd/record"
	"github.com/segd/segd/config"
	"github.com/segd/segd/features"
	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/lab/davis"
	"github.com/segd/segd/outputs/draw"
	"github.com/segd/segd/tracker"
)

// trackingFlags say how objects are followed.
type trackingFlags struct {
	model, mode            string
	computing              dnn.Computing
	superpixels, shortSide int
	json                   bool
}

func (f *trackingFlags) add(cmd *cobra.Command) {
	f.addModel(cmd)
	cmd.Flags().StringVar(&f.mode, "mode", tracker.Joint.String(), "joint, affinity, fixed, memoryless or cold")
}

// addModel is add without the mode.
func (f *trackingFlags) addModel(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.model, "model", "", "ONNX or Caffe model (default the one in the binary)")
	cli.AddComputing(cmd, &f.computing)
	flags.IntVar(&f.superpixels, "superpixels", 0, fmt.Sprintf("pieces a frame is cut into (default %d)", features.DefaultSuperpixels))
	flags.IntVar(&f.shortSide, "short-side", config.DefaultShortSide, "shorter side of the picture the model sees, in pixels")
	flags.BoolVar(&f.json, "json", false, "print one JSON object on standard output")
}

func (f *trackingFlags) parseMode() (tracker.Mode, error) {
	mode, err := tracker.ParseMode(f.mode)
	if err != nil {
		return 0, cli.Usage(fmt.Errorf("--mode: %w", err))
	}
	return mode, nil
}

func (f *trackingFlags) modelName() string {
	if f.model == "" {
		return dnn.EmbeddedName
	}
	return f.model
}

// open returns the model, which the caller closes.
func (f *trackingFlags) open() (*dnn.Model, error) {
	m, err := configured.OpenModel(f.model, dnn.Options{ShortSide: f.shortSide, Computing: f.computing})
	if err != nil {
		return nil, cli.Usage(err)
	}
	return m, nil
}

// unfailed refuses figures of a card that failed.
func unfailed(model *dnn.Model) error {
	if s := model.Status(); s.Failures > 0 {
		return fmt.Errorf("the card failed %d times, and the processor computed for it: these would be figures of both", s.Failures)
	}
	return nil
}

// requireFlags has cobra refuse a command line without the flags, which are defined.
func requireFlags(cmd *cobra.Command, flags ...string) {
	for _, name := range flags {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err)
		}
	}
}

// pictureFlags are what all runs on DAVIS' pictures have in common.
type pictureFlags struct {
	trackingFlags
	root, sequences, overlay string
	seed                     uint64
}

func (f *pictureFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.root, "root", "", "folder with JPEGImages/480p and Annotations/480p")
	flags.StringVar(&f.sequences, "sequences", "all", "names, separated by commas, or all")
	f.trackingFlags.add(cmd)
	flags.Uint64Var(&f.seed, "seed", 1, "of the random numbers")
}

// names is nil for all sequences.
func (f *pictureFlags) names() []string {
	if f.sequences == "all" {
		return nil
	}
	return strings.Split(f.sequences, ",")
}

type davisFlags struct {
	pictureFlags
	perturb   string
	repeat    int
	backwards bool
	mosaic    bool
	stabilise bool
	inset     string
	marks     string
	beside    string
}

func davisCommand(std cli.Streams) *cobra.Command {
	var f davisFlags
	cmd := &cobra.Command{
		Use:   "davis --root DIR",
		Short: "J, F, decay, stability and time on DAVIS-2016 sequences",
		Long: "Follows the object of each sequence from the first frame's true mask, as a camera\n" +
			"would be followed; frame t's mask uses no later frame. Printed are means over all\n" +
			"frames but the first and the last:\n\n" +
			"  J, F         intersection over union, and the boundary measure\n" +
			"  decay        of J and F: mean of the first quarter minus that of the last\n" +
			"  instability  1 − IoU of a mask with the one before it, minus the same of the\n" +
			"               truth: how much more the mask changes than the object does\n" +
			"  false        pixels of the masks that are not the object's, as shares of the\n" +
			"               object's: where an outline may be (as for F), within the object's size\n" +
			"               of it, and farther away\n" +
			"  score from   of the masks with a score in a tenth of 0 to 1, how many have a J of\n" +
			"               0.5 or more\n" +
			"  ms           a frame's time without decoding, and by stage; the network runs\n" +
			"               beside the superpixels and is a part of features\n\n" +
			"--perturb runs each sequence without and with a disturbance that --seed fixes:\n\n" +
			"  occlusion    a textured patch slides before the object in 4 frames, covers it for\n" +
			"               15 and slides out in 4. \"false\" is the median over the covered\n" +
			"               frames of mask pixels / pixels of the object behind the patch, and\n" +
			"               \"J after\" is of the 10 frames after it\n" +
			"  lighting     gain and gamma ramp by ±40 %, and the gain flickers by ±10 %\n" +
			"  noise        a sensor's in poor light, σ² = 6² + 12²·value/255\n" +
			"  night        the middle third is grey, half as bright and noisy, and the exposure is\n" +
			"               twice what it should be at either switch, and settles in a few frames\n\n" +
			"--repeat N runs each sequence N times, each time with 1 to 4 rows or columns cut off\n" +
			"one side, coded as JPEG once more and begun 0 to 2 frames later, as --seed fixes.\n" +
			"Figures are then means over the repeats, J with its standard deviation; in the line\n" +
			"of means it is that of the mean over the sequences.\n" +
			"--backwards plays each sequence from its last frame to its first.\n\n" +
			"--mosaic puts each four sequences, in their order, side by side into one picture, two\n" +
			"by two, for as long as the shortest of them lasts. One tracker follows the four objects,\n" +
			"each from its first mask. Printed are J there, \"J alone\" of the sequence by itself in\n" +
			"the same frames, and the difference. A last mosaic of fewer is filled up by the first\n" +
			"sequences, which count once. Pictures are not disturbed.\n\n" +
			"Sequences in which the camera stands are reported apart from those in which it moves:\n" +
			"its motion from frame to frame, the median, is measured by matching blocks away from the\n" +
			"true mask, as a share of the picture's longer side. Below 0.2 % it stands.\n\n" +
			"--stabilise follows standing copies of the sequences: the object's true pixels before a\n" +
			"still picture, the frame with least of the object, which is filled with its surroundings.\n" +
			"Over the sequence it goes to both sides, turns by 45° each way, grows to 3 times and\n" +
			"is lit by ±30 % of gain and ±20 % of gamma.\n\n" +
			"--inset WxH shrinks each sequence so that its object is 80 pixels high in the first\n" +
			"frame, if it is higher, and puts it into the middle of a frame of that size, whose rest is\n" +
			"the first frame's mean colour: small objects. Outlines are matched as in the sequence\n" +
			"without the rest.\n\n" +
			"--marks detector has each object begin with what the model's heads find of\n" +
			"it, in the first frame in which a box has an IoU of 0.3 or more with the true one, the\n" +
			"best of several. Frames before are left out, and sequences in which there is none.\n\n" +
			"--beside detector marks and follows what the detector finds in every tenth frame, too,\n" +
			"as a camera with detect does. All figures are the object's.\n\n" +
			"--overlay writes each frame with the mask tinted and the truth's outline in green,\n" +
			"to DIR/SEQUENCE-FRAME.png, or as a video if its name ends in .mp4; of repeats those\n" +
			"of the first. FRAME counts the frames played, and of mosaics\n" +
			"SEQUENCE is mosaic-1 and so on.",
		Example: "  segd eval davis --root DAVIS --sequences car-shadow\n" +
			"  segd eval davis --root DAVIS --repeat 5 --backwards\n" +
			"  segd eval davis --root DAVIS --sequences all --json >figures.json\n" +
			"  segd eval davis --root DAVIS --mosaic\n" +
			"  segd eval davis --root DAVIS --stabilise\n" +
			"  segd eval davis --root DAVIS --inset 1920x1080\n" +
			"  segd eval davis --root DAVIS --sequences libby --overlay out",
		Args: cli.Args,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDavis(cmd, std, f) },
	}
	f.add(cmd)
	requireFlags(cmd, "root")
	flags := cmd.Flags()
	flags.StringVar(&f.perturb, "perturb", davis.Undisturbed.String(), "none, occlusion, lighting, noise or night")
	flags.IntVar(&f.repeat, "repeat", 0, "runs of each sequence under tiny changes (0: one run, unchanged)")
	flags.BoolVar(&f.backwards, "backwards", false, "play each sequence from its last frame to its first")
	flags.BoolVar(&f.mosaic, "mosaic", false, "four sequences in one picture, four objects followed at once")
	flags.BoolVar(&f.stabilise, "stabilise", false, "standing copies: each object before a still picture, turned, scaled and lit differently")
	flags.StringVar(&f.inset, "inset", "", "WIDTHxHEIGHT of a frame that each sequence is shrunk into, so that its object is small")
	flags.StringVar(&f.marks, "marks", marksMask, "what an object begins with: mask, the true one, or detector")
	flags.StringVar(&f.beside, "beside", besideNothing, "what is marked beside the object: nothing, or detector, what it finds")
	flags.StringVar(&f.overlay, "overlay", "", "folder or FILE.mp4 to write the frames with their masks to")
	return cmd
}

// Values of --marks and --beside.
const marksMask, besideNothing, byDetector = "mask", "nothing", "detector"

// detectors checks --marks and --beside.
func (f *davisFlags) detectors() (marks, beside bool, err error) {
	for _, flag := range []struct {
		name, value, other string
		on                 *bool
	}{{"marks", f.marks, marksMask, &marks}, {"beside", f.beside, besideNothing, &beside}} {
		switch *flag.on = flag.value == byDetector; {
		case !*flag.on && flag.value != flag.other:
			return false, false, cli.Usage(fmt.Errorf("--%s %q; accepted: %s, %s", flag.name, flag.value, flag.other, byDetector))
		case *flag.on && f.mosaic:
			return false, false, cli.Usage(fmt.Errorf("--mosaic with --%s %s; accepted: one of them", flag.name, byDetector))
		}
	}
	if marks && f.perturb != davis.Undisturbed.String() {
		return false, false, cli.Usage(fmt.Errorf("--marks %s with --perturb %s; accepted: --perturb %s, detected is what is not disturbed", byDetector, f.perturb, davis.Undisturbed))
	}
	return marks, beside, nil
}

// Sides of an inset's frame.
const minInset, maxInset = 64, 8192

// parseInset is zero for no inset.
func parseInset(s string) (size image.Point, err error) {
	if s == "" {
		return size, nil
	}
	w, h, _ := strings.Cut(s, "x")
	for side, text := range map[*int]string{&size.X: w, &size.Y: h} {
		n, err := strconv.Atoi(text)
		if err != nil || n < minInset || n > maxInset {
			return image.Point{}, cli.Usage(fmt.Errorf("--inset %q; accepted: WIDTHxHEIGHT, such as 1920x1080, with sides of %d to %d pixels", s, minInset, maxInset))
		}
		*side = n
	}
	return size, nil
}

func runDavis(cmd *cobra.Command, std cli.Streams, f davisFlags) error {
	mode, err := f.parseMode()
	if err != nil {
		return err
	}
	perturb, err := davis.ParsePerturbation(f.perturb)
	if err != nil {
		return cli.Usage(fmt.Errorf("--perturb: %w", err))
	}
	if f.repeat < 0 {
		return cli.Usage(fmt.Errorf("--repeat %d; accepted: 0 or more", f.repeat))
	}
	if f.mosaic && perturb != davis.Undisturbed {
		return cli.Usage(fmt.Errorf("--mosaic with --perturb %s; accepted: --perturb none, a mosaic is not disturbed", perturb))
	}
	if f.mosaic && f.inset != "" {
		return cli.Usage(errors.New("--mosaic with --inset; accepted: one of them"))
	}
	if f.mosaic && f.stabilise {
		return cli.Usage(errors.New("--mosaic with --stabilise; accepted: one of them"))
	}
	inset, err := parseInset(f.inset)
	if err != nil {
		return err
	}
	marks, beside, err := f.detectors()
	if err != nil {
		return err
	}
	opt := davis.Options{
		Root:      f.root,
		Sequences: f.names(),
		ModelName: f.modelName(),
		Features:  features.Config{Superpixels: f.superpixels},
		Tracker:   tracker.Config{Mode: mode},
		Perturb:   perturb,
		Repeat:    f.repeat,
		Backwards: f.backwards,
		Stabilise: f.stabilise,
		Inset:     inset,
		Seed:      f.seed,
	}
	drawn, err := record.Open(f.overlay)
	if err != nil {
		return cli.Usage(fmt.Errorf("--overlay: %w", err))
	}
	if f.overlay != "" {
		opt.Frame = recordDavis(drawn)
	}
	model, err := f.open()
	if err != nil {
		return err
	}
	defer model.Close()
	opt.Model = model
	if marks || beside {
		// marksScore is the least of a detection that an object begins with.
		const marksScore = 0.4
		detector, err := newHeads(model, nil, marksScore)
		if err != nil {
			return cli.Usage(err)
		}
		if marks {
			opt.Marks = detector
		}
		if beside {
			opt.Beside = []string{"person", "bicycle", "car", "motorcycle", "bus", "truck"}
		}
	}

	finish := func(err error) error {
		if closed := drawn.Close(); err == nil {
			err = closed
		}
		if err == nil {
			err = unfailed(model)
		}
		return err
	}
	const what = "following the objects"
	if f.mosaic {
		return measured(std, f.json, what, func(step func(int, int)) (*davis.MosaicReport, error) {
			opt.Progress = step
			r, err := davis.RunMosaic(cmd.Context(), opt)
			return r, finish(err)
		}, printMosaic)
	}
	return measured(std, f.json, what, func(step func(int, int)) (*davis.Report, error) {
		opt.Progress = step
		r, err := davis.Run(cmd.Context(), opt)
		return r, finish(err)
	}, func(w io.Writer, r *davis.Report) { printDavis(w, r, perturb) })
}

func printMosaic(w io.Writer, r *davis.MosaicReport) {
	if r.Backwards {
		fmt.Fprintf(w, "played backwards\n")
	}
	var sd *float64
	if r.Repeat != nil {
		fmt.Fprintf(w, "%d repeats, seed %d\n", r.Repeat.N, *r.Seed)
		sd = &r.Repeat.SDDifference
	}
	fmt.Fprintf(w, "mosaic\tsequence\tframes\tJ\tJ alone\tdifference\n")
	for _, p := range r.Mosaic {
		fmt.Fprintf(w, "%d\t%s\t%.4g\t%s\t%s\t%s\n", p.Mosaic, p.Sequence, p.Frames, withDeviation(p.J, p.JSD), withDeviation(p.JAlone, p.JAloneSD), withDeviation(p.Difference, p.DifferenceSD))
	}
	fmt.Fprintf(w, "mean\t\t\t%.3f\t%.3f\t%s\n", r.MeanJ, r.MeanJAlone, withDeviation(r.MeanDifference, sd))
	printSkipped(w, r.Skipped)
}

func printSkipped(w io.Writer, skipped []davis.Skipped) {
	for _, s := range skipped {
		fmt.Fprintf(w, "\n%s was skipped: %s\n", s.Name, s.Reason)
	}
}

func printDavis(w io.Writer, r *davis.Report, perturb davis.Perturbation) {
	if r.Backwards {
		fmt.Fprintf(w, "played backwards\n")
	}
	var sd *float64
	if r.Repeat != nil {
		fmt.Fprintf(w, "%d repeats, seed %d\n", r.Repeat.N, *r.Seed)
		sd = &r.Repeat.SDJ
	}
	if r.Stabilise {
		fmt.Fprintf(w, "standing copies\n")
	}
	fmt.Fprintf(w, "sequence\tframes\tJ\tF\tJ decay\tF decay\tinstability\tms/frame\n")
	for _, s := range r.Sequences {
		fmt.Fprintf(w, "%s\t%.4g\t%s\t%.3f\t%.3f\t%.3f\t%.3f\t%.0f\n", s.Name, s.Frames, withDeviation(s.J, s.JSD), s.F, s.JDecay, s.FDecay, s.Instability, s.MSPerFrame)
	}
	fmt.Fprintf(w, "mean\t\t%s\t%.3f\t%.3f\t%.3f\t%.3f\t%.0f\n", withDeviation(r.MeanJ, sd), r.MeanF, r.MeanJDecay, r.MeanFDecay, r.MeanInstability, r.MeanMSPerFrame)

	fmt.Fprintf(w, "\ncamera\tmotion/frame\t\tJ\tF\n")
	for _, s := range r.Sequences {
		fmt.Fprintf(w, "%s\t%.2f %%\t%s\t%.3f\t%.3f\n", s.Name, 100*s.CameraMotion, s.Camera, s.J, s.F)
	}
	for _, c := range []struct {
		name string
		*davis.ByCamera
	}{{"standing", r.Standing}, {"moving", r.Moving}} {
		if c.ByCamera != nil {
			fmt.Fprintf(w, "mean of %d\t\t%s\t%.3f\t%.3f\n", c.Sequences, c.name, c.MeanJ, c.MeanF)
		}
	}

	if r.Marks != "" && r.Repeat == nil {
		fmt.Fprintf(w, "\nbegun with\tframe\tclass\tscore\tIoU\n")
		for _, s := range r.Sequences {
			fmt.Fprintf(w, "%s\t%d\t%s\t%.2f\t%.2f\n", s.Name, s.Mark.Frame, s.Mark.Class, s.Mark.Score, s.Mark.IoU)
		}
	}
	if r.Beside != "" {
		fmt.Fprintf(w, "\nmarked beside\tobjects\n")
		for _, s := range r.Sequences {
			fmt.Fprintf(w, "%s\t%.4g\n", s.Name, *s.Others)
		}
	}
	if r.Inset != nil {
		fmt.Fprintf(w, "\nshrunk into %d×%d\tscale\n", r.Inset.Width, r.Inset.Height)
		for _, s := range r.Sequences {
			fmt.Fprintf(w, "%s\t%s\n", s.Name, figure(s.Scale))
		}
	}

	fmt.Fprintf(w, "\nfalse\toutline\tnear\tfar\n")
	shares := func(name string, f davis.False) {
		fmt.Fprintf(w, "%s\t%.3f\t%.3f\t%.3f\n", name, f.Outline, f.Near, f.Far)
	}
	for _, s := range r.Sequences {
		shares(s.Name, s.False)
	}
	shares("mean", r.MeanFalse)

	fmt.Fprintln(w)
	printReliability(w, r.Reliability)
	fmt.Fprintf(w, "\nms/frame\tfeatures\t(network)\tprojection\taffinity\tsolve\tmask\n")
	stages := func(name string, s davis.StageMS) {
		fmt.Fprintf(w, "%s\t%.1f\t(%.1f)\t%.1f\t%.1f\t%.1f\t%.1f\n", name, s.Features, s.Network, s.Projection, s.Affinity, s.Solve, s.Mask)
	}
	for _, s := range r.Sequences {
		stages(s.Name, s.StageMS)
	}
	stages("mean", r.MeanStageMS)

	switch perturb {
	case davis.Undisturbed:
	case davis.Occlusion:
		fmt.Fprintf(w, "\nocclusion, seed %d\tJ undisturbed\tJ drop\tfalse\tJ after\tundisturbed\tratio\n", *r.Seed)
		for _, s := range r.Sequences {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Name, figure(s.JUndisturbed), figure(s.JDrop),
				figure(s.FalseWhileCovered), figure(s.JAfter), figure(s.JAfterUndisturbed), figure(s.JAfterRatio))
		}
		fmt.Fprintf(w, "mean\t%s\t%s\t\t\t\t%s\n", figure(r.MeanJUndisturbed), figure(r.MeanJDrop), figure(r.MeanJAfterRatio))
		fmt.Fprintf(w, "median\t\t\t%s\t\t\t%s\n", figure(r.MedianFalseWhileCovered), figure(r.MedianJAfterRatio))
	default:
		fmt.Fprintf(w, "\n%s, seed %d\tJ undisturbed\tJ drop\n", perturb, *r.Seed)
		for _, s := range r.Sequences {
			fmt.Fprintf(w, "%s\t%s\t%s\n", s.Name, figure(s.JUndisturbed), figure(s.JDrop))
		}
		fmt.Fprintf(w, "mean\t%s\t%s\n", figure(r.MeanJUndisturbed), figure(r.MeanJDrop))
	}
	printSkipped(w, r.Skipped)
}

// recordDavis returns what writes a followed frame.
func recordDavis(to *record.Recording) func(sequence string, index int, f davis.Frame) error {
	return func(sequence string, index int, f davis.Frame) error {
		img := draw.Copy(f.Image)
		for _, o := range f.Result.Objects {
			draw.RGBA(img).Mask(o.Mask, draw.Colour(o.ID))
		}
		draw.RGBA(img).Outline(f.Truth, truthColour)
		return to.Write(fmt.Sprintf("%s-%05d", sequence, index), img)
	}
}

var truthColour = color.RGBA{G: 255, A: 255}

// printReliability writes how far scores can be relied on.
func printReliability(w io.Writer, bins []davis.Bin) {
	fmt.Fprintf(w, "score from\tmasks\tmean score\tright\n")
	for _, b := range bins {
		fmt.Fprintf(w, "%.1f\t%d\t%.2f\t%.3f\n", b.From, b.Masks, b.Score, b.Right)
	}
}

// withDeviation leaves out a deviation that is nil.
func withDeviation(v float64, sd *float64) string {
	if sd == nil {
		return fmt.Sprintf("%.3f", v)
	}
	return fmt.Sprintf("%.3f ± %.3f", v, *sd)
}

func figure(v *float64) string { return orDash("%.3f", v) }
