package restart

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/mask"
)

// run is what one segd has published of the camera, by the number of the camera's frame.
type run struct {
	fps    float64
	frames map[int]*segdv1.MaskFrame
	starts []int // the first frame of each epoch but the first
	epochs []uint64
}

// newRun reads masks in the order they were published; start is when the camera sent its first frame.
func newRun(masks []*segdv1.MaskFrame, start time.Time, fps float64) *run {
	r := &run{fps: fps, frames: map[int]*segdv1.MaskFrame{}}
	for _, m := range masks {
		k := int(math.Round(m.CaptureTime.AsTime().Sub(start).Seconds() * fps))
		r.frames[k] = m
		if n := len(r.epochs); n == 0 || r.epochs[n-1] != m.Epoch {
			if n > 0 {
				r.starts = append(r.starts, k)
			}
			r.epochs = append(r.epochs, m.Epoch)
		}
	}
	return r
}

// life is what came after one start.
type life struct {
	Frame int               `json:"frame"`
	Ago   int               `json:"ago"` // frames without masks before it
	IoU   map[uint32]string `json:"iou"` // by object: mean, and frames with a mask in either run
}

// figures are what the runs say, with the one that was killed.
type figures struct {
	Kills      int   `json:"kills"`
	TimeToMask times `json:"time_to_mask_ms"`
	// IoUMean is of the masks of both runs in the frames after a start, a mask that one of them
	// lacks counting 0; Undisturbed is the same of all other frames.
	IoUMean     float64 `json:"iou_mean"`
	Undisturbed float64 `json:"iou_undisturbed"`
	Frames      int     `json:"frames"` // that IoUMean is of
	IDsKept     bool    `json:"ids_kept"`
	Starts      []life `json:"starts"`
}

type times struct {
	P50 float64 `json:"p50"`
	Max float64 `json:"max"`
	N   int     `json:"n"`
}

// compare holds a run that was killed against one that was not. window is how many frames after a
// start count.
func compare(killed, whole *run, window int) (f figures) {
	f.Kills = len(killed.starts)
	var waits []float64
	for _, start := range killed.starts {
		for _, o := range sight(whole, start) {
			waits = append(waits, killed.wait(start, o, window))
		}
	}
	slices.Sort(waits)
	if n := len(waits); n > 0 {
		f.TimeToMask = times{P50: waits[n/2], Max: waits[n-1], N: n}
	}
	var sum, others [2]float64 // of IoU, and of masks
	f.IDsKept = len(killed.frames) > 0
	var names map[uint32]string
	for k, m := range killed.frames {
		now := map[uint32]string{}
		for _, o := range m.Objects {
			now[o.Id] = o.Label
		}
		if names == nil {
			names = now
		}
		f.IDsKept = f.IDsKept && len(names) == len(now)
		for id, label := range names {
			f.IDsKept = f.IDsKept && now[id] == label
		}
		ref, ok := whole.frames[k]
		if !ok {
			continue
		}
		to := &others
		if slices.ContainsFunc(killed.starts, func(start int) bool { return k >= start && k < start+window }) {
			to = &sum
			f.Frames++
		}
		for _, o := range m.Objects {
			for _, r := range ref.Objects {
				if r.Id == o.Id && r.Area+o.Area > 0 {
					to[0] += iou(o, r, m)
					to[1]++
				}
			}
		}
	}
	for _, at := range killed.starts {
		s := life{Frame: at, IoU: map[uint32]string{}}
		for k := at - 1; k > 0 && killed.frames[k] == nil; k-- {
			s.Ago++
		}
		sums, counts := map[uint32]float64{}, map[uint32]int{}
		for k := at; k < at+window; k++ {
			m, ref := killed.frames[k], whole.frames[k]
			if m == nil || ref == nil {
				continue
			}
			for _, o := range m.Objects {
				for _, r := range ref.Objects {
					if r.Id == o.Id && r.Area+o.Area > 0 {
						sums[o.Id] += iou(o, r, m)
						counts[o.Id]++
					}
				}
			}
		}
		for id, n := range counts {
			s.IoU[id] = fmt.Sprintf("%.2f of %d", sums[id]/float64(n), n)
		}
		f.Starts = append(f.Starts, s)
	}
	f.IoUMean, f.Undisturbed = sum[0]/max(1, sum[1]), others[0]/max(1, others[1])
	return f
}

// sight are the objects with a mask in the frame of a number, or the next that there is.
func sight(r *run, at int) (ids []uint32) {
	for k := at; k < at+3; k++ {
		if m, ok := r.frames[k]; ok {
			for _, o := range m.Objects {
				if o.Area > 0 {
					ids = append(ids, o.Id)
				}
			}
			break
		}
	}
	return ids
}

// wait is how long after the frame at start, in milliseconds of the camera's time, an object has its first
// mask: window frames if it has none by then.
func (r *run) wait(start int, id uint32, window int) float64 {
	for k := start; k < start+window; k++ {
		m, ok := r.frames[k]
		if ok && slices.ContainsFunc(m.Objects, func(o *segdv1.Object) bool { return o.Id == id && o.Area > 0 }) {
			return float64(k-start) / r.fps * 1000
		}
	}
	return float64(window) / r.fps * 1000
}

func iou(a, b *segdv1.Object, m *segdv1.MaskFrame) float64 {
	p, errA := mask.Parse(a.Counts, int(m.Width), int(m.Height))
	q, errB := mask.Parse(b.Counts, int(m.Width), int(m.Height))
	if errA != nil || errB != nil || a.Area == 0 || b.Area == 0 {
		return 0
	}
	return mask.IoU(p, q)
}
