package dnn

import "math"

// chanceOf makes the logit of a network's score a chance: that of a box to be of a thing of its class, with an
// intersection over union of .5. It is Platt's (1999) scaling of NanoDet-Plus' scores by 29,773 boxes in 300 pictures of
// COCO; in five parts, each by the others, it lowers Brier's score of persons from .059 to .037, of vehicles from .058
// to .036, of others from .053 to .034.
type chanceOf struct{ offset, slope float64 }

func chances(class string) chanceOf {
	switch class {
	case "person":
		return chanceOf{.62, 3.06}
	case "car", "motorcycle", "bus", "truck":
		return chanceOf{.64, 3.09}
	}
	return chanceOf{.15, 2.65}
}

func (c chanceOf) chance(logit float64) float64 { return 1 / (1 + math.Exp(-c.offset-c.slope*logit)) }

// logit is that from which on the chance is p.
func (c chanceOf) logit(p float64) float64 { return (math.Log(p/(1-p)) - c.offset) / c.slope }
