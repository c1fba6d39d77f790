package arch

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

//go:generate go test -run TestGraph . -update

// page has the graph of the folders, between two marks.
const (
	page      = "../../docs/architecture.md"
	graphFrom = "<!-- Made by go generate ./internal/arch from here -->\n"
	graphTo   = "<!-- to here -->\n"
)

var update = flag.Bool("update", false, "write the graph into "+page)

// top returns the folders at the top that have Go code, and which of the others each imports.
func top(code map[string]map[string]bool) map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for folder, imports := range code {
		from, _, _ := strings.Cut(folder, "/")
		if all[from] == nil {
			all[from] = map[string]bool{}
		}
		for imported := range imports {
			if inside, ours := strings.CutPrefix(imported, module+"/"); ours {
				if to, _, _ := strings.Cut(inside, "/"); to != from {
					all[from][to] = true
				}
			}
		}
	}
	return all
}

// floorsOf returns the folders by floor. Those of the first import no other folder, and each other one imports folders of
// floors below its own only. Folders that import each other in a circle have no floor; they are the second result.
func floorsOf(all map[string]map[string]bool) (floors [][]string, circle []string) {
	below := map[string]bool{}
	for len(below) < len(all) {
		var floor []string
		for _, folder := range slices.Sorted(maps.Keys(all)) {
			if !below[folder] && !slices.ContainsFunc(slices.Collect(maps.Keys(all[folder])), func(to string) bool { return !below[to] }) {
				floor = append(floor, folder)
			}
		}
		if floor == nil {
			return floors, slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(folder string) bool { return below[folder] })
		}
		for _, folder := range floor {
			below[folder] = true
		}
		floors = append(floors, floor)
	}
	return floors, nil
}

// reaches tells whether a folder imports another one, itself or by others.
func reaches(all map[string]map[string]bool, from, to string) bool {
	for next := range all[from] {
		if next == to || reaches(all, next, to) {
			return true
		}
	}
	return false
}

// draw is the graph, without the arrows that follow from others.
func draw(all map[string]map[string]bool, floors [][]string) string {
	var b strings.Builder
	arrows := 0
	for _, imports := range all {
		arrows += len(imports)
	}
	fmt.Fprintf(&b, "%d folders at the top have Go code, on %d floors, with %d imports between them, all of them downwards. Those\n"+
		"that follow from others are not drawn.\n\n```mermaid\nflowchart TB\n", len(all), len(floors), arrows)
	for i, floor := range slices.Backward(floors) {
		fmt.Fprintf(&b, "  subgraph floor%d [%d]\n    %s\n  end\n", i+1, i+1, strings.Join(floor, "\n    "))
	}
	for _, from := range slices.Sorted(maps.Keys(all)) {
		var to []string
		for _, one := range slices.Sorted(maps.Keys(all[from])) {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(all[from])), func(other string) bool { return reaches(all, other, one) }) {
				to = append(to, one)
			}
		}
		if len(to) > 0 {
			fmt.Fprintf(&b, "  %s --> %s\n", from, strings.Join(to, " & "))
		}
	}
	b.WriteString("```\n")
	return b.String()
}

// No import runs back up, and the page has the graph.
func TestGraph(t *testing.T) {
	code, _ := read(t, "../..")
	all := top(code)
	floors, circle := floorsOf(all)
	if circle != nil {
		t.Fatalf("%q import each other in a circle, or a folder that does", circle)
	}
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), graphFrom)
	_, after, closed := strings.Cut(rest, graphTo)
	if !ok || !closed {
		t.Fatalf("%s has no %q and %q", page, graphFrom, graphTo)
	}
	want := before + graphFrom + draw(all, floors) + graphTo + after
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o644))
		return
	}
	if string(text) != want {
		t.Errorf("%s has another graph; run go generate ./internal/arch:\n%s", page, draw(all, floors))
	}
}

func TestFloors(t *testing.T) {
	imports := func(of ...string) map[string]bool {
		to := map[string]bool{}
		for _, one := range of {
			to[one] = true
		}
		return to
	}
	all := top(map[string]map[string]bool{
		"a": imports(module+"/b/x", module+"/c", "fmt"), "a/y": imports(module + "/a"), "b/x": imports(module + "/c"), "c": nil,
	})
	if floors, circle := floorsOf(all); fmt.Sprint(floors) != "[[c] [b] [a]]" || circle != nil {
		t.Errorf("%v, and %v in a circle", floors, circle)
	}
	if graph := draw(all, [][]string{{"c"}, {"b"}, {"a"}}); !strings.Contains(graph, "  a --> b\n  b --> c\n") || !strings.Contains(graph, "with 3 imports") {
		t.Errorf("%s\nwant it without a --> c", graph)
	}
	all["c"] = imports("a")
	if floors, circle := floorsOf(all); floors != nil || fmt.Sprint(circle) != "[a b c]" {
		t.Errorf("%v, and %v in a circle", floors, circle)
	}
}
