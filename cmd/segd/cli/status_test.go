package cli

import (
	"errors"
	"fmt"
	"testing"

	"github.com/segd/segd/config"
)

// A setting that turns out wrong when it is used is a fault of the configuration, wrapped or not; any other error is a failure.
func TestStatus(t *testing.T) {
	fault := errors.New("no such picture")
	setting := &config.SettingError{Path: "cameras[0]", Err: fault}
	for _, tt := range []struct {
		err  error
		want int
	}{
		{nil, 0}, {fault, ExitFailure}, {Usage(fault), ExitUsage}, {setting, ExitUsage}, {fmt.Errorf("camera gate: %w", setting), ExitUsage},
	} {
		if got := Status(tt.err); got != tt.want {
			t.Errorf("%v: %d; want %d", tt.err, got, tt.want)
		}
	}
}
