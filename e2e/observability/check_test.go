package observability

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What check makes of a Prometheus' answers: data, none, only NaN, an error.
func TestCheck(t *testing.T) {
	answers := map[string]string{
		"data": `{"status":"success","data":{"result":[{"value":[1,"2.5"]},{"value":[1,"NaN"]}]}}`,
		"none": `{"status":"success","data":{"result":[]}}`,
		"nan":  `{"status":"success","data":{"result":[{"value":[1,"NaN"]}]}}`,
		"bad":  `{"status":"error","error":"parse error"}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, answers[r.FormValue("query")])
	}))
	defer server.Close()
	p := api{url: server.URL}
	for _, tt := range []struct {
		name    string
		queries []string
		excused map[string]string
		want    string // in the error; "" for none
	}{
		{"all have data", []string{"data"}, nil, ""},
		{"one is empty", []string{"data", "none"}, nil, "1 expressions return no data"},
		{"NaN is no data", []string{"nan"}, nil, "1 expressions return no data"},
		{"excused", []string{"data", "none"}, map[string]string{"none": "why"}, ""},
		{"excused in vain", []string{"data"}, map[string]string{"data": "why"}, `excuses "data", which returns data`},
		{"excused and not there", []string{"data"}, map[string]string{"gone": "why"}, `excuses "gone", which is no panel or rule`},
		{"not PromQL", []string{"bad"}, nil, "parse error"},
	} {
		var queries []query
		for _, q := range tt.queries {
			queries = append(queries, query{name: q, expr: q})
		}
		var out strings.Builder
		err := p.check(t.Context(), &out, queries, tt.excused, false)
		if (err == nil) != (tt.want == "") || (err != nil && !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q\n%s", tt.name, err, tt.want, out.String())
		}
	}
}
