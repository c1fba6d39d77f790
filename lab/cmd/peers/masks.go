package main

import (
	"context"
	"errors"
	"fmt"
	"image"
	"io"

	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/lab/davis"
)

// maskReport holds means over the sequences.
type maskReport struct {
	Segd        maskFigures `json:"segd"`
	DIS         maskFigures `json:"dis"`
	CSRTGrabCut maskFigures `json:"csrt_grabcut"`
	GrabCut     maskFigures `json:"grabcut"`
}

// maskFigures are means over the frames of a sequence but the first, which is given,
// and the last.
type maskFigures struct {
	J  float64 `json:"j"`
	F  float64 `json:"f"`
	MS float64 `json:"ms"` // a frame
}

// maskSides are segd, and the methods of theirs/masks.cpp.
var maskSides = []struct {
	name string
	of   func(*maskReport) *maskFigures
}{
	{"segd", func(r *maskReport) *maskFigures { return &r.Segd }},
	{"dis", func(r *maskReport) *maskFigures { return &r.DIS }},
	{"csrt_grabcut", func(r *maskReport) *maskFigures { return &r.CSRTGrabCut }},
	{"grabcut", func(r *maskReport) *maskFigures { return &r.GrabCut }},
}

// add takes in a share of other.
func (r *maskReport) add(other *maskReport, share float64) {
	for _, side := range maskSides {
		to, from := side.of(r), side.of(other)
		to.J, to.F, to.MS = to.J+share*from.J, to.F+share*from.F, to.MS+share*from.MS
	}
}

// print writes a line.
func (r *maskReport) print(w io.Writer, name string) {
	fmt.Fprintf(w, "%-20s", name)
	for _, side := range maskSides {
		f := side.of(r)
		fmt.Fprintf(w, "  %.3f %.3f %7.1f", f.J, f.F, f.MS)
	}
	fmt.Fprintln(w)
}

// maskPeer follows an object by one method, in a program of its own.
type maskPeer struct {
	*child
	mask []byte // of the last frame
}

func startMaskPeer(ctx context.Context, path, method string) (*maskPeer, error) {
	c, err := start(ctx, path, method)
	return &maskPeer{child: c}, err
}

// follow sends a frame, with the object's mask if it is a sequence's first, and returns
// the seconds taken.
func (p *maskPeer) follow(bgr, first []byte, size image.Point) (float64, error) {
	what := "next"
	if first != nil {
		what = "first"
	}
	answer, err := p.ask(fmt.Sprintf("%s %d %d", what, size.X, size.Y), bgr, first)
	if err != nil {
		return 0, err
	}
	if len(answer) != 1 || !(answer[0] >= 0) {
		return 0, fmt.Errorf("%s: answer %v; want seconds", p.cmd, answer)
	}
	p.mask = make([]byte, size.X*size.Y)
	if n, err := io.ReadFull(p.out, p.mask); err != nil {
		return 0, fmt.Errorf("%s: a mask of %d bytes; want %d×%d: %w", p.cmd, n, size.X, size.Y, err)
	}
	return answer[0], nil
}

// maskTally is one side of one sequence.
type maskTally struct {
	davis.Scores
	ms []float64
}

func (t *maskTally) add(got, want []byte, size image.Point, ms float64) {
	t.Add(got, want, size.X, size.Y)
	t.ms = append(t.ms, ms)
}

func (t *maskTally) figures() maskFigures {
	j, f := t.Mean()
	counted, sum := t.ms[1:len(t.ms)-1], 0.0
	for _, ms := range counted {
		sum += ms
	}
	return maskFigures{j, f, sum / float64(len(counted))}
}

// maskSequence follows one sequence's object on all sides: a frame is first segd's, then
// each peer's, and each has the machine to itself.
func maskSequence(ctx context.Context, opt davis.Options, peers []*maskPeer) (*maskReport, error) {
	sides := make([]maskTally, 1+len(peers))
	opt.Frame = func(_ string, i int, f davis.Frame) error {
		size := f.Image.Bounds().Size()
		pix, truth := bgr(f.Image), f.Truth.Decode(nil)
		sides[0].add(f.Result.Objects[0].Mask.Decode(nil), truth, size, f.Took.Total())
		var first []byte
		if i == 0 {
			first = truth
		}
		for k, p := range peers {
			seconds, err := p.follow(pix, first, size)
			if err != nil {
				return err
			}
			sides[1+k].add(p.mask, truth, size, 1e3*seconds)
		}
		return nil
	}
	if _, err := davis.Run(ctx, opt); err != nil {
		return nil, err
	}
	r := &maskReport{}
	for k, side := range maskSides {
		*side.of(r) = sides[k].figures()
	}
	return r, nil
}

// compareMasks returns nil if there are no sequences: what is drawn says little of masks.
func compareMasks(ctx context.Context, opt options, stderr io.Writer) (mean *maskReport, err error) {
	names, err := sequences(opt)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 && opt.only == "masks" {
		return nil, fmt.Errorf("no sequences in %s; -davis wants a folder with JPEGImages/480p and Annotations/480p", opt.davis)
	}
	if len(names) == 0 {
		fmt.Fprintf(stderr, "masks: left out, no sequences in %s\n", opt.davis)
		return nil, nil
	}
	model, err := dnn.Embedded(dnn.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, model.Close()) }()
	var peers []*maskPeer
	defer func() {
		for _, p := range peers {
			err = errors.Join(err, p.close())
		}
	}()
	for _, side := range maskSides[1:] {
		p, err := startMaskPeer(ctx, opt.masks, side.name)
		if err != nil {
			return nil, err
		}
		peers = append(peers, p)
	}
	fmt.Fprintf(stderr, "masks: J, F and ms a frame of each; segd's network by %s\n%-20s", model.Info().Engine, "")
	for _, side := range maskSides {
		fmt.Fprintf(stderr, "  %-19s", side.name)
	}
	fmt.Fprintln(stderr)
	mean = &maskReport{}
	for _, name := range names {
		r, err := maskSequence(ctx, davis.Options{Root: opt.davis, Sequences: []string{name}, Model: model}, peers)
		if err != nil {
			return nil, err
		}
		r.print(stderr, name)
		mean.add(r, 1/float64(len(names)))
	}
	mean.print(stderr, "mean")
	return mean, nil
}
