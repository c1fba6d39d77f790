package annotation

import (
	"bytes"
	"image"
	"image/jpeg"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What Parse reads of what Marshal writes is the same.
func TestMarshal(t *testing.T) {
	var picture bytes.Buffer
	require.NoError(t, jpeg.Encode(&picture, image.NewRGBA(image.Rect(0, 0, 6, 4)), nil))
	frame := uint64(1<<63 - 1)
	strokes := []Stroke{{Width: 1.0 / 3, Points: []Point{{0.1, 0.7}, {5, 3.25}}}, {Width: 2, Points: []Point{{6, 4}}}}
	mask := make([]uint8, 6*4)
	mask[7], mask[8], mask[23] = 5, 255, 5
	for _, tt := range []struct {
		name string
		a    Annotation
	}{
		{"a mask", Annotation{Objects: []Object{{ID: 5, Label: "\"guard\" <é> \\ &"}, {ID: 255}}, Mask: mask}},
		{"a mask with strokes", Annotation{Objects: []Object{{ID: 5, Scribbles: strokes}, {ID: 255}}, Mask: mask, Background: strokes}},
		{"outlines, boxes and strokes", Annotation{Frame: &frame, Objects: []Object{
			{ID: 1, Polygon: []Point{{1, 1}, {5.5, 1}, {3, 3.7}}, Scribbles: strokes},
			{ID: 300, Label: "person", Box: []float64{0, 0.5, 6, 4}},
			{ID: 1<<32 - 1, Scribbles: strokes},
		}}},
		{"background alone", Annotation{Background: strokes}},
		{"a picture", Annotation{Objects: []Object{{ID: 1, Box: []float64{0, 0, 6, 4}}}, Picture: picture.Bytes()}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := tt.a
			a.Width, a.Height = 6, 4
			require.NoError(t, a.Validate())
			data, err := Marshal(&a)
			require.NoError(t, err)
			got, err := Parse(bytes.NewReader(data))
			if err != nil {
				t.Fatalf("%v, of %s", err, data)
			}
			if a.Objects == nil {
				a.Objects = []Object{}
			}
			assert.Equal(t, a, *got, "read back as")
		})
	}
}

// What Parse would refuse for its size is not written.
func TestMarshalTooLarge(t *testing.T) {
	a := &Annotation{Width: 6, Height: 4, Objects: []Object{{ID: 1, Box: []float64{0, 0, 6, 4}}}, Picture: make([]byte, maxBytes)}
	_, err := Marshal(a)
	assert.ErrorContains(t, err, "want at most")
}
