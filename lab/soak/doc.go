// Package soak follows one object, or what a detector finds, for long and watches the process' memory
// and, in the latter case, what becomes of the objects. It reads files or is shown pictures, and returns a
// report; printing is the caller's.
package soak
