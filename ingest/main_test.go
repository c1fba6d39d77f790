package ingest

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/segd/segd/ingest/codec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// probe is First of which only the error is wanted.
func probe(ctx context.Context, cfg Config) error {
	return First(ctx, cfg, func(*Frame, codec.ID) {})
}
