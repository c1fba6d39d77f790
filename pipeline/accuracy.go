package pipeline

import "github.com/segd/segd/api"

// Judge compares the masks that were published of a frame with what people say is true, and keeps how they agree. It is no
// annotation: nothing is tracked otherwise. Errors wrap api.ErrFrame if the frame's masks are not kept, or annotation.ErrInvalid.
func (c *Camera) Judge(seq uint64, truths []api.Truth) ([]api.Accuracy, error) {
	masks, err := c.Masks(seq)
	if err != nil {
		return nil, err
	}
	return c.accuracy.Judge(masks, truths)
}

// Accuracy returns what Judge has kept, the oldest first.
func (c *Camera) Accuracy() []api.Accuracy { return c.accuracy.All() }

// ForgetAccuracy drops what Judge has kept.
func (c *Camera) ForgetAccuracy() { c.accuracy.Clear() }
