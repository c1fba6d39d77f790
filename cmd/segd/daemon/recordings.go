package daemon

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/segd/segd/api"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/config"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/outputs/recording"
)

// openRecordings makes ready for the video of cameras that are recorded, if there is a folder for it.
func (d *daemon) openRecordings() (err error) {
	r := d.cfg.Recording
	if !r.On() {
		return nil
	}
	const day = 24 * time.Hour
	cfg := recording.Config{Dir: r.Dir, MaxAge: time.Duration(r.Days) * day, MaxBytes: int64(r.MaxMiB) << 20, Logger: d.log}
	if d.recordings, err = recording.Open(cfg); err != nil {
		return cli.Usage(err)
	}
	d.meters.Recordings(d.recordings.Stats)
	return nil
}

// recorder is that of a camera; nil: it is not recorded.
func (d *daemon) recorder(cam config.Camera) *recording.Camera {
	if d.recordings == nil || !cam.Record {
		return nil
	}
	return d.recordings.Camera(cam.Name)
}

// recorded has o tell r of the camera's video, too.
func recorded(o ingest.Observer, r *recording.Camera) ingest.Observer {
	if r != nil {
		o.Unit = r.Unit
	}
	return o
}

// shownRecordings are those that the page may show.
type shownRecordings struct {
	*recording.Store
	d *daemon
}

// State refuses to show recordings of a camera whose pictures hide something now: they show it.
func (s shownRecordings) State(camera string) (recording.State, error) {
	hides, known := s.d.hidesNow(camera)
	if !known || hides != "" {
		return recording.State{}, &api.Refusal{Status: http.StatusNotFound, Detail: fmt.Sprintf("recordings of camera %s are not shown: they have all that it sees, and privacy or ignore hides some of it now", camera)}
	}
	if i := slices.IndexFunc(s.d.cameras.Settings().Cameras, func(c config.Camera) bool { return c.Name == camera }); i >= 0 && !s.d.cameras.Settings().Cameras[i].Record {
		return recording.State{Is: "off", Reason: "the camera has no record: true"}, nil
	}
	return s.StateOf(camera), nil
}
