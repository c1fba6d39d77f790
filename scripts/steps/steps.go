// Package steps runs what the programs that look at segd from outside have to see.
package steps

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Step is one thing that must work.
type Step struct {
	Name string
	Do   func(context.Context) error
}

// Follow takes one step after the other and writes a line for each; one that fails
// ends it.
func Follow(ctx context.Context, w io.Writer, steps []Step) error {
	for i, step := range steps {
		if err := step.Do(ctx); err != nil {
			fmt.Fprintf(w, "FAIL %s: %v\n%d passed, %d failed\n", step.Name, err, i, len(steps)-i)
			return errors.New("not everything passed")
		}
		fmt.Fprintln(w, "ok  ", step.Name)
	}
	fmt.Fprintf(w, "%d passed, 0 failed\n", len(steps))
	return nil
}
