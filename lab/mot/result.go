package mot

import (
	"cmp"
	"io"
	"maps"
	"math"
	"slices"
)

// ParseResult reads a tracker's boxes in MOTChallenge's format of results, as [WriteBoxes]
// writes it: a line a box, of frame, id, left, top, width, height, score and up to three
// more numbers, separated by commas; frames, ids and pixels count from 1. A file without
// lines is of a tracker that found no one. Name is what errors call the file.
func ParseResult(r io.Reader, name string) ([]Found, error) {
	type key struct{ frame, id int }
	var found []Found
	seen := map[key]bool{}
	_, err := resultLayout.read(r, name, func(l line) error {
		k := key{l.frame, l.id}
		if seen[k] {
			return l.twice()
		}
		seen[k] = true
		found = append(found, Found{l.frame, l.id, l.box, l.seventh})
		return nil
	})
	return found, err
}

// ParseDetections reads a detector's boxes in MOTChallenge's format: as that of results,
// but every id is −1.
func ParseDetections(r io.Reader, name string) ([]Found, error) {
	var found []Found
	_, err := detectionLayout.read(r, name, func(l line) error {
		found = append(found, Found{l.frame, l.id, l.box, l.seventh})
		return nil
	})
	return found, err
}

// Figures are those of a tracker that finds everybody by itself, as py-motmetrics has
// them; a box is right from an IoU of 0.5 on. What would be divided by 0 is null.
type Figures struct {
	MOTA           *float64 `json:"mota"` // 1 − (missed + false + switches) / true
	IDF1           *float64 `json:"idf1"`
	IDSwitches     int      `json:"id_switches"`
	Fragmentations int      `json:"fragmentations"` // times that a person is lost and found again
	Recall         *float64 `json:"recall"`         // share of the true boxes that are found
	Precision      *float64 `json:"precision"`      // share of the found boxes that are right
}

// Score compares what a tracker found with the truth in frames first to last; last 0 means
// all from first on. No id is twice in a frame of found, as in a result that was
// parsed.
//
// True boxes that are not to be considered count neither for nor against: in each frame
// all true boxes are paired with found ones, and who is paired with one of these is left
// out, as py-motmetrics and MOTChallenge leave out those on distractors. Who is paired with none and is
// less tall than [Truth.IgnoreBelow] asks for, or where [Truth.IgnoreIn] has nothing considered, is left out, too.
func Score(truth *Truth, found []Found, first, last int) Figures {
	c := score(truth.against(found, first, last), trackDistance)
	return Figures{
		MOTA: c.mota(), IDF1: c.idf1(), IDSwitches: c.switches, Fragmentations: c.fragmentations,
		Recall: c.recall(), Precision: c.precision(),
	}
}

// against is what there was to be found and what was, frame by frame, in order of the true
// ids. Frames without either are left out: they change nothing.
func (t *Truth) against(found []Found, first, last int) []frame {
	last = cmp.Or(last, math.MaxInt)
	real, said := map[int][]named{}, map[int][]named{}
	numbers := map[int]bool{}
	add := func(to map[int][]named, n int, b named) {
		if n >= first && n <= last {
			to[n], numbers[n] = append(to[n], b), true
		}
	}
	for _, id := range t.IDs() {
		for n, e := range t.boxes[id] {
			add(real, n, named{id, e.box})
		}
	}
	for _, f := range found {
		add(said, f.Frame, named{f.ID, f.Box})
	}
	var frames []frame
	for _, n := range slices.Sorted(maps.Keys(numbers)) {
		f := frame{found: said[n]}
		dropped := map[int]bool{}
		for _, h := range said[n] {
			dropped[h.id] = t.outside(h.box)
		}
		for i, j := range pair(real[n], said[n], trackDistance) {
			if j >= 0 {
				dropped[said[n][j].id] = t.boxes[real[n][i].id][n].ignored
			}
			if b := real[n][i]; !t.boxes[b.id][n].ignored {
				f.truth = append(f.truth, b)
			}
		}
		f.found = slices.DeleteFunc(f.found, func(h named) bool { return dropped[h.id] })
		frames = append(frames, f)
	}
	return frames
}
