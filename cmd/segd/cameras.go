package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/config"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/internal/cli"
	"github.com/segd/segd/internal/configured"
	"github.com/segd/segd/internal/cores"
	"github.com/segd/segd/pipeline"
)

// layoutTimeout bounds the wait for a camera's frame in hand, after which its zones change.
const layoutTimeout = 10 * time.Second

// settingError is about one setting, for those who are told which.
type settingError struct {
	path string
	err  error
}

func (e *settingError) Error() string { return e.err.Error() }
func (e *settingError) Unwrap() error { return e.err }

// checkFiles finds what the configuration cannot know to be wrong with its cameras: their URLs and
// their annotations, which it returns, by camera.
func checkFiles(ctx context.Context, cfg *config.Config) (map[string]*annotation.Annotation, error) {
	annotations := map[string]*annotation.Annotation{}
	var faults []error
	for i, cam := range cfg.Cameras {
		a, err := checkCamera(ctx, fmt.Sprintf("cameras[%d].", i), cam)
		faults = append(faults, err)
		if a != nil {
			annotations[cam.Name] = a
		}
	}
	return annotations, errors.Join(faults...)
}

// checkCamera is checkFiles of one camera, whose settings are below at.
func checkCamera(ctx context.Context, at string, cam config.Camera) (a *annotation.Annotation, err error) {
	var faults []error
	if cam.Annotation != "" {
		if a, err = configured.ReadAnnotation(ctx, cam.Annotation); err != nil {
			faults = append(faults, &settingError{at + "annotation", fmt.Errorf("camera %s: %w", cam.Name, err)})
		}
	}
	if !cam.Published() {
		if _, err := ingest.Open(configured.Source(cam, nil)); err != nil {
			faults = append(faults, &settingError{at + "url", cli.Usage(err)})
		}
	}
	return a, errors.Join(faults...)
}

// build makes the cameras; nothing is dialled yet. They share the cores, one model and one detector.
func (d *daemon) build(ctx context.Context) (err error) {
	d.turn <- struct{}{}
	defer func() { <-d.turn }()
	d.cores = cores.New(runtime.GOMAXPROCS(0))
	none := *d.cfg
	none.Cameras = nil
	d.current.Store(&none)
	d.ran = &none
	d.added.setFile(d.cfg.Cameras)
	if values, err := d.fetchKept(ctx); err == nil {
		d.takeKept(values)
	} else if !errors.Is(err, errNoKeyPath) {
		d.log.Error("the cameras that are kept are not known yet", "error", err)
	}
	also, marks := d.idle(ctx)
	if d.set, err = pipeline.NewSet(); err != nil {
		return err
	}
	if err := d.openFleet(); err != nil {
		return err
	}
	if len(d.cfg.Cameras)+len(also) == 0 {
		d.log.Info("there are no cameras yet; the page and segd camera add add them")
	}
	if len(d.cfg.Cameras) == 0 {
		d.set.Stay()
	}
	if err := (commands{d}).serve(); err != nil {
		return err
	}
	// Others are given time to object while the model is opened.
	claimed := make(chan error, 1)
	go func() { claimed <- d.bus.Cameras(names(d.here(d.cfg).Cameras)) }()
	err = d.openModel(len(d.cfg.Cameras) + len(also))
	if err = errors.Join(err, <-claimed); err != nil {
		return err
	}
	if len(also) > 0 { // all at once, for one detector for all
		all := *d.cfg
		all.Cameras = d.ordered(slices.Concat(d.cfg.Cameras, also))
		maps.Copy(marks, d.annotations)
		if c, err := d.prepare(&all, marks); err == nil {
			d.set.Stay()
			return d.apply(ctx, c)
		}
	}
	c, err := d.prepare(d.cfg, d.annotations)
	if err != nil {
		return err
	}
	if err := d.apply(ctx, c); err != nil {
		return err
	}
	d.join(ctx)
	return nil
}

// change is a configuration to come, of which everything has been tried that may fail.
type change struct {
	wanted       *config.Config // with all cameras, those that other boxes of a fleet run too
	before, next *config.Config // with those that this segd runs
	again        []string       // cameras that are built anew whatever differs
	diff         config.Difference
	build        map[string]func() pipeline.Config // of the cameras that are new or built anew
	abandon      func() error                      // gives back what was taken for it, if it is not applied
}

// prepare makes ready for the cameras of wanted, as far as this segd runs them, in place of those that it runs. An
// error leaves everything as it was. The caller has the daemon's turn.
func (d *daemon) prepare(wanted *config.Config, annotations map[string]*annotation.Annotation) (_ *change, err error) {
	annotations = d.remember(annotations)
	before, next := d.ran, d.here(wanted)
	c := &change{
		wanted: wanted, before: before, next: next, diff: config.Diff(before, next), again: d.anew(next),
		build: map[string]func() pipeline.Config{},
	}
	whip, err := d.whip.open(next)
	if err != nil {
		return nil, err
	}
	c.abandon = func() error {
		if whip {
			d.whip.close()
		}
		for _, name := range c.diff.Added {
			d.meters.Remove(name)
		}
		return nil
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.abandon())
		}
	}()
	if err := d.openDetector(next); err != nil {
		return nil, err
	}
	var faults []error
	for i, cam := range next.Cameras {
		if !c.builds(cam.Name) {
			continue
		}
		n, marks := len(c.build), annotations[cam.Name]
		c.build[cam.Name] = func() pipeline.Config {
			d.meters.Remove(cam.Name) // what the one before it had
			return d.camera(n, cam, marks, d.detector)
		}
		if err := d.camera(n, cam, marks, d.detector).Check(); err != nil {
			faults = append(faults, &settingError{fmt.Sprintf("cameras[%d]", i), err})
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	// Last, since others hear of it.
	if err := d.bus.Cameras(names(c.all())); err != nil {
		return nil, err
	}
	free := c.abandon
	c.abandon = func() error { return errors.Join(free(), d.bus.Cameras(names(before.Cameras))) }
	return c, nil
}

// builds tells whether the camera of that name is new, or has to be built anew.
func (c *change) builds(name string) bool {
	return slices.Contains(c.diff.Added, name) || slices.Contains(c.again, name) || slices.ContainsFunc(c.diff.Changed, func(cam config.CameraDifference) bool {
		return cam.Name == name && !cam.LayoutOnly()
	})
}

// moves tells whether nothing but the zones and lines of that camera are others.
func (c *change) moves(name string) bool {
	return slices.ContainsFunc(c.diff.Changed, func(cam config.CameraDifference) bool { return cam.Name == name && cam.LayoutOnly() })
}

// all are the cameras to come, and then those that go.
func (c *change) all() []config.Camera {
	all := slices.Clone(c.next.Cameras)
	for _, cam := range c.before.Cameras {
		if slices.Contains(c.diff.Removed, cam.Name) {
			all = append(all, cam)
		}
	}
	return all
}

func names(cameras []config.Camera) []string {
	all := make([]string, len(cameras))
	for i, cam := range cameras {
		all[i] = cam.Name
	}
	return all
}

// apply makes the change. Whoever knows of cameras knows those that come before they begin, and those that
// go until they have ended; the others notice nothing.
func (d *daemon) apply(ctx context.Context, c *change) error {
	d.tellCameras(c.all(), c.wanted.Cameras)
	d.whip.cameras(slices.Concat(c.next.Cameras, c.before.Cameras))
	faults := []error{d.set.Change(names(c.next.Cameras), c.build)}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), layoutTimeout)
	defer cancel()
	next := *c.next
	next.Cameras = nil
	for _, cam := range c.next.Cameras {
		there, err := d.set.Camera(cam.Name)
		if err != nil {
			continue // it could not be built, though it was tried
		}
		if c.moves(cam.Name) {
			if _, err := there.SetZones(ctx, cam.Layout()); err != nil {
				faults = append(faults, err)
				i := slices.IndexFunc(c.before.Cameras, func(old config.Camera) bool { return old.Name == cam.Name })
				cam = c.before.Cameras[i]
			}
		}
		next.Cameras = append(next.Cameras, cam)
	}
	d.tellCameras(next.Cameras, c.wanted.Cameras)
	d.whip.cameras(next.Cameras)
	for _, name := range c.diff.Removed {
		d.meters.Remove(name)
	}
	faults = append(faults, d.bus.Cameras(names(next.Cameras)))
	d.ran = &next
	if d.box == nil {
		d.current.Store(&next)
		return errors.Join(faults...)
	}
	d.box.built(next.Cameras)
	d.current.Store(c.wanted)
	d.tellFleet(c.wanted.Cameras)
	return errors.Join(faults...)
}

// tellCameras tells those who know of cameras, but for the bus, which may refuse, and for where publishers
// come in. The page has those of all boxes of a fleet.
func (d *daemon) tellCameras(here, all []config.Camera) {
	listed := names(here)
	if d.box != nil {
		listed = names(all)
		for _, cam := range here {
			if !slices.Contains(listed, cam.Name) {
				listed = append(listed, cam.Name)
			}
		}
	}
	d.web.Cameras(listed)
	d.watch.cameras(here)
}
