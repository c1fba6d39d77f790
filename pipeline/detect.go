package pipeline

import (
	"cmp"
	"errors"
	"fmt"
	"image"
	"math"
	"slices"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/objects/marking"
	"github.com/segd/segd/objects/track"
	"github.com/segd/segd/objects/zones"
	"github.com/segd/segd/pipeline/internal/guard"
)

// Detect says what a camera marks by itself of what is detected. Without Classes that is nothing.
type Detect struct {
	Classes    []string      // names of the model's, or the detector's
	Score      float64       // once at least; 0: track.DefaultConfirm
	Every      time.Duration // of stream time, from one look at all of a picture to the next; 0: DefaultEvery, or DefaultDetectorEvery
	MaxObjects int           // at most so many; 0: marking.DefaultMaxObjects
	Keep       time.Duration // of stream time, that an object may be out of sight; 0: DefaultKeep
	Reidentify float64       // as of marking.Config; 0: marking.DefaultReidentify
	// Zones are names: an object begins only where its box's foot is in one of these. None: anywhere.
	// Of a zone that is changed the new place counts, and in one that there is not nothing begins.
	Zones []string
}

// Defaults of Detect.
const (
	DefaultEvery         = time.Second
	DefaultDetectorEvery = 200 * time.Millisecond // with a detector: nothing else tells where things are
	DefaultKeep          = 30 * time.Second
)

// faults are all that is wrong with d.
func (d *Detect) faults(layout zones.Layout) error {
	var faults []error
	bad := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("Config.Detect."+format, args...))
	}
	if len(d.Classes) == 0 {
		bad("Classes: none; want at least one")
	}
	for i, class := range d.Classes {
		if class == "" {
			bad("Classes[%d] is empty; want a class of the detector", i)
		} else if err := annotation.CheckLabel(fmt.Sprintf("Classes[%d]", i), class); err != nil {
			bad("%w; objects are called by it", err)
		}
	}
	if d.Every < 0 || d.Keep < 0 {
		bad("Every: %v, Keep: %v; want 0 or more", d.Every, d.Keep)
	}
	if d.MaxObjects < 0 || d.MaxObjects > annotation.MaxFollowed {
		bad("MaxObjects: %d; want 0 to %d", d.MaxObjects, annotation.MaxFollowed)
	}
	for i, name := range d.Zones {
		if !layout.Has(name) {
			bad("Zones[%d]: %q is no zone of the camera", i, name)
		}
	}
	return errors.Join(faults...)
}

// detects tells whether anything is marked by itself.
func (c *Camera) detects() bool { return len(c.cfg.Detect.Classes) > 0 }

// beginMarking makes the camera's marker. It outlives the stages, so that no id is used again.
func (c *Camera) beginMarking() (err error) {
	d := &c.cfg.Detect
	if c.detects() || c.cfg.NewDetector != nil {
		if err := d.faults(c.cfg.Zones); err != nil {
			return err
		}
	}
	every := DefaultEvery
	if c.cfg.NewDetector != nil {
		every = DefaultDetectorEvery
	}
	d.Every, d.Keep, d.Score = cmp.Or(d.Every, every), cmp.Or(d.Keep, DefaultKeep), cmp.Or(d.Score, track.DefaultConfirm)
	c.marker, err = marking.New(marking.Config{
		Classes: d.Classes, MaxObjects: d.MaxObjects, Begin: c.mayBegin,
		Track: track.Config{Confirm: d.Score, Keep: d.Keep, Reidentify: d.Reidentify},
	})
	return err
}

// mayBegin tells whether an object may begin in a box of a picture of that size.
func (c *Camera) mayBegin(box image.Rectangle, size image.Point) bool {
	foot := zones.Point{
		float64(box.Min.X+box.Max.X) / 2 / float64(size.X),
		(float64(box.Max.Y) - 0.5) / float64(size.Y), // in the lowest row, which is in the picture
	}
	of := c.cfg.Detect.Zones
	return len(of) == 0 || slices.ContainsFunc(c.Zones().Zones, func(z zones.Zone) bool {
		return slices.Contains(of, z.Name) && z.Holds(foot)
	})
}

// looks says when all of a picture is looked at, for what is new. It belongs to the stage of features.
type looks struct {
	every time.Duration // 0: never
	nth   int           // of the cameras
	// since is the stream time since the last look, without that of frames that were dropped: a camera that falls
	// behind looks no more often for each frame that it takes.
	since time.Duration
	any   bool          // there was a frame
	pts   time.Duration // its stream time
	seq   uint64
}

// golden is the part of a turn after which the next of any number of points is in one of the widest gaps between those before it
// (Knuth, The Art of Computer Programming, section 6.4, theorem S).
const golden = math.Phi - 1

// due tells whether it is time to look at a frame with that stream time and number. From the first look on, the looks of cameras that
// come up together are spread evenly over the time from one to the next, by the clock.
func (l *looks) due(received time.Time, pts time.Duration, seq uint64) bool {
	passed := pts - l.pts
	first := !l.any || passed < 0 || seq <= l.seq
	if !first {
		l.since += time.Duration(float64(passed) / float64(seq-l.seq))
	}
	l.pts, l.seq, l.any = pts, seq, true
	if l.every == 0 || !first && l.since < l.every {
		return false
	}
	l.since = 0
	if first {
		_, turn := math.Modf(float64(l.nth) * golden)
		l.since = time.Duration(received.UnixNano()-int64(turn*float64(l.every))) % l.every
	}
	return true
}

// look makes what is found in a scene of it what the camera's own detector finds, if it has one and looks at this
// frame, and else nothing. What goes wrong costs that look.
func (s *stages) look(it *item, due bool) {
	if s.detector == nil {
		return
	}
	scene, f := it.scene, it.frame
	scene.Found, scene.Looked = scene.Found[:0], scene.Looked[:0]
	if !due {
		return
	}
	start := time.Now()
	var found []features.Detection
	err := guard.Call(func() (err error) {
		found, err = s.detector.Detect(nil, f.Pix, f.Width, f.Height, f.PixelAspect)
		return err
	})
	s.c.cfg.Meter.Looked(time.Since(start))
	if err != nil {
		s.c.lookFailed(fmt.Errorf("pipeline: detector: frame %d: %w", it.seq, err))
		return
	}
	scene.Found = sift(found, f.Width, f.Height)
	scene.Looked = append(scene.Looked, image.Rect(0, 0, f.Width, f.Height))
}

// lookFailed counts a look that came to nothing.
func (c *Camera) lookFailed(err error) {
	c.cfg.Meter.LookFailed()
	c.lookFaults.Add(1, err)
}

// sift makes sense of what a detector says that it found: it may be anybody's.
func sift(found []features.Detection, width, height int) []features.Detection {
	kept := found[:0]
	for _, f := range found {
		f.Box = f.Box.Intersect(image.Rect(0, 0, width, height))
		if f.Box.Empty() || !(f.Score >= 0 && f.Score <= 1) {
			continue
		}
		if kept = append(kept, f); len(kept) == features.MaxFound {
			break
		}
	}
	return kept
}
