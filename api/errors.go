package api

import (
	"context"
	"errors"
	"net/http"
)

// What the errors of a camera's commands wrap. Those of annotations are package annotation's.
var (
	// ErrUnknownObject: the camera has no object with that id.
	ErrUnknownObject = errors.New("unknown object")
	// ErrFrame: no masks are kept of that frame.
	ErrFrame = errors.New("frame not kept")
	// ErrBusy: others ask for the same; trying again may help.
	ErrBusy = errors.New("busy")
	// ErrDown: the camera does not deliver frames, or has ended.
	ErrDown = errors.New("camera down")
)

// NoPicture is the Type of the Refusal of a camera that could be added and shows no picture now.
const NoPicture = "no-picture"

// Refusal is an error that a command answers with.
type Refusal struct {
	Type   string // as Problem has it
	Status int    // as HTTP has them, 400 to 599
	Detail string
	Fields []Field
	Retry  int // seconds after which to ask again; 0: that is not known
}

func (r *Refusal) Error() string { return r.Detail }

// Status is what errors that wrap Is answer with.
type Status struct {
	Is   error
	Code int // as HTTP has them
}

// StatusOf is the status that a command's error answers with: the first of its own that it wraps, that of a context that ended,
// or otherwise.
func StatusOf(err error, otherwise int, own ...Status) int {
	for _, s := range append(own, Status{context.DeadlineExceeded, http.StatusGatewayTimeout}, Status{context.Canceled, http.StatusServiceUnavailable}) {
		if errors.Is(err, s.Is) {
			return s.Code
		}
	}
	return otherwise
}
