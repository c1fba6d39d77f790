package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/objects/track"
)

// lookFlags say when the model's heads look at a whole picture, and what counts as detected.
type lookFlags struct {
	every int
	score float64
}

// add defines them, with so many frames by default; when says with which other flags they are of use.
func (f *lookFlags) add(cmd *cobra.Command, every int, when string) {
	flags := cmd.Flags()
	flags.IntVar(&f.every, "every", every, "frames from one look at all of a picture to the next"+when)
	flags.Float64Var(&f.score, "score", track.DefaultConfirm, "score from which on an object begins, 0.01 to 1"+when)
}

func (f *lookFlags) check() error {
	if f.every < 1 {
		return cli.Usage(fmt.Errorf("--every %d: accepted: whole numbers from 1 on", f.every))
	}
	if !(f.score >= 0.01 && f.score <= 1) {
		return cli.Usage(fmt.Errorf("--score %v: accepted: 0.01 to 1", f.score))
	}
	return nil
}

// known tells whether a model detects these classes.
func (f *lookFlags) known(m *dnn.Model, classes []string) error {
	_, err := newHeads(m, classes, f.score)
	return err
}
