package main

import (
	"log/slog"
	"testing"

	"github.com/segd/segd/config"
)

// A detector is shared by the cameras that it finds enough for, and closed with the last of those that use
// it, but for the newest.
func TestDetectors(t *testing.T) {
	var d detectors
	t.Cleanup(func() {
		if err := d.close(); err != nil {
			t.Error(err)
		}
	})
	open := func(one *detector) bool {
		_, err := one.Detect(nil, picture(0), clipWidth, clipHeight)
		return err == nil
	}
	// turn has the cameras of text, of which those in built are new.
	turn := func(text string, built ...string) (*detector, bool) {
		t.Helper()
		cfg, err := config.Parse("test", []byte("cameras: ["+text+"]\n"), nil)
		if err != nil {
			t.Fatal(err)
		}
		one, opened, err := d.open(cfg, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		anew := map[string]bool{}
		for _, name := range built {
			anew[name] = true
		}
		if err := d.use(one, anew, cfg.Cameras); err != nil {
			t.Fatal(err)
		}
		return one, opened
	}
	const (
		a     = "{name: a, url: 'whip:', detect: {classes: [person], score: 0.5}}"
		b     = "{name: b, url: 'whip:', detect: {classes: [person], score: 0.6}}"
		c     = "{name: c, url: 'whip:', detect: {classes: [person], score: 0.3}}"
		plain = "{name: a, url: 'whip:'}"
	)
	if one, opened := turn(plain, "a"); one != nil || opened {
		t.Error("a detector was opened for nobody")
	}
	first, opened := turn(a, "a")
	if !opened {
		t.Error("none was opened")
	}
	if same, opened := turn(a+","+b, "b"); opened || same != first {
		t.Error("another was opened for what the first finds")
	}
	second, opened := turn(a+","+b+","+c, "c")
	if !opened || second == first {
		t.Error("none was opened for a lower score")
	}
	turn(b+","+c, "") // a has gone, b has the first still
	if !open(first) || !open(second) {
		t.Error("one was closed that is in use")
	}
	turn(b+","+c, "b")
	if open(first) || !open(second) || len(d.all) != 1 {
		t.Errorf("the first open %v, want it closed; the second open %v", open(first), open(second))
	}
	if turn(plain, "a"); !open(second) {
		t.Error("the newest was closed")
	}
}
