package mot

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// crafted reads a case of testdata/crafted.csv: case, truth or found, frame, id, box.
func crafted(t *testing.T, name string) []frame {
	t.Helper()
	data, err := os.ReadFile("testdata/crafted.csv")
	require.NoError(t, err)
	var frames []frame
	for line := range strings.Lines(string(data)) {
		parts := strings.Split(strings.TrimSpace(line), ",")
		if parts[0] != name {
			continue
		}
		var v [6]int
		for i := range v {
			v[i], err = strconv.Atoi(parts[2+i])
			require.NoError(t, err)
		}
		for len(frames) < v[0] {
			frames = append(frames, frame{})
		}
		f := &frames[v[0]-1]
		n := named{v[1], Box{float64(v[2]), float64(v[3]), float64(v[4]), float64(v[5])}}
		if parts[1] == "truth" {
			f.truth = append(f.truth, n)
		} else {
			f.found = append(f.found, n)
		}
	}
	return frames
}

// The figures are those that py-motmetrics gave: testdata/crafted.py made them.
func TestScore(t *testing.T) {
	cases := 0
	for lines := bufio.NewScanner(golden(t, "crafted.txt")); lines.Scan(); cases++ {
		var name string
		var most float64
		var figures [6]float64
		var want counts
		if _, err := fmt.Sscan(lines.Text(), &name, &most, &figures[0], &figures[1], &figures[2], &figures[3], &figures[4], &figures[5],
			&want.idtp, &want.idfp, &want.idfn, &want.matched, &want.switches, &want.fragmentations); err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprintf("%s up to %g", name, most), func(t *testing.T) {
			got := score(crafted(t, name), most)
			if got != want {
				t.Errorf("%+v; want %+v", got, want)
			}
			for k, v := range []struct {
				name string
				got  *float64
			}{{"IDF1", got.idf1()}, {"IDP", got.idp()}, {"IDR", got.idr()}, {"MOTA", got.mota()}, {"recall", got.recall()}, {"precision", got.precision()}} {
				if v.got == nil || math.Abs(*v.got-figures[k]) > 1e-15 {
					t.Errorf("%s %v; want %v", v.name, v.got, figures[k])
				}
			}
		})
	}
	assert.Equal(t, 6, cases, "cases")
}

func golden(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// By hand: what is worth a line of its own.
func TestScoreByHand(t *testing.T) {
	here, there := Box{0, 0, 10, 20}, Box{100, 0, 10, 20}
	at := func(ids ...int) (n []named) {
		for k, id := range ids {
			if id > 0 {
				n = append(n, named{id, []Box{here, there}[k]})
			}
		}
		return n
	}
	for _, tt := range []struct {
		name   string
		frames []frame
		want   counts
	}{
		{"nothing", []frame{{}}, counts{}},
		{"nobody found", []frame{{at(1, 2), nil}}, counts{idfn: 2}},
		{"nobody there", []frame{{nil, at(1, 2)}}, counts{idfp: 2}},
		{"right", []frame{{at(1, 2), at(1, 2)}, {at(1, 2), at(1, 2)}}, counts{idtp: 4, matched: 4}},
		{"names do not matter", []frame{{at(1, 2), at(2, 1)}, {at(1, 2), at(2, 1)}}, counts{idtp: 4, matched: 4}},
		{"exchanged for good", []frame{{at(1, 2), at(1, 2)}, {at(1, 2), at(2, 1)}, {at(1, 2), at(2, 1)}}, counts{idtp: 4, idfp: 2, idfn: 2, matched: 6, switches: 2}},
		{"gone in between", []frame{{at(1), at(7)}, {at(1), nil}, {at(1), at(8)}}, counts{idtp: 1, idfp: 1, idfn: 2, matched: 2, switches: 1, fragmentations: 1}},
		{"late, lost twice, and at the end", []frame{{at(1), nil}, {at(1), at(7)}, {at(1), nil}, {at(1), nil}, {at(1), at(7)}, {at(1), nil}, {at(1), at(7)}, {at(1), nil}}, counts{idtp: 3, idfn: 5, matched: 3, fragmentations: 2}},
		{"away in between", []frame{{at(1), at(7)}, {nil, nil}, {at(1), at(7)}}, counts{idtp: 2, matched: 2}},
		{"elsewhere", []frame{{at(1), at(0, 1)}}, counts{idfp: 1, idfn: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := score(tt.frames, followDistance); got != tt.want {
				t.Errorf("%+v; want %+v", got, tt.want)
			}
		})
	}
	if none := (counts{}); none.idf1() != nil || none.idp() != nil || none.idr() != nil || none.mota() != nil || none.recall() != nil || none.precision() != nil {
		t.Error("figures of nothing; want none")
	}
}

func TestDistance(t *testing.T) {
	b := Box{10, 20, 30, 40}
	for _, tt := range []struct {
		name string
		c    Box
		want float64
	}{
		{"itself", b, 0},
		{"half of it", Box{10, 20, 30, 20}, 0.5},
		{"beside it", Box{40, 20, 30, 40}, 1},
		{"below it", Box{10, 61, 30, 40}, 1},
		{"shifted by a third", Box{20, 20, 30, 40}, 0.5},
	} {
		if got := b.Distance(tt.c); math.Abs(got-tt.want) > 1e-12 || got != tt.c.Distance(b) {
			t.Errorf("%s: %v; want %v", tt.name, got, tt.want)
		}
	}
	if !b.right(Box{10, 20, 30, 12.01}) || b.right(Box{10, 20, 30, 11.99}) {
		t.Error("right is not from an IoU of 0.3 on")
	}
}
