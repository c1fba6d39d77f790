package track

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// A Snapshot is what a Tracker goes on from.
type Snapshot struct {
	// Time is that of the last frame.
	Time time.Duration
	// Next is the next track's id.
	Next uint32
	// Tracks are the confirmed ones, by their ids.
	Tracks []Saved
}

// Saved is one track of a Snapshot.
type Saved struct {
	ID    uint32
	Class string
	// Box and Velocity, in pixels a second, are as predicted, or of one that is lost where it was last.
	Box      Box
	Velocity [2]float64
	Score    float64
	// Unseen is for how long it has not been detected.
	Unseen time.Duration
	// Appearance is of unit length, or empty.
	Appearance []float32
}

// Snapshot returns what is worth keeping over a restart. It shares no memory with the tracker.
func (t *Tracker) Snapshot() Snapshot {
	s := Snapshot{Time: t.last, Next: t.next}
	for _, k := range t.tracks {
		if k.confirmed {
			saved := Saved{
				ID: k.id, Class: k.class, Box: k.motion.box(), Velocity: k.motion.velocity(), Score: k.score,
				Unseen: t.now - k.seen, Appearance: slices.Clone(k.appearance),
			}
			if t.lost(k) { // it is not known where it went
				saved.Box, saved.Velocity = k.last, [2]float64{}
			}
			s.Tracks = append(s.Tracks, saved)
		}
	}
	slices.SortFunc(s.Tracks, func(a, b Saved) int { return cmp.Compare(a.ID, b.ID) })
	return s
}

// Restore replaces all tracks by those of a snapshot. It refuses what Snapshot cannot have returned, and then changes
// nothing.
func (t *Tracker) Restore(s Snapshot) error {
	if len(s.Tracks) > mostTracks {
		return fmt.Errorf("track: a snapshot of %d tracks; %d is the most", len(s.Tracks), mostTracks)
	}
	before := uint32(0)
	for i := range s.Tracks {
		k := &s.Tracks[i]
		if err := k.check(); err != nil {
			return fmt.Errorf("track: track %d of a snapshot: %w", k.ID, err)
		}
		if k.ID <= before || k.ID >= s.Next {
			return fmt.Errorf("track: a snapshot has track %d after %d and before %d; ids go up", k.ID, before, s.Next)
		}
		before = k.ID
	}
	t.spare, t.tracks = append(t.spare, t.tracks...), t.tracks[:0]
	t.begun, t.last = true, s.Time
	for i := range s.Tracks {
		k := &s.Tracks[i]
		t.next = k.ID
		n := t.add(k.Box, k.Score, k.Class)
		n.motion.predict(min(k.Unseen, t.config.Keep)) // it may have gone by so much
		n.motion.x.v, n.motion.y.v = k.Velocity[0], k.Velocity[1]
		n.confirmed = true
		n.missed = k.Unseen
		n.seen, n.looked = t.now-k.Unseen, t.now
		n.begun = n.seen - max(predictFor, againAfter)
		n.learn(k.Appearance, 1)
	}
	t.next = max(1, s.Next)
	return nil
}

func (k *Saved) check() error {
	fast := func(v float64) bool { return !(math.Abs(v) <= furthest) } // or NaN
	switch {
	case !k.Box.valid():
		return fmt.Errorf("its box is %v", k.Box)
	case fast(k.Velocity[0]), fast(k.Velocity[1]):
		return fmt.Errorf("its velocity is %v", k.Velocity)
	case !(k.Score >= 0 && k.Score <= 1):
		return fmt.Errorf("its score is %v", k.Score)
	case k.Unseen < 0:
		return fmt.Errorf("it has not been seen for %v", k.Unseen)
	case len(k.Appearance) > 0 && unit(k.Appearance) == nil:
		return errors.New("its appearance is not of unit length")
	}
	return nil
}
