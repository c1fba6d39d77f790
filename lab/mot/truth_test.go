package mot

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseTruth(t *testing.T) {
	truth, err := ParseTruth(strings.NewReader("1,9,499,158,31.03,75.17,1,-4.1554,-7.3591,0\n1,15,258,219,32.9,88.7,1\r\n3,9,1,1,20,70,0,1,0.25\n"), "gt.txt")
	require.NoError(t, err)
	if ids := truth.IDs(); !slices.Equal(ids, []int{9, 15}) || truth.last != 3 {
		t.Errorf("persons %d up to frame %d; want 9 and 15 up to 3", ids, truth.last)
	}
	if got, want := truth.boxes[9][1], (entry{Box{498, 157, 31.03, 75.17}, false}); got != want {
		t.Errorf("%+v; want %+v", got, want)
	}
	if got, want := truth.boxes[9][3], (entry{Box{0, 0, 20, 70}, true}); got != want {
		t.Errorf("%+v; want %+v", got, want)
	}
	if !truth.within(9, 1, 1) || truth.within(9, 2, 3) || truth.within(1, 1, 3) {
		t.Error("person 9 is in frame 1 alone, for in frame 3 it is not to be considered")
	}
}

var faultyTruths = []struct{ name, text, want string }{
	{"empty", "", "gt.txt: empty; want lines of frame,id,left,top,width,height,flag"},
	{"empty line", "1,1,1,1,9,9,1\n\n", "gt.txt:2: 1 fields; want 7 to 10"},
	{"too few", "1,1,1,1,9,9", "gt.txt:1: 6 fields; want 7 to 10"},
	{"too many", "1,1,1,1,9,9,1,1,1,1,1", "11 fields"},
	{"other separator", "1 1 1 1 9 9 1", "1 fields"},
	{"frame 0", "0,1,1,1,9,9,1", `frame is "0"; want a whole number from 1 on`},
	{"frame", "1.5,1,1,1,9,9,1", `frame is "1.5"`},
	{"id", "1,x,1,1,9,9,1", `id is "x"; want a whole number from 1 on`},
	{"left", "1,1,,1,9,9,1", `left is ""; want a number`},
	{"top", "1,1,1,NaN,9,9,1", `top is "NaN"; want a number`},
	{"width", "1,1,1,1,0,9,1", `width is "0"; want more than 0`},
	{"height", "1,1,1,1,9,-3,1", `height is "-3"; want more than 0`},
	{"flag", "1,1,1,1,9,9,yes", `flag is "yes"; want a number`},
	{"behind the flag", "1,1,1,1,9,9,1,a", `field 8 is "a"; want a number`},
	{"twice", "1,1,1,1,9,9,1\n1,1,2,2,9,9,1", "gt.txt:2: id 1 is in frame 1 for the second time"},
	{"no text", strings.Repeat("1", 1<<17), "gt.txt:1: bufio.Scanner: token too long"},
}

func TestParseTruthRefuses(t *testing.T) {
	for _, tt := range faultyTruths {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseTruth(strings.NewReader(tt.text), "gt.txt")
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

// What is taken can be asked for marks.
func FuzzParseTruth(f *testing.F) {
	for _, tt := range faultyTruths {
		f.Add(tt.text)
	}
	f.Add("1,9,499,158,31.03,75.17,1,-4.1554,-7.3591,0\n2,9,1e9,-1e9,1e-9,1e300,1\n")
	f.Fuzz(func(t *testing.T, text string) {
		truth, err := ParseTruth(strings.NewReader(text), "gt.txt")
		if err != nil {
			return
		}
		s := size{640, 480}
		for _, id := range truth.IDs() {
			n := truth.markFrame(id, 1, min(truth.last, 1000), s)
			if n == 0 {
				continue
			}
			_, _ = MarkEllipse.object(person{id: id, number: 1, mark: n}, truth.boxes[id][n].box, s)
		}
	})
}

// Where nothing counts, neither true boxes nor what is found there does; what is found on a person who counts does.
func TestIgnoreIn(t *testing.T) {
	truth, err := ParseTruth(strings.NewReader("1,1,11,11,20,20,1\n1,2,111,11,20,20,1\n"), "gt.txt")
	require.NoError(t, err)
	regions, err := ParseRegions(strings.NewReader("0, 0, 50, 50.5\n128,0,20,30\n"), "ignored.txt")
	require.NoError(t, err)
	truth.IgnoreIn(regions)
	found := []Found{{1, 1, Box{10, 10, 20, 20}, 1}, {1, 2, Box{40, 40, 10, 10}, 1}, {1, 3, Box{110, 10, 38, 20}, 1}, {1, 4, Box{125, 15, 10, 10}, 1}}
	if f := Score(truth, found, 1, 1); *f.Recall != 1 || *f.Precision != 1 {
		t.Errorf("%+v; want the second alone, found once", f)
	}
	for text, want := range map[string]string{"1,2,3\n": "left,top,width,height", "1,2,3,4\n1,2,x,4\n": `ignored.txt:2: field 3 is "x"`} {
		if _, err := ParseRegions(strings.NewReader(text), "ignored.txt"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}

// Of a true box counts what is in the picture.
func TestCut(t *testing.T) {
	truth := parse(t, "1,7,-9,1,20,60,1", "1,8,-30,1,20,60,1")
	truth.cut(Box{0, 0, 100, 100})
	found := []Found{{1, 1, Box{0, 0, 10, 60}, 1}}
	if f := Score(truth, found, 1, 1); f.MOTA == nil || *f.MOTA != 1 {
		t.Errorf("%+v", f)
	}
}
