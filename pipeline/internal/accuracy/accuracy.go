// Package accuracy compares published masks with what people say is true, and keeps how they agree.
//
// In go the masks of a frame and what its objects truly cover; out come records of api.Accuracy. Nothing else is changed.
package accuracy

import (
	"fmt"
	"slices"
	"sync"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/api"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/mask"
)

const (
	// MaxRecords is how many are kept; the oldest go first.
	MaxRecords = 1000
	maxTruths  = 255 // of one frame, as an annotation has objects
)

// Records are those of a camera, for any goroutine. The zero value has none.
type Records struct {
	mu      sync.Mutex
	records []api.Accuracy // the oldest first
}

// Judge compares masks with what is true of their frame, and keeps the records that it returns. A second truth of an
// object in a frame replaces the first. The error wraps annotation.ErrInvalid if a truth is refused; then none is kept.
func (r *Records) Judge(masks *segdv1.MaskFrame, truths []api.Truth) ([]api.Accuracy, error) {
	if n := len(truths); n < 1 || n > maxTruths {
		return nil, annotation.Faultf("objects", "%d; want 1…%d", n, maxTruths)
	}
	judged := make([]api.Accuracy, len(truths))
	for i, t := range truths {
		at := fmt.Sprintf("objects[%d]", i)
		if t.ID != 0 && slices.ContainsFunc(truths[:i], func(other api.Truth) bool { return other.ID == t.ID }) {
			return nil, annotation.Faultf(at+".id", "%d is used twice", t.ID)
		}
		var err error
		if judged[i], err = judge(at, masks, t); err != nil {
			return nil, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = slices.DeleteFunc(r.records, func(old api.Accuracy) bool {
		return slices.ContainsFunc(judged, func(a api.Accuracy) bool { return a.ID != 0 && a.ID == old.ID && a.Sequence == old.Sequence })
	})
	r.records = append(r.records, judged...)
	r.records = slices.Delete(r.records, 0, max(0, len(r.records)-MaxRecords))
	return judged, nil
}

// All returns the records that are kept, the oldest first.
func (r *Records) All() []api.Accuracy {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.records)
}

// Clear drops all records.
func (r *Records) Clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = nil
}

// judge compares one truth, which is at that place of the request, with its mask.
func judge(at string, masks *segdv1.MaskFrame, t api.Truth) (a api.Accuracy, err error) {
	width, height := int(masks.Width), int(masks.Height)
	truth, published := mask.Empty(width, height), mask.Empty(width, height)
	a = api.Accuracy{Sequence: masks.Sequence, Time: masks.CaptureTime.AsTime(), ID: t.ID, Label: t.Label}
	if t.Counts != "" {
		if truth, err = mask.Parse(t.Counts, width, height); err != nil {
			return a, annotation.Faultf(at+".counts", "%v", err)
		}
	}
	if t.ID == 0 {
		if err := annotation.CheckLabel(at+".label", t.Label); err != nil {
			return a, err
		}
		if truth.Area() == 0 {
			return a, annotation.Faultf(at+".counts", "no pixels of an object without an id; want some, or the id of an object that is not there")
		}
	} else {
		k := slices.IndexFunc(masks.Objects, func(o *segdv1.Object) bool { return o.Id == t.ID })
		if k < 0 {
			ids := make([]uint32, len(masks.Objects))
			for i, o := range masks.Objects {
				ids[i] = o.Id
			}
			return a, annotation.Faultf(at+".id", "%d; accepted: %d, the objects of frame %d, or 0 for one that segd does not follow", t.ID, ids, masks.Sequence)
		}
		o := masks.Objects[k]
		a.Label = o.Label
		if o.Counts != "" {
			if published, err = mask.Parse(o.Counts, width, height); err != nil {
				return a, fmt.Errorf("accuracy: mask of object %d in frame %d: %w", o.Id, masks.Sequence, err)
			}
		}
	}
	both := mask.Overlap(truth, published)
	a.Truth, a.Mask, a.J = truth.Area(), published.Area(), mask.IoU(truth, published)
	a.Missed, a.False = share(a.Truth-both, a.Truth), share(a.Mask-both, a.Mask)
	return a, nil
}

// share is part of all, 0 of nothing.
func share(part, all int) float64 {
	if all == 0 {
		return 0
	}
	return float64(part) / float64(all)
}
