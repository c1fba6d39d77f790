package layout

import (
	"math"

	"github.com/segd/segd/tracker/internal/scratch"
)

// outlier is the likelihood of a colour that neither an object nor anything else explains.
const outlier = 0.1

// How far from where its motion leads an object is looked for, in its own sizes: farther the
// longer it is hidden, and at first, when its motion is not known.
const (
	searchRadius = 0.21
	searchGrowth = 0.035 // a frame of the camera
	searchMost   = 1.5
	searchYoung  = 1.5 // times as far
	youngAge     = 3   // pictures

	// What the farthest place costs, and another size, in shares of the object.
	farCost   = 0.3
	sizeCost  = 0.01
	sizeStep  = 0.05
	sizeRate  = 0.3
	motionOld = 0.3 // what the newest motion counts
	motionNew = 0.7 // of a young object
	damping   = 0.95
	drifting  = 15 // frames for which a hidden object is taken to move on
)

// An object is in sight where the share of it that is explained is at least that part of
// what it is as a rule, and while it looks like itself unless that is certain. One that was
// hidden is back where it does so in backPictures in a row, and must look the more like
// itself the more strangers may have come by since; one that left the picture in
// leftPictures.
const (
	stayShare      = 0.5
	staySimilarity = 0.62
	heldSimilarity = 0.7 // of one that was hidden, until it is certain
	backShare      = 0.7

	// Of one that was marked in a picture of another time all of what that shows is typical,
	// and anybody may have come by since.
	recalledShare      = 0.6
	recalledSimilarity = 0.9
	backSimilarity     = 0.75
	backDoubt          = 0.003 // a frame of the camera, up to leftSimilarity
	backPictures       = 6
	leftShare          = 0.8
	leftSimilarity     = 0.88
	leftPictures       = 8
	leaving            = 3 // frames in which it would be across the border
)

// rivals is how likely a colour at a point is somebody else's.
func (f *Follower) rivals(o *Object, c colour, x, y float64) float32 {
	most := float32(0)
	for _, other := range f.all {
		if other == o || !other.Found || !other.holds(x, y) {
			continue
		}
		if k, inside := other.cellAt(x, y); inside {
			most = max(most, other.fitsAbout(k, c, 1))
		}
	}
	return most
}

// against is how likely a colour at a point of the picture is not o's.
func (f *Follower) against(o *Object, c colour, x, y float64) float32 {
	return f.background.likelihood(f.grid.index(x, y), c) + f.rivals(o, c, x, y)
}

// matchAt is the share of o that the picture shows if it is at x, y and as large as w×h,
// where cells may have the colours of those reach away.
func (f *Follower) matchAt(o *Object, x, y, w, h float64, reach int) float64 {
	return f.matchOf(o, x, y, w, h, reach, 1)
}

// matchOf is matchAt by one in so many of o's cells.
func (f *Follower) matchOf(o *Object, x, y, w, h float64, reach, every int) float64 {
	shown, all := 0.0, 0.0
	cw, ch := w/float64(o.columns), h/float64(o.rows)
	for k, occupied := range o.occupied {
		if occupied < present || (k%o.columns+2*(k/o.columns))%every != 0 {
			continue
		}
		all += float64(occupied)
		cx, cy := o.middle(k, x, y, w, h)
		if c, ok := f.grid.round(cx, cy, cw, ch); ok {
			fits := o.fitsAbout(k, c, reach)
			shown += float64(occupied * fits / (fits + f.against(o, c, cx, cy) + outlier))
		}
	}
	return shown / max(all, 1e-9)
}

// search calls visit with what matchAt is at the places within radius of a point that are
// whole cells of the layout from it.
func (f *Follower) search(o *Object, px, py, radius float64, visit func(x, y, match float64)) {
	cw, ch := o.w/float64(o.columns), o.h/float64(o.rows)
	nx, ny := int(math.Ceil(radius/cw)), int(math.Ceil(radius/ch))
	wide, high, n := o.columns+2*nx, o.rows+2*ny, len(o.occupied)
	f.shown = scratch.Zero(f.shown, wide*high*n) // by place in the picture and cell of the layout
	f.fits = scratch.Grow(f.fits, n)
	for j := range high {
		for i := range wide {
			cx, cy := px-o.w/2+(float64(i-nx)+.5)*cw, py-o.h/2+(float64(j-ny)+.5)*ch
			c, ok := f.grid.round(cx, cy, cw, ch)
			if !ok {
				continue
			}
			against := f.against(o, c, cx, cy) + outlier
			for k := range f.fits {
				f.fits[k] = o.fits(k, c)
			}
			row := f.shown[(j*wide+i)*n : (j*wide+i+1)*n]
			for y := max(0, j-2*ny); y <= min(o.rows-1, j); y++ { // the cells that can be here
				for x := max(0, i-2*nx); x <= min(o.columns-1, i); x++ {
					if k := y*o.columns + x; o.occupied[k] >= present {
						fits := o.most(k, 1, func(k int) float32 { return f.fits[k] })
						row[k] = fits / (fits + against)
					}
				}
			}
		}
	}
	all := float32(0)
	for _, occupied := range o.occupied {
		if occupied >= present {
			all += occupied
		}
	}
	for dy := -ny; dy <= ny; dy++ {
		for dx := -nx; dx <= nx; dx++ {
			shown := float32(0)
			for k, occupied := range o.occupied {
				if occupied >= present {
					shown += occupied * f.shown[((k/o.columns+dy+ny)*wide+k%o.columns+dx+nx)*n+k]
				}
			}
			visit(px+float64(dx)*cw, py+float64(dy)*ch, float64(shown/max(all, 1e-9)))
		}
	}
}

// find looks for o round where it is, frames of the camera after the picture before.
func (f *Follower) find(o *Object, frames float64) {
	px, py := o.x+frames*o.vx, o.y+frames*o.vy
	size := max(o.h, math.Sqrt(o.w*o.h))
	radius := (searchRadius + searchGrowth*float64(o.unseen)) * math.Sqrt(frames)
	if o.age < youngAge {
		radius *= searchYoung
	}
	switch {
	case o.Found:
	case o.hits > 0: // where it seemed to be back
		radius = searchRadius * searchYoung
	case o.unseen > seekAfter && !o.left:
		w, h := o.w, o.h
		there := 0.0 // it may have stayed, where nobody knows the background
		if o.recalled {
			there = f.matchAt(o, px, py, w, h, 1)
		}
		if x, y, ok := f.seek(o, px, py, size*(searchMost+seekReach*float64(o.unseen))); ok {
			if o.recalled && there >= f.matchAt(o, x, y, o.w, o.h, 1) {
				x, y, o.w, o.h = px, py, w, h
			}
			px, py, radius = x, y, searchRadius
		}
	}
	radius = size * min(radius, searchMost)
	cost := func(x, y float64) float64 { return farCost * ((x-px)*(x-px) + (y-py)*(y-py)) / (radius * radius) }

	x, y, w, h, best := px, py, o.w, o.h, math.Inf(-1)
	f.search(o, px, py, radius, func(atX, atY, match float64) {
		if c := cost(atX, atY); c <= 1.01*farCost && match-c > best {
			best, x, y = match-c, atX, atY
		}
	})
	best = math.Inf(-1)
	for _, step := range [...]float64{0.5, 0.25} { // of a cell, each of which is where it was
		fromX, fromY := x, y
		for dy := -1.0; dy <= 1; dy++ {
			for dx := -1.0; dx <= 1; dx++ {
				atX, atY := fromX+dx*step*o.w/float64(o.columns), fromY+dy*step*o.h/float64(o.rows)
				if m := f.matchAt(o, atX, atY, o.w, o.h, 0) - cost(atX, atY); m > best {
					best, x, y = m, atX, atY
				}
			}
		}
	}
	for _, scale := range [...]float64{1 - sizeStep, 1 + sizeStep} {
		if m := f.matchAt(o, x, y, o.w*scale, o.h*scale, 0) - cost(x, y) - sizeCost; m > best {
			best, w, h = m, o.w*scale, o.h*scale
		}
	}
	o.age++
	o.match = f.matchAt(o, x, y, w, h, 1)
	similarity := f.similarityAt(o, x, y, w, h)
	if !o.Found && o.hits == 0 {
		o.similarity = similarity
	} else {
		o.similarity += similarityRate * (similarity - o.similarity)
	}
	f.move(o, px, py, x, y, w, h, frames)
}

// move takes o, which was expected at px, py, to be at x, y and as large as w×h, if it
// matches and looks like itself there.
func (f *Follower) move(o *Object, px, py, x, y, w, h, frames float64) {
	share, similarity, pictures := stayShare, staySimilarity, 0
	switch {
	case o.Found && o.certain:
		similarity = 0
	case o.Found && o.returned:
		similarity = heldSimilarity
	case o.Found:
	case o.recalled:
		share, similarity, pictures = recalledShare, recalledSimilarity, backPictures
	case o.left:
		share, similarity, pictures = leftShare, leftSimilarity, leftPictures
	default:
		share, pictures = backShare, backPictures
		similarity = min(backSimilarity+backDoubt*float64(o.unseen-o.missed), leftSimilarity)
	}
	if o.match < share*o.typical || o.similarity < similarity {
		if o.Found {
			o.left = f.leaves(o, px, py)
		}
		o.hide(frames)
		return
	}
	rate := motionOld
	switch o.hits++; {
	case !o.Found && o.hits == 1:
		o.vx, o.vy, rate = 0, 0, 0 // it moves otherwise by now
	case !o.Found || o.age <= youngAge:
		rate = motionNew
	}
	o.vx, o.vy = o.vx+rate*(x-px)/frames, o.vy+rate*(y-py)/frames
	o.x, o.y = x, y
	if !o.Found && o.hits < pictures {
		o.unseen += int(frames)
		return
	}
	if !o.Found {
		o.certain, o.returned, o.apart = false, true, 0
	}
	o.Found, o.left, o.unseen, o.hits = true, false, 0, 0
	o.w, o.h = o.w+sizeRate*(w-o.w), o.h+sizeRate*(h-o.h)
	o.foundW, o.foundH = o.w, o.h
	f.recognise(o)
}

// hide takes o to be out of sight for that many more frames of the camera.
func (o *Object) hide(frames float64) {
	if o.Found {
		o.missed = 0
	}
	o.missed += int(frames) - 1
	o.Found, o.hits = false, 0
	o.w, o.h = o.foundW, o.foundH
	if o.unseen += int(frames); o.unseen <= drifting {
		o.x, o.y = o.x+frames*o.vx, o.y+frames*o.vy
	}
	o.vx, o.vy = damping*o.vx, damping*o.vy
}

// leaves tells whether o, if it is at x, y, soon crosses the picture's border.
func (f *Follower) leaves(o *Object, x, y float64) bool {
	x, y = x+leaving*o.vx, y+leaving*o.vy
	return x < o.w/2 || y < o.h/2 || x+o.w/2 > float64(f.grid.width) || y+o.h/2 > float64(f.grid.height)
}
