package main

import (
	"fmt"
	"image"
	"image/color"
	imagedraw "image/draw"
	"io"
	"math"

	"github.com/spf13/cobra"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/record"
	"github.com/segd/segd/features"
	"github.com/segd/segd/lab/scribbles"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/outputs/draw"
	"github.com/segd/segd/tracker"
)

type scribblesFlags struct {
	pictureFlags
	seeds int
}

func scribblesCommand(std cli.Streams) *cobra.Command {
	var f scribblesFlags
	cmd := &cobra.Command{
		Use:   "scribbles --root DIR",
		Short: "Masks from strokes on single pictures, against k-means",
		Long: "Draws strokes on the object and on the background of each sequence's first frame,\n" +
			"by a rule and a seed, from its true mask, and has them made a mask: by segd, as\n" +
			"an annotation by scribbles, and by k-means constrained to the strokes, on the same\n" +
			"superpixels and features. Prints the intersection over union (J) of both, the\n" +
			"median over the seeds, and segd's when it is given the object's bounding box alone,\n" +
			"tight and, mean over the seeds, with each side moved by up to 10 % of its size.\n\n" +
			"--overlay writes DIR/SEQUENCE-SEED-segd.png and -kmeans.png: the mask tinted, the\n" +
			"truth's outline in green, strokes in yellow (object) and blue (background).",
		Example: "  segd eval scribbles --root DAVIS",
		Args:    cli.Args,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runScribbles(cmd, std, f) },
	}
	f.add(cmd)
	requireFlags(cmd, "root")
	flags := cmd.Flags()
	flags.IntVar(&f.seeds, "seeds", 5, "sets of strokes a picture gets, from --seed on")
	flags.StringVar(&f.overlay, "overlay", "", "folder or FILE.mp4 to write the pictures with their masks to")
	return cmd
}

func runScribbles(cmd *cobra.Command, std cli.Streams, f scribblesFlags) error {
	mode, err := f.parseMode()
	if err != nil {
		return err
	}
	if f.seeds < 1 {
		return cli.Usage(fmt.Errorf("--seeds %d; accepted: at least 1", f.seeds))
	}
	opt := scribbles.Options{
		Root:      f.root,
		Sequences: f.names(),
		ModelName: f.modelName(),
		Features:  features.Config{Superpixels: f.superpixels},
		Tracker:   tracker.Config{Mode: mode},
		Seed:      f.seed,
		Seeds:     f.seeds,
	}
	drawn, err := record.Open(f.overlay)
	if err != nil {
		return cli.Usage(fmt.Errorf("--overlay: %w", err))
	}
	if f.overlay != "" {
		opt.Picture = recordScribbles(drawn)
	}
	model, err := f.open()
	if err != nil {
		return err
	}
	defer model.Close()
	opt.Model = model

	return measured(std, f.json, "segmenting by strokes", func(step func(int, int)) (*scribbles.Report, error) {
		opt.Progress = step
		r, err := scribbles.Run(cmd.Context(), opt)
		if closed := drawn.Close(); err == nil {
			err = closed
		}
		return r, err
	}, printScribbles)
}

func printScribbles(w io.Writer, r *scribbles.Report) {
	fmt.Fprintf(w, "J, %d seeds\tsegd\tk-means\tsegd, box\tsegd, moved box\n", r.Seeds)
	for _, s := range r.Sequences {
		fmt.Fprintf(w, "%s\t%.3f\t%.3f\t%.3f\t%.3f\n", s.Name, s.MedianJ, s.MedianJKMeans, s.JBox, s.MeanJMovedBox)
	}
	fmt.Fprintf(w, "median of all\t%.3f\t%.3f\t\t\n", r.MedianJ, r.MedianJKMeans)
	fmt.Fprintf(w, "mean of all\t%.3f\t%.3f\t%.3f\t%.3f\n", r.MeanJ, r.MeanJKMeans, r.MeanJBox, r.MeanJMovedBox)
}

// recordScribbles returns what writes both masks of a picture.
func recordScribbles(to *record.Recording) func(sequence string, seed uint64, p scribbles.Picture) error {
	return func(sequence string, seed uint64, p scribbles.Picture) error {
		for _, m := range []struct {
			name string
			mask mask.RLE
		}{{"segd", p.Got}, {"kmeans", p.KMeans}} {
			img := draw.Copy(p.Image)
			draw.RGBA(img).Mask(m.mask, draw.Colour(1))
			draw.RGBA(img).Outline(p.Truth, truthColour)
			strokes(img, p.Strokes.Objects[0].Scribbles, color.RGBA{R: 255, G: 255, A: 255})
			strokes(img, p.Strokes.Background, color.RGBA{B: 255, A: 255})
			if err := to.Write(fmt.Sprintf("%s-%d-%s", sequence, seed, m.name), img); err != nil {
				return err
			}
		}
		return nil
	}
}

// strokes draws lines as wide as the brush was.
func strokes(img *image.RGBA, lines []annotation.Stroke, c color.RGBA) {
	for _, s := range lines {
		r := s.Width / 2
		for i, p := range s.Points {
			from := s.Points[max(0, i-1)]
			steps := 1 + int(math.Hypot(p[0]-from[0], p[1]-from[1]))
			for k := range steps + 1 {
				t := float64(k) / float64(steps)
				x, y := from[0]+t*(p[0]-from[0]), from[1]+t*(p[1]-from[1])
				dot := image.Rect(int(x-r), int(y-r), int(x+r)+1, int(y+r)+1).Intersect(img.Rect)
				imagedraw.Draw(img, dot, image.NewUniform(c), image.Point{}, imagedraw.Src)
			}
		}
	}
}
