package layout

import (
	"image"
	"math"

	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/scratch"
)

const (
	colourRate  = 0.1  // of a layout's colours
	occupyRate  = 0.05 // of its occupancy
	typicalRate = 0.02
	typicalMin  = 0.3
	learnShare  = 0.6 // of what is typical must be explained, or o is half hidden
	rivalled    = 0.3 // likelihood of somebody else's colour from which on that hides a cell

	// Colours that nothing explains: of an object that is there, and of anything else that
	// comes before a background that is known.
	unknown = 0.1
	strange = 0.05

	// What lies round an object's box by margin of its size may be part of it.
	margin  = 0.15
	outside = 0.2

	// What a box says of its own cells before anything is known: less at the sides, and
	// least in the corners.
	sideFall, topFall = 1.5, 0.5
	sure              = 0.8 // share of a cell that must be explained to be as likely

	// atOnce is how many objects that are out of sight are looked for in a picture.
	atOnce = 2

	maxAhead = 32 // frames of the camera that an object is taken to go on in its motion
	coverBox = 1.2
	covering = 10 // frames for which the place of a hidden object is left alone
)

// Follower follows the objects of one camera. The zero value is ready.
type Follower struct {
	grid       grid
	background background
	seq        uint64 // of the picture last looked at
	looked     bool   // nothing was learnt of it yet
	back       bool   // it is not the newest
	turn       int    // of those who are out of sight

	all []*Object // of which something is known

	covered    []bool              // the grid's cells: by objects
	foreground []int32             // (height+1)×(width+1): how many of the cells above and to the left
	summed     bool                // foreground is of the picture last looked at
	appearance features.Appearance // of a place
	across     []float32           // how likely each column of a box shows what it is round
	shown      []float32           // what search returns
	fits       []float32           // of a layout's cells
	sum, count []float32           // N
}

// Seen is what a labelled picture shows of an object.
type Seen struct {
	*Object
	InSight bool
	Marked  bool            // somebody said in this picture what it is
	Box     image.Rectangle // of its mask, or of what was marked; pixels
	Label   int32           // of the superpixels that show it
}

// Look takes in a scene, the newest.
func (f *Follower) Look(s *features.Scene) {
	f.looked, f.back, f.seq, f.summed = true, false, s.Seq, false
	f.grid.set(&s.Thumbnail)
	if f.background.resize(&f.grid) {
		f.covered = make([]bool, f.grid.width*f.grid.height)
	} else {
		f.background.compare(&f.grid, f.covered)
	}
}

// Picture is the newest, as LookBack wants it, until the next is looked at: the cells'
// colours, 3 bytes each.
func (f *Follower) Picture() []byte { return f.grid.keep() }

// LookBack takes in an earlier picture than the newest, whose picture was kept, to follow those
// that are marked in it, and then those after it, to the newest. Objects that were looked for
// in later pictures are left alone; the background is the newest one, if it was there then.
func (f *Follower) LookBack(seq uint64, picture []byte) {
	f.looked, f.back, f.seq, f.summed = false, true, seq, false
	if !f.background.stands() {
		return
	}
	f.grid.restore(picture)
	f.looked = f.background.isIn(&f.grid, f.covered)
}

// Still tells whether the camera stands, and nothing was learnt yet of the picture last
// looked at: else nobody is found in it.
func (f *Follower) Still() bool { return f.looked && f.background.stands() }

// Find finds the objects in the picture last looked at.
func (f *Follower) Find(objects []*Object) {
	f.all = f.all[:0]
	for _, o := range objects {
		if o.Known() && o.seq < f.seq {
			f.all = append(f.all, o)
		}
	}
	hidden := 0
	for _, o := range f.all {
		if o.out() {
			hidden++
		}
	}
	// Those who are out of sight are looked for in turns: far and wide, so that it takes long.
	passed := 0 // of them
	for _, o := range f.all {
		frames := float64(min(f.seq-o.seq, maxAhead))
		o.seq = f.seq
		if o.out() {
			passed++
			if away := (passed - f.turn%hidden + hidden) % hidden; away >= atOnce {
				o.hide(frames)
				continue
			}
		}
		f.find(o, frames)
	}
	f.turn += atOnce
}

// out tells whether o is out of sight, and nothing seems to be it.
func (o *Object) out() bool { return !o.Found && o.hits == 0 }

// Knows tells whether o will be looked for in the next picture, if the camera does not move.
func (f *Follower) Knows(o *Object) bool { return f.background.stands() && o.Known() }

// Awaits tells whether o was recalled in front of what the camera has shown ever since, so
// that it is looked for as a whole as soon as that is certain.
func (f *Follower) Awaits(o *Object) bool {
	return f.looked && o.recalled && f.background.still > 0 && !f.background.stands()
}

// Box is where o was found in the picture last looked at, in its pixels; else it is empty.
func (f *Follower) Box(o *Object) image.Rectangle {
	if !o.Found {
		return image.Rectangle{}
	}
	c := float64(f.grid.cell)
	return image.Rect(int(c*(o.x-o.w/2)), int(c*(o.y-o.h/2)), int(c*(o.x+o.w/2)), int(c*(o.y+o.h/2)))
}

// Looked tells whether o was looked for in the picture last looked at.
func (f *Follower) Looked(o *Object) bool { return f.Still() && o.Known() && o.seq == f.seq }

// Pass finds the objects in the picture last looked at, which nobody is going to label, and
// learns what it shows of them.
func (f *Follower) Pass(objects []*Object) {
	if !f.Still() {
		return
	}
	f.looked = false
	f.Find(objects)
	for _, o := range f.all {
		if o.Found {
			f.learn(o)
		}
	}
}

// Evidence writes how likely each superpixel of p, the newest picture, is to show o: 0 for
// all if it is not found, and for what is not where it is.
func (f *Follower) Evidence(dst []float64, p *picture.Picture, o *Object) {
	clear(dst)
	if !o.Found {
		return
	}
	f.sum, f.count = scratch.Zero(f.sum, p.N), scratch.Zero(f.count, p.N)
	cw, ch := o.w/float64(o.columns), o.h/float64(o.rows)
	f.grid.within(o.x, o.y, (1+2*margin)*o.w, (1+2*margin)*o.h, func(gx, gy int) {
		x, y := float64(gx)+.5, float64(gy)+.5
		c, _ := f.grid.round(x, y, cw, ch)
		k, inside := o.cellAt(x, y)
		share := float32(1)
		if !inside {
			share = outside
		}
		is := share * o.part(k, c)
		at := gy*f.grid.width + gx
		against := f.against(o, c, x, y) + strange
		// What is behind it may look like it, unless it stood there when nobody had looked yet.
		if f.background.seen[at] == 0 && !o.stood {
			against = max(against, 1)
		}
		i := p.At(f.grid.middle(gx, gy))
		if i == features.Unseen {
			return
		}
		f.sum[i] += is / (is + against)
		f.count[i]++
	})
	for i, n := range f.count {
		if n > 0 { // what of it lies farther away is not o
			dst[i] = float64(f.sum[i] / max(n, float32(p.Area[i])/float32(f.grid.cell*f.grid.cell)))
		}
	}
}

// Learn takes the newest picture in, which is p and was labelled y: what it shows of the
// objects and of the background.
func (f *Follower) Learn(objects []Seen, p *picture.Picture, y []int32) {
	if !f.looked {
		for _, s := range objects {
			if s.Marked { // what was seen of it is wrong
				s.Forget()
			}
		}
		return
	}
	f.all = f.all[:0]
	for _, s := range objects {
		if s.Known() && s.seq <= f.seq {
			f.all = append(f.all, s.Object)
		}
	}
	for _, s := range objects {
		if s.seq > f.seq && !s.Marked {
			continue
		}
		b := s.Box
		c := 2 * float64(f.grid.cell)
		cx, cy, w, h := float64(b.Min.X+b.Max.X)/c, float64(b.Min.Y+b.Max.Y)/c, 2*float64(b.Dx())/c, 2*float64(b.Dy())/c
		switch {
		case !s.Marked && f.Awaits(s.Object):
		case !s.InSight || b.Empty():
			if s.Marked || !f.background.stands() {
				s.Forget()
			}
		case s.Marked || !s.Known() || !f.background.stands():
			stood := f.uncover(p, y, s.Label, cx, cy, w, h)
			f.begin(s.Object, cx, cy, w, h)
			s.stood = stood
		case s.Found:
			f.learn(s.Object)
		}
	}
	if f.looked = false; f.back {
		return
	}
	clear(f.covered)
	for _, s := range objects {
		// Where one that was recalled may stand nobody has seen the background yet, nor where
		// one stands that was always there.
		if s.Known() && (s.Found || s.unseen < covering || s.stood && (!s.recalled || s.hits > 0 || !f.background.stands())) {
			f.cover(s.Object)
		}
	}
	f.background.learn(&f.grid, f.covered)
}

func (f *Follower) cover(o *Object) {
	const more = 4 // cells
	f.grid.within(o.x, o.y, coverBox*o.w+more, coverBox*o.h+more, func(gx, gy int) { f.covered[gy*f.grid.width+gx] = true })
}

// uncover forgets the background where the superpixels of a label are, in a box, if most of
// them look like it: then what they show was there before anybody saw what is behind it.
func (f *Follower) uncover(p *picture.Picture, y []int32, label int32, cx, cy, w, h float64) (stood bool) {
	if !f.background.stands() {
		return false // nobody knows what it looks like
	}
	each := func(visit func(cell int, c colour)) {
		f.grid.within(cx, cy, w, h, func(gx, gy int) {
			if i := p.At(f.grid.middle(gx, gy)); i != features.Unseen && y[i] == label {
				visit(gy*f.grid.width+gx, f.grid.at(gx, gy))
			}
		})
	}
	like, all := float32(0), 0
	each(func(cell int, c colour) {
		like += f.background.likelihood(cell, c)
		all++
	})
	if 2*like <= float32(all) {
		return false
	}
	each(func(cell int, _ colour) { f.background.seen[cell] = 0 })
	return true
}

// begin starts o in a box of the newest picture.
func (f *Follower) begin(o *Object, x, y, w, h float64) {
	o.place(x, y, w, h)
	o.seq = f.seq
	f.cells(o, func(k int, x, y float64, c colour) {
		o.first[k], o.now[k] = c, c
		prior := inBox(2*(x-o.x)/o.w, 2*(y-o.y)/o.h)
		shown := prior / (prior + f.against(o, c, x, y) + outlier)
		o.occupied[k] = prior * min(1, shown/sure)
	})
	o.match = f.matchAt(o, o.x, o.y, o.w, o.h, 1)
	o.typical = o.match
	f.beginAppearance(o)
}

// inBox is how likely a place in a box, whose sides are at −1 and 1, shows what it is round.
func inBox(u, v float64) float32 { return acrossBox(u) * downBox(v) }

func acrossBox(u float64) float32 { return float32(math.Exp(-sideFall * u * u)) }

func downBox(v float64) float32 { return float32(math.Exp(-topFall * v * v * v * v)) }

// learn takes what the newest picture shows of o where it was found into its layout.
func (f *Follower) learn(o *Object) {
	o.typical += typicalRate * (max(o.match, typicalMin) - o.typical)
	if o.match < learnShare*o.typical {
		return
	}
	f.learnAppearance(o)
	f.cells(o, func(k int, x, y float64, c colour) {
		is, rivals := o.part(k, c), f.rivals(o, c, x, y)
		shown := is / (is + rivals + f.background.likelihood(f.grid.index(x, y), c) + strange)
		if o.occupied[k] > present/2 {
			for i := range c {
				o.now[k][i] += colourRate * shown * (c[i] - o.now[k][i])
			}
		}
		if rivals < rivalled {
			// As likely as not is not there: a place that looks like o whether it is there
			// or not says nothing of where it is.
			o.occupied[k] += occupyRate * (max(0, min(1, (shown-0.5)/0.4)) - o.occupied[k])
		}
	})
}

// cells calls visit for the cells of o's layout that are in the picture: their middle and what
// colour is there.
func (f *Follower) cells(o *Object, visit func(k int, x, y float64, c colour)) {
	for k := range o.occupied {
		x, y := o.middle(k, o.x, o.y, o.w, o.h)
		if c, ok := f.grid.round(x, y, o.w/float64(o.columns), o.h/float64(o.rows)); ok {
			visit(k, x, y, c)
		}
	}
}
