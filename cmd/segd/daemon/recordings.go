package daemon

import (
	"time"

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
