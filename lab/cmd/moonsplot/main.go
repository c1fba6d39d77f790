// Command moonsplot draws one instance of the experiment on four moons, and the labels that
// each method gives it, as the paper's figure.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"image/color"
	"io"
	"os"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/segd/segd/lab/moons"
)

func main() {
	seed := flag.Uint64("seed", 100, "of the instance")
	out := flag.String("out", "moons.png", "the PNG to write")
	flag.Parse()
	if err := run(context.Background(), *out, moons.Options{Seed: *seed, Seeds: 1}); err != nil {
		fmt.Fprintln(os.Stderr, "moonsplot:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out string, opt moons.Options) (err error) {
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	var instance moons.Instance
	opt.Instance = func(_ uint64, in moons.Instance) { instance = in }
	report, err := moons.Run(ctx, opt)
	if err != nil {
		return err
	}
	return plotted(file, instance, report)
}

// colors are four that people with the usual colour blindnesses tell apart
// (Okabe & Ito).
var colors = []color.Color{
	color.RGBA{0, 114, 178, 255}, color.RGBA{230, 159, 0, 255}, color.RGBA{0, 158, 115, 255}, color.RGBA{204, 121, 167, 255},
}

// plotted writes a PNG of four panels, as the paper's figure: the true classes, and those of
// kernel k-means, coordinate descent and DC-ADMM with their errors.
func plotted(w io.Writer, in moons.Instance, errs *moons.Report) error {
	panels := []struct {
		name  string
		y     []int32
		wrong []float64
	}{
		{"truth", in.Truth, nil},
		{"kernel k-means", in.KernelKMeans, errs.KernelKMeans.Errors},
		{"coordinate descent", in.CoordinateDescent, errs.CoordinateDescent.Errors},
		{"DC-ADMM", in.DCADMM, errs.DCADMM.Errors},
	}
	const side = 9 * vg.Centimeter
	canvas := vgimg.New(2*side, side*3/2)
	tiles := draw.Tiles{Rows: 2, Cols: 2, PadX: vg.Millimeter * 4, PadY: vg.Millimeter * 4, PadTop: vg.Millimeter * 2, PadBottom: vg.Millimeter * 2, PadLeft: vg.Millimeter * 2, PadRight: vg.Millimeter * 2}
	page := draw.New(canvas)
	for i, panel := range panels {
		p := plot.New()
		p.Title.Text = panel.name
		if panel.wrong != nil {
			p.Title.Text = fmt.Sprintf("%s, %.1f %% wrong", panel.name, 100*panel.wrong[0])
		}
		p.HideAxes()
		for class, c := range colors {
			var points plotter.XYs
			for k, l := range panel.y {
				if int(l) == class {
					points = append(points, plotter.XY{X: in.X[2*k], Y: in.X[2*k+1]})
				}
			}
			if len(points) == 0 {
				continue
			}
			dots, err := plotter.NewScatter(points)
			if err != nil {
				return fmt.Errorf("plot: %w", err)
			}
			dots.GlyphStyle = draw.GlyphStyle{Color: c, Radius: vg.Points(1.6), Shape: draw.CircleGlyph{}}
			p.Add(dots)
		}
		p.Draw(tiles.At(page, i%2, i/2))
	}
	if _, err := (vgimg.PngCanvas{Canvas: canvas}).WriteTo(w); err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	return nil
}
