package annotation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
)

// Marshal is a as [Parse] reads it, JSON: its mask as a PNG. What is larger than Parse accepts is an error.
func Marshal(a *Annotation) ([]byte, error) {
	own := *a
	if own.Objects == nil {
		own.Objects = []Object{} // null is none
	}
	out := struct {
		*Annotation
		MaskPNG []byte `json:"mask,omitempty"`
	}{Annotation: &own}
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
	if len(data) > maxBytes {
		return nil, fmt.Errorf("annotation: %d bytes as JSON; want at most %d", len(data), maxBytes)
	}
	return data, nil
}
