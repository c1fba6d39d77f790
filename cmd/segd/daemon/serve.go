package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/pipeline"
)

// ready says why segd is not ready. A camera that is down is no reason: others
// may be up, and it comes back by itself.
func (d *daemon) ready() error {
	return d.bus.Err()
}

// snapshots tell how each camera that runs does.
func (d *daemon) snapshots() (snaps []pipeline.Snapshot) {
	for _, c := range d.set.Cameras() {
		snaps = append(snaps, c.Snapshot())
	}
	return snaps
}

// alive says that cameras are up and none advances.
func (d *daemon) alive() error { return d.watch.check(time.Now(), d.snapshots()) }

// settings are those that segd runs with.
func (d *daemon) settings() json.RawMessage { return d.cameras.Settings().Public() }

// serve runs the cameras until ctx ends or all sources have, and the page beside
// them. tick, if not nil, is called once a second.
//
// The order of ending is written here and nowhere else: a box of a fleet gives its cameras to others, the sources stop, the
// frames in hand are finished, publishers and viewers of streams are sent away, recordings are completed, the bus is drained, and
// MQTT, webhooks and HTTP go last, so that the page and the metrics tell of all of it.
func (d *daemon) serve(ctx context.Context, tick func(elapsed time.Duration)) error {
	if d.rtsp != nil {
		if err := d.rtsp.Start(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var helpers sync.WaitGroup

	webCtx, stopWeb := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWeb()
	var webErr, fleetErr error
	helpers.Go(func() {
		defer cancel() // without the page segd would run unseen
		webErr = d.web.Run(webCtx)
	})
	ticked := make(chan struct{})
	if tick != nil {
		helpers.Go(func() { every(time.Second, ticked, tick) })
	}

	helpers.Go(func() { every(time.Second, ticked, func(time.Duration) { _ = d.alive() }) }) // it is to see each advance
	helpers.Go(func() { every(giveBackEvery, ticked, func(time.Duration) { giveBack() }) })
	var mqttErr, webhookErr error
	if d.mqtt != nil {
		helpers.Go(func() { mqttErr = d.mqtt.Run(webCtx) })
	}
	helpers.Go(func() { webhookErr = d.webhooks.Run(webCtx) })
	if d.reloader != nil {
		helpers.Go(func() { d.reloader.run(ctx) })
	}

	running := ctx
	helpers.Go(func() { d.cameras.Follow(ctx) })
	if d.box != nil {
		var stop context.CancelFunc
		running, stop = context.WithCancel(context.WithoutCancel(ctx))
		defer stop()
		helpers.Go(func() { d.box.hearOthers(ctx) })
		helpers.Go(func() { every(time.Second, ticked, func(time.Duration) { d.box.capacity.measure(d.snapshots()) }) })
		helpers.Go(func() {
			defer stop()   // the cameras have ended by then, and are others'
			defer cancel() // should it end by itself
			fleetErr = d.box.member.Run(ctx)
		})
	}

	err := d.set.Run(running)
	cancel()
	d.cameras.Close() // a change in hand ends soon: its cameras have ended
	close(ticked)
	d.closeStreams()
	if d.box != nil {
		d.box.link.Close()
		d.box.ahead.close()
	}
	if d.recordings != nil {
		d.recordings.Close()
	}
	err = errors.Join(err, d.bus.Close())
	d.drained = true
	stopWeb()
	helpers.Wait()
	return errors.Join(err, webErr, fleetErr, mqttErr, webhookErr)
}

// giveBackEvery is how often memory is given back: a garbage collection more, where there are several a second.
const giveBackEvery = 10 * time.Second

// giveBack gives the system the memory that is free: what annotations, pictures that are seen whole and cameras that are
// gone took. Go does so by itself as long as there are cores to spare, and keeps a tenth.
func giveBack() {
	codec.GiveBack()
	debug.FreeOSMemory()
}

// every calls tick at intervals until done is closed.
func every(interval time.Duration, done <-chan struct{}, tick func(elapsed time.Duration)) {
	start := time.Now()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case now := <-ticker.C:
			tick(now.Sub(start))
		}
	}
}
