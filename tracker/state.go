package tracker

import (
	"errors"
	"fmt"
	"image"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/checkpoint/checkpointv1"
	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/trackstate"
)

// State is what t knows of its objects besides what pictures show of them: where each is, and where it
// is in its life. It shares nothing with t. With the pictures that the objects were marked on and the
// newest one another tracker can go on, by Recall and Resume.
func (t *Tracker) State() *checkpointv1.Tracker {
	s := &checkpointv1.Tracker{Width: int32(t.size.X), Height: int32(t.size.Y)}
	for k := range t.objects.all {
		o := &t.objects.all[k]
		s.Objects = append(s.Objects, &checkpointv1.TrackedObject{
			Id: o.id, Life: o.Object.Kept(),
			Box: []int32{int32(o.box.Min.X), int32(o.box.Min.Y), int32(o.box.Max.X), int32(o.box.Max.Y)},
		})
	}
	return s
}

// Resume takes up what another tracker knew: the objects that t recalls are where they were when
// s was taken, as if the frames since then had been dropped. The sequence numbers go on, too. It
// comes after Recall and before the first Step. Of a faulty s, or one of pictures of another size
// than those recalled, nothing is taken.
func (t *Tracker) Resume(s *checkpointv1.Tracker) error {
	if at := image.Pt(int(s.Width), int(s.Height)); at != t.size {
		return fmt.Errorf("tracker: the state is of pictures of %d×%d; want %d×%d, as those recalled", at.X, at.Y, t.size.X, t.size.Y)
	}
	if n := len(s.Objects); n > annotation.MaxFollowed {
		return fmt.Errorf("tracker: the state is of %d objects; want at most %d", n, annotation.MaxFollowed)
	}
	type known struct {
		life trackstate.Object
		box  image.Rectangle
	}
	all := make([]known, len(s.Objects))
	for k, o := range s.Objects {
		var faults []error
		if o.Life == nil || len(o.Box) != 4 {
			faults = append(faults, errors.New("want its life and a box"))
		} else {
			faults = append(faults, all[k].life.Resume(o.Life))
			all[k].box = image.Rect(int(o.Box[0]), int(o.Box[1]), int(o.Box[2]), int(o.Box[3])).Intersect(image.Rectangle{Max: t.size})
		}
		if zoom := all[k].life.Zoom; zoom > features.MaxZoom(t.size.X, t.size.Y) || zoom&(zoom-1) != 0 {
			faults = append(faults, fmt.Errorf("zoom %d; want a power of two, at most %d", zoom, features.MaxZoom(t.size.X, t.size.Y)))
		}
		if err := errors.Join(faults...); err != nil {
			return fmt.Errorf("tracker: state of object %d: %w", o.Id, err)
		}
	}
	for k, o := range s.Objects {
		if at := t.objects.find(o.Id); at >= 0 {
			to := &t.objects.all[at]
			to.Object, to.box = all[k].life, all[k].box
		}
	}
	return nil
}
