package dnn

import (
	"os"
	"testing"
)

// TestMain lets the test binary be the child that Probe starts.
func TestMain(m *testing.M) {
	ChildMain()
	os.Exit(m.Run())
}
