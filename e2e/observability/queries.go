// Package observability tries segd's dashboards and alerts for real.
//
// It has promtool check the rules, their cases and the metrics; then it starts a segd
// demo and a Prometheus that scrapes it with the rules of deploy/prometheus, waits a
// minute, and runs every expression of every dashboard's panel and variable and of every
// rule. Each must return data, or stand in empty.txt with the reason why it does not. An
// alert's condition is asked for its truth, so that one which does not fire returns data
// as well; one that fires is told.
//
// Expressions that ask for what the demo does not have, metrics of a fleet and of what
// outlives segd, are run on two boxes instead that share cameras, one of which has given
// its camera to the other.
package observability

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/segd/segd/e2e/harness"
)

// Folders of the repository, and a file of this one.
const (
	rules     = "deploy/prometheus"
	boards    = "deploy/grafana/dashboards"
	emptyFile = "empty.txt"
)

// query is one expression and where it stands.
type query struct {
	name  string // of a panel: dashboard / panel / letter; of a rule: its own
	expr  string
	alert bool // its truth is asked for
}

// camera is the demo's.
const camera = "demo"

// variables are what Grafana puts in.
var variables = strings.NewReplacer("$__rate_interval", "30s", "$__range", "1m", "$camera", camera)

// panelQueries are those of the dashboards in dir. A variable's label_values(m, l) is
// asked for as group by (l) (m).
func panelQueries(dir string) ([]query, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no dashboards in %s: %w", dir, err)
	}
	values := regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)
	var queries []query
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var board struct {
			Panels []struct {
				Title   string
				Targets []struct{ RefID, Expr string }
			}
			Templating struct {
				List []struct{ Name, Type, Definition string }
			}
		}
		if err := json.Unmarshal(text, &board); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		for _, v := range board.Templating.List {
			if v.Type != "query" {
				continue
			}
			m := values.FindStringSubmatch(v.Definition)
			if m == nil {
				return nil, fmt.Errorf("%s: variable %s: %q is not label_values(metric, label)", file, v.Name, v.Definition)
			}
			queries = append(queries, query{name: name + " / $" + v.Name, expr: "group by (" + m[2] + ") (" + m[1] + ")"})
		}
		for _, p := range board.Panels {
			for _, t := range p.Targets {
				queries = append(queries, query{name: name + " / " + p.Title + " / " + t.RefID, expr: variables.Replace(t.Expr)})
			}
		}
	}
	return queries, nil
}

// fleetMetrics are in the names of metrics that the demo does not have and boxes of a fleet
// do.
var fleetMetrics = regexp.MustCompile(`\bsegd_checkpoint_(timestamp_seconds|size_bytes)\b|segd_fleet_`)

// split divides queries into those that are for boxes of a fleet and the others.
func split(queries []query) (fleet, others []query) {
	for _, q := range queries {
		if fleetMetrics.MatchString(q.expr) {
			fleet = append(fleet, q)
		} else {
			others = append(others, q)
		}
	}
	return fleet, others
}

// api is a Prometheus.
type api struct {
	url string
	at  time.Time // of all questions: one moment
}

// ruleQueries are those of the rules it has loaded. A rule that does not evaluate is an
// error.
func (p api) ruleQueries(ctx context.Context) ([]query, error) {
	var data struct {
		Groups []struct {
			Rules []struct{ Name, Query, Type, Health, LastError, State string }
		}
	}
	if err := p.ask(ctx, "/api/v1/rules", &data); err != nil {
		return nil, err
	}
	var queries []query
	var faults []error
	for _, g := range data.Groups {
		for _, r := range g.Rules {
			if r.Health != "ok" {
				faults = append(faults, fmt.Errorf("rule %s is %s: %s", r.Name, r.Health, r.LastError))
			}
			queries = append(queries, query{name: r.Name, expr: r.Query, alert: r.Type == "alerting"})
		}
	}
	if len(queries) == 0 {
		return nil, errors.New("prometheus has no rules")
	}
	return queries, errors.Join(faults...)
}

// comparison is an operator outside of braces, where = and != match labels.
var comparison = regexp.MustCompile(`\{[^}]*\}|==|!=|>=|<=|>|<`)

// truth has every comparison of expr return 0 or 1 instead of leaving out what does
// not hold.
func truth(expr string) string {
	return comparison.ReplaceAllStringFunc(expr, func(s string) string {
		if s[0] == '{' {
			return s
		}
		return s + " bool"
	})
}

// check runs queries, reports, and returns an error unless each returned data or is
// excused.
func (p api) check(ctx context.Context, w io.Writer, queries []query, excused map[string]string, all bool) error {
	var empty, excuses, surplus []string
	for _, q := range queries {
		expr := q.expr
		if q.alert {
			expr = truth(expr)
		}
		n, err := p.samples(ctx, expr)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", q.name, expr, err)
		}
		reason, isExcused := excused[q.name]
		switch {
		case n == 0 && isExcused:
			excuses = append(excuses, q.name+": "+reason)
		case n == 0:
			empty = append(empty, q.name+": "+expr)
		case isExcused:
			surplus = append(surplus, q.name)
		}
		delete(excused, q.name)
		if all {
			fmt.Fprintf(w, "%4d  %s  %s\n", n, q.name, expr)
		}
		if q.alert {
			if n, err := p.samples(ctx, q.expr); err == nil && n > 0 {
				fmt.Fprintf(w, "alert condition holds: %s (%d series)\n", q.name, n)
			}
		}
	}
	fmt.Fprintf(w, "%d expressions: %d with data, %d without and excused, %d without\n",
		len(queries), len(queries)-len(excuses)-len(empty), len(excuses), len(empty))
	for _, e := range excuses {
		fmt.Fprintln(w, "  excused  "+e)
	}
	for _, e := range empty {
		fmt.Fprintln(w, "  EMPTY    "+e)
	}
	var faults []error
	if len(empty) > 0 {
		faults = append(faults, fmt.Errorf("%d expressions return no data", len(empty)))
	}
	for _, name := range surplus {
		faults = append(faults, fmt.Errorf("%s excuses %q, which returns data", emptyFile, name))
	}
	for name := range excused {
		faults = append(faults, fmt.Errorf("%s excuses %q, which is no panel or rule", emptyFile, name))
	}
	return errors.Join(faults...)
}

// samples runs expr and returns how many numbers came back. NaN, as of a rate over
// nothing, is none.
func (p api) samples(ctx context.Context, expr string) (int, error) {
	var data struct {
		Result []struct{ Value [2]any }
	}
	if err := p.ask(ctx, "/api/v1/query?query="+url.QueryEscape(expr)+"&time="+p.at.UTC().Format(time.RFC3339Nano), &data); err != nil {
		return 0, err
	}
	n := 0
	for _, r := range data.Result {
		text, ok := r.Value[1].(string)
		if !ok {
			return 0, fmt.Errorf("value %v is no text", r.Value[1])
		}
		if v, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(v) {
			n++
		}
	}
	return n, nil
}

func (p api) ask(ctx context.Context, path string, data any) error {
	_, text, err := harness.Ask(ctx, p.url+path) // why not is in the text
	if err != nil {
		return err
	}
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err := json.Unmarshal(text, &answer); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s: %s", path, answer.Error)
	}
	return nil
}

// readExcuses reads lines of "name: reason"; # begins a comment.
func readExcuses(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	excuses := map[string]string{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		name, reason, ok := strings.Cut(line, ": ")
		if !ok || reason == "" {
			return nil, fmt.Errorf("%s:%d: %q; want NAME: REASON", path, n, line)
		}
		excuses[name] = reason
	}
	return excuses, lines.Err()
}
