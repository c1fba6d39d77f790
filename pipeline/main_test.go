package pipeline

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/segd/segd/checkpoint"
	"github.com/segd/segd/checkpoint/checkpointv1"
)

func TestMain(m *testing.M) {
	// The first call makes channels, which are to belong to none of the tests with a time of their own.
	if _, err := checkpoint.Encode(&checkpointv1.Checkpoint{}); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
