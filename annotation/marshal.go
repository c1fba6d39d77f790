package annotation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
)

// Marshal is a as [Parse] reads it, JSON: its mask as a PNG.
func Marshal(a *Annotation) ([]byte, error) {
	out := struct {
		*Annotation
		MaskPNG []byte `json:"mask,omitempty"`
	}{Annotation: a}
	if a.Mask != nil {
		ids := &image.Gray{Pix: a.Mask, Stride: a.Width, Rect: image.Rect(0, 0, a.Width, a.Height)}
		var b bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, ids); err != nil {
			return nil, fmt.Errorf("annotation: mask: %w", err)
		}
		out.MaskPNG = b.Bytes()
	}
	data, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("annotation: %w", err)
	}
	return data, nil
}
