package tracker

import (
	"math"
	"slices"

	"github.com/segd/segd/tracker/internal/cosine"
	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/scratch"
)

// How objects that are out of sight are found again.
const (
	// Rows kept of an object's looks and, of each size, of the background.
	maxLooks  = 512
	maxAround = 4000

	// Cosine below Config.Recall that still counts where the picture was shrunk:
	// shrinking takes away detail that tells things apart, and other detail is new.
	shrunkRecall = 0.15
	// Votes for the background count this much: it has more rows, and so a likelier one.
	aroundWeight = 0.4
	// The least probability that is any use, and the least that keeps a superpixel from
	// being learnt as background.
	leastChance = 0.05
	doubtful    = 0.2
	// Of the area an object should have at a size, the share that must be probable,
	// all in one piece, to call it back.
	backShare = 0.06
	// How far from where it was last seen an object is looked for: the distance from
	// a disc of extent times its radius, in longer sides of the picture, is Gaussian,
	// and grows by the frame.
	searchExtent = 1.5
	searchNear   = 0.07
	searchGrowth = 0.007
	// How far labels of the frame that an object comes back in bear out later ones.
	backTrust = 0.5
	// Labels given while an object was out of sight are doubted, and by this much
	// less a frame.
	trustRate = 0.05
	// Background is learnt in every learnEvery-th frame without the object.
	learnEvery = 4
	// What is lost is sought at other sizes in every coarseEvery-th frame only: it may
	// be for long, and the other frames take a third less time.
	coarseEvery = 3
)

// search finds objects that are out of sight by their looks alone, wherever they are
// and whether they come back as large as they went or larger: at 1/2 and 1/4 of its
// size a picture shows a near object as it was seen far away.
type search struct {
	scales  picture.Scales // of the newest frame
	around  [][]float32    // by size from 1 on: rows of d, background in annotated frames and while something was out of sight
	looks   []float32      // rows of d: the object that is looked for
	asked   []int32        // slots of f.Grid.Order, of the superpixels that may be it
	queries []float32      // rows of d: what these look like
	votes   []float64      // for each of them
	best    []cosine.Match // of each, the k rows that resemble it most
	cosines []float32
	open    []int32
	chance  []float64
	seen    []bool
	hidden  int // frames for which something has been out of sight
}

// Searching tells whether the next Step should have a scene with Coarse, because an
// object that is out of sight, or back for a moment only, is then found at other
// sizes, too. For one that is lost it does so now and then.
func (t *Tracker) Searching() bool {
	return t.cfg.Mode.looksUp() && slices.ContainsFunc(t.objects, func(o object) bool {
		return !o.Confirmed() && (o.State != Lost || o.Unseen%coarseEvery == 0)
	})
}

// sizes counts the sizes at which both the frame and the background are known.
func (s *search) sizes() int { return min(1+len(s.scales.Units), len(s.around)) }

// at returns the features of f at a size.
func (s *search) at(f *frame, size int) []float32 {
	if size == 0 {
		return f.Unit
	}
	return s.scales.Units[size-1]
}

// learn takes superpixels of f into the background of every size, every other one
// that accept accepts. The oldest rows go.
func (s *search) learn(f *frame, d int, accept func(i int32) bool) {
	for size := range 1 + len(s.scales.Units) {
		if size == len(s.around) {
			s.around = append(s.around, nil)
		}
		unit, rows, take := s.at(f, size), s.around[size], false
		for slot, i := range f.Grid.Order {
			if accept(i) {
				if take = !take; take {
					rows = append(rows, unit[slot*d:(slot+1)*d]...)
				}
			}
		}
		if over := len(rows) - maxAround*d; over > 0 {
			rows = rows[:copy(rows, rows[over:])]
		}
		s.around[size] = rows
	}
}

// learn keeps what is certainly background in f, which was just labelled.
func (t *Tracker) learn(f *frame, annotated bool) {
	if !t.cfg.Mode.looksUp() {
		return
	}
	s, d, labels := &t.search, f.UnitDim(), t.labels()
	if annotated {
		s.around, s.hidden = s.around[:0], 0
		s.learn(f, d, func(i int32) bool { return f.soft[int(i)*labels] == 1 })
		return
	}
	if !slices.ContainsFunc(t.objects, func(o object) bool { return o.State != Visible }) {
		s.hidden = 0
		return
	}
	s.hidden++
	if s.hidden%learnEvery != 1 && s.sizes() == 1+len(s.scales.Units) {
		return
	}
	s.learn(f, d, func(i int32) bool {
		return f.y[i] == 0 && !slices.ContainsFunc(t.objects, func(o object) bool { return o.State != Visible && o.doubt[i] })
	})
}

// seek sets the chance of every object that is out of sight, or came back a moment
// ago, in f: at the size where most of what it should be is likely to be it. One
// that is out of sight has none anywhere unless enough of it is likely.
func (t *Tracker) seek(f *frame) {
	s, d := &t.search, f.UnitDim()
	for k := range t.objects {
		o := &t.objects[k]
		o.chance, o.doubt = scratch.Grow(o.chance, f.N), scratch.Grow(o.doubt, f.N)
		clear(o.chance)
		clear(o.doubt)
		if o.Confirmed() {
			continue
		}
		t.gatherLooks(k+1, d)
		most := 0.0
		for size := range s.sizes() {
			s.match(f, o, size, d, t.cfg)
			for i, p := range s.chance {
				o.doubt[i] = o.doubt[i] || p >= doubtful
			}
			// What is larger than it should be at this size may be so at the next.
			share := min(1, s.piece(f)/(o.Area*math.Pow(4, float64(size))))
			if share > 0 && share >= most && (o.State == Visible || share >= backShare) {
				most = share
				copy(o.chance, s.chance)
				if o.State != Visible {
					o.resized = size > 0
				}
			}
		}
		for i, p := range o.chance {
			if p < leastChance {
				o.chance[i] = 0
				continue
			}
			t.near[i], t.may[i*t.labels()+k+1] = true, true
		}
	}
}

// gatherLooks sets the rows of an object's looks in annotated and remembered frames,
// evenly thinned to maxLooks.
func (t *Tracker) gatherLooks(label, d int) {
	s, labels := &t.search, t.labels()
	s.looks = s.looks[:0]
	for _, ref := range slices.Concat(t.anchors, t.memory) {
		if !ref.saw(label) {
			continue
		}
		for slot, i := range ref.Grid.Order {
			if ref.soft[int(i)*labels+label] > 0.5 {
				s.looks = append(s.looks, ref.Unit[slot*d:(slot+1)*d]...)
			}
		}
	}
	if n := len(s.looks) / d; n > maxLooks {
		for k := range maxLooks {
			copy(s.looks[k*d:(k+1)*d], s.looks[k*n/maxLooks*d:])
		}
		s.looks = s.looks[:maxLooks*d]
	}
}

// match sets s.chance, n: the probability that a superpixel of f, seen at a size, is
// o. The rows of o's looks that resemble it most vote against those of the background,
// and against a resemblance of Config.Recall.
func (s *search) match(f *frame, o *object, size, d int, cfg Config) {
	s.chance = scratch.Grow(s.chance, f.N)
	clear(s.chance)
	recall := cfg.Recall
	if size > 0 {
		recall -= shrunkRecall
	}
	floor := float64(cfg.Links) * math.Exp((recall-1)/cfg.Temperature)
	unit := s.at(f, size)
	side := float64(max(f.Width, f.Height))
	extent := searchExtent * math.Sqrt(o.Area/math.Pi) * math.Pow(2, float64(size))
	spread := (searchNear + searchGrowth*float64(o.Unseen)) * side
	s.asked, s.queries = s.asked[:0], s.queries[:0]
	ask := func(i int32, slot int, chance float64) {
		s.chance[i] = chance
		s.asked = append(s.asked, int32(slot))
		s.queries = append(s.queries, unit[slot*d:(slot+1)*d]...)
	}
	for slot, i := range f.Grid.Order {
		far := max(0, math.Hypot(float64(f.Centroid[2*i])-o.X, float64(f.Centroid[2*i+1])-o.Y)-extent) / spread
		if prior := math.Exp(-far * far / 2); prior >= leastChance {
			ask(i, slot, prior)
		}
	}
	s.vote(s.looks, d, cfg.Links, cfg.Temperature)
	asked := s.asked
	s.asked, s.queries = s.asked[:0], s.queries[:0]
	for c, slot := range asked { // what is asked again never overtakes
		i := f.Grid.Order[slot]
		if votes := s.chance[i] * s.votes[c]; votes >= floor/4 {
			ask(i, int(slot), votes)
		} else {
			s.chance[i] = 0
		}
	}
	s.vote(s.around[size], d, cfg.Links, cfg.Temperature)
	for c, slot := range s.asked {
		votes := &s.chance[f.Grid.Order[slot]]
		*votes /= *votes + aroundWeight*s.votes[c] + floor
	}
}

// Rows and queries whose products are taken at once: as many as the caches next to the
// processor hold.
const (
	rowBlock   = 64
	queryBlock = 16
)

// vote sets s.votes: for each of s.queries, the sum of the votes of the k rows that
// resemble it most.
func (s *search) vote(rows []float32, d, k int, temperature float64) {
	s.best = scratch.Grow(s.best, len(s.queries)/d*k)
	for c := range s.best {
		s.best[c].Cosine = -2
	}
	s.cosines = scratch.Grow(s.cosines, rowBlock*queryBlock)
	for rest := rows; len(rest) > 0; {
		block := rest[:min(rowBlock*d, len(rest))]
		rest = rest[len(block):]
		n, best := len(block)/d, s.best
		for queries := range slices.Chunk(s.queries, queryBlock*d) {
			cosine.Products(s.cosines, queries, block, d)
			for c := range len(queries) / d {
				mine := best[c*k : (c+1)*k]
				for _, v := range s.cosines[c*n : (c+1)*n] {
					if v > mine[k-1].Cosine {
						cosine.Insert(mine, cosine.Match{Cosine: v})
					}
				}
			}
			best = best[len(queries)/d*k:]
		}
	}
	s.votes = s.votes[:0]
	for best := range slices.Chunk(s.best, k) {
		sum := 0.0
		for _, l := range best {
			if l.Cosine > -2 {
				sum += l.Weight(temperature)
			}
		}
		s.votes = append(s.votes, sum)
	}
}

// piece is how much of f is likely to be the object, in pixels, of the largest piece
// that is: the sum of area × (2·chance − 1).
func (s *search) piece(f *frame) float64 {
	s.seen = scratch.Grow(s.seen, f.N)
	clear(s.seen)
	most := 0.0
	for i := range s.seen {
		if s.seen[i] || s.chance[i] <= 0.5 {
			continue
		}
		s.seen[i] = true
		s.open = append(s.open[:0], int32(i))
		sum := 0.0
		for len(s.open) > 0 {
			i := s.open[len(s.open)-1]
			s.open = s.open[:len(s.open)-1]
			sum += float64(f.Area[i]) * (2*s.chance[i] - 1)
			for _, j := range f.Touching.Of(i) {
				if !s.seen[j] && s.chance[j] > 0.5 {
					s.seen[j] = true
					s.open = append(s.open, j)
				}
			}
		}
		most = max(most, sum)
	}
	return most
}

// fillOpen gives away the votes that the affinity leaves open: those led to by labels
// that cannot be trusted, by looks. So is, until every object has been back for a
// while, one vote for what resembles nothing seen before; from then on it is for the
// background, or whatever comes before an object would pass for it.
func (t *Tracker) fillOpen(f *frame, refs []reference) {
	labels := t.labels()
	novel := 0.0
	for _, r := range refs {
		novel += r.weight * float64(t.cfg.Links) * math.Exp((t.cfg.Novel-1)/t.cfg.Temperature)
	}
	hidden := slices.ContainsFunc(t.objects, func(o object) bool { return o.State != Visible })
	settled := !slices.ContainsFunc(t.objects, func(o object) bool { return !o.Confirmed() })
	for i := range f.N {
		if !t.near[i] {
			if hidden {
				f.trust[i] = 0
			}
			continue
		}
		row, open := f.q[i*labels:(i+1)*labels], t.mass[i]-t.held[i]
		if t.mass[i] > 0 {
			f.trust[i] = min(1, t.held[i]/t.mass[i]+trustRate)
		}
		if settled {
			row[0] += novel
		} else {
			open += novel
			f.trust[i] *= t.mass[i] / (t.mass[i] + novel)
		}
		if open <= 0 {
			continue
		}
		sum := 1.0
		for _, o := range t.objects {
			sum += odds(o.chance[i])
		}
		row[0] += open / sum
		for k, o := range t.objects {
			row[k+1] += open * odds(o.chance[i]) / sum
		}
	}
}

// odds of a probability, which must not be quite 1.
func odds(p float64) float64 { p = min(p, 0.98); return p / (1 - p) }

// callBack gives the background's share of every superpixel to the objects out of
// sight by their chances, and takes what the affinity gave them. Of one that comes
// back at another size the classifier can say nothing until it has learnt it.
func (t *Tracker) callBack(f *frame) {
	labels := t.labels()
	for k := range t.objects {
		o := &t.objects[k]
		for i, p := range o.chance {
			f.unlearnt[i] = f.unlearnt[i] || p > 0 && o.resized
			if o.State == Visible {
				continue
			}
			row := f.q[i*labels : (i+1)*labels]
			both := row[0] + row[k+1]
			row[0], row[k+1] = both*(1-p), both*p
			if p > 0 {
				f.trust[i] = backTrust
			}
		}
	}
}
