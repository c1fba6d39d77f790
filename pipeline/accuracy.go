package pipeline

import "github.com/segd/segd/api"

// Judge compares the masks that were published of a frame with the pixels that the objects truly cover, stores the comparisons and
// returns them. It is no annotation: the tracker goes on as before. Errors wrap api.ErrFrame if the frame's masks are not kept, or annotation.ErrInvalid.
func (c *Camera) Judge(seq uint64, truths []api.Truth) ([]api.Accuracy, error) {
	masks, err := c.Masks(seq)
	if err != nil {
		return nil, err
	}
	return c.accuracy.Judge(masks, truths)
}

// Accuracy returns the comparisons that Judge has stored, the oldest first.
func (c *Camera) Accuracy() []api.Accuracy { return c.accuracy.All() }

// ForgetAccuracy deletes the comparisons that Judge has stored.
func (c *Camera) ForgetAccuracy() { c.accuracy.Clear() }
