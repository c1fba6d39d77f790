package pipeline

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/internal/cores"
)

// Cameras that are too much for one core get the same share of it, stage after stage; what was
// begun is finished, and no frame waits for longer than the others take a turn each.
func TestCamerasShareACore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const work = 50 * time.Millisecond // a stage's; ten frames a second of each camera come
		core := cores.New(1)
		var mu sync.Mutex
		working := 0
		stage := func() {
			mu.Lock()
			if working++; working > 1 {
				t.Error("two stages work at once")
			}
			mu.Unlock()
			time.Sleep(work)
			mu.Lock()
			working--
			mu.Unlock()
		}
		var benches []*bench
		for _, name := range []string{"a", "b", "c"} {
			b := newBench(t, name, 60)
			b.cfg.Cores = core
			b.cfg.Viewer = nil
			b.onExtract = func(*features.Scene, features.Plan) error { stage(); return nil }
			b.onStep = func(*features.Scene, *annotation.Annotation) error { stage(); return nil }
			benches = append(benches, b)
		}
		all := setOf(t, benches...)
		require.NoError(t, all.Run(t.Context()))
		assert.Equal(t, 1, core.TryAcquire(2), "cores are free in the end")
		for k, c := range all.Cameras() {
			snap := benches[k].check(t, c)
			if snap.Published < 18 || snap.Published > 23 {
				t.Errorf("camera %s published %d frames in 6 s; want a third of 60", snap.Camera, snap.Published)
			}
			if snap.DroppedBefore[StageTrack] > 0 {
				t.Errorf("camera %s: features were computed in vain of %d frames", snap.Camera, snap.DroppedBefore[StageTrack])
			}
			// What is taken is at most a frame's time old, but for the last of all, and both stages
			// follow each other.
			if snap.Latency.P95 > 100*time.Millisecond+2*work+2*time.Millisecond {
				t.Errorf("camera %s: p95 latency %v", snap.Camera, snap.Latency.P95)
			}
		}
	})
}
