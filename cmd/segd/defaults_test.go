package main

import (
	"testing"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/config"
	"github.com/segd/segd/features"
	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/fleet"
	"github.com/segd/segd/ingest/onvif"
	"github.com/segd/segd/objects/marking"
	"github.com/segd/segd/pipeline"
	"github.com/segd/segd/web"
	"github.com/segd/segd/web/whip"
)

// Packages that do not know each other have the same defaults.
func TestDefaults(t *testing.T) {
	for setting, tt := range map[string]struct{ config, other any }{
		"site":                  {config.DefaultSite, bus.DefaultSite},
		"http.addr":             {config.DefaultHTTPAddr, web.DefaultAddr},
		"http.viewers":          {config.DefaultViewers, web.DefaultMaxViewers},
		"whip.addr":             {config.DefaultWHIPAddr, whip.DefaultAddr},
		"model.short_side":      {config.DefaultShortSide, dnn.DefaultShortSide},
		"discovery":             {config.DefaultShortSide, onvif.DefaultShortSide},
		"model.batch_wait":      {config.DefaultBatchWait, dnn.DefaultBatchWait.String()},
		"superpixels":           {config.DefaultSuperpixels, features.DefaultSuperpixels},
		"fleet.ttl":             {config.DefaultFleetTTL, fleet.DefaultTTL.String()},
		"nats.addr":             {"nats://" + config.DefaultNATSAddr, bus.DefaultURL},
		"detect.every":          {config.DefaultDetectEvery, pipeline.DefaultEvery.String()},
		"detect.every, a model": {config.DefaultDetectorEvery, pipeline.DefaultDetectorEvery.String()},
		"detect.keep":           {config.DefaultDetectKeep, pipeline.DefaultKeep.String()},
		"detect.max_objects":    {config.DefaultDetectObjects, marking.DefaultMaxObjects},
	} {
		if tt.config != tt.other {
			t.Errorf("%s: %v in config, %v in the package that it is for", setting, tt.config, tt.other)
		}
	}
}
