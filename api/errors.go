package api

import "errors"

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
}

func (r *Refusal) Error() string { return r.Detail }

// Code is Status, for callers that know the meaning of HTTP's codes but not this
// package.
func (r *Refusal) Code() int { return r.Status }
