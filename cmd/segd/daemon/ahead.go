package daemon

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/segd/segd/cameras"
	"github.com/segd/segd/config"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/ingest/cameraurl"
)

// aheadFor is for how long a source that runs ahead is kept for who is to take its camera over.
const aheadFor = 15 * time.Second

// ahead are sources that run before their cameras do: those of cameras that other boxes of a fleet are about to give to
// this one.
type ahead struct {
	mu  sync.Mutex
	all map[string]*runsAhead
}

type runsAhead struct {
	*ingest.Ahead
	cam config.Camera
	end *time.Timer
}

// put keeps a source for a while, in place of one there is.
func (a *ahead) put(cam config.Camera, source *ingest.Ahead) {
	one := &runsAhead{Ahead: source, cam: cam}
	a.mu.Lock()
	if a.all == nil {
		a.all = map[string]*runsAhead{}
	}
	old := a.all[cam.Name]
	a.all[cam.Name] = one
	one.end = time.AfterFunc(aheadFor, func() { a.drop(one) })
	a.mu.Unlock()
	if old != nil {
		old.end.Stop()
		old.Close()
	}
}

// drop ends one, unless it was taken or replaced.
func (a *ahead) drop(one *runsAhead) {
	a.mu.Lock()
	there := a.all[one.cam.Name] == one
	if there {
		delete(a.all, one.cam.Name)
	}
	a.mu.Unlock()
	if there {
		one.Close()
	}
}

// take is the source of a camera, if there is one of the same settings.
func (a *ahead) take(cam config.Camera) *ingest.Ahead {
	a.mu.Lock()
	defer a.mu.Unlock()
	one := a.all[cam.Name]
	if one == nil || !reflect.DeepEqual(one.cam, cam) {
		return nil
	}
	delete(a.all, cam.Name)
	one.end.Stop()
	return one.Ahead
}

// close ends those that were not taken.
func (a *ahead) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name, one := range a.all {
		one.end.Stop()
		one.Close()
		delete(a.all, name)
	}
}

// Prepare dials a camera that another box is about to give to this one, and waits for its first frame. It is
// fleet.Runner's.
func (b *box) Prepare(ctx context.Context, camera string) error {
	all := b.d.cameras.Settings().Cameras
	i := slices.IndexFunc(all, func(c config.Camera) bool { return c.Name == camera })
	if i < 0 {
		return fmt.Errorf("camera %q is not known to box %s", camera, b.d.cfg.Fleet.Box)
	}
	cam := all[i]
	if u, err := cameraurl.Parse(cam.URL); err != nil || (u.Kind != cameraurl.RTSP && u.Kind != cameraurl.MJPEG && u.Kind != cameraurl.Snapshot) {
		return err // others have their first frame at once, or when their publisher comes
	}
	source, err := ingest.OpenAhead(cameras.Source(cam, b.d.log))
	if err != nil {
		return err
	}
	if err := source.Wait(ctx); err != nil {
		source.Close()
		return fmt.Errorf("camera %s shows nothing here: %w", camera, err)
	}
	b.ahead.put(cam, source)
	return nil
}
