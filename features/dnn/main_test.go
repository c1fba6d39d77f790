package dnn

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// matsLeft counts OpenCV matrices that nobody closed, and describes them; only
// builds with the tag matprofile can tell.
var matsLeft = func() (int, string) { return 0, "" }

// TestMain lets the test binary be the child that Probe starts.
func TestMain(m *testing.M) {
	ChildMain()
	code := m.Run()
	if n, where := matsLeft(); n > 0 && code == 0 {
		fmt.Fprintf(os.Stderr, "%d matrices were not closed:\n%s", n, where)
		code = 1
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
