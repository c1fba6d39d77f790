// Package pause says how long to wait before trying again.
package pause

import (
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Growing returns pauses that double from least to most, each shortened by up to a
// half at random: what failed together comes back apart.
func Growing(least, most time.Duration) *backoff.ExponentialBackOff {
	// The library takes its randomness to both sides: of 3/4, a third.
	return &backoff.ExponentialBackOff{
		InitialInterval: least * 3 / 4, MaxInterval: most * 3 / 4,
		Multiplier: 2, RandomizationFactor: 1. / 3,
	}
}
