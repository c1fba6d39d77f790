package outline

import (
	"github.com/segd/segd/tracker/internal/scratch"
)

// palettes are the colours that the superpixels have around them, by label, made when they are
// asked for.
type palettes struct {
	scorer *scorer
	made   []int32 // by superpixel: number of its palette, from 1 on
	first  []int32 // palette k is groups[first[k]:first[k+1]]
	groups []group
	swatch []swatch
	shown  []int32 // by swatch: the superpixel that has it
}

// group is the colours of one label in a palette: swatch[from:to].
type group struct {
	label    uint8
	from, to int32
	// told is whether superpixels of this group have higher scores for the label than the
	// palette's others, by their means, and middle is what is half-way between these.
	told   bool
	middle float32
}

func (g group) isTold() bool { return g.told }

type swatch [3]float32 // L, a and b

// reset forgets what was made of another picture.
func (p *palettes) reset(f scene, s *scorer) {
	p.scorer = s
	p.made = scratch.Zero(p.made, f.N)
	p.first, p.groups, p.swatch = append(p.first[:0], 0), p.groups[:0], p.swatch[:0]
	p.shown = p.shown[:0]
}

// of is the palette of superpixel i: its colour, and those of the superpixels that touch it.
func (p *palettes) of(f scene, i int32) []group {
	k := p.made[i]
	if k == 0 {
		k = p.make(f, i)
		p.made[i] = k
	}
	return p.groups[p.first[k-1]:p.first[k]]
}

func (p *palettes) make(f scene, i int32) int32 {
	start := len(p.groups)
	show := func(i int32) {
		p.swatch, p.shown = append(p.swatch, swatch(f.Colour[3*i:])), append(p.shown, i)
	}
	add := func(label int32) {
		for _, g := range p.groups[start:] {
			if int32(g.label) == label {
				return
			}
		}
		g := group{label: uint8(label), from: int32(len(p.swatch))}
		if f.y[i] == label {
			show(i)
		}
		for _, j := range f.Touching.Of(i) {
			if f.y[j] == label {
				show(j)
			}
		}
		g.to = int32(len(p.swatch))
		p.groups = append(p.groups, g)
	}
	add(f.y[i])
	for _, j := range f.Touching.Of(i) {
		add(f.y[j])
	}
	if p.scorer.ready {
		p.compare(f, p.groups[start:])
	}
	p.first = append(p.first, int32(len(p.groups)))
	return int32(len(p.first) - 1)
}

// compare finds how a palette's groups differ in their scores.
func (p *palettes) compare(f scene, groups []group) {
	from, to := groups[0].from, groups[len(groups)-1].to
	for k := range groups {
		g := &groups[k]
		var in, out float32
		for at := from; at < to; at++ {
			score := p.scorer.of(f, p.shown[at], g.label, groups)
			if at >= g.from && at < g.to {
				in += score
			} else {
				out += score
			}
		}
		in, out = in/float32(g.to-g.from), out/float32(to-from-(g.to-g.from))
		g.told, g.middle = in > out, (in+out)/2
	}
}
