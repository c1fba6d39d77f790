package pipeline

import (
	"fmt"
	"slices"
	"sync"

	"github.com/segd/segd/features"
	"github.com/segd/segd/ingest"
)

// picture is a frame's, as the stepper keeps it to make a scene of it when it is annotated.
type picture struct {
	*ingest.Kept
	by *remaker
}

func (p *picture) Scene(dst *features.Scene, plan features.Plan) error {
	return p.by.scene(dst, p.Kept, plan)
}

// remaker makes scenes of earlier frames, one at a time, without disturbing the stage that
// makes those of new ones.
type remaker struct {
	make func() (Extractor, error)
	mu   sync.Mutex
	idle sync.Pool // of *remaking: between annotations the garbage collector takes their memory
}

type remaking struct {
	extract Extractor
	bgr     []byte
}

func (r *remaker) scene(dst *features.Scene, k *ingest.Kept, plan features.Plan) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	w, ok := r.idle.Get().(*remaking)
	if !ok {
		extract, err := r.make()
		if err != nil {
			return fmt.Errorf("pipeline: features: %w", err)
		}
		w = &remaking{extract: extract}
	}
	w.bgr = slices.Grow(w.bgr[:0], 3*k.Width*k.Height)[:3*k.Width*k.Height]
	if err := k.BGR(w.bgr); err != nil {
		return err
	}
	plan.PixelAspect = k.PixelAspect
	if err := w.extract.Extract(dst, w.bgr, k.Width, k.Height, plan); err != nil {
		return err // what failed may be broken
	}
	r.idle.Put(w)
	return nil
}
