package loss

import (
	"fmt"

	"github.com/segd/segd/solver/loss"
)

// check is loss.Check of losses that compare a label with others.
func check(dst, t, omega []float64, labels int) error {
	if labels < 2 {
		return fmt.Errorf("%w: %d labels; want at least 2", loss.ErrInput, labels)
	}
	return loss.Check(dst, t, omega, labels)
}

// checkLabels is loss.CheckLabels of such losses.
func checkLabels(dst, t, omega []float64, y []int32, labels int) error {
	if err := check(dst, t, omega, labels); err != nil {
		return err
	}
	return loss.CheckLabels(dst, t, omega, y, labels)
}
