// Package soak follows one object for long and watches the process' memory. It
// reads files and returns a report; printing is the caller's.
package soak
