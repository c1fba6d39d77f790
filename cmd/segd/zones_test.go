package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/cmd/segd/daemon/daemontest"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/internal/freeport"
	"github.com/segd/segd/internal/waitfor"
)

// The zones and lines of the configuration reach the events, the metrics, the status and the API.
func TestZonesOfARunningSegd(t *testing.T) {
	t.Parallel()
	server := daemontest.Camera(t, demo.Config{})
	httpAddr, natsAddr := freeport.Addr(t), freeport.Addr(t)
	start(t, "run", "-c", clitest.File(t, "segd.yaml", daemontest.Quick(httpAddr, natsAddr)+"cameras:\n"+
		"  - {name: gate, transport: tcp, url: '"+server.URL()+"', annotation: '"+clitest.File(t, "a.json", daemontest.Annotation)+"',\n"+
		"     zones: [{name: all, polygon: [[0, 0], [1, 0], [1, 1], [0, 1]], by: share, dwell: 1s}],\n"+
		"     lines: [{name: edge, points: [[0, 0.01], [0.01, 0]]}]}\n"))
	h := listen(t, natsAddr)
	waitfor.True(t, "an object that stays", func() bool {
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
	waitfor.True(t, "the entry in the status", func() bool {
		info = strings.ReplaceAll(get(t, "http://"+httpAddr+"/api/v1/cameras/gate"), " ", "")
		return strings.Contains(info, `"zones":[{"name":"all","objects":1,"entries":"1","stays":"1"}],"lines":[{"name":"edge","aToB":"0","bToA":"0"}]`)
	})
	if want := `"zones":[{"name":"all","polygon":[[0,0],[1,0],[1,1],[0,1]],"by":"share","share":0.5,"dwell":"1s"}],"lines":[{"name":"edge","points":[[0,0.01],[0.01,0]]}]`; !strings.Contains(info, want) {
		t.Errorf("%s; want %s", info, want)
	}

	// Others take their place while the camera runs.
	const polygon = `"polygon":[[0,0],[1,0],[1,1],[0,1]]`
	url := "http://" + httpAddr + "/api/v1/cameras/gate/zones"
	status, answer := send(t, http.MethodPut, url, `{"zones":[{"name":"crossed","polygon":[[0,0],[1,1],[1,0],[0,0.9]]}],"lines":[]}`)
	if status != http.StatusBadRequest || !strings.Contains(answer, `"pointer":"/zones/0/polygon"`) {
		t.Errorf("a polygon that crosses itself: %d %s", status, answer)
	}
	status, answer = send(t, http.MethodPut, url, `{"zones":[{"name":"all",`+polygon+`,"by":"share","dwell":"1s"},{"name":"new",`+polygon+`,"by":"share"}],"lines":[]}`)
	if status != http.StatusOK || !strings.Contains(answer, `{"name":"new",`+polygon+`,"by":"share","share":0.5,"dwell":""}],"lines":[]}`) {
		t.Errorf("%d %s", status, answer)
	}
	waitfor.True(t, "the object in the new zone", func() bool {
		return metric(t, httpAddr, `segd_zone_objects{camera="gate",zone="new"}`) == "1"
	})
	if text := get(t, "http://"+httpAddr+"/metrics"); !strings.Contains(text, `segd_zone_entries_total{camera="gate",zone="all"} 1`) || strings.Contains(text, `line="edge"`) {
		t.Errorf("metrics:\n%s", text)
	}
}
