package main

import (
	"strings"
	"testing"
	"time"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/demo"
	"github.com/segd/segd/internal/cli/clitest"
)

// The zones and lines of the configuration reach the events, the metrics, the status and the API.
func TestZonesOfARunningSegd(t *testing.T) {
	t.Parallel()
	server := camera(t, demo.Config{})
	httpAddr, natsAddr := freeAddr(t), freeAddr(t)
	start(t, "run", "-c", clitest.File(t, "segd.yaml", quick(httpAddr, natsAddr)+"cameras:\n"+
		"  - {name: gate, transport: tcp, url: '"+server.URL()+"', annotation: '"+clitest.File(t, "a.json", squareAnnotation)+"',\n"+
		"     zones: [{name: all, polygon: [[0, 0], [1, 0], [1, 1], [0, 1]], by: share, dwell: 1s}],\n"+
		"     lines: [{name: edge, points: [[0, 0.01], [0.01, 0]]}]}\n"))
	h := listen(t, natsAddr)
	clitest.Until(t, time.Minute, "an object that stays", func() bool {
		return h.event("gate", segdv1.EventKind_EVENT_KIND_OBJECT_STAYED) != nil
	})
	if e := h.event("gate", segdv1.EventKind_EVENT_KIND_OBJECT_ENTERED); e.GetZone() != "all" || e.GetObjectId() != 1 || e.GetObjectLabel() != "square" {
		t.Errorf("event %v", e)
	}
	for series, want := range map[string]string{
		`segd_zone_entries_total{camera="gate",zone="all"}`:                       "1",
		`segd_zone_stays_total{camera="gate",zone="all"}`:                         "1",
		`segd_zone_objects{camera="gate",zone="all"}`:                             "1",
		`segd_line_crossings_total{camera="gate",direction="a_to_b",line="edge"}`: "0",
	} {
		if got := metric(t, httpAddr, series); got != want {
			t.Errorf("%s is %q; want %s", series, got, want)
		}
	}
	var info string
	clitest.Until(t, time.Minute, "the entry in the status", func() bool {
		info = strings.ReplaceAll(get(t, "http://"+httpAddr+"/api/v1/cameras/gate"), " ", "")
		return strings.Contains(info, `"zones":[{"name":"all","objects":1,"entries":"1","stays":"1"}],"lines":[{"name":"edge","aToB":"0","bToA":"0"}]`)
	})
	if want := `"zones":[{"name":"all","polygon":[[0,0],[1,0],[1,1],[0,1]],"by":"share","share":0.5,"dwell":"1s"}],"lines":[{"name":"edge","points":[[0,0.01],[0.01,0]]}]`; !strings.Contains(info, want) {
		t.Errorf("%s; want %s", info, want)
	}
}
