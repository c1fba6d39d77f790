package restart

import (
	"slices"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/mask"
)

// window is how many frames after a start are compared.
const window = 50

// run is what a segd has published of one showing of a clip, by the number of the clip's frame.
type run struct {
	frames map[int]*segdv1.MaskFrame
	starts []int // the first frame of each epoch but the first
	newest *segdv1.MaskFrame
}

func (r *run) add(frame int, m *segdv1.MaskFrame) {
	if r.frames == nil {
		r.frames = map[int]*segdv1.MaskFrame{}
	}
	if r.newest != nil && m.Epoch != r.newest.Epoch {
		r.starts = append(r.starts, frame)
	}
	r.frames[frame], r.newest = m, m
}

func (r *run) epoch() uint64 { return r.newest.GetEpoch() }

// last is the number of the last frame.
func (r *run) last() (last int) {
	for k := range r.frames {
		last = max(last, k)
	}
	return last
}

// figures are what runs that were killed say, held against one that was not.
type figures struct {
	Kills      int   `json:"kills"`
	TimeToMask times `json:"time_to_mask_ms"`
	// IoUMean is of the masks of both runs in the frames soon after a start, a mask that one of them
	// lacks counting 0; Undisturbed is that of the frames before the first kill.
	IoUMean     float64 `json:"iou_mean"`
	Undisturbed float64 `json:"iou_undisturbed"`
	IDsKept     bool    `json:"ids_kept"`
	Starts      []start `json:"starts"`

	waits       []float64
	sum, before mean
}

type times struct {
	P50 float64 `json:"p50"`
	Max float64 `json:"max"`
}

// start is what came after one start.
type start struct {
	Frame   int     `json:"frame"`
	Without int     `json:"without"` // frames before it without masks
	IoU     float64 `json:"iou"`
	// ByObject is IoU of each object.
	ByObject map[uint32]float64 `json:"iou_by_object"`
}

type mean struct {
	sum float64
	n   int
}

func (m *mean) add(v float64) { m.sum, m.n = m.sum+v, m.n+1 }

func (m *mean) value() float64 { return m.sum / float64(max(1, m.n)) }

// compare takes in a run that was killed.
func (f *figures) compare(killed, whole *run, fps int) {
	f.Kills += len(killed.starts)
	for _, at := range killed.starts {
		for id := range masked(whole.frames[at]) {
			f.waits = append(f.waits, 1000*float64(killed.wait(at, id))/float64(fps))
		}
		s, here, of := start{Frame: at, ByObject: map[uint32]float64{}}, mean{}, map[uint32]*mean{}
		for k := at - 1; k > 0 && killed.frames[k] == nil; k-- {
			s.Without++
		}
		for k := at; k < at+window; k++ {
			overlaps(killed.frames[k], whole.frames[k], func(id uint32, v float64) {
				f.sum.add(v)
				here.add(v)
				if of[id] == nil {
					of[id] = &mean{}
				}
				of[id].add(v)
			})
		}
		s.IoU = here.value()
		for id, m := range of {
			s.ByObject[id] = m.value()
		}
		f.Starts = append(f.Starts, s)
	}
	for k := range killed.starts[0] {
		overlaps(killed.frames[k], whole.frames[k], func(_ uint32, v float64) { f.before.add(v) })
	}
	names := map[uint32]string{}
	for _, m := range killed.frames {
		for _, o := range m.Objects {
			if name, known := names[o.Id]; known && name != o.Label {
				f.IDsKept = false
			}
			names[o.Id] = o.Label
		}
	}
	for _, m := range killed.frames {
		f.IDsKept = f.IDsKept && len(m.Objects) == len(names)
	}
}

func (f *figures) finish() {
	slices.Sort(f.waits)
	if n := len(f.waits); n > 0 {
		f.TimeToMask = times{P50: f.waits[n/2], Max: f.waits[n-1]}
	}
	f.IoUMean, f.Undisturbed = f.sum.value(), f.before.value()
}

// typical is the run that agrees best with the others: in a crowd one may have taken another one for a person, and
// says nothing of those that were killed.
func typical(runs []*run) *run {
	most, best := -1., (*run)(nil)
	for _, r := range runs {
		agree := mean{}
		for _, other := range runs {
			for k := range r.frames {
				overlaps(r.frames[k], other.frames[k], func(_ uint32, v float64) { agree.add(v) })
			}
		}
		if v := agree.value(); v > most {
			most, best = v, r
		}
	}
	return best
}

// masked are the objects of m, which may be nil, that have a mask.
func masked(m *segdv1.MaskFrame) map[uint32]*segdv1.Object {
	all := map[uint32]*segdv1.Object{}
	for _, o := range m.GetObjects() {
		if o.Area > 0 {
			all[o.Id] = o
		}
	}
	return all
}

// wait is in how many frames after the one at start an object has its first mask.
func (r *run) wait(start int, id uint32) int {
	for k := start; k < start+window; k++ {
		if masked(r.frames[k])[id] != nil {
			return k - start
		}
	}
	return window
}

// overlaps hands over the IoU of the masks of each object of two runs of a frame, if both have it.
func overlaps(a, b *segdv1.MaskFrame, add func(id uint32, iou float64)) {
	if a == nil || b == nil {
		return
	}
	ours, theirs := masked(a), masked(b)
	for _, o := range a.Objects {
		p, q := ours[o.Id], theirs[o.Id]
		if p == nil && q == nil {
			continue
		}
		v := 0.
		if p != nil && q != nil {
			v = iou(p, q, a)
		}
		add(o.Id, v)
	}
}

func iou(a, b *segdv1.Object, m *segdv1.MaskFrame) float64 {
	p, errA := mask.Parse(a.Counts, int(m.Width), int(m.Height))
	q, errB := mask.Parse(b.Counts, int(m.Width), int(m.Height))
	if errA != nil || errB != nil {
		return 0
	}
	return mask.IoU(p, q)
}
