package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Fault is one thing wrong with the configuration.
type Fault struct {
	File string // the YAML file, or the environment variable
	// Line and Column count from 1; both are 0 when there is no such place: the
	// value came from the environment, or is missing altogether.
	Line, Column int
	Path         string // the setting, such as cameras[0].url; may be empty
	Message      string // what was found and what would be accepted
}

// Error is one line: file:line:column: path: message.
func (f Fault) Error() string {
	var b strings.Builder
	b.WriteString(f.File)
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", f.Line, f.Column)
	}
	if f.Path != "" {
		b.WriteString(": " + f.Path)
	}
	return b.String() + ": " + f.Message
}

// Faults is all that is wrong, in the order of the file.
type Faults []Fault

// Error is one line a fault.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find a Fault.
func (fs Faults) Unwrap() []error {
	errs := make([]error, len(fs))
	for i, f := range fs {
		errs[i] = f
	}
	return errs
}

func (fs Faults) sorted() Faults {
	slices.SortStableFunc(fs, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return fs
}

// place is where a setting was written.
type place struct {
	file         string
	line, column int
}

// SettingError is an error about one setting, which a Fault is not: it was found when the setting was used.
type SettingError struct {
	Path string // such as cameras[1].url
	Err  error
}

func (e *SettingError) Error() string { return e.Err.Error() }
func (e *SettingError) Unwrap() error { return e.Err }
