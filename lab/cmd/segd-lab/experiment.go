package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/segd/segd/cmd/segd/cli"
)

// measured runs an experiment, with a bar of its steps, and prints its report: one JSON object, or what print writes, whose tabs
// become columns.
func measured[R any](std cli.Streams, asJSON bool, what string, run func(step func(done, total int)) (R, error), print func(w io.Writer, r R)) error {
	bar := cli.NewProgress(std.Err, what)
	r, err := run(bar.Step)
	bar.End()
	if err != nil {
		return err
	}
	return printed(std, asJSON, r, print)
}

// printed is measured of a report that there is.
func printed[R any](std cli.Streams, asJSON bool, r R, print func(w io.Writer, r R)) error {
	if asJSON {
		return json.NewEncoder(std.Out).Encode(r)
	}
	w := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	print(w, r)
	return w.Flush()
}

// orDash is a figure that there may not be.
func orDash(format string, v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf(format, *v)
}
