package main

import (
	"errors"
	"log/slog"
	"reflect"
	"testing"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/config"
	"github.com/segd/segd/mqtt"
	"github.com/segd/segd/pipeline"
)

// The broker is told of cameras that do not run as well, but not of one that is about to come.
func TestMQTTCameras(t *testing.T) {
	cfg, err := config.Parse("f", []byte("cameras: [{name: gate, url: 'whip:', detect: {classes: [person]}, zones: [{name: yard, polygon: [[0, 0], [1, 0], [1, 1]]}]}]\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	d := newDaemon(cfg, slog.New(slog.DiscardHandler))
	if d.set, err = pipeline.NewSet(); err != nil {
		t.Fatal(err)
	}
	d.added.setFile(cfg.Cameras)
	d.added.put("attic", &addedCamera{storedCamera: storedCamera{Name: "attic", Paused: true, Camera: map[string]any{
		"name": "attic", "url": "whip:", "detect": map[string]any{"classes": []any{"car"}, "off": true}, "zones": []any{map[string]any{"name": "door"}},
	}}})
	d.added.put("loft", &addedCamera{storedCamera: storedCamera{Name: "loft"}, fault: errors.New("it cannot be read")})
	list, complete := d.mqttCameras()
	want := []mqtt.Camera{
		{Name: "gate", Classes: []string{"person"}, Zones: []string{"yard"}, Detect: true},
		{Name: "attic", Here: true, Classes: []string{"car"}, Zones: []string{"door"}, Paused: true, Switches: true},
		{Name: "loft", Here: true, Fault: "it cannot be read", Switches: true},
	}
	if !reflect.DeepEqual(list, want) || !complete {
		t.Errorf("%+v, %v; want %+v, all of them", list, complete, want)
	}
	for fault, whole := range map[error]bool{errNoKeyPath: true, errors.New("no answer"): false} {
		d.added.setUnread(fault)
		if _, complete := d.mqttCameras(); complete != whole {
			t.Errorf("%v: all of them %v, want %v", fault, complete, whole)
		}
	}
}

// failing is a bus that takes nothing.
type failing struct{}

var errAway = errors.New("the server is away")

func (failing) PublishMask(*segdv1.MaskFrame) error { return errAway }
func (failing) PublishEvent(*segdv1.Event) error    { return errAway }
func (failing) PublishStatus(*segdv1.Status) error  { return errAway }

// What the bus does not take the broker is told all the same; without a broker there is nothing but the bus.
func TestBothPublishers(t *testing.T) {
	broker, err := mqtt.New(mqtt.Config{URL: "mqtt://127.0.0.1:1", Prefix: "segd", Site: "home", Cameras: func() ([]mqtt.Camera, bool) { return nil, true }})
	if err != nil {
		t.Fatal(err)
	}
	both := bothPublishers{failing{}, broker}
	for _, err := range []error{both.PublishMask(&segdv1.MaskFrame{}), both.PublishStatus(&segdv1.Status{}), both.PublishEvent(&segdv1.Event{})} {
		if !errors.Is(err, errAway) {
			t.Errorf("got %v, want the bus's error", err)
		}
	}
	if n := broker.Stats().Waiting; n != 1 {
		t.Errorf("%d messages wait for the broker, want the event", n)
	}
	d := newDaemon(&config.Config{}, slog.New(slog.DiscardHandler))
	if p := d.publisher(); !reflect.DeepEqual(p, pipeline.Publisher(d.bus)) {
		t.Errorf("without a broker it is %T", p)
	}
}
