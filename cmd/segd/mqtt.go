package main

import (
	"encoding/json"
	"slices"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/config"
	"github.com/segd/segd/internal/cli"
	"github.com/segd/segd/internal/configured"
	"github.com/segd/segd/metrics"
	"github.com/segd/segd/mqtt"
	"github.com/segd/segd/pipeline"
	"github.com/segd/segd/web"
)

// openMQTT makes ready for the broker of the configuration, if it has one. Nothing is dialled yet.
func (d *daemon) openMQTT() (err error) {
	if !d.cfg.MQTT.On() {
		return nil
	}
	c := configured.MQTT(d.cfg, d.log)
	c.Version, c.Cameras = version, d.mqttCameras
	c.State = func(camera string) (*segdv1.Status, error) {
		cam, err := d.set.Camera(camera)
		if err != nil {
			return nil, err
		}
		return cam.State(), nil
	}
	c.Snapshot = func(camera string) ([]byte, error) {
		_, picture, err := d.web.Snapshot(camera, true)
		return picture, err
	}
	if d.cfg.MQTT.Commands {
		c.Set = d.cameras.Set
	}
	if d.mqtt, err = mqtt.New(c); err != nil {
		return cli.Usage(err)
	}
	d.meters.MQTT(func() metrics.MQTT {
		s := d.mqtt.Stats()
		return metrics.MQTT{
			Connected: s.Connected, Connections: s.Connections, Waiting: s.Waiting, Published: s.Published,
			Lost:     map[string]uint64{"queue_full": s.Overflowed, "refused": s.Refused, "ended": s.Unsent},
			Commands: map[string]uint64{"done": s.Commands, "failed": s.Faulty},
		}
	})
	return nil
}

// publisher is where cameras publish: the bus, and the broker too if there is one.
func (d *daemon) publisher() pipeline.Publisher {
	if d.mqtt == nil {
		return d.bus
	}
	return bothPublishers{d.bus, d.mqtt}
}

// bothPublishers tell a broker of what goes to the bus, whatever becomes of it there.
type bothPublishers struct {
	pipeline.Publisher
	mqtt *mqtt.Publisher
}

func (b bothPublishers) PublishMask(m *segdv1.MaskFrame) error {
	b.mqtt.Mask(m)
	return b.Publisher.PublishMask(m)
}

func (b bothPublishers) PublishEvent(ev *segdv1.Event) error {
	b.mqtt.Event(ev)
	return b.Publisher.PublishEvent(ev)
}

func (b bothPublishers) PublishStatus(st *segdv1.Status) error {
	b.mqtt.Status(st)
	return b.Publisher.PublishStatus(st)
}

// mqttCameras are all cameras, as far as they are known. Those that do not run are told of by the one box of a fleet
// that places cameras.
func (d *daemon) mqttCameras() (list []mqtt.Camera, complete bool) {
	declared, _ := d.cameras.Declared()
	idle := d.box == nil
	if !idle && slices.ContainsFunc(declared, func(c web.Declared) bool { return c.Paused || c.Fault != "" }) {
		s := d.box.member.Status()
		idle = s.Plan == s.Box
	}
	return mqttList(declared, d.cameras.Settings().Cameras, d.set, idle), d.cameras.Complete()
}

// mqttList is what a broker is told of the declared cameras, whose settings, if they run on any box, are among those
// given. Of those that do not run this box tells only where idle.
func mqttList(declared []web.Declared, settings []config.Camera, here *pipeline.Set, idle bool) (list []mqtt.Camera) {
	for _, one := range declared {
		c := mqtt.Camera{Name: one.Name, Paused: one.Paused, Fault: one.Fault, Switches: one.Source == web.SourceAdded}
		c.Here = idle && (c.Paused || c.Fault != "")
		if i := slices.IndexFunc(settings, func(cam config.Camera) bool { return cam.Name == one.Name }); i >= 0 {
			c.Classes, c.Detect = settings[i].Detect.Classes, settings[i].Detect.On()
			for _, z := range settings[i].Zones {
				c.Zones = append(c.Zones, z.Name)
			}
		} else {
			asGiven(&c, one.Given)
		}
		if cam, err := here.Camera(one.Name); err == nil {
			c.Here, c.Zones = true, nil
			for _, z := range cam.Zones().Zones { // which may have been set while it ran
				c.Zones = append(c.Zones, z.Name)
			}
		}
		list = append(list, c)
	}
	return list
}

// asGiven sets what is known of a camera that does not run, and was added as that JSON says.
func asGiven(c *mqtt.Camera, given json.RawMessage) {
	var cam struct {
		Detect struct {
			Classes []string
			Off     bool
		}
		Zones []struct{ Name string }
	}
	if json.Unmarshal(given, &cam) != nil {
		return // it cannot be read, and Fault says so
	}
	c.Classes, c.Detect = cam.Detect.Classes, len(cam.Detect.Classes) > 0 && !cam.Detect.Off
	for _, z := range cam.Zones {
		c.Zones = append(c.Zones, z.Name)
	}
}
