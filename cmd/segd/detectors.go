package main

import (
	"errors"
	"log/slog"
	"maps"
	"slices"

	"github.com/segd/segd/config"
	"github.com/segd/segd/internal/configured"
)

// detectors are what cameras find things with: one for all of them, opened when the first needs it,
// and another one when cameras come that want what it does not look for. Who has the daemon's turn
// uses it.
type detectors struct {
	model config.Model         // with what computes them
	all   []*detector          // those that are used, and the newest at the end
	used  map[string]*detector // by camera
}

// detector is one, with what it looks for.
type detector struct {
	configured.Detector
	classes []string
	score   float64
}

// looks tells whether d finds all that a camera wants.
func (d *detector) looks(wanted config.Detect) bool {
	missing := func(class string) bool { return !slices.Contains(d.classes, class) }
	return d.score <= wanted.Score && !slices.ContainsFunc(wanted.Classes, missing)
}

// open returns what finds all that the cameras of cfg want, nil if they want nothing, and whether it is
// a new one.
func (d *detectors) open(cfg *config.Config, log *slog.Logger) (_ *detector, opened bool, err error) {
	if n := len(d.all); n > 0 && !slices.ContainsFunc(cfg.Cameras, func(c config.Camera) bool { return c.Detect.On() && !d.all[n-1].looks(c.Detect) }) {
		return d.all[n-1], false, nil
	}
	with := *cfg
	with.Model = d.model
	one, err := configured.OpenDetector(&with)
	if one == nil || err != nil {
		return nil, false, err
	}
	log.Info("the detector", "model", one.String())
	found := &detector{Detector: one, score: 1}
	for _, cam := range cfg.Cameras {
		if cam.Detect.On() {
			found.classes = append(found.classes, cam.Detect.Classes...)
			found.score = min(found.score, cam.Detect.Score)
		}
	}
	return found, true, nil
}

// use notes that the cameras in built, of those that there are, find things with one by now, and closes
// what nobody uses any more.
func (d *detectors) use(one *detector, built map[string]bool, cameras []config.Camera) error {
	if one != nil && !slices.Contains(d.all, one) {
		d.all = append(d.all, one)
	}
	before := d.used
	d.used = map[string]*detector{}
	for _, cam := range cameras {
		switch {
		case !cam.Detect.On():
		case built[cam.Name]:
			d.used[cam.Name] = one
		default:
			d.used[cam.Name] = before[cam.Name]
		}
	}
	var faults []error
	kept := d.all[:0:0]
	inUse := slices.Collect(maps.Values(d.used))
	for i, x := range d.all {
		if i == len(d.all)-1 || slices.Contains(inUse, x) {
			kept = append(kept, x)
		} else {
			faults = append(faults, x.Close())
		}
	}
	d.all = kept
	return errors.Join(faults...)
}

// close closes them all.
func (d *detectors) close() error {
	var faults []error
	for _, x := range d.all {
		faults = append(faults, x.Close())
	}
	d.all, d.used = nil, nil
	return errors.Join(faults...)
}
