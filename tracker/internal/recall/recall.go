package recall

import (
	"image"
	"math"
	"slices"

	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/cosine"
	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/propagation"
	"github.com/segd/segd/tracker/internal/scratch"
	"github.com/segd/segd/tracker/internal/trackstate"
)

const (
	// Rows kept of an object's looks and, of each size, of the background.
	maxLooks      = 512
	maxBackground = 4000

	// Cosine to what was seen of an object at which it may come back.
	leastCosine = 0.75
	// Cosine below that which still counts where the picture was shrunk:
	// shrinking takes away detail that tells things apart, and other detail is new.
	shrunkRecall = 0.15
	// Votes for the background count this much: it has more rows, and so a likelier one.
	backgroundWeight = 0.4
	// The least probability that is any use, and the least that keeps a superpixel from
	// being learnt as background.
	leastProbability = 0.05
	suspect          = 0.2
	// Of the area an object should have at a size, the share that must be probable,
	// all in one piece, for it to be detected.
	detectShare = 0.06
	// How far from where it was last seen an object is looked for: the distance from
	// a disc of extent times its radius, in its Side, is Gaussian, and grows by the
	// camera's frame.
	searchExtent = 1.5
	searchRadius = 0.07
	searchGrowth = 0.007
	// Background is learnt once in learnEvery frames of the camera without the object.
	learnEvery = 4
)

// Recall is what is remembered, and the workspace of a search. It knows one camera.
type Recall struct {
	Memory int // sightings remembered

	remembered []*Sighting
	background [][]float32 // by size from 1 on: rows seen in annotated frames and while something was out of sight
	hidden     int         // frames of the camera for which something has been out of sight

	scales picture.Scales // of the newest picture

	looks       []float32      // rows: the object that is looked for
	probability []float64      // N, at one size
	asked       []int32        // slots of the superpixels that may be it
	queries     []float32      // rows: what these look like
	votes       []float64      // for each of them
	likely      []int32        // of asked, those that resemble its looks
	against     [][]float64    // by size, for each slot: the background's votes, the same whichever object asks; NaN before one does
	best        []cosine.Match // of each, the k rows that resemble it most
	cosines     []float32
	piece       []int32
	seen        []bool
}

// Extent is how far from where it was last seen an object that is out of sight is expected, in pixels: as likely there as
// anywhere.
func Extent(o *trackstate.Object) float64 { return searchExtent * math.Sqrt(o.Area/math.Pi) }

// Reach is how far from where it was last seen an object that is out of sight may be found in
// the next frame of pictures of a size, in pixels.
func Reach(o *trackstate.Object, size image.Point) float64 {
	extent := Extent(o)
	spread := (searchRadius + searchGrowth*float64(o.Unseen+1)) * o.Side(float64(max(size.X, size.Y)))
	return extent + spread*math.Sqrt(-2*math.Log(leastProbability))
}

// Look takes what the scene that p was made of shows at smaller sizes. p is the newest
// picture from then on.
func (r *Recall) Look(p *picture.Picture, s *features.Scene, projection *features.Projection) {
	r.scales.Make(p, s, projection)
}

// shows tells whether a superpixel is seen at the size that a row of its features is of.
func shows(unit []float32) bool {
	return slices.ContainsFunc(unit, func(v float32) bool { return v != 0 })
}

// sizes counts those at which both the picture and the background are known.
func (r *Recall) sizes() int { return min(1+len(r.scales.Units), len(r.background)) }

// unit returns the unit features of the newest picture at a size.
func (r *Recall) unit(p *picture.Picture, size int) []float32 {
	if size == 0 {
		return p.Unit
	}
	return r.scales.Units[size-1]
}

// LearnAnew makes the background what an annotated frame, the newest, shows for certain.
func (r *Recall) LearnAnew(ref *propagation.Reference, labels int) {
	r.background, r.hidden = r.background[:0], 0
	r.learn(ref.Picture, func(i int32) bool { return ref.Soft[int(i)*labels] == 1 })
}

// Learn takes the background of the newest picture, whose labels are y, while something
// is out of sight: but for where that may have been. elapsed is by how many of the
// camera's frames p came after the picture before it.
func (r *Recall) Learn(p *picture.Picture, y []int32, objects []propagation.Object, elapsed int) {
	if !slices.ContainsFunc(objects, propagation.Object.Sought) {
		r.hidden = 0
		return
	}
	r.hidden += elapsed
	if (r.hidden-1)%learnEvery >= elapsed && r.sizes() == 1+len(r.scales.Units) {
		return
	}
	r.learn(p, func(i int32) bool {
		return y[i] == 0 && !slices.ContainsFunc(objects, func(o propagation.Object) bool {
			return o.Sought() && len(o.Suspect) > 0 && o.Suspect[i] // what was confirmed before this picture was not looked for
		})
	})
}

// learn takes superpixels of p into the background of every size, every other one that
// accept accepts. The oldest rows go.
func (r *Recall) learn(p *picture.Picture, accept func(i int32) bool) {
	d := p.UnitDim()
	for size := range 1 + len(r.scales.Units) {
		if size == len(r.background) {
			r.background = append(r.background, nil)
		}
		unit, rows, take := r.unit(p, size), r.background[size], false
		for slot, i := range p.Grid.Order {
			if accept(i) && shows(unit[slot*d:(slot+1)*d]) {
				if take = !take; take {
					rows = append(rows, unit[slot*d:(slot+1)*d]...)
				}
			}
		}
		if over := len(rows) - maxBackground*d; over > 0 {
			rows = rows[:copy(rows, rows[over:])]
		}
		r.background[size] = rows
	}
}

// Detect sets the objects' detections in p, the newest picture: at the size where most
// of what an object should be is likely to be it. One that is out of sight has none
// anywhere unless enough of it is likely; one that is confirmed has none.
func (r *Recall) Detect(p *picture.Picture, objects []propagation.Object, annotated []*Sighting) {
	r.against = scratch.Grow(r.against, r.sizes())
	for size, votes := range r.against {
		r.against[size] = votes[:0]
	}
	for k, o := range objects {
		if o.Confirmed() {
			o.Probability, o.Suspect = o.Probability[:0], o.Suspect[:0]
			continue
		}
		o.Probability, o.Suspect = scratch.Zero(o.Probability, p.N), scratch.Zero(o.Suspect, p.N)
		r.gatherLooks(k+1, 1+len(objects), p.UnitDim(), annotated)
		most := 0.0
		for size := range r.sizes() {
			r.match(p, o.Object, size)
			for i, probability := range r.probability {
				o.Suspect[i] = o.Suspect[i] || probability >= suspect
			}
			// What is larger than it should be at this size may be so at the next.
			share := min(1, r.largestPiece(p)/(o.Area*math.Pow(4, float64(size))))
			if share > 0 && share >= most && (o.State == trackstate.Visible || share >= detectShare) {
				most = share
				copy(o.Probability, r.probability)
				if o.Sought() {
					o.Rescaled = size > 0
				}
			}
		}
		for i, probability := range o.Probability {
			if probability < leastProbability {
				o.Probability[i] = 0
			}
		}
	}
}

// gatherLooks sets the rows of an object's looks in annotated and remembered frames,
// evenly thinned to maxLooks.
func (r *Recall) gatherLooks(label, labels, d int, annotated []*Sighting) {
	r.looks = r.looks[:0]
	for _, sightings := range [][]*Sighting{annotated, r.remembered} {
		for _, s := range sightings {
			if !s.Knows(label) {
				continue
			}
			for slot, i := range s.Grid.Order {
				if s.Soft[int(i)*labels+label] > 0.5 {
					r.looks = append(r.looks, s.UnitAt(slot)...)
				}
			}
		}
	}
	if n := len(r.looks) / d; n > maxLooks {
		for k := range maxLooks {
			copy(r.looks[k*d:(k+1)*d], r.looks[k*n/maxLooks*d:])
		}
		r.looks = r.looks[:maxLooks*d]
	}
}

// match sets r.probability: that a superpixel of p, seen at a size, is o. The rows of o's
// looks that resemble it most vote against those of the background, and against a
// resemblance of leastCosine.
func (r *Recall) match(p *picture.Picture, o *trackstate.Object, size int) {
	r.probability = scratch.Zero(r.probability, p.N)
	least := leastCosine
	if size > 0 {
		least -= shrunkRecall
	}
	floor := propagation.Links * cosine.Weight(least, propagation.Temperature)
	unit, d := r.unit(p, size), p.UnitDim()
	extent := Extent(o) * math.Pow(2, float64(size))
	spread := (searchRadius + searchGrowth*float64(o.Unseen)) * o.Side(p.Side())
	r.asked, r.queries = r.asked[:0], r.queries[:0]
	ask := func(slot int32) {
		r.asked = append(r.asked, slot)
		r.queries = append(r.queries, unit[int(slot)*d:int(slot+1)*d]...)
	}
	for slot, i := range p.Grid.Order {
		far := max(0, math.Hypot(float64(p.Centroid[2*i])-o.X, float64(p.Centroid[2*i+1])-o.Y)-extent) / spread
		if prior := math.Exp(-far * far / 2); prior >= leastProbability && shows(unit[slot*d:(slot+1)*d]) {
			r.probability[i] = prior
			ask(int32(slot))
		}
	}
	r.vote(r.looks, d)
	r.likely = r.likely[:0]
	for c, slot := range r.asked {
		votes := &r.probability[p.Grid.Order[slot]]
		if *votes *= r.votes[c]; *votes >= floor/4 {
			r.likely = append(r.likely, slot)
		} else {
			*votes = 0
		}
	}
	if len(r.against[size]) == 0 {
		r.against[size] = scratch.Grow(r.against[size], p.N)
		for slot := range r.against[size] {
			r.against[size][slot] = math.NaN()
		}
	}
	against := r.against[size]
	r.asked, r.queries = r.asked[:0], r.queries[:0]
	for _, slot := range r.likely {
		if math.IsNaN(against[slot]) {
			ask(slot)
		}
	}
	r.vote(r.background[size], d)
	for c, slot := range r.asked {
		against[slot] = r.votes[c]
	}
	for _, slot := range r.likely {
		votes := &r.probability[p.Grid.Order[slot]]
		*votes /= *votes + backgroundWeight*against[slot] + floor
	}
}

// Rows and queries whose products are taken at once: as many as the caches next to the
// processor hold.
const (
	rowBlock   = 64
	queryBlock = 16
)

// vote sets r.votes: for each of r.queries, the sum of the votes of the rows that
// resemble it most.
func (r *Recall) vote(rows []float32, d int) {
	const k = propagation.Links
	r.best = scratch.Grow(r.best, len(r.queries)/d*k)
	for c := range r.best {
		r.best[c] = cosine.None
	}
	r.cosines = scratch.Grow(r.cosines, rowBlock*queryBlock)
	for rest := rows; len(rest) > 0; {
		block := rest[:min(rowBlock*d, len(rest))]
		rest = rest[len(block):]
		n, best := len(block)/d, r.best
		for queries := range slices.Chunk(r.queries, queryBlock*d) {
			cosine.Products(r.cosines, queries, block, d)
			for c := range len(queries) / d {
				mine := best[c*k : (c+1)*k]
				for _, v := range r.cosines[c*n : (c+1)*n] {
					if v > mine[k-1].Cosine {
						cosine.Insert(mine, cosine.Match{Cosine: v})
					}
				}
			}
			best = best[len(queries)/d*k:]
		}
	}
	r.votes = r.votes[:0]
	for best := range slices.Chunk(r.best, k) {
		sum := 0.0
		for _, m := range best {
			if m.Cosine > cosine.None.Cosine {
				sum += m.Weight(propagation.Temperature)
			}
		}
		r.votes = append(r.votes, sum)
	}
}

// largestPiece is how much of p is likely to be the object, in pixels, of the largest
// piece that is: the sum of area × (2·probability − 1).
func (r *Recall) largestPiece(p *picture.Picture) float64 {
	r.seen = scratch.Zero(r.seen, p.N)
	most := 0.0
	for i := range r.seen {
		if r.seen[i] || r.probability[i] <= 0.5 {
			continue
		}
		r.piece = p.Touching.AppendComponent(r.piece[:0], r.seen, int32(i), func(j int32) bool { return r.probability[j] > 0.5 })
		sum := 0.0
		for _, j := range r.piece {
			sum += float64(p.Area[j]) * (2*r.probability[j] - 1)
		}
		most = max(most, sum)
	}
	return most
}
