package daemon

import (
	"testing"
	"time"

	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/internal/cores"
)

// A box says what it can do before it has done anything, also where the network was not timed.
func TestCapacityGuess(t *testing.T) {
	for _, tt := range []struct {
		name string
		info dnn.Info
		want time.Duration
	}{
		{"of the engine that is used", dnn.Info{Engine: "b", Engines: []dnn.EngineInfo{{Name: "a", Milliseconds: 9}, {Name: "b", Milliseconds: 20}}}, 20 * time.Millisecond},
		{"of a probe", dnn.Info{Milliseconds: 3}, 3 * time.Millisecond},
		{"not timed", dnn.Info{Engine: "a", Engines: []dnn.EngineInfo{{Name: "a"}}}, 0},
	} {
		if got := networkTime(tt.info); got != tt.want {
			t.Errorf("%s: %v; want %v", tt.name, got, tt.want)
		}
	}
	for network, want := range map[time.Duration]float64{20 * time.Millisecond: 1 / .065, 0: 1 / .125} {
		c := newCapacity(cores.New(2))
		if c.guess(network); c.framesPerSecond() < want*.999 || c.framesPerSecond() > want*1.001 {
			t.Errorf("a network of %v: %v frames/s; want %v", network, c.framesPerSecond(), want)
		}
	}
}
