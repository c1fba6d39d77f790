package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus"
	"github.com/segd/segd/config"
	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/internal/plain"
)

// Exit statuses.
const (
	ExitFailure = 1
	ExitUsage   = 2   // the command line or the configuration has to be changed
	ExitAborted = 130 // a second signal
)

type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Usage makes err a fault of what was asked for: of the command line, or of a file it
// names.
func Usage(err error) error { return usageError{err} }

// Status is the exit status that err deserves.
func Status(err error) int {
	var usage usageError
	var faults config.Faults
	var setting *config.SettingError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage), errors.As(err, &faults), errors.As(err, &setting),
		errors.Is(err, ingest.ErrConfig),
		errors.Is(err, annotation.ErrInvalid),
		errors.Is(err, dnn.ErrRefused),
		errors.Is(err, bus.ErrAccess), errors.Is(err, bus.ErrName), errors.Is(err, bus.ErrUnknownCamera), errors.Is(err, bus.ErrRejected):
		return ExitUsage
	}
	return ExitFailure
}

// Report prints err, a line each fault, and returns the exit status.
func Report(w io.Writer, err error) int {
	if err != nil {
		name := StyleOf(w).Bad("segd:")
		for line := range strings.Lines(plain.Error(err)) {
			if line = strings.TrimSpace(line); line != "" {
				fmt.Fprintf(w, "%s %s\n", name, Printable(line))
			}
		}
	}
	return Status(err)
}
