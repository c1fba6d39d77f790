package attack

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Report is what came of it.
type Report struct {
	Tried  int     `json:"tried"`
	Held   int     `json:"held"`
	Stages []Stage `json:"stages"`
}

// Stage is a kind of attack.
type Stage struct {
	Name   string   `json:"stage"`
	Tried  int      `json:"tried"`
	Held   int      `json:"held"`
	Faults []string `json:"faults,omitempty"`
}

// maxFaults is how many of a stage are told.
const maxFaults = 20

// fault counts one that did not hold.
func (s *Stage) fault(format string, args ...any) {
	s.Held--
	if len(s.Faults) < maxFaults {
		s.Faults = append(s.Faults, fmt.Sprintf(format, args...))
	}
}

// try counts n that hold until a fault says otherwise.
func (s *Stage) try(n int) { s.Tried, s.Held = s.Tried+n, s.Held+n }

func (r *Report) add(s Stage) {
	r.Tried, r.Held, r.Stages = r.Tried+s.Tried, r.Held+s.Held, append(r.Stages, s)
}

// print writes the table.
func (r *Report) print(w io.Writer) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "stage\ttried\theld")
	for _, s := range append(r.Stages, Stage{Name: "all", Tried: r.Tried, Held: r.Held}) {
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\n", s.Name, s.Tried, s.Held)
	}
	_ = table.Flush()
	for _, s := range r.Stages {
		for _, f := range s.Faults {
			_, _ = fmt.Fprintf(w, "%s: %s\n", s.Name, strings.ReplaceAll(f, "\n", " "))
		}
	}
}
