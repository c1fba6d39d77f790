package measure

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/segd/segd/config"
	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/internal/cli"
)

// lookFlags say when the detector in the binary looks, and what counts as detected.
type lookFlags struct {
	every int
	score float64
}

// add defines them; when says with which other flags they are of use.
func (f *lookFlags) add(cmd *cobra.Command, when string) {
	flags := cmd.Flags()
	flags.IntVar(&f.every, "every", 10, "frames from one look of the detector to the next; "+when)
	flags.Float64Var(&f.score, "score", config.DefaultDetectScore, "score from which on a detection counts, 0.01 to 1; "+when)
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

// detector is one of these classes, which the caller closes.
func (f *lookFlags) detector(classes []string, computing dnn.Computing) (*dnn.Detector, error) {
	return dnn.EmbeddedDetector(dnn.DetectorOptions{Classes: classes, Score: f.score, Computing: computing})
}
