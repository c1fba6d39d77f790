package daemon

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/api"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/config"
	"github.com/segd/segd/outputs/mqtt"
	"github.com/segd/segd/pipeline"
	"github.com/segd/segd/pipeline/set"
)

// The broker is told of cameras that do not run as well, but not of one that is about to come.
func TestMQTTCameras(t *testing.T) {
	cfg, err := config.Parse("f", []byte("cameras: [{name: gate, url: 'whip:', detect: {classes: [person]}, zones: [{name: yard, polygon: [[0, 0], [1, 0], [1, 1]]}]}]\n"), nil)
	require.NoError(t, err)
	none := set.New[*pipeline.Camera]()
	declared := []api.Declared{
		{Name: "gate", Source: api.SourceFile},
		{Name: "attic", Source: api.SourceAdded, Paused: true, Given: []byte(`{"detect": {"classes": ["car"], "off": true}, "privacy": {"fill": ["car"]}, "zones": [{"name": "door"}]}`)},
		{Name: "loft", Source: api.SourceAdded, Fault: "it cannot be read"},
	}
	for _, idle := range []bool{true, false} {
		want := []mqtt.Camera{
			{Name: "gate", Classes: []string{"person"}, Zones: []string{"yard"}, Detect: true},
			{Name: "attic", Hides: `blur [], fill ["car"], except "", margin 10%, ignore []`, Here: idle, Classes: []string{"car"}, Zones: []string{"door"}, Paused: true, Switches: true},
			{Name: "loft", Here: idle, Fault: "it cannot be read", Switches: true},
		}
		assert.Equal(t, want, mqttList(declared, cfg.Cameras, cfg.PrivacyOf, none, idle))
	}
}

// failing is a bus that takes nothing.
type failing struct{}

var errAway = errors.New("the server is away")

func (failing) PublishMask(*segdv1.MaskFrame) error { return errAway }
func (failing) PublishEvent(*segdv1.Event) error    { return errAway }
func (failing) PublishStatus(*segdv1.Status) error  { return errAway }

// What the bus does not take the broker is told all the same, if there is one.
func TestPublisher(t *testing.T) {
	broker, err := mqtt.New(mqtt.Config{URL: "mqtt://127.0.0.1:1", Prefix: "segd", Site: "home", Cameras: func() ([]mqtt.Camera, bool) { return nil, true }})
	require.NoError(t, err)
	d := newDaemon(Version{}, &config.Config{}, slog.New(slog.DiscardHandler))
	for _, to := range []publisher{{failing{}, d.webhooks, broker, nil}, {failing{}, d.webhooks, nil, nil}} {
		for _, err := range []error{to.PublishMask(&segdv1.MaskFrame{}), to.PublishStatus(&segdv1.Status{}), to.PublishEvent(&segdv1.Event{})} {
			assert.ErrorIs(t, err, errAway)
		}
	}
	assert.Equal(t, 1, broker.Stats().Waiting, "messages wait for the broker")
}
