// Package pause says how long to wait before trying again, and waits.
package pause

import (
	"context"
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

// For waits for d, or less if ctx ends; then the error is ctx's.
func For(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
