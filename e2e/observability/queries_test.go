package observability

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
		assert.Equal(t, want, truth(expr), "truth(%s)", expr)
	}
}

func TestPanelQueries(t *testing.T) {
	queries, err := panelQueries("../../" + boards)
	require.NoError(t, err)
	found := map[string]string{}
	for _, q := range queries {
		assert.Equal(t, "", found[q.name], "%s is there twice", q.name)
		found[q.name] = q.expr
	}
	for name, want := range map[string]string{
		"camera / $camera":                   `group by (camera) (segd_camera_up)`,
		"solver / Label flips by window / A": `segd_label_flips_ratio{camera="demo"}`,
		"solver / By iteration / B":          `segd_solver_iteration_lagrangian{camera="demo",iteration="2"}`,
		"camera / Area / A":                  `segd_object_area_pixels{camera="demo"}`,
		"fleet / Cameras by box / A":         `segd_fleet_box_cameras`,
	} {
		assert.Equal(t, want, found[name], "%s is", name)
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
	_, err = panelQueries(t.TempDir())
	assert.Error(t, err, "no error without dashboards")
}

func TestExcuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "empty.txt")
	write := func(text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("# why\n\na / b / A: nothing there\n")
	if got, err := readExcuses(path); err != nil || len(got) != 1 || got["a / b / A"] != "nothing there" {
		t.Errorf("%v, %v", got, err)
	}
	write("a / b / A\n")
	_, err := readExcuses(path)
	assert.Error(t, err, "no error without a reason")
	_, err = readExcuses(emptyFile)
	assert.NoError(t, err)
}
