// Package cli is what segd's commands have in common: where they read and write, what
// their errors make the exit status, and how they talk to people and to programs.
//
// Text that others made goes through Printable before it is shown.
package cli

import "io"

// Streams are where a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}
