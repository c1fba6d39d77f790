package tracker

import (
	"errors"
	"fmt"
	"image"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/trackstate"
)

// Snapshot is what a tracker knows of its objects besides what pictures show of them: where each is, and where it
// is in its life. With the pictures that the objects were marked on and the newest one another tracker can go on, by
// Recall and Restore.
type Snapshot struct {
	Size    image.Point // of the pictures
	Objects []ObjectSnapshot
}

// ObjectSnapshot is one object of a Snapshot.
type ObjectSnapshot struct {
	ID   uint32
	Life LifeSnapshot
	Box  image.Rectangle // of its last mask
}

// LifeSnapshot is where an object is in its life; package trackstate has what the fields mean.
type LifeSnapshot = trackstate.Object

// Snapshot is what t knows now. It shares nothing with t.
func (t *Tracker) Snapshot() *Snapshot {
	s := &Snapshot{Size: t.size}
	for k := range t.objects.all {
		o := &t.objects.all[k]
		s.Objects = append(s.Objects, ObjectSnapshot{ID: o.id, Life: o.Object, Box: o.box})
		s.Objects[k].Life.Tracked = false // it is not said so then
	}
	return s
}

// Restore takes up what another tracker knew: the objects that t recalls are where they were when
// s was taken, as if the frames since then had been dropped. The sequence numbers go on, too. It
// comes after Recall and before the first Step. Of a faulty s, or one of pictures of another size
// than those recalled, nothing is taken.
func (t *Tracker) Restore(s *Snapshot) error {
	if s.Size != t.size {
		return fmt.Errorf("tracker: the snapshot is of pictures of %d×%d; want %d×%d, as those recalled", s.Size.X, s.Size.Y, t.size.X, t.size.Y)
	}
	if n := len(s.Objects); n > annotation.MaxFollowed {
		return fmt.Errorf("tracker: the snapshot is of %d objects; want at most %d", n, annotation.MaxFollowed)
	}
	for _, o := range s.Objects {
		err := o.Life.Check()
		if zoom, most := o.Life.Zoom, features.MaxZoom(t.size.X, t.size.Y); zoom > most || zoom&(zoom-1) != 0 {
			err = errors.Join(err, fmt.Errorf("zoom %d; want a power of two, at most %d", zoom, most))
		}
		if err != nil {
			return fmt.Errorf("tracker: snapshot of object %d: %w", o.ID, err)
		}
	}
	for _, o := range s.Objects {
		if at := t.objects.find(o.ID); at >= 0 {
			to := &t.objects.all[at]
			to.Object, to.box = o.Life, o.Box.Intersect(image.Rectangle{Max: t.size})
		}
	}
	return nil
}
