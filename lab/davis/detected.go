package davis

import (
	"context"
	"fmt"
	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/lab/internal/offline"
	"github.com/segd/segd/mask"
)

// Detector finds things in pictures.
type Detector = offline.Detector

const (
	// foundIoU is the IoU with the true box from which on a detection is of the object.
	foundIoU = 0.3
	// besideEvery is how many frames there are from one look at all of a picture to the next, where objects begin
	// by themselves beside the object.
	besideEvery = 10
)

// Mark is the detection that an object begins with.
type Mark struct {
	Frame int     `json:"frame"` // of those that are played, from 0
	Class string  `json:"class"`
	Score float64 `json:"score"`
	IoU   float64 `json:"iou"` // of its box with the true one

	box []float64
}

// detected has each take begin in the first frame in which the detector finds its object, and
// returns the sequences in which it never does.
func (opt *Options) detected(ctx context.Context, all [][]*take) (found [][]*take, skipped []Skipped, err error) {
	for _, takes := range all {
		reason, name := "", takes[0].Name
		for i, t := range takes {
			if takes[i], reason, err = opt.find(ctx, t); err != nil {
				return nil, nil, fmt.Errorf("davis: %s: %w", t.Name, err)
			}
			if reason != "" {
				break
			}
		}
		if reason != "" {
			skipped = append(skipped, Skipped{name, reason})
		} else {
			found = append(found, takes)
		}
	}
	if len(found) == 0 {
		return nil, nil, fmt.Errorf("davis: no object is detected: %s: %s", skipped[0].Name, skipped[0].Reason)
	}
	return found, skipped, nil
}

// find returns t from the first frame on in which its object is detected, or the reason why there is none.
func (opt *Options) find(ctx context.Context, t *take) (from *take, reason string, err error) {
	var dst []features.Detection
	for i := range t.Images {
		p, err := t.Read(i)
		if err != nil {
			return nil, "", err
		}
		truth := mask.Encode(p.Truth, p.Width, p.Height).Box()
		if truth.Empty() {
			continue
		}
		if dst, err = opt.Marks.Detect(dst, p.BGR, p.Width, p.Height, 1); err != nil {
			return nil, "", fmt.Errorf("frame %d: %w", i, err)
		}
		var best *Mark
		for _, d := range dst {
			if v := features.IoU(d.Box, truth); v >= foundIoU && (best == nil || v > best.IoU) {
				best = &Mark{Frame: i, Class: d.Class, Score: d.Score, IoU: v, box: corners(d)}
			}
		}
		if best == nil {
			if err := ctx.Err(); err != nil {
				return nil, "", err
			}
			continue
		}
		out := t.from(i)
		out.mark = best
		return out, opt.Perturb.tooShort(len(out.Images)), nil
	}
	return nil, fmt.Sprintf("the detector finds it in none of %d frames, by a box with an IoU of %v with the true one", len(t.Images), foundIoU), nil
}

func corners(d features.Detection) []float64 {
	return []float64{float64(d.Box.Min.X), float64(d.Box.Min.Y), float64(d.Box.Max.X), float64(d.Box.Max.Y)}
}

// annotation marks the object by the detection, as a person would by that box: one that a camera's detector
// marks is looked at again and again.
func (m *Mark) annotation(p *offline.Picture) *annotation.Annotation {
	return &annotation.Annotation{
		Width: p.Width, Height: p.Height,
		Objects: []annotation.Object{{ID: objectID, Label: m.Class, Box: m.box}},
	}
}
