package tracker

import (
	"cmp"
	"image"
	"math"
	"slices"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/recall"
	"github.com/segd/segd/tracker/internal/scratch"
)

// How fine superpixels are to be where an object is.
const (
	fineSuperpixels = 35  // of which it should consist
	fineLeast       = 4   // pixels they are apart at least
	fineMargin      = 0.1 // round its box, in means of the box's sides
	fineFilled      = 0.6 // of a box that a user draws is the object
)

// What is looked at.
const (
	// Round an object's box and where it is by the next frame: the background that the object is told from, and where else
	// it may go. In its longer side, less of what a track follows, which is not lost from sight so soon, and at least in pixels of
	// what the network sees, beside the context that it has of a window (features.Crop.Seen).
	windowMargin = 0.3
	trackMargin  = 0.2
	windowLeast  = 16
	// An object is believed to go on as it went for so many frames of the camera at most.
	windowFrames = 6
	// An object is about so many pixels of what the network sees long at most: what is longer is seen at a smaller scale, a multiple
	// of 1/scaleSteps, where nothing else is near it.
	seenSide   = 256
	scaleSteps = 4
	// An object is seen at a larger scale again once it is by this share too small for its own: hysteresis.
	scaleHysteresis = 0.15
	// The network's heads look for a track with a side of so many pixels of what the network sees as for one that may
	// be too large for them at that scale: a tenth before it is (features/dnn).
	largeBox = 350
	// Two windows become one where the network sees no more for it. It takes as long for a pass as for passPixels more: 0.15 µs a
	// pixel and 0.5 ms a pass where that was measured.
	passPixels = 3500
	// All of the picture is seen where windows cost this share of it: it shows what is new, too (docs/log/performance.md).
	wholeShare = 0.8
	// An object that is seen as large as zoomSuperpixels superpixels of a whole picture
	// needs no zoom.
	zoomSuperpixels = 60
	// Elsewhere than where it is expected, what is hidden is looked for at other sizes, which takes a third more time, in every
	// coarseEvery-th turn.
	coarseEvery = 3
	// What is hidden is looked for in one of sweepParts × sweepParts parts of the picture in each frame, at zoom 1: in all of it once a
	// second of 25 frames.
	sweepParts = 5
	// For as many pictures after one that was annotated everything is looked at, until it is known
	// what an object and what is round it look like; and as long as objects are out of sight that
	// were marked on a picture of another time. In the demo's clip, half of the frames 1 to 7
	// dropped in seven ways, the walking person has a mask in 416 of 459 frames with the first,
	// in 351 without.
	freshPictures = 10
	seekPictures  = 25
)

// A Candidate is something that has no mask and is to be seen in the next scene: Box is where it is, Ahead where it may be by then.
type Candidate struct {
	Box, Ahead image.Rectangle
	// Beside is whether it only passes near what is followed. Else it may be marked there, so that superpixels are finer.
	Beside bool
}

// Plan returns what the next scene is to show, in plan's memory: windows round the objects and
// round where those that are out of sight may be, in turns if that is anywhere; finer where
// objects are small; and round candidates. Of a camera that has neither nothing is to be seen.
func (t *Tracker) Plan(plan features.Plan, candidates ...Candidate) features.Plan {
	return t.plan(plan, t.elapsed, candidates...)
}

// plan is Plan of a scene that comes elapsed frames of the camera after the last one.
func (t *Tracker) plan(plan features.Plan, elapsed int, candidates ...Candidate) features.Plan {
	p := planner{size: t.size, Plan: features.Plan{Crops: plan.Crops[:0], Fine: plan.Fine[:0], Light: plan.Light, PixelAspect: t.aspect}}
	p.Light.Copy(&t.light)
	p.tracks = t.windows[:0]
	if n := len(t.objects.all) + len(candidates); n > 0 {
		p.Crops, p.Fine = scratch.Grow(p.Crops, n+2)[:0], scratch.Grow(p.Fine, n)[:0] // what is hidden has two windows
	}
	var hidden []*object
	for k := range t.objects.all {
		o := &t.objects.all[k]
		if o.State != Lost {
			p.fine(o.place())
		}
		p.coarse = !o.Confirmed()
		switch {
		case o.Gone:
		case o.Tracked && o.State == Visible: // whatever the track says, what is seen is followed
			p.follow(o, o.extent.Union(o.box), elapsed)
		case o.Tracked:
			p.follow(o, o.extent, elapsed)
		case (o.State == Visible || o.Detected()) && !o.box.Empty():
			p.follow(o, o.box, elapsed)
		default:
			hidden = append(hidden, o)
		}
	}
	p.coarse = false
	for _, c := range candidates {
		area := fineFilled * float64(c.Box.Dx()*c.Box.Dy())
		if !c.Beside {
			p.fine(c.Box.Union(c.Ahead), area)
		}
		p.window(p.viewOf(p.zoom(area), c.Box), true, c.Box, c.Ahead)
	}
	switch {
	case t.fresh > 0 || t.seeking > 0 && slices.ContainsFunc(t.objects.all, func(o object) bool { return o.Sought() }):
		p.Whole = true
		if len(hidden) > 0 {
			p.Coarse = features.Everywhere
		}
	case len(hidden) > 0:
		p.search(hidden, t.turn)
	case len(p.Crops) == 0 && len(t.objects.all) > 0: // all are gone, but a scene has to show something
		p.crop(image.Rect(0, 0, windowLeast, windowLeast), view{1, 1})
	}
	p.finish()
	t.windows = p.tracks
	return p.Plan
}

// Looks plans looks at all of the picture, by the model alone: there are superpixels in the windows, as in other frames. What is large
// is looked for in the frame after each: no frame costs both.
type Looks struct {
	large bool // it is next
}

// Plan is plan, which it leaves alone, and the look that is due in the frame, or was left to it.
func (l *Looks) Plan(plan features.Plan, due bool) features.Plan {
	if l.large {
		plan.Large = features.Everywhere
	}
	if due {
		plan.Look = true
	}
	l.large = due && !l.large
	return plan
}

// PlanFor is plan, which it leaves alone, and what a scene is to show that an annotation is of:
// all of the picture, and its small objects, by its mask, outlines and boxes, as large as they will
// be looked at. Of a faulty annotation there is nothing.
func PlanFor(plan features.Plan, ann *annotation.Annotation) features.Plan {
	plan.Whole = true
	if ann.Validate() != nil {
		return plan
	}
	plan.Crops, plan.Fine = slices.Clone(plan.Crops), slices.Clone(plan.Fine)
	p := planner{size: image.Pt(ann.Width, ann.Height), Plan: plan}
	boxes, areas := extents(ann)
	for k, box := range boxes {
		if !ann.HasExtent(k) { // it is no smaller than its strokes
			box = ann.Stroked(k)
			p.fine(box, fineFilled*float64(box.Dx()*box.Dy()))
			continue
		}
		p.fine(box, areas[k])
		p.window(p.viewOf(p.zoom(areas[k]), box), false, box)
	}
	p.finish()
	return p.Plan
}

// place is o's box, and its area: of one that has a track, by that until it has been seen.
func (o *object) place() (box image.Rectangle, area float64) {
	if !o.Tracked {
		return o.box, o.Area
	}
	if o.Area > 0 {
		return o.extent, o.Area
	}
	return o.extent, fineFilled * float64(o.extent.Dx()*o.extent.Dy())
}

// ahead is where a box of o is that many frames of the camera later.
func (o *object) ahead(box image.Rectangle, frames int) image.Rectangle {
	n := float64(min(max(0, frames), windowFrames))
	return box.Add(image.Pt(int(math.Round(n*o.way[0])), int(math.Round(n*o.way[1]))))
}

// expected is round where o, which is out of sight, is most likely to be.
func (o *object) expected() image.Rectangle {
	reach := recall.Extent(&o.Object)
	return image.Rect(int(o.X-reach), int(o.Y-reach), int(o.X+reach)+1, int(o.Y+reach)+1)
}

// reach is where o, which is out of sight, may be in the next frame of a picture of a size.
func (o *object) reach(size image.Point) image.Rectangle {
	r := recall.Reach(&o.Object, size)
	return image.Rect(int(o.X-r), int(o.Y-r), int(o.X+r)+1, int(o.Y+r)+1)
}

// view is how large a thing is seen.
type view struct {
	zoom  int
	scale float64
}

// planner makes a plan.
type planner struct {
	features.Plan
	size   image.Point       // of the picture
	tracks []image.Rectangle // boxes of those that windows are round
	coarse bool              // what is added next is seen smaller, too: features.Crop.Coarse
}

// fine has an object of that area in a box seen finer.
func (p *planner) fine(box image.Rectangle, area float64) {
	if box.Empty() {
		return
	}
	margin := int(fineMargin * float64(box.Dx()+box.Dy()) / 2)
	p.Fine = append(p.Fine, features.Region{
		Rectangle: box.Inset(-margin),
		Spacing:   max(fineLeast, int(math.Sqrt(area/fineSuperpixels))),
	})
}

// zoom is how large an object of that area is to be seen.
func (p *planner) zoom(area float64) int {
	zoom, most := 1, features.MaxZoom(p.size.X, p.size.Y)
	share := area / float64(p.size.X*p.size.Y) * features.DefaultSuperpixels
	for area > 0 && zoom < most && share*float64(zoom*zoom) < zoomSuperpixels {
		zoom *= 2
	}
	return zoom
}

// scale is how many pixels the network sees of the height of one of the picture's.
func (p *planner) scale(zoom int) float64 {
	return float64(max(1, zoom)) * features.ModelScale(p.size, p.wide(1))
}

// wide is so many pixels of the picture across, in the height of one.
func (p *planner) wide(pixels int) float64 {
	return features.View{PixelAspect: p.PixelAspect}.Aspect() * float64(pixels)
}

// viewOf is how large an object in a box is seen with a zoom.
func (p *planner) viewOf(zoom int, box image.Rectangle) view {
	return view{max(1, zoom), scaleOf(p.side(max(1, zoom), box))}
}

// scaleOf is at which scale a thing is seen that is so many of the network's pixels long.
func scaleOf(side float64) float64 {
	return min(1, math.Ceil(scaleSteps*seenSide/side)/scaleSteps)
}

// side is how many pixels the network sees of the longer side of a box.
func (p *planner) side(zoom int, box image.Rectangle) float64 {
	return max(p.wide(box.Dx()), float64(box.Dy())) * p.scale(zoom)
}

// follow has o seen, which is in a box: at the scale that it was seen at, unless it is too small for that by scaleHysteresis, or larger
// than it need be.
func (p *planner) follow(o *object, box image.Rectangle, elapsed int) {
	v := p.viewOf(o.Zoom, box)
	if o.scale > 0 {
		v.scale = min(max(o.scale, scaleOf((1+scaleHysteresis)*p.side(v.zoom, box))), v.scale)
	}
	o.scale = v.scale
	p.window(v, o.Tracked, box, o.ahead(box, elapsed))
}

// window has what is round a box seen, and round where it may be then. What is detected in every frame goes no farther than
// its track says, and a margin.
func (p *planner) window(v view, detected bool, box image.Rectangle, ahead ...image.Rectangle) {
	if box.Empty() {
		return
	}
	share := windowMargin
	if detected {
		share = trackMargin
		p.tracks = append(p.tracks, box)
	}
	margin := max(windowLeast/(v.scale*p.scale(v.zoom)), share*float64(max(box.Dx(), box.Dy())))
	for _, b := range ahead {
		box = box.Union(b)
	}
	p.crop(box.Inset(-int(margin)), v)
}

// crop has a part of the picture seen, and a little round it.
func (p *planner) crop(r image.Rectangle, v view) {
	if r = r.Intersect(image.Rectangle{Max: p.size}); r.Empty() {
		return
	}
	c := features.Crop{Rectangle: r, Zoom: v.zoom, Scale: v.scale}
	if p.coarse {
		c.Coarse = r
	}
	p.Crops = append(p.Crops, c)
}

// price is what a crop costs, in pixels of what the network sees.
func (p *planner) price(c features.Crop) float64 {
	scale := p.scale(c.Zoom) * cmp.Or(c.Scale, 1)
	pass := func(seen image.Rectangle, scale float64) float64 {
		side := func(n float64) float64 { return math.Ceil(n*scale/features.ModelStep) * features.ModelStep }
		return passPixels + side(p.wide(seen.Dx()))*side(float64(seen.Dy()))
	}
	price := pass(c.Seen(p.size, p.wide(1)), scale)
	if !c.Coarse.Empty() {
		smaller := features.Crop{Rectangle: c.Coarse}.Seen(p.size, p.wide(1))
		price += pass(smaller, scale/2) + pass(smaller, scale/4)
	}
	return price
}

// search has looked for what is hidden: where one of them after the other is expected, and in one part after the other of where
// any that is seen as large may be. So it costs the same however many they are.
func (p *planner) search(hidden []*object, turn int) {
	var views []view
	for _, o := range hidden {
		if v := p.hiddenView(o); !slices.Contains(views, v) {
			views = append(views, v)
		}
	}
	o := hidden[turn%len(hidden)]
	p.coarse = true
	p.crop(o.expected(), p.hiddenView(o))
	v := views[turn%len(views)]
	var reach image.Rectangle
	for _, o := range hidden {
		if p.hiddenView(o) == v {
			reach = reach.Union(o.reach(p.size))
		}
	}
	p.sweep(v, reach, turn/len(views))
}

// hiddenView is how large o, which is out of sight, was seen.
func (p *planner) hiddenView(o *object) view {
	side := int(2 * math.Sqrt(o.Area/math.Pi)) // of what is left of its mask its box may show less
	return p.viewOf(o.Zoom, image.Rect(0, 0, max(side, o.box.Dx()), max(side, o.box.Dy())))
}

// sweep has one part seen of those of the picture that are in reach, the next one in the next turn.
func (p *planner) sweep(v view, reach image.Rectangle, turn int) {
	n := int(math.Ceil(sweepParts * math.Sqrt(float64(v.zoom)) * v.scale))
	var parts []image.Rectangle
	for k := range n * n {
		x, y := k%n, k/n
		part := image.Rect(x*p.size.X/n, y*p.size.Y/n, (x+1)*p.size.X/n, (y+1)*p.size.Y/n)
		if part.Overlaps(reach) {
			parts = append(parts, part)
		}
	}
	if n := len(parts); n > 0 {
		p.coarse = turn/n%coarseEvery == 0
		p.crop(parts[turn%n], v)
	}
}

// finish merges windows, or has all of the picture seen instead of as much in parts. Windows that overlap are of the larger of their
// scales: a thing that two scales show is found twice.
func (p *planner) finish() {
	for again := true; again; {
		again = false
		for i := 0; i < len(p.Crops) && !again; i++ {
			for j := i + 1; j < len(p.Crops) && !again; j++ {
				a, b := p.Crops[i], p.Crops[j]
				both := features.Crop{Rectangle: a.Union(b.Rectangle), Zoom: a.Zoom, Scale: max(a.Scale, b.Scale), Coarse: a.Coarse.Union(b.Coarse)}
				switch {
				case a.Zoom != b.Zoom:
				case a.Scale != b.Scale && a.Overlaps(b.Rectangle):
					p.Crops[i].Scale, p.Crops[j].Scale = both.Scale, both.Scale
					again = true
				case a.Scale == b.Scale && p.price(both) <= p.price(a)+p.price(b):
					p.Crops[i] = both
					p.Crops = slices.Delete(p.Crops, j, j+1)
					again = true
				}
			}
		}
	}
	seen := 0.0
	for _, c := range p.Crops {
		if unzoomed(c) {
			seen += p.price(c)
			p.Coarse = p.Coarse.Union(c.Coarse) // should all of the picture be seen instead
		}
	}
	p.Whole = p.Whole || seen > 0 && seen >= wholeShare*p.price(features.Crop{Rectangle: image.Rectangle{Max: p.size}, Zoom: 1, Coarse: p.Coarse})
	if p.Whole {
		p.Crops = slices.DeleteFunc(p.Crops, unzoomed)
	}
	for _, box := range p.tracks {
		in := features.Crop{Rectangle: image.Rectangle{Max: p.size}, Scale: 1}
		if k := slices.IndexFunc(p.Crops, func(c features.Crop) bool { return box.Intersect(in.Rectangle).In(c.Rectangle) }); k >= 0 {
			in = p.Crops[k]
		}
		if in.Scale*p.side(in.Zoom, box) >= largeBox {
			p.Large = p.Large.Union(in.Seen(p.size, p.wide(1)))
		}
	}
	// Where windows overlap the finest counts, and so it does of what is to be finer.
	slices.SortStableFunc(p.Crops, func(a, b features.Crop) int { return cmp.Compare(b.Zoom, a.Zoom) })
	slices.SortStableFunc(p.Fine, func(a, b features.Region) int { return cmp.Compare(a.Spacing, b.Spacing) })
}

// unzoomed tells whether a whole picture shows the same as c.
func unzoomed(c features.Crop) bool { return c.Zoom <= 1 && cmp.Or(c.Scale, 1) == 1 }

// extents are the boxes round the objects of a valid annotation, and their areas: empty for
// those that have strokes alone.
func extents(ann *annotation.Annotation) (boxes []image.Rectangle, areas []float64) {
	boxes, areas = make([]image.Rectangle, len(ann.Objects)), make([]float64, len(ann.Objects))
	if ann.Mask != nil {
		var index [256]int
		for k, o := range ann.Objects {
			index[o.ID] = k + 1
		}
		for p, id := range ann.Mask {
			if k := index[id] - 1; k >= 0 {
				boxes[k] = boxes[k].Union(pixel(p, ann.Width))
				areas[k]++
			}
		}
	}
	for k, o := range ann.Objects {
		box, area := outlined(ann, k)
		if o.Box != nil {
			area *= fineFilled
		}
		boxes[k], areas[k] = boxes[k].Union(box), areas[k]+area
	}
	return boxes, areas
}

// outlined is how far an annotation's object reaches by its outline or box, and the pixels
// therein; empty for one that has none.
func outlined(ann *annotation.Annotation, k int) (box image.Rectangle, area float64) {
	ann.Inside(k, func(p int) {
		box = box.Union(pixel(p, ann.Width))
		area++
	})
	return box, area
}

func pixel(p, width int) image.Rectangle {
	x, y := p%width, p/width
	return image.Rect(x, y, x+1, y+1)
}
