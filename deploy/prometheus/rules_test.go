// Package prometheus_test holds the alerts against the runbook, the metrics and
// their cases. What the rules do is tested by promtool: `make observability`.
package prometheus_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

type ruleFile struct {
	Groups []struct {
		Rules []struct {
			Record, Alert, Expr, For string
			Labels, Annotations      map[string]string
		}
	}
}

func read[T any](t *testing.T, path string) (out T) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &out), "%s", path)
	return out
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

const runbook = "https://github.com/segd/segd/blob/main/docs/runbook.md#"

// Every alert has a heading in the runbook that its link leads to, a severity, words
// and a case; the runbook and the cases have nothing else.
func TestAlertsHaveRunbookAndCase(t *testing.T) {
	anchors := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^## (.+)$`).FindAllStringSubmatch(readText(t, "../../docs/runbook.md"), -1) {
		anchors[strings.ToLower(strings.ReplaceAll(m[1], " ", "-"))] = true // as GitHub makes them
	}
	type cases struct {
		Tests []struct {
			Alerts []struct {
				Alertname string
				Expected  []any `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	fires, quiet := map[string]bool{}, map[string]bool{}
	for _, c := range read[cases](t, "rules.test.yml").Tests {
		for _, a := range c.Alerts {
			if len(a.Expected) > 0 {
				fires[a.Alertname] = true
			} else {
				quiet[a.Alertname] = true
			}
		}
	}
	alerts := 0
	for _, g := range read[ruleFile](t, "alerts.rules.yml").Groups {
		for _, r := range g.Rules {
			alerts++
			anchor, ok := strings.CutPrefix(r.Annotations["runbook_url"], runbook)
			if !ok || !anchors[anchor] || anchor != strings.ToLower(r.Alert) {
				t.Errorf("%s: runbook_url %q leads to no heading of docs/runbook.md", r.Alert, r.Annotations["runbook_url"])
			}
			delete(anchors, anchor)
			switch r.Labels["severity"] {
			case "critical", "warning", "info":
			default:
				t.Errorf("%s: severity %q, want critical, warning or info", r.Alert, r.Labels["severity"])
			}
			if r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("%s has no summary or description", r.Alert)
			}
			if !fires[r.Alert] || !quiet[r.Alert] {
				t.Errorf("%s: rules.test.yml has a case where it fires: %v, one where it does not: %v", r.Alert, fires[r.Alert], quiet[r.Alert])
			}
			delete(fires, r.Alert)
		}
	}
	if alerts == 0 {
		t.Fatal("there are no alerts")
	}
	for anchor := range anchors {
		t.Errorf("docs/runbook.md has #%s, which is no alert", anchor)
	}
	for name := range fires {
		t.Errorf("rules.test.yml has a case for %s, which is no alert", name)
	}
}

// The alerts on violations and convergence are tested with what a daemon made of them.
func TestDescentIsRecorded(t *testing.T) {
	type series struct{ Series, Values string }
	type cases struct {
		Tests []struct {
			Name  string
			Input []series `yaml:"input_series"`
		}
	}
	for name, file := range map[string]string{"SegdSolverAscends": "testdata/descent.yml", "SegdSolverUnconverged": "testdata/converged.yml"} {
		var got []series
		for _, c := range read[cases](t, "rules.test.yml").Tests {
			if c.Name == name {
				got = append(got, c.Input...)
			}
		}
		if want := read[[]series](t, file); len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("rules.test.yml has\n%q\nfor %s, %s\n%q", got, name, file, want)
		}
	}
}

// In the compose files alerts go from Prometheus to the Alertmanager, and segd asks that for them.
func TestComposeAlertmanager(t *testing.T) {
	type compose struct {
		Services map[string]any
		Segd     map[string]any `yaml:"x-segd-environment"`
	}
	type prometheus struct {
		Alerting struct {
			Alertmanagers []struct {
				Static []struct{ Targets []string } `yaml:"static_configs"`
			}
		}
	}
	for file, scrapes := range map[string]string{"compose.yaml": "prometheus.yml", "fleet.yaml": "prometheus-fleet.yml"} {
		c := read[compose](t, "../compose/"+file)
		environment := c.Segd
		if segd, is := c.Services["segd"].(map[string]any); is {
			environment, _ = segd["environment"].(map[string]any)
		}
		p := read[prometheus](t, "../compose/"+scrapes)
		if len(p.Alerting.Alertmanagers) != 1 || len(p.Alerting.Alertmanagers[0].Static) != 1 {
			t.Fatalf("%s: %+v; want one Alertmanager", scrapes, p)
		}
		const target = "alertmanager:9093" // a service and its port
		if to := p.Alerting.Alertmanagers[0].Static[0].Targets; !slices.Equal(to, []string{target}) || environment["SEGD_HTTP_ALERTMANAGER"] != "http://"+target || c.Services["alertmanager"] == nil {
			t.Errorf("%s: Prometheus sends to %q, segd asks %v, and the service is %v", file, to, environment["SEGD_HTTP_ALERTMANAGER"], c.Services["alertmanager"])
		}
	}
	type routes struct {
		Route     struct{ Receiver string }
		Receivers []struct{ Name string }
	}
	if r := read[routes](t, "../compose/alertmanager.yml"); len(r.Receivers) != 1 || r.Receivers[0].Name != r.Route.Receiver {
		t.Errorf("alertmanager.yml: %+v; want the receiver that it routes to", r)
	}
}

// Rules use only what segd exposes and docs/metrics.md lists, or another rule makes.
func TestRulesUseKnownMetrics(t *testing.T) {
	known := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^- `(segd_\\w+)` \\((\\w+)").FindAllStringSubmatch(readText(t, "../../docs/metrics.md"), -1) {
		known[m[1]] = true
		if m[2] == "histogram" {
			known[m[1]+"_bucket"], known[m[1]+"_sum"], known[m[1]+"_count"] = true, true, true
		}
	}
	var exprs []string
	for _, file := range []string{"recording.rules.yml", "alerts.rules.yml"} {
		for _, g := range read[ruleFile](t, file).Groups {
			for _, r := range g.Rules {
				exprs = append(exprs, r.Expr)
				if r.Record != "" {
					known[r.Record] = true
				}
			}
		}
	}
	names := regexp.MustCompile(`[a-z_]+:segd_\w+:\w+|segd_\w+`)
	for _, expr := range exprs {
		for _, name := range names.FindAllString(expr, -1) {
			if !known[name] {
				t.Errorf("%s: %s is neither in docs/metrics.md nor recorded", expr, name)
			}
		}
	}
}
