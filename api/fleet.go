package api

import "context"

// Fleet is several segd that share cameras. Any of them answers.
type Fleet interface {
	// ShowFleet returns as JSON what is known of the boxes and their cameras.
	ShowFleet(ctx context.Context) ([]byte, error)
	// OrderBox has a box take no more cameras ("cordon"), give away those it has, too ("drain"), or
	// take cameras again ("uncordon").
	OrderBox(ctx context.Context, box, order string) error
	// MoveCamera has a camera run by that box, and returns once it is.
	MoveCamera(ctx context.Context, camera, box string) error
}
