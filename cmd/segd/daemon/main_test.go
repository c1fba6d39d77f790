package daemon

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/segd/segd/features/dnn"
)

func TestMain(m *testing.M) {
	dnn.ChildMain() // this binary is also the child that tries models
	goleak.VerifyTestMain(m)
}
