package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/bargauge"
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/heatmap"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// What is committed is what the code makes, and nothing else lies there.
func TestCommitted(t *testing.T) {
	files, err := filepath.Glob("dashboards/*")
	if err != nil {
		t.Fatal(err)
	}
	for name, build := range dashboards {
		want, err := encode(build())
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("dashboards", name+".json")
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the code makes; run go generate ./deploy/grafana", path)
		}
		files = slices.DeleteFunc(files, func(f string) bool { return f == path })
	}
	if len(files) > 0 {
		t.Errorf("nothing makes %q", files)
	}
}

// load decodes a committed dashboard by the SDK's schema, which refuses unknown
// fields and missing ones.
func load(t *testing.T, name string) *dashboard.Dashboard {
	t.Helper()
	runtime := cog.NewRuntime()
	runtime.RegisterPanelcfgVariant(bargauge.VariantConfig())
	runtime.RegisterPanelcfgVariant(heatmap.VariantConfig())
	runtime.RegisterPanelcfgVariant(stat.VariantConfig())
	runtime.RegisterPanelcfgVariant(statetimeline.VariantConfig())
	runtime.RegisterPanelcfgVariant(timeseries.VariantConfig())
	runtime.RegisterDataqueryVariant(prometheus.VariantConfig())
	text, err := os.ReadFile(filepath.Join("dashboards", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	d := new(dashboard.Dashboard)
	if err := d.UnmarshalJSONStrict(text); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if err := d.Validate(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return d
}

// The strict decoding is one: what the schema does not have is refused, at the top
// and deep inside a panel.
func TestSchemaIsStrict(t *testing.T) {
	text, err := os.ReadFile("dashboards/solver.json")
	if err != nil {
		t.Fatal(err)
	}
	load(t, "solver")
	for old, faulty := range map[string]string{
		`"uid": "segd-solver"`: `"uid": "segd-solver", "colour": "red"`,
		`"lineWidth": 1`:       `"lineWidth": "thick"`,
		`"graphMode": "area"`:  `"graphMode": "area", "graphMood": "good"`,
		`"expr": "`:            `"promql": "`,
	} {
		changed := strings.Replace(string(text), old, faulty, 1)
		if changed == string(text) {
			t.Fatalf("there is no %s", old)
		}
		err := new(dashboard.Dashboard).UnmarshalJSONStrict([]byte(changed))
		var faults cog.BuildErrors
		if !errors.As(err, &faults) {
			t.Errorf("%s: %v, want the schema to refuse it", faulty, err)
		}
	}
}

func TestDashboards(t *testing.T) {
	known := knownMetrics(t)
	names := regexp.MustCompile(`segd_\w+`)
	for name := range dashboards {
		t.Run(name, func(t *testing.T) {
			d := load(t, name)
			ids, titles := map[uint32]bool{}, map[string]bool{}
			var taken [1000][full]string
			for _, p := range d.Panels {
				if p.Panel == nil {
					continue
				}
				panel := p.Panel
				title := *panel.Title
				if titles[title] || ids[*panel.Id] {
					t.Errorf("two panels are %q or number %d", title, *panel.Id)
				}
				titles[title], ids[*panel.Id] = true, true
				if panel.Description == nil || *panel.Description == "" {
					t.Errorf("%s has no description", title)
				}
				if len(panel.Targets) == 0 {
					t.Errorf("%s asks for nothing", title)
				}
				for _, target := range panel.Targets {
					q, ok := target.(*prometheus.Dataquery)
					if !ok {
						t.Fatalf("%s: a %T, want PromQL", title, target)
					}
					for _, metric := range names.FindAllString(q.Expr, -1) {
						if !known[metric] {
							t.Errorf("%s asks for %s, which docs/metrics.md does not have", title, metric)
						}
					}
					if strings.Contains(q.Expr, "rate(") && !strings.Contains(q.Expr, "$__rate_interval") {
						t.Errorf("%s: a rate over a fixed time: %s", title, q.Expr)
					}
				}
				g := panel.GridPos
				for y := g.Y; y < g.Y+g.H; y++ {
					for x := g.X; x < g.X+g.W; x++ {
						if x >= full || taken[y][x] != "" {
							t.Fatalf("%s lies on %q or beyond the edge at %d, %d", title, taken[y][min(x, full-1)], x, y)
						}
						taken[y][x] = title
					}
				}
			}
		})
	}
}

// knownMetrics are the names a query may use, of docs/metrics.md.
func knownMetrics(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^- `(segd_\\w+)` \\((\\w+)").FindAllStringSubmatch(string(text), -1) {
		known[m[1]] = true
		if m[2] == "histogram" {
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				known[m[1]+suffix] = true
			}
		}
	}
	return known
}

// Every metric of segd's own is shown somewhere.
func TestEveryMetricIsShown(t *testing.T) {
	var all strings.Builder
	for _, build := range dashboards {
		text, err := encode(build())
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	for metric := range knownMetrics(t) {
		base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(metric, "")
		if !strings.Contains(all.String(), base) {
			t.Errorf("no panel shows %s", metric)
		}
	}
}

func TestWriteAll(t *testing.T) {
	dir := t.TempDir()
	if err := writeAll(dir); err != nil {
		t.Fatal(err)
	}
	for name := range dashboards {
		text, err := os.ReadFile(filepath.Join(dir, name+".json"))
		if err != nil || !json.Valid(text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := writeAll(filepath.Join(dir, "none")); err == nil {
		t.Error("no error without the folder")
	}
}
