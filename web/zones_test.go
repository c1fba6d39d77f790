package web

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/segd/segd/internal/limit"
)

func TestSetZones(t *testing.T) {
	c := newCameras()
	_, h := serve(t, Config{Commands: c}, "gate")
	const (
		yard   = `{"name":"yard","polygon":[[0,0],[0.5,0],[0.25,1]]}`
		street = `{"name":"street","points":[[0,0.5],[1,0.5]]}`
	)
	full := func(part string, n int) string {
		all := make([]string, n)
		for i := range all {
			all[i] = strings.ReplaceAll(part, "#", fmt.Sprint(i))
		}
		return strings.Join(all, ",")
	}
	layout := func(zones, lines string) string { return `{"zones":[` + zones + `],"lines":[` + lines + `]}` }
	digits := strings.TrimSuffix(strings.Repeat("[0.12345678901234567,0.12345678901234567],", 64), ",")
	for _, tt := range []struct {
		name, contentType, body string
		status                  int
		want                    string // within the answer
		call                    string
	}{
		{"none", typeJSON, layout("", ""), 200, `{"zones":[],"lines":[]}`, "zones gate {[] []}"},
		{"some", typeJSON, layout(yard, street), 200, `{"zones":[{"name":"yard","polygon":[[0,0],[0.5,0],[0.25,1]],`,
			"zones gate {[{yard [[0 0] [0.5 0] [0.25 1]]  0 0s}] [{street [[0 0.5] [1 0.5]]}]}"},
		{"all of it", typeJSON, layout(`{"name":"yard","polygon":[[0,0],[0.5,0],[0.25,1]],"by":"share","share":0.25,"dwell":"90s"}`, ""), 200, `"by":"share","share":0.25,"dwell":"1m30s"}],"lines":[]}`,
			"zones gate {[{yard [[0 0] [0.5 0] [0.25 1]] share 0.25 1m30s}] []}"},
		{"as it is read", typeJSON, layout(`{"name":"yard","polygon":[[0,0],[0.5,0],[0.25,1]],"by":"foot","share":0.5,"dwell":""}`, ""), 200, `"dwell":""`,
			"zones gate {[{yard [[0 0] [0.5 0] [0.25 1]] foot 0.5 0s}] []}"},
		{"defaults by null", typeJSON, layout(`{"name":"yard","polygon":[[0,0],[0.5,0],[0.25,1]],"by":null,"share":null,"dwell":null}`, ""), 200, `"name":"yard"`,
			"zones gate {[{yard [[0 0] [0.5 0] [0.25 1]]  0 0s}] []}"},

		{"nothing said", typeJSON, `{}`, 400, `"errors":[{"pointer":"/zones","detail":"it is missing; accepts a list, which may be empty"},{"pointer":"/lines",`, ""},
		{"no lines", typeJSON, `{"zones":[],"lines":null}`, 400, `"errors":[{"pointer":"/lines",`, ""},
		{"no list", typeJSON, `{"zones":"yard","lines":[]}`, 400, `{"pointer":"/zones","detail":"a JSON string; accepts a list"}`, ""},
		{"a null", typeJSON, layout(yard+",null", ""), 400, `{"pointer":"/zones/1","detail":"it is not a JSON object: it is null"}`, ""},
		{"a word too many", typeJSON, layout("", `{"name":"street","points":[[0,0],[1,1]],"colour":"red"}`), 400, `{"pointer":"/lines/0","detail":"json: unknown field \"colour\""}`, ""},
		{"a name that is none", typeJSON, layout(`{"name":7,"polygon":[[0,0],[0.5,0],[0.25,1]]}`, ""), 400, `{"pointer":"/zones/0/name","detail":"a JSON number; accepts a string"}`, ""},
		{"a polygon of words", typeJSON, layout(`{"name":"a","polygon":[["left",0],[0.5,0],[0.25,1]]}`, ""), 400, `{"pointer":"/zones/0/polygon","detail":"a JSON string; accepts a number"}`, ""},
		{"three numbers and a dwell", typeJSON, layout(`{"name":"a","polygon":[[0,0,0],[0.5,0],[0.25]],"dwell":"soon"}`, `{"name":"l","points":[[],[1,1]]}`), 400,
			`"detail":"zones[0].polygon[0]: 3 numbers; accepts two, [x, y]; and 3 more","errors":[{"pointer":"/zones/0/polygon/0","detail":"3 numbers; accepts two, [x, y]"},` +
				`{"pointer":"/zones/0/polygon/2","detail":"1 numbers; accepts two, [x, y]"},{"pointer":"/zones/0/dwell","detail":"\"soon\"; accepts a duration of 1s or more, such as 10s"},{"pointer":"/lines/0/points/0",`, ""},
		{"a short dwell", typeJSON, layout(`{"name":"a","polygon":[[0,0],[0.5,0],[0.25,1]],"dwell":"10ms"}`, ""), 400, `"pointer":"/zones/0/dwell","detail":"\"10ms\"; accepts a duration`, ""},
		{"a polygon that crosses itself", typeJSON, layout(yard+`,{"name":"bow","polygon":[[0,0],[1,1],[1,0],[0,0.9]]}`, ""), 400,
			`"detail":"zones[1].polygon: the sides from points 0 and 2 cross or touch; accepted: a polygon that does not cross itself","errors":[{"pointer":"/zones/1/polygon",`, ""},
		{"outside, twice the name", typeJSON, layout(yard+","+yard, `{"name":"a b","points":[[0,0],[1.5,1]]}`), 400,
			`"errors":[{"pointer":"/zones/1/name","detail":"\"yard\" is zones[0]'s name already; accepted: a name of its own"},{"pointer":"/lines/0/name","detail":"\"a b\" contains ' '; accepted: 1 to 64 letters, digits, _ and -"},{"pointer":"/lines/0/points/1",`, ""},
		{"too many", typeJSON, layout(full(strings.ReplaceAll(yard, "yard", "yard#"), 33), full(strings.ReplaceAll(street, "street", "street#"), 33)), 400, `{"pointer":"/lines","detail":"33; accepted: at most 32"}`, ""},
		{"as long as can be", typeJSON, layout(full(`{"name":"yard#","polygon":[`+digits+`]}`, 32), ""), 400, `"pointer":"/zones/31/polygon/1","detail":"[0.1234567`, ""},
		{"too long", typeJSON, layout(strings.Repeat(" ", limit.MaxLayout), ""), 413, "larger than the 256 KiB accepted", ""},
		{"half", typeJSON, `{"zones":[`, 400, "the body is not a JSON object: unexpected end", ""},
		{"another type", "application/yaml", `zones: []`, 415, `accepts [\"application/json\"]`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c.calls = nil
			a := ask(t, "PUT", h.URL+"/api/v1/cameras/gate/zones", tt.contentType, tt.body)
			a.want(t, tt.status, tt.want, "layout")
			if want := strings.Fields(tt.call); !slices.Equal(strings.Fields(strings.Join(c.calls, "\n")), want) {
				t.Errorf("the camera was asked %q; want %q", c.calls, tt.call)
			}
		})
	}
	ask(t, "PUT", h.URL+"/api/v1/cameras/attic/zones", typeJSON, layout("", "")).want(t, 404, "", "an unknown camera")
	c.fail = context.DeadlineExceeded
	ask(t, "PUT", h.URL+"/api/v1/cameras/gate/zones", typeJSON, layout("", "")).want(t, 504, "", "a camera that is busy for too long")
}
