package pipeline

import (
	"fmt"
	"sync"
	"time"

	"github.com/segd/segd/features"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/internal/buffers"
)

// picture is a frame's, as the stepper keeps it to make a scene of it when it is annotated.
type picture struct {
	*ingest.Kept
	by  *remaker
	pts time.Duration
}

func (p *picture) PTS() time.Duration { return p.pts }

func (p *picture) Scene(dst *features.Scene, plan features.Plan) error {
	return p.by.scene(dst, p.Kept, plan)
}

// remaker makes scenes of earlier frames, one at a time, without disturbing the stage that
// makes those of new ones.
type remaker struct {
	make func() (Extractor, error)

	mu      sync.Mutex
	extract Extractor // nil before the first scene, after one that failed, and at rest
	used    time.Time
}

// restAfter is after how long without a scene the memory for them goes, which has what the model made of a picture.
const restAfter = 10 * time.Second

// rest gives the memory back if no scene was made of late. It waits for nothing.
func (r *remaker) rest(now time.Time) {
	if r.mu.TryLock() {
		if now.Sub(r.used) > restAfter {
			r.extract = nil
		}
		r.mu.Unlock()
	}
}

func (r *remaker) scene(dst *features.Scene, k *ingest.Kept, plan features.Plan) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	extract := r.extract
	r.extract = nil // what panics may be broken
	if extract == nil {
		var err error
		if extract, err = r.make(); err != nil {
			return fmt.Errorf("pipeline: features: %w", err)
		}
	}
	bgr := buffers.Get[byte](3 * k.Width * k.Height)
	defer buffers.Put(bgr)
	if err := k.BGR(bgr); err != nil {
		return err
	}
	plan.PixelAspect = k.PixelAspect
	if err := extract.Extract(dst, bgr, k.Width, k.Height, plan); err != nil {
		return err
	}
	r.extract, r.used = extract, time.Now()
	return nil
}
