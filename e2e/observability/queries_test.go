package observability

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTruth(t *testing.T) {
	for expr, want := range map[string]string{
		`segd_camera_up == 0`:                       `segd_camera_up == bool 0`,
		`up{job="segd"} == 0`:                       `up{job="segd"} == bool 0`,
		`rate(a{x!="1",y=~">=.*"}[5m]) >= 0.5`:      `rate(a{x!="1",y=~">=.*"}[5m]) >= bool 0.5`,
		`(a == 0) and on (x) (b{c="d"} > 1)`:        `(a == bool 0) and on (x) (b{c="d"} > bool 1)`,
		`abs(a) > 2`:                                `abs(a) > bool 2`,
		`sum by (a) (instance:x:rate5m{o="y"}) < 3`: `sum by (a) (instance:x:rate5m{o="y"}) < bool 3`,
	} {
		if got := truth(expr); got != want {
			t.Errorf("truth(%s) = %s, want %s", expr, got, want)
		}
	}
}

func TestPanelQueries(t *testing.T) {
	queries, err := panelQueries("../../" + boards)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, q := range queries {
		if found[q.name] != "" {
			t.Errorf("%s is there twice", q.name)
		}
		found[q.name] = q.expr
	}
	for name, want := range map[string]string{
		"camera / $camera":                   `group by (camera) (segd_camera_up)`,
		"solver / Label flips by window / A": `segd_label_flips_ratio{camera="demo"}`,
		"solver / By iteration / B":          `segd_solver_iteration_lagrangian{camera="demo",iteration="2"}`,
		"camera / Area / A":                  `segd_object_area_pixels{camera="demo"}`,
		"fleet / Cameras by box / A":         `segd_fleet_box_cameras`,
	} {
		if found[name] != want {
			t.Errorf("%s is %q, want %q", name, found[name], want)
		}
	}
	fleet, others := split(queries)
	if len(fleet) == 0 || len(others) == 0 || len(fleet)+len(others) != len(queries) {
		t.Errorf("%d queries of fleets and %d others, of %d", len(fleet), len(others), len(queries))
	}
	for _, q := range fleet {
		if !strings.HasPrefix(q.name, "fleet / ") && strings.Contains(q.expr, "segd_fleet_") {
			t.Errorf("%s asks for a fleet, which most do not have: %s", q.name, q.expr)
		}
	}
	if _, err := panelQueries(t.TempDir()); err == nil {
		t.Error("no error without dashboards")
	}
}

func TestExcuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "empty.txt")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("# why\n\na / b / A: nothing there\n")
	if got, err := readExcuses(path); err != nil || len(got) != 1 || got["a / b / A"] != "nothing there" {
		t.Errorf("%v, %v", got, err)
	}
	write("a / b / A\n")
	if _, err := readExcuses(path); err == nil {
		t.Error("no error without a reason")
	}
	if _, err := readExcuses(emptyFile); err != nil {
		t.Error(err)
	}
}
