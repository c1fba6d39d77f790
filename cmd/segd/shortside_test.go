package main

import (
	"testing"

	"github.com/segd/segd/config"
	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/onvif"
)

// Packages that do not know each other have one default of what the network sees of a picture.
func TestShortSide(t *testing.T) {
	if dnn.DefaultShortSide != config.DefaultShortSide || onvif.DefaultShortSide != config.DefaultShortSide {
		t.Errorf("short sides of %d in config, %d in features/dnn and %d in onvif; want one",
			config.DefaultShortSide, dnn.DefaultShortSide, onvif.DefaultShortSide)
	}
}
