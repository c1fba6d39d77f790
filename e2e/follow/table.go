// Package follow marks the persons of a clip in a running segd, live, and counts how
// well they are followed: all by ellipses, all by boxes, and each alone by its ellipse.
// Where they really are is a file in MOTChallenge's format, which is not part of segd.
//
// Each time a segd of its own, with the settings that segd has by default, plays the clip
// as a camera. A subscriber to its masks marks, once the masks of a frame have come, whom
// the truth has whole in that frame, as a person would who sees it, and gathers the masks
// from then on. Frame n of the truth has sequence number n − 1.
package follow

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/lab/mot"
)

// result is what came of one run.
type result struct {
	name     string
	marked   int // true frame in which persons were marked
	last     int // true frame up to which it was looked at
	masks    int // how many frames after that one had masks
	persons  []int
	warnings []*segdv1.Warning
	figures  mot.Group
}

// bars are what the figures have to reach.
type bars struct {
	ellipseIDF1, ellipseIDP, boxIDF1, aloneRight, aloneFalse float64
}

// missed names the bars that a run does not reach.
func (b bars) missed(r result) []string {
	var faults []string
	least := func(what string, got *float64, want float64) {
		if got == nil || *got < want {
			faults = append(faults, fmt.Sprintf("%s below %.2f", what, want))
		}
	}
	switch r.name {
	case "ellipses":
		least("IDF1", r.figures.IDF1, b.ellipseIDF1)
		least("IDP", r.figures.IDP, b.ellipseIDP)
	case "boxes":
		least("IDF1", r.figures.IDF1, b.boxIDF1)
	default:
		o := r.figures.PerObject[0]
		if n := float64(o.Present); o.Present == 0 || float64(o.Right) < b.aloneRight*n {
			faults = append(faults, fmt.Sprintf("right in less than %.0f %%", 100*b.aloneRight))
		}
		if float64(o.False) > b.aloneFalse*float64(o.Present) {
			faults = append(faults, fmt.Sprintf("false in more than %.0f %%", 100*b.aloneFalse))
		}
	}
	return faults
}

// print writes the runs as a table and returns what bars they miss.
func (b bars) print(out io.Writer, runs []result) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "run\tmarked\tmasks\tIDF1\tIDP\tIDR\tpresent\tright\tfalse\tmissed\twarned\tbars")
	var faults []error
	for _, r := range runs {
		var sum mot.Object
		for _, o := range r.figures.PerObject {
			sum.Present, sum.Right, sum.False, sum.Missed = sum.Present+o.Present, sum.Right+o.Right, sum.False+o.False, sum.Missed+o.Missed
		}
		verdict := "reached"
		if missed := b.missed(r); len(missed) > 0 {
			verdict = strings.Join(missed, ", ")
			faults = append(faults, fmt.Errorf("%s: %s", r.name, verdict))
		}
		fmt.Fprintf(w, "%s\t%d in frame %d\t%d of %d\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\n", r.name, len(r.persons), r.marked, r.masks, r.last-r.marked,
			figure(r.figures.IDF1), figure(r.figures.IDP), figure(r.figures.IDR), sum.Present, sum.Right, sum.False, sum.Missed, len(r.warnings), verdict)
	}
	if len(runs) == 0 {
		faults = append(faults, errors.New("nothing was tried"))
	}
	return errors.Join(w.Flush(), errors.Join(faults...))
}

func figure(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.3f", *v)
}
