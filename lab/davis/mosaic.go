package davis

import (
	"context"
	"errors"
	"fmt"
	"image"
	"slices"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/lab/internal/clip"
	"github.com/segd/segd/lab/internal/offline"
	"github.com/segd/segd/lab/internal/stats"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/objects/marking"
)

// MosaicReport is the outcome of RunMosaic, in the stable form `segd eval davis --mosaic
// --json` prints. Means are over Mosaic. Seed is there if it was needed.
type MosaicReport struct {
	Mode      string        `json:"mode"`
	Model     string        `json:"model"`
	Backwards bool          `json:"backwards,omitempty"`
	Repeat    *MosaicRepeat `json:"repeat,omitempty"`
	Seed      *uint64       `json:"seed,omitempty"`
	Mosaic    []Part        `json:"mosaic"`
	Skipped   []Skipped     `json:"skipped,omitempty"`

	MeanJ          float64 `json:"mean_j"`
	MeanJAlone     float64 `json:"mean_j_alone"`
	MeanDifference float64 `json:"mean_difference"`
}

// MosaicRepeat is the difference when each mosaic was run N times: the mean over sequences of
// the mean over repeats, and the sample standard deviation over repeats of the mean over
// sequences, 0 of one repeat.
type MosaicRepeat struct {
	N              int     `json:"n"`
	MeanDifference float64 `json:"mean_difference"`
	SDDifference   float64 `json:"sd_difference"`
}

// Part is one sequence's row, with repeats the mean over them. J is of its object among those
// of its mosaic, JAlone that of the sequence by itself, means over the same frames: all that
// the mosaic has but the first, which is given, and the last.
type Part struct {
	Sequence   string  `json:"sequence"`
	Mosaic     int     `json:"mosaic"` // which it is in, from 1
	Frames     float64 `json:"frames"` // frames J is the mean of
	J          float64 `json:"j"`
	JAlone     float64 `json:"j_alone"`
	Difference float64 `json:"difference"` // J − JAlone

	// With repeats: the sample standard deviations over them, 0 of one.
	JSD          *float64 `json:"j_sd,omitempty"`
	JAloneSD     *float64 `json:"j_alone_sd,omitempty"`
	DifferenceSD *float64 `json:"difference_sd,omitempty"`
}

// A mosaic is of columns×columns sequences.
const (
	columns   = 2
	perMosaic = columns * columns
)

// mosaic is sequences side by side in one picture, as one run plays them.
type mosaic struct {
	parts   []*take // perMosaic, of one size and length
	counted int     // parts that are not in a mosaic before this one
}

// newMosaic cuts the takes down to the frames and the size that all of them have.
func newMosaic(takes []*take, counted int) (*mosaic, error) {
	m := &mosaic{counted: counted}
	var first, cut image.Point
	frames := len(takes[0].Images)
	for k, t := range takes {
		p, err := t.Read(0)
		if err != nil {
			return nil, err
		}
		size := image.Pt(p.Width, p.Height)
		if k == 0 {
			first, cut = size, size
		}
		if d := size.Sub(first); max(d.X, -d.X, d.Y, -d.Y) > maxCut {
			return nil, fmt.Errorf("%s is %d×%d, %s is %d×%d; want sequences of one size", t.Name, size.X, size.Y, takes[0].Name, first.X, first.Y)
		}
		cut = image.Pt(min(cut.X, size.X), min(cut.Y, size.Y))
		frames = min(frames, len(t.Images))
	}
	for _, t := range takes {
		part := t.frames(0, frames)
		part.cut = cut
		m.parts = append(m.parts, part)
	}
	return m, nil
}

func (m *mosaic) frames() int { return len(m.parts[0].Images) }

// Read reads frame i; its truth is a part's number from 1 on that part's object.
func (m *mosaic) Read(i int) (*offline.Picture, error) {
	size := m.parts[0].cut
	out := offline.Blank(columns*size.X, columns*size.Y, [3]byte{})
	for k, t := range m.parts {
		p, err := t.Read(i)
		if err != nil {
			return nil, err
		}
		for at, v := range p.Truth {
			p.Truth[at] = v * uint8(k+1)
		}
		clip.Paste(out, p, image.Pt(k%columns*size.X, k/columns*size.Y))
	}
	return out, nil
}

// annotation marks all objects of the first frame.
func (m *mosaic) annotation(p *offline.Picture) (*annotation.Annotation, error) {
	a := &annotation.Annotation{Width: p.Width, Height: p.Height, Mask: p.Truth}
	for k, t := range m.parts {
		id := uint32(k + 1)
		if !slices.Contains(p.Truth, uint8(id)) {
			return nil, fmt.Errorf("%s marks no object", t.Truths[0])
		}
		a.Objects = append(a.Objects, annotation.Object{ID: id, Label: t.Name})
	}
	return a, a.Validate()
}

// follow runs one tracker over the mosaic and returns each part's J, frame by frame.
func (m *mosaic) follow(ctx context.Context, opt *Options, frame func(int, Frame) error, tick func()) ([][]float64, error) {
	w, err := offline.NewCamera(opt.Model, opt.Features, opt.Tracker, marking.Config{}, nil)
	if err != nil {
		return nil, err
	}
	j := make([][]float64, len(m.parts))
	for i := range m.frames() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p, err := m.Read(i)
		if err != nil {
			return nil, err
		}
		var ann *annotation.Annotation
		if i == 0 {
			if ann, err = m.annotation(p); err != nil {
				return nil, err
			}
		}
		res, err := w.Step(ctx, i, p, ann, false)
		if err != nil {
			return nil, err
		}
		mean := 0.0
		for _, o := range res.Objects {
			k := int(o.ID) - 1
			j[k] = append(j[k], mask.IoU(o.Mask, only(p, uint8(o.ID))))
			mean += j[k][i] / float64(len(m.parts))
		}
		if frame != nil {
			if err := frame(i, Frame{Image: clip.Image(p), Truth: mask.Encode(p.Truth, p.Width, p.Height), Result: res.Result, J: mean}); err != nil {
				return nil, err
			}
		}
		tick()
	}
	return j, nil
}

// only is where the truth is one part's object.
func only(p *offline.Picture, id uint8) mask.RLE {
	bits := make([]uint8, len(p.Truth))
	for at, v := range p.Truth {
		if v == id {
			bits[at] = 1
		}
	}
	return mask.Encode(bits, p.Width, p.Height)
}

// run gives the rows of the parts that count, followed together and each alone.
func (m *mosaic) run(ctx context.Context, opt *Options, frame func(int, Frame) error, tick func()) ([]Part, error) {
	together, err := m.follow(ctx, opt, frame, tick)
	if err != nil {
		return nil, err
	}
	last := m.frames() - 1
	var rows []Part
	for k, t := range m.parts[:m.counted] {
		alone, err := follow(ctx, opt, t, nil, nil, tick)
		if err != nil {
			return nil, err
		}
		row := Part{Sequence: t.Name, Frames: float64(last - 1), J: stats.Mean(together[k][1:last]), JAlone: stats.Mean(alone.j[1:last])}
		row.Difference = row.J - row.JAlone
		rows = append(rows, row)
	}
	return rows, nil
}

// String names the parts.
func (m *mosaic) String() string {
	s := "mosaic of " + m.parts[0].Name
	for k, t := range m.parts[1:] {
		if k == len(m.parts)-2 {
			s += " and " + t.Name
		} else {
			s += ", " + t.Name
		}
	}
	return s
}

// mosaics returns those of each four sequences in turn, one a repeat. The last is filled up
// from the beginning.
func mosaics(all [][]*take) (out [][]*mosaic, err error) {
	if len(all) < perMosaic {
		return nil, fmt.Errorf("davis: a mosaic of %d sequences; want at least %d", len(all), perMosaic)
	}
	for first := 0; first < len(all); first += perMosaic {
		var of []*mosaic
		for repeat := range all[first] {
			takes := make([]*take, perMosaic)
			for k := range takes {
				takes[k] = all[(first+k)%len(all)][repeat]
			}
			m, err := newMosaic(takes, min(perMosaic, len(all)-first))
			if err != nil {
				return nil, fmt.Errorf("davis: %w", err)
			}
			of = append(of, m)
		}
		out = append(out, of)
	}
	return out, nil
}

// RunMosaic puts each four of the sequences, in their order, side by side into one picture,
// two by two, and has one tracker follow the four objects in it: each first frame's ground
// truth is its annotation. A mosaic is as long as the shortest of the four. Each sequence is
// followed alone as well, in the same frames. A last mosaic of fewer is filled up by the first
// sequences, which count where they were before only. Options are as for Run; there is no
// perturbation, no standing copy, no inset and no detector. Pictures that changes have made smaller by a few pixels are cut alike.
func RunMosaic(ctx context.Context, opt Options) (*MosaicReport, error) {
	if opt.Perturb != Undisturbed {
		return nil, fmt.Errorf("davis: perturbation %s; a mosaic is not disturbed", opt.Perturb)
	}
	if opt.Inset != (image.Point{}) {
		return nil, fmt.Errorf("davis: inset %d×%d; a mosaic has none", opt.Inset.X, opt.Inset.Y)
	}
	if opt.Stabilise {
		return nil, errors.New("davis: a mosaic is of the sequences as they are; want no Stabilise")
	}
	if opt.Marks != nil || len(opt.Beside) > 0 {
		return nil, errors.New("davis: a mosaic's objects begin with their true masks, and nothing is marked beside them; want neither Marks nor Beside")
	}
	all, skipped, err := opt.open()
	if err != nil {
		return nil, err
	}
	runs, err := mosaics(all)
	if err != nil {
		return nil, err
	}
	report := &MosaicReport{Mode: opt.Tracker.Mode.String(), Model: opt.ModelName, Backwards: opt.Backwards, Skipped: skipped}
	if opt.Repeat > 0 {
		report.Seed = new(opt.Seed)
	}
	total := 0
	for _, of := range runs {
		for _, m := range of {
			total += m.frames() * (1 + m.counted)
		}
	}
	tick := opt.ticker(total)
	differences := make([]float64, opt.Repeat) // of each repeat, summed up over the sequences
	for number, of := range runs {
		var repeats [][]Part
		for i, m := range of {
			var frame func(int, Frame) error
			if opt.Frame != nil && i == 0 {
				frame = func(i int, f Frame) error { return opt.Frame(fmt.Sprintf("mosaic-%d", number+1), i, f) }
			}
			rows, err := m.run(ctx, &opt, frame, tick)
			if err != nil {
				return nil, fmt.Errorf("davis: %v: %w", m, err)
			}
			repeats = append(repeats, rows)
			if opt.Repeat > 0 {
				for _, row := range rows {
					differences[i] += row.Difference
				}
			}
		}
		report.add(number+1, repeats, opt.Repeat)
	}
	report.sum(differences)
	return report, nil
}

// add writes the rows of a mosaic from those of its repeats, or of the single run if n is 0.
func (r *MosaicReport) add(number int, repeats [][]Part, n int) {
	for k := range repeats[0] {
		row := Part{Sequence: repeats[0][k].Sequence, Mosaic: number}
		of := func(get func(*Part) float64) (mean float64, sd *float64) {
			v := make([]float64, len(repeats))
			for i := range repeats {
				v[i] = get(&repeats[i][k])
			}
			if n > 0 {
				sd = new(stats.Deviation(v))
			}
			return stats.Mean(v), sd
		}
		row.Frames, _ = of(func(p *Part) float64 { return p.Frames })
		row.J, row.JSD = of(func(p *Part) float64 { return p.J })
		row.JAlone, row.JAloneSD = of(func(p *Part) float64 { return p.JAlone })
		row.Difference, row.DifferenceSD = of(func(p *Part) float64 { return p.Difference })
		r.Mosaic = append(r.Mosaic, row)
	}
}

// sum writes the means over the sequences; differences are those of each repeat's sequences,
// summed up, if there are repeats.
func (r *MosaicReport) sum(differences []float64) {
	for _, p := range r.Mosaic {
		n := float64(len(r.Mosaic))
		r.MeanJ, r.MeanJAlone, r.MeanDifference = r.MeanJ+p.J/n, r.MeanJAlone+p.JAlone/n, r.MeanDifference+p.Difference/n
	}
	if len(differences) > 0 {
		for i := range differences {
			differences[i] /= float64(len(r.Mosaic))
		}
		r.Repeat = &MosaicRepeat{N: len(differences), MeanDifference: r.MeanDifference, SDDifference: stats.Deviation(differences)}
	}
}
