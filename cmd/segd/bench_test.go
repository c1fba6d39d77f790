package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// Cameras of another process are received and measured; the JSON has the
// documented keys and no others.
func TestBenchIngest(t *testing.T) {
	c := start(t, "bench", "ingest", "--cameras", "2", "--for", "1s", "--json")
	if err := c.Wait(t, time.Minute); err != nil {
		t.Fatalf("%v\n%s", err, c.Err.String())
	}
	var r struct {
		Cameras    int     `json:"cameras"`
		FramesLost *int    `json:"frames_lost"`
		CPU        float64 `json:"cpu_percent_per_camera"`
		RSSMB      float64 `json:"rss_mb_per_camera"`
		FPS        float64 `json:"fps"`
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(c.Out.String())))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		t.Fatalf("%v in %s", err, c.Out.String())
	}
	// That none is lost is a matter of the machine; that it is told is not.
	if r.FramesLost == nil || *r.FramesLost < 0 || r.Cameras != 2 || r.CPU <= 0 || r.RSSMB <= 0 || r.FPS <= 0 {
		t.Errorf("%s", c.Out.String())
	}
	if c = start(t, "bench", "ingest", "--cameras", "1", "--for", "1s", "--transport", "udp"); c.Wait(t, time.Minute) != nil ||
		!strings.HasPrefix(c.Out.String(), "1 cameras of 854×480: ") || !strings.Contains(c.Out.String(), " frames lost, ") {
		t.Errorf("for people:\n%s%s", c.Out.String(), c.Err.String())
	}
}
