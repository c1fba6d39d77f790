package mot

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func parseResult(t testing.TB, lines ...string) []Found {
	t.Helper()
	found, err := ParseResult(strings.NewReader(strings.Join(lines, "\n")), "result.txt")
	require.NoError(t, err)
	return found
}

func TestParseResult(t *testing.T) {
	got := parseResult(t, "2,7,1,1,20,60,0.5,-1,-1,-1", "1,8,11.5,3,20.25,60,1")
	want := []Found{{2, 7, Box{0, 0, 20, 60}, 0.5}, {1, 8, Box{10.5, 2, 20.25, 60}, 1}}
	assert.Empty(t, cmp.Diff(want, got))
	var out bytes.Buffer
	require.NoError(t, WriteBoxes(&out, want))
	if again := parseResult(t, out.String()); !slices.Equal(again, want) {
		t.Errorf("%v is read as %v", want, again)
	}
	if none := parseResult(t); none != nil {
		t.Errorf("%v in an empty file", none)
	}
}

func TestParseDetections(t *testing.T) {
	got, err := ParseDetections(strings.NewReader("3,-1,1,2,20,60,0.25,-1,-1,-1\n3,-1,1,2,20,60,0.25\n"), "det.txt")
	one := Found{3, -1, Box{0, 1, 20, 60}, 0.25}
	if err != nil || !slices.Equal(got, []Found{one, one}) {
		t.Errorf("%v, %v", got, err)
	}
	_, err = ParseDetections(strings.NewReader("3,1,1,2,20,60,0.25\n"), "det.txt")
	if err == nil || err.Error() != `mot: det.txt:1: id is "1"; want -1, a detection's` {
		t.Errorf("a result for detections: %v", err)
	}
}

var faultyResults = []struct{ name, text, want string }{
	{"twice", "4,3,1,1,9,9,1\n4,3,2,2,9,9,1", "result.txt:2: id 3 is in frame 4 for the second time"},
	{"detections", "1,-1,1,1,9,9,1", `result.txt:1: id is "-1"; want a whole number from 1 on`},
	{"too few", "1,1,1,1,9,9", "6 fields; want 7 to 10: frame,id,left,top,width,height,score"},
	{"score", "1,1,1,1,9,9,sure", `score is "sure"; want a number`},
}

func TestParseResultRefuses(t *testing.T) {
	for _, tt := range faultyResults {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseResult(strings.NewReader(tt.text), "result.txt")
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

// What is taken can be scored, and no figure is outside its range.
func FuzzParseResult(f *testing.F) {
	for _, tt := range faultyResults {
		f.Add(tt.text)
	}
	f.Add("1,1,1,1,9,9,0\n9223372036854775807,2,1e300,-1e300,1e-300,1e300,1\n")
	f.Fuzz(func(t *testing.T, text string) {
		found, err := ParseResult(strings.NewReader(text), "result.txt")
		if err != nil {
			return
		}
		got := Score(parse(t, "1,1,1,1,9,9,1", "1,2,5,1,9,9,0"), found, 0, 0)
		for _, v := range []*float64{got.IDF1, got.Recall, got.Precision} {
			if v != nil && !(*v >= 0 && *v <= 1) {
				t.Errorf("%v in %+v", *v, got)
			}
		}
	})
}

// The figures are those that py-motmetrics gave: testdata/crafted.py made them, and the files.
func TestFigures(t *testing.T) {
	cases := 0
	for lines := bufio.NewScanner(golden(t, "tracks.txt")); lines.Scan(); cases++ {
		var name string
		var want [4]float64
		var switches, fragmentations int
		_, err := fmt.Sscan(lines.Text(), &name, &want[0], &want[1], &want[2], &want[3], &switches, &fragmentations)
		require.NoError(t, err)
		t.Run(name, func(t *testing.T) {
			truth, err := ParseTruth(golden(t, "tracks-"+name+".gt.txt"), "gt.txt")
			require.NoError(t, err)
			found, err := ParseResult(golden(t, "tracks-"+name+".result.txt"), "result.txt")
			require.NoError(t, err)
			got := Score(truth, found, 0, 0)
			for k, v := range []*float64{got.MOTA, got.IDF1, got.Recall, got.Precision} {
				if v == nil || math.Abs(*v-want[k]) > 1e-12 {
					t.Errorf("%s is %v; want %v", [...]string{"MOTA", "IDF1", "recall", "precision"}[k], v, want[k])
				}
			}
			if got.IDSwitches != switches || got.Fragmentations != fragmentations {
				t.Errorf("%d switches, %d fragmentations; want %d, %d", got.IDSwitches, got.Fragmentations, switches, fragmentations)
			}
		})
	}
	assert.Equal(t, 3, cases, "cases")
}

// A tracker that finds every person where he is has all there is to have, whatever he calls them and
// in which order; with one box less, and then one false one more, it is one fault each.
func TestFiguresOfPerfection(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		var lines []string
		var found []Found
		for n := 1; n <= 12; n++ {
			for id := 1; id <= 5; id++ {
				if rng.IntN(4) == 0 {
					continue
				}
				flag := min(rng.IntN(6), 1)
				b := Box{float64(40*id + rng.IntN(30)), float64(rng.IntN(50)), 20, 60}
				lines = append(lines, fmt.Sprintf("%d,%d,%g,%g,20,60,%d", n, id, b.Left+1, b.Top+1, flag))
				if flag == 1 || rng.IntN(2) == 0 {
					found = append(found, Found{n, 100 - id, b, 1})
				}
			}
		}
		rng.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		rng.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
		truth := parse(t, lines...)
		one := 1.0
		if d := cmp.Diff(Figures{MOTA: &one, IDF1: &one, Recall: &one, Precision: &one}, Score(truth, found, 0, 0)); d != "" {
			t.Fatalf("%s in\n%s", d, strings.Join(lines, "\n"))
		}
		counted := float64(len(lines))
		for _, l := range lines {
			if strings.HasSuffix(l, ",0") {
				counted--
			}
		}
		k := slices.IndexFunc(found, func(f Found) bool { return !truth.boxes[100-f.ID][f.Frame].ignored })
		lessOne := slices.Delete(slices.Clone(found), k, k+1)
		got := Score(truth, lessOne, 0, 0)
		if math.Abs(*got.MOTA-(1-1/counted)) > 1e-12 || math.Abs(*got.Recall-(1-1/counted)) > 1e-12 || *got.Precision != 1 {
			t.Errorf("one of %g missed: MOTA %v, recall %v, precision %v", counted, *got.MOTA, *got.Recall, *got.Precision)
		}
		got = Score(truth, append(lessOne, Found{5, 1, Box{500, 500, 20, 60}, 1}), 0, 0)
		if math.Abs(*got.MOTA-(1-2/counted)) > 1e-12 || math.Abs(*got.Precision-(1-1/counted)) > 1e-12 || got.IDSwitches != 0 {
			t.Errorf("one of %g elsewhere: MOTA %v, precision %v, %d switches", counted, *got.MOTA, *got.Precision, got.IDSwitches)
		}
	}
}

// A box is right from an IoU of 0.5 on, ignored boxes take the one that fits them best and
// nothing else, and frames outside are not looked at.
func TestScoreRules(t *testing.T) {
	for _, tt := range []struct {
		name          string
		truth, result []string
		first, last   int
		want          string // MOTA, recall, precision
	}{
		{"half", []string{"1,1,1,1,10,10,1"}, []string{"1,5,1,1,10,5,1"}, 0, 0, "1 1 1"},
		{"less than half", []string{"1,1,1,1,10,10,1"}, []string{"1,5,1,1,10,4.99,1"}, 0, 0, "-1 0 0"},
		{"found only where it is ignored", []string{"1,1,1,1,10,10,0", "2,1,1,1,10,10,1"}, []string{"1,5,1,1,10,10,1"}, 0, 0, "0 0 <nil>"},
		{"beside one that is ignored", []string{"1,1,1,1,10,10,0", "1,2,4,1,10,10,1"}, []string{"1,5,3,1,10,10,1"}, 0, 0, "1 1 1"},
		{"two on one that is ignored", []string{"1,1,1,1,10,10,0", "2,1,1,1,10,10,1"}, []string{"1,5,1,1,10,10,1", "1,6,2,1,10,10,1", "2,5,1,1,10,10,1"}, 0, 0, "0 1 0.5"},
		{"frames outside", []string{"1,1,1,1,10,10,1", "2,1,1,1,10,10,1", "4,1,1,1,10,10,1"}, []string{"2,5,1,1,10,10,1", "5,5,1,1,10,10,1"}, 2, 3, "1 1 1"},
		{"after the truth's end", []string{"1,1,1,1,10,10,1"}, []string{"1,5,1,1,10,10,1", "9,5,1,1,10,10,1"}, 0, 0, "0 1 0.5"},
		{"nobody is ever there", []string{"1,1,1,1,10,10,0"}, []string{"1,5,40,1,10,10,1"}, 0, 0, "<nil> <nil> 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := Score(parse(t, tt.truth...), parseResult(t, tt.result...), tt.first, tt.last)
			text := func(v *float64) string {
				if v == nil {
					return "<nil>"
				}
				return fmt.Sprint(*v)
			}
			assert.Equal(t, tt.want, text(f.MOTA)+" "+text(f.Recall)+" "+text(f.Precision), "MOTA, recall, precision")
		})
	}
}

// Who is less tall counts no more than who is ignored, and what is found less tall counts where it is on a person who
// does.
func TestIgnoreBelow(t *testing.T) {
	lines := []string{"1,1,1,1,20,60,1", "1,2,101,1,20,40,1", "1,3,201,1,20,48,1"}
	for _, tt := range []struct {
		name   string
		result []string
		want   [3]float64 // MOTA, recall, precision
	}{
		{"all", []string{"1,5,1,1,20,60,1", "1,6,101,1,20,40,1", "1,7,201,1,20,48,1"}, [3]float64{1, 1, 1}},
		{"nobody who is small", []string{"1,5,1,1,20,60,1", "1,7,201,1,20,48,1"}, [3]float64{1, 1, 1}},
		{"small on nobody", []string{"1,5,1,1,20,60,1", "1,7,201,1,20,48,1", "1,8,301,1,20,47,1"}, [3]float64{1, 1, 1}},
		{"tall on nobody", []string{"1,5,1,1,20,60,1", "1,7,201,1,20,48,1", "1,8,301,1,20,48,1"}, [3]float64{0.5, 1, 2. / 3}},
		{"small on who is tall", []string{"1,5,1,1,20,60,1", "1,7,201,1,20,40,1"}, [3]float64{1, 1, 1}},
		{"small on who is tall and wrong", []string{"1,5,1,1,20,60,1", "1,7,201,1,20,20,1"}, [3]float64{0.5, 0.5, 1}},
		{"tall on who is small", []string{"1,5,1,1,20,60,1", "1,7,201,1,20,48,1", "1,6,101,1,20,50,1"}, [3]float64{1, 1, 1}},
	} {
		truth := parse(t, lines...)
		truth.IgnoreBelow(48)
		f := Score(truth, parseResult(t, tt.result...), 0, 0)
		if *f.MOTA != tt.want[0] || *f.Recall != tt.want[1] || *f.Precision != tt.want[2] {
			t.Errorf("%s: MOTA %v, recall %v, precision %v; want %v", tt.name, *f.MOTA, *f.Recall, *f.Precision, tt.want)
		}
	}
}

func TestFiguresJSON(t *testing.T) {
	text, err := json.Marshal(Score(parse(t, "1,1,1,1,10,10,1"), nil, 0, 0))
	if want := `{"mota":0,"idf1":0,"id_switches":0,"fragmentations":0,"recall":0,"precision":null}`; err != nil || string(text) != want {
		t.Errorf("%s, %v; want %s", text, err, want)
	}
}

// Boxes more than a second after the last true one are strangers, those of frames that are not to be considered apart.
func TestStrangers(t *testing.T) {
	tr := track{person: person{id: 1, mark: 1}, truth: map[int]entry{}}
	b := Box{10, 10, 30, 80}
	for n := 1; n <= 10; n++ {
		tr.truth[n] = entry{box: b, ignored: n > 8}
	}
	looked := make([]int, 0, 20)
	for n := 1; n <= 20; n++ {
		looked = append(looked, n)
		if n > 5 && n < 14 {
			tr.see(n, b, 1)
		}
	}
	g := group(counts{}, []track{tr}, looked, 2)
	want := Object{ID: 1, Marked: 1, Present: 7, Right: 3, False: 3, Missed: 4, Gone: 8, Strangers: 1}
	assert.Empty(t, cmp.Diff(want, g.PerObject[0]))
	if g.Strangers == nil || *g.Strangers != 125 {
		t.Errorf("strangers: %v; want 125 of 1000", g.Strangers)
	}
}
