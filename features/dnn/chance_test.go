package dnn

import (
	"math"
	"testing"
)

// A score is worth what its class makes of it: of persons and vehicles more than of others, and the way back is the same.
func TestChances(t *testing.T) {
	for class, want := range map[string]float64{"person": .65, "car": .65, "dog": .54} {
		of := chances(class)
		if got := of.chance(0); math.Abs(got-want) > .01 {
			t.Errorf("a score of .5 of a %s is right by %.3f; want %.2f", class, got, want)
		}
		if got := of.logit(of.chance(1.5)); math.Abs(got-1.5) > 1e-9 {
			t.Errorf("%s: the logit 1.5 becomes %v", class, got)
		}
		if of.chance(math.Inf(-1)) != 0 || of.chance(math.Inf(1)) != 1 {
			t.Errorf("%s: the scores 0 and 1 are %v and %v", class, of.chance(math.Inf(-1)), of.chance(math.Inf(1)))
		}
	}
}
