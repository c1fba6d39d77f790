package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/segd/segd/api"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/configured"
	"github.com/segd/segd/config"
	"github.com/segd/segd/outputs/mqtt"
	"github.com/segd/segd/outputs/recording"
	"github.com/segd/segd/outputs/webhook"
	"github.com/segd/segd/pipeline"
	"github.com/segd/segd/pipeline/set"
)

// openMQTT makes ready for the broker of the configuration, if it has one. Nothing is dialled yet.
func (d *daemon) openMQTT() (err error) {
	if !d.cfg.MQTT.On() {
		return nil
	}
	c := configured.MQTT(d.cfg, d.log)
	c.Version, c.Cameras = d.version.Number, d.mqttCameras
	c.State = func(camera string) (*segdv1.Status, error) {
		cam, err := d.set.Camera(camera)
		if err != nil {
			return nil, err
		}
		return cam.State(), nil
	}
	if !d.cfg.MQTT.NoSnapshots {
		c.Thumbnail = d.web.ThumbnailOf
	}
	if d.cfg.MQTT.Commands {
		c.Set = func(ctx context.Context, camera string, patch []byte) error {
			_, err := d.cameras.Set(ctx, camera, patch)
			return err
		}
	}
	if d.mqtt, err = mqtt.New(c); err != nil {
		return cli.Usage(err)
	}
	d.meters.MQTT(d.mqtt.Stats)
	return nil
}

// publisher is where cameras publish: the bus, and webhooks and the broker, if there is one, whatever becomes of it on
// the bus.
type publisher struct {
	pipeline.Publisher // the bus
	webhooks           *webhook.Sender
	mqtt               *mqtt.Publisher   // may be nil
	recorder           *recording.Camera // likewise
}

func (p publisher) PublishMask(m *segdv1.MaskFrame) error {
	if p.mqtt != nil {
		p.mqtt.Mask(m)
	}
	if p.recorder != nil {
		p.recorder.Masks(m)
	}
	return p.Publisher.PublishMask(m)
}

func (p publisher) PublishEvent(ev *segdv1.Event) error {
	if p.mqtt != nil {
		p.mqtt.Event(ev)
	}
	p.webhooks.Event(ev)
	return p.Publisher.PublishEvent(ev)
}

func (p publisher) PublishStatus(st *segdv1.Status) error {
	if p.mqtt != nil {
		p.mqtt.Status(st)
	}
	return p.Publisher.PublishStatus(st)
}

// mqttCameras are all cameras, as far as they are known. Those that do not run are told of by the one box of a fleet
// that places cameras.
func (d *daemon) mqttCameras() (list []mqtt.Camera, complete bool) {
	declared, _ := d.cameras.Declared()
	idle := d.box == nil
	if !idle && slices.ContainsFunc(declared, func(c api.Declared) bool { return c.Paused || c.Fault != "" }) {
		s := d.box.member.Status()
		idle = s.Plan == s.Box
	}
	settings := d.cameras.Settings()
	return mqttList(declared, settings.Cameras, settings.PrivacyOf, d.set, idle), d.cameras.Complete()
}

// hides is mqtt.Camera's.
func hides(cam config.Camera, p config.Privacy) string {
	if len(p.Blur)+len(p.Fill)+len(cam.Ignore) == 0 {
		return ""
	}
	return fmt.Sprintf("blur %q, fill %q, except %q, margin %s, ignore %v", p.Blur, p.Fill, p.Except, cmp.Or(p.Margin, config.DefaultPrivacyMargin), cam.Ignore)
}

// mqttList is what a broker is told of the declared cameras, whose settings, if they run on any box, are among those
// given. Of those that do not run this box tells only where idle.
func mqttList(
	declared []api.Declared, settings []config.Camera, privacyOf func(config.Camera) config.Privacy, here *set.Set[*pipeline.Camera], idle bool,
) (list []mqtt.Camera) {
	known := make(map[string]config.Camera, len(settings))
	for _, cam := range settings {
		known[cam.Name] = cam
	}
	for _, one := range declared {
		cam, ok := known[one.Name]
		if !ok {
			_ = json.Unmarshal(one.Given, &cam) // where it cannot be read Fault says so
		}
		c := mqtt.Camera{
			Name: one.Name, Paused: one.Paused, Fault: one.Fault, Switches: one.Source == api.SourceAdded,
			Here: idle && (one.Paused || one.Fault != ""), Classes: cam.Detect.Classes, Detect: cam.Detect.On(),
			Hides: hides(cam, privacyOf(cam)),
		}
		zones := cam.Zones
		if runs, err := here.Camera(one.Name); err == nil {
			c.Here, zones = true, nil
			for _, z := range runs.Zones().Zones { // which may have been set while it ran
				c.Zones = append(c.Zones, z.Name)
			}
		}
		for _, z := range zones {
			c.Zones = append(c.Zones, z.Name)
		}
		list = append(list, c)
	}
	return list
}
