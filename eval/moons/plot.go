package moons

import (
	"fmt"
	"image/color"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// colors are four that people with the usual colour blindnesses tell apart
// (Okabe & Ito).
var colors = []color.Color{
	color.RGBA{0, 114, 178, 255}, color.RGBA{230, 159, 0, 255}, color.RGBA{0, 158, 115, 255}, color.RGBA{204, 121, 167, 255},
}

// Plot writes a PNG of four panels, as the paper's figure: the true classes,
// and those of kernel k-means, coordinate descent and DC-ADMM with their errors.
func Plot(w io.Writer, in Instance) error {
	panels := []struct {
		name string
		y    []int32
	}{{"truth", in.Truth}, {"kernel k-means", in.KernelKMeans}, {"coordinate descent", in.CoordinateDescent}, {"DC-ADMM", in.DCADMM}}
	const side = 9 * vg.Centimeter
	canvas := vgimg.New(2*side, side*3/2)
	tiles := draw.Tiles{Rows: 2, Cols: 2, PadX: vg.Millimeter * 4, PadY: vg.Millimeter * 4, PadTop: vg.Millimeter * 2, PadBottom: vg.Millimeter * 2, PadLeft: vg.Millimeter * 2, PadRight: vg.Millimeter * 2}
	page := draw.New(canvas)
	for i, panel := range panels {
		p := plot.New()
		p.Title.Text = panel.name
		if i > 0 {
			var e Errors
			e.add(panel.y, in.Truth)
			p.Title.Text = fmt.Sprintf("%s, %.1f %% wrong", panel.name, 100*e.Errors[0])
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
				return fmt.Errorf("moons: plot: %w", err)
			}
			dots.GlyphStyle = draw.GlyphStyle{Color: c, Radius: vg.Points(1.6), Shape: draw.CircleGlyph{}}
			p.Add(dots)
		}
		p.Draw(tiles.At(page, i%2, i/2))
	}
	if _, err := (vgimg.PngCanvas{Canvas: canvas}).WriteTo(w); err != nil {
		return fmt.Errorf("moons: plot: %w", err)
	}
	return nil
}
