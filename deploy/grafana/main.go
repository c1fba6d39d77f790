// Command grafana writes segd's Grafana dashboards.
//
// They are described here in Go, with Grafana's own types, and committed as the
// JSON that Grafana reads: run `make generate` after a change. They are a module of
// their own, so that segd does not have those types for a dependency.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

//go:generate go run . dashboards

// dashboards are the files' names, without the ending, and what makes them.
var dashboards = map[string]func() *dashboard.DashboardBuilder{
	"overview": overview,
	"fleet":    fleet,
	"camera":   camera,
	"solver":   solver,
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: grafana FOLDER")
		os.Exit(2)
	}
	if err := writeAll(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "grafana:", err)
		os.Exit(1)
	}
}

func writeAll(dir string) error {
	for name, build := range dashboards {
		text, err := encode(build())
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".json"), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// encode numbers the panels, which the SDK leaves to Grafana, so that links to one
// survive a reload, and returns the dashboard as JSON.
func encode(b *dashboard.DashboardBuilder) ([]byte, error) {
	d, err := b.Build()
	if err != nil {
		return nil, err
	}
	for i, p := range d.Panels {
		id := uint32(i + 1)
		if p.Panel != nil {
			p.Panel.Id = &id
		} else {
			p.RowPanel.Id = id
		}
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false) // queries are full of < and >
	e.SetIndent("", "  ")
	if err := e.Encode(d); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
