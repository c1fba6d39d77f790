package trackstate

import (
	"testing"

	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/scenetest"
)

// An object keeps what hangs together with its largest piece, or lies as near as it is
// wide, step by step; among pieces those near its last place come first.
func TestKeepTogether(t *testing.T) {
	const cols = 24
	for _, tt := range []struct {
		name       string
		rows, want []string
		o          Object
	}{
		{"one piece", []string{"11..", "1..."}, []string{"11..", "1..."}, Object{}},
		{"another far away", []string{
			"111...................11",
			"111...................11",
		}, []string{
			"111.....................",
			"111.....................",
		}, Object{}},
		{"others near by, and near those", []string{
			"111.121.............1...",
			"111.12..................",
		}, []string{
			"111.121.................",
			"111.12..................",
		}, Object{}},
		{"the larger is far from where it was", []string{
			"111...................11",
			"111.....................",
		}, []string{
			"......................11",
			"........................",
		}, Object{Area: 3 * 36, X: 23 * scenetest.Side, Y: scenetest.Side}},
		{"it was elsewhere, a little nearer to the smaller", []string{
			"111.................1...",
			"111.....................",
		}, []string{
			"111.....................",
			"111.....................",
		}, Object{Area: 6 * 36, X: 12 * scenetest.Side, Y: scenetest.Side}},
	} {
		s := scenetest.Squares(1, cols, len(tt.rows), nil)
		projection, err := features.FitProjection(s, 0)
		if err != nil {
			t.Fatal(err)
		}
		var pool picture.Pool
		p := pool.Make(s, projection, 0.25)
		y := make([]int32, p.N)
		for r, row := range tt.rows {
			for c := range row {
				if row[c] != '.' {
					y[r*cols+c] = int32(row[c] - '0')
				}
			}
		}
		var w Pieces
		for range 2 { // again it is all there is, and the workspace is used
			w.KeepTogether(p, y, 1, &tt.o)
		}
		for r, row := range tt.want {
			for c := range row {
				want := int32(0)
				if row[c] != '.' {
					want = int32(row[c] - '0')
				}
				if got := y[r*cols+c]; got != want {
					t.Errorf("%s: row %d, column %d has label %d; want %d", tt.name, r, c, got, want)
				}
			}
		}
	}
}
