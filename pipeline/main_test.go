package pipeline

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/segd/segd/pipeline/checkpoint"
)

func TestMain(m *testing.M) {
	// The first call makes channels, which are to belong to none of the tests with a time of their own.
	if _, err := checkpoint.Encode(&checkpoint.Checkpoint{}); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
