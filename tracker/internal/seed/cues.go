package seed

import (
	"math"
	"slices"

	"github.com/segd/segd/tracker/internal/cosine"
)

// What tells an object in a box from its surroundings, a superpixel at a time: the inputs of
// the perceptron. None names a thing; all compare looks and places, so they hold for any
// feature model.
const (
	cuePlace     = 4  // where it is in the box
	cueLooks     = 33 // how it relates to the rest; also averaged over those that touch it
	cueBox       = 5  // the box itself
	cueOwn       = cuePlace + cueLooks + cueBox
	cueInputs    = cueOwn + cueLooks
	cueUnknown   = 3.0 // for what is infinite
	narrow       = 0.1 // temperatures of likeness in cosine
	wide         = 0.3
	colourSpan   = 8.0  // σ of likeness in colour, units of CIELAB
	leastMass    = 1e-3 // added to densities of which a logarithm is taken
	atSide       = 0.9  // of the box's half side is beside it
	aslant       = 0.5  // cosine that half a side's way along the box's side counts as
	alike        = 20.0 // units of CIELAB that it counts as
	walkRounds   = 300  // there and back
	walkLeast    = 1e-6 // of a way between superpixels that differ
	mostSurprise = 30.0
)

// surroundings are the superpixels in a box and around it.
type surroundings struct {
	*boxed
	ring       []int     // those around
	x, y       []float64 // of the ring: place relative to the box
	ringColour colour    // mean of the ring
	rim        []float64 // 1 for those in the box that touch others
	middle     []float64 // ellipse of those in the box

	way, colourWay []float64 // these four by superpixel of the picture
	absorbed       [4][]float64
	surprise       [2][]float64

	inUnits, ringUnits   []float32 // rows of Unit
	likeRow, likeRingRow []float32 // cosines of one superpixel to those in the box, and around
}

// cues describes the superpixels b.in, a row of cueInputs each.
func (b *boxed) cues() []float64 {
	s := b.survey()
	rows := make([]float64, len(b.in)*cueInputs)
	at := func(k int) []float64 { return rows[k*cueInputs : (k+1)*cueInputs] }
	unlike := make([]float64, b.N)
	for k, i := range b.in {
		s.describe(at(k), k)
		unlike[i] = at(k)[cuePlace]
	}
	place := make([]int, b.N) // in b.in, from 1
	ranks, wayRanks := b.ranks(unlike), b.ranks(s.way)
	for k, i := range b.in {
		at(k)[25], at(k)[26] = ranks[i], wayRanks[i]
		place[i] = 1 + k
	}
	for k, i := range b.in {
		mean, n := at(k)[cueOwn:], 0.0
		for _, j := range b.Touching.Of(int32(i)) {
			if place[j] > 0 {
				n++
				for c, v := range at(place[j] - 1)[cuePlace : cuePlace+cueLooks] {
					mean[c] += v
				}
			}
		}
		if n == 0 {
			copy(mean, at(k)[cuePlace:])
		}
		for c := range mean {
			mean[c] /= max(1, n)
		}
	}
	return rows
}

// survey prepares what the cues of all superpixels need.
func (b *boxed) survey() *surroundings {
	s := &surroundings{boxed: b}
	for _, i := range b.nearest() {
		if !b.free[i] && b.object[i] == 0 {
			s.ring = append(s.ring, i)
			x, y := b.offset(i)
			s.x, s.y = append(s.x, x), append(s.y, y)
		}
	}
	slot := make([]int, b.N)
	for at, i := range b.Grid.Order {
		slot[i] = at
	}
	for _, i := range b.in {
		s.inUnits = append(s.inUnits, b.UnitAt(slot[i])...)
		rim := 0.0
		if slices.ContainsFunc(b.Touching.Of(int32(i)), func(j int32) bool { return !b.free[j] }) {
			rim = 1
		}
		s.rim, s.middle = append(s.rim, rim), append(s.middle, max(-1, b.ellipse(i)))
	}
	for _, i := range s.ring {
		s.ringUnits = append(s.ringUnits, b.UnitAt(slot[i])...)
		for d, v := range b.colour(i) {
			s.ringColour[d] += v / float64(len(s.ring))
		}
	}
	s.likeRow, s.likeRingRow = make([]float32, len(b.in)), make([]float32, len(s.ring))
	edges, featureStep, colourStep := 0.0, 0.0, 0.0 // means, of those that touch
	for _, e := range b.Edges {
		if b.free[e.I] || b.free[e.J] {
			edges++
			featureStep += b.difference(int(e.I), int(e.J))
			colourStep += b.shade(int(e.I), int(e.J))
		}
	}
	featureStep, colourStep = featureStep/max(1, edges)+1e-9, colourStep/max(1, edges)+1e-9
	features := func(i, j int) float64 { return b.difference(i, j) / featureStep }
	colours := func(i, j int) float64 { return b.shade(i, j) / colourStep }
	s.way, s.colourWay = b.ways(features), b.ways(colours)
	s.absorbed = [...][]float64{b.absorption(features, 1.5), b.absorption(features, 4), b.absorption(colours, 1), b.absorption(colours, 3)}
	s.surprise = b.surprise()
	return s
}

// difference is the distance of two superpixels' features, shade that of their colours.
func (b *boxed) difference(i, j int) float64 {
	sum, other := 0.0, b.FeaturesOf(j)
	for k, v := range b.FeaturesOf(i) {
		way := float64(v) - float64(other[k])
		sum += way * way
	}
	return math.Sqrt(sum)
}

func (b *boxed) shade(i, j int) float64 { return math.Sqrt(b.colour(i).squared(b.colour(j))) }

// describe writes the cues of b.in[k] to v, but for ranks and averages.
func (s *surroundings) describe(v []float64, k int) {
	i, d := s.in[k], s.UnitDim()
	x, y := s.offset(i)
	v[0], v[1], v[2], v[3] = math.Abs(x), y, x*x, y*y

	cosine.Products(s.likeRow, s.inUnits[k*d:(k+1)*d], s.inUnits, d)
	if len(s.ring) > 0 {
		cosine.Products(s.likeRingRow, s.inUnits[k*d:(k+1)*d], s.ringUnits, d)
	}
	// Around the box: the likest three anywhere, and the likest on each side, best straight ahead.
	likest, closest := [3]float64{-1, -1, -1}, [3]float64{-100, -100, -100}
	beside, besideColour := [4]float64{-1, -1, -1, -1}, [4]float64{3, 3, 3, 3}
	var ring, ringWide, ringShade float64
	for r, j := range s.ring {
		c, shade := float64(s.likeRingRow[r]), s.shade(i, j)
		ring += cosine.Weight(c, narrow)
		ringWide += cosine.Weight(c, wide)
		ringShade += near(shade)
		insert(&likest, c)
		insert(&closest, -shade)
		dx, dy := math.Abs(s.x[r]-x), math.Abs(s.y[r]-y)
		for side, is := range [...]bool{s.x[r] < -atSide, s.x[r] > atSide, s.y[r] < -atSide, s.y[r] > atSide} {
			if along := [...]float64{dy, dy, dx, dx}[side]; is {
				beside[side] = max(beside[side], c-aslant*along)
				besideColour[side] = min(besideColour[side], shade/alike+along)
			}
		}
	}
	// In the box: how many are like it, and whether those are in the middle or at the rim.
	var in, inWide, middle, rim, inShade, middleShade, rimShade float64
	for r, j := range s.in {
		c, shade := float64(s.likeRow[r]), s.shade(i, j)
		weight := cosine.Weight(c, narrow)
		in += weight
		inWide += cosine.Weight(c, wide)
		middle += weight * s.middle[r]
		rim += weight * s.rim[r]
		weight = near(shade)
		inShade += weight
		middleShade += weight * s.middle[r]
		rimShade += weight * s.rim[r]
	}
	n, rings := float64(len(s.in)), max(1, float64(len(s.ring)))
	side := math.Sqrt(n)
	density := func(in, ring float64) float64 { return math.Log((in/n + leastMass) / (ring/rings + leastMass)) }
	v[4] = -(likest[0] + likest[1] + likest[2]) / 3
	v[5], v[6], v[7], v[8] = max(beside[0], beside[1]), min(beside[0], beside[1]), beside[2], beside[3]
	v[9], v[10], v[11] = density(in, ring), density(inWide, ringWide), density(inShade, ringShade)
	v[12], v[13] = middle/in, rim/math.Sqrt(in)/math.Sqrt(side)
	v[14], v[15] = middleShade/inShade, rimShade/math.Sqrt(inShade)/math.Sqrt(side)
	v[16], v[17] = s.way[i]/side, s.colourWay[i]/side
	v[18] = -(closest[0] + closest[1] + closest[2]) / 30
	for d, c := range s.colour(i) {
		v[19+d] = (c - s.ringColour[d]) / alike
	}
	v[22], v[23], v[24] = s.rim[k], in/n, math.Log(ring/rings+leastMass)
	for c := range s.absorbed {
		v[27+c] = s.absorbed[c][i]
	}
	v[31], v[32], v[33], v[34] = max(besideColour[0], besideColour[1]), min(besideColour[0], besideColour[1]), besideColour[2], besideColour[3]
	v[35], v[36] = s.surprise[0][i], s.surprise[1][i]
	for c, f := range v[cuePlace : cuePlace+cueLooks] {
		if math.IsInf(f, 0) || math.IsNaN(f) {
			v[cuePlace+c] = cueUnknown
		}
	}

	w, h := s.box[2]-s.box[0], s.box[3]-s.box[1]
	is := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}
	v[37], v[38], v[39] = math.Log(n), math.Log(w/h), math.Sqrt(w*h/float64(s.Width*s.Height))
	v[40] = is(s.box[0] < 2) + is(s.box[2] > float64(s.Width)-2)
	v[41] = is(s.box[1] < 2) - is(s.box[3] > float64(s.Height)-2)
}

// near is the likeness of colours that far apart.
func near(shade float64) float64 { return math.Exp(-shade * shade / (2 * colourSpan * colourSpan)) }

// insert keeps the three greatest values, falling.
func insert(best *[3]float64, v float64) {
	for k := range best {
		if v > best[k] {
			best[k], v = v, best[k]
		}
	}
}

// ways are the lengths of the shortest ways to the superpixels from those that are not the
// object: the geodesic saliency of Wei and others (2012).
func (b *boxed) ways(length func(i, j int) float64) []float64 {
	way := make([]float64, b.N)
	for i := range way {
		if b.free[i] || b.object[i] == 1 {
			way[i] = math.Inf(1)
		}
	}
	steps := make([]float64, len(b.Edges))
	for e, edge := range b.Edges {
		steps[e] = length(int(edge.I), int(edge.J))
	}
	for shorter := true; shorter; {
		shorter = false
		for e, edge := range b.Edges {
			i, j := edge.I, edge.J
			if way[j] < way[i] {
				i, j = j, i
			}
			if w := way[i] + steps[e]; w < way[j] {
				way[j] = w
				shorter = true
			}
		}
	}
	return way
}

// absorption is the logarithm of how long a random walk stays in the box, which steps the
// rather to superpixels that differ little (absorbing Markov chains, Jiang and others 2013):
// unlike the shortest way it feels along how much of its rim something goes on outside.
func (b *boxed) absorption(length func(i, j int) float64, sharp float64) []float64 {
	type link struct {
		to     int32
		weight float64
	}
	links, total := make([][]link, b.N), make([]float64, b.N)
	for _, e := range b.Edges {
		if b.free[e.I] || b.free[e.J] {
			weight := math.Exp(-sharp*length(int(e.I), int(e.J))) + walkLeast
			links[e.I], links[e.J] = append(links[e.I], link{e.J, weight}), append(links[e.J], link{e.I, weight})
			total[e.I] += weight
			total[e.J] += weight
		}
	}
	time := make([]float64, b.N)
	stay := 1 / float64(len(b.in))
	relax := func(i int) {
		sum := stay
		for _, l := range links[i] {
			sum += l.weight * time[l.to]
		}
		time[i] = sum / (total[i] + 1e-9)
	}
	for range walkRounds { // Gauss-Seidel
		for _, i := range b.in {
			relax(i)
		}
		for _, i := range slices.Backward(b.in) {
			relax(i)
		}
	}
	for _, i := range b.in {
		time[i] = math.Log(time[i] + walkLeast)
	}
	return time
}

// surprise is how unlikely a superpixel's colours are around the box, and how much likelier
// in it.
func (b *boxed) surprise() [2][]float64 {
	out := [...][]float64{make([]float64, b.N), make([]float64, b.N)}
	c := b.cells()
	for k, free := range c.free {
		if free {
			c.object[k] = 1
		}
	}
	c.learn(false)
	if !slices.Contains(c.object, 0) {
		return out
	}
	count := make([]float64, b.N)
	for k, free := range c.free {
		if i := c.superpixel[k]; free {
			others, _ := c.energies(k)
			count[i]++
			out[0][i] += min(others, mostSurprise)
			out[1][i] += c.ratio[k]
		}
	}
	for i, n := range count {
		out[0][i] /= max(1, n)
		out[1][i] /= max(1, n)
	}
	return out
}
