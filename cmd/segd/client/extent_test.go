package client

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/segd/segd/bus/segdv1"
)

// Lines and tables tell the extent of what has one, hidden or not.
func TestExtentText(t *testing.T) {
	extent := &segdv1.Box{X: -3, Y: 4, Width: 12, Height: 30}
	hidden := &segdv1.Object{Id: 1, Label: "Anna", State: segdv1.State_STATE_OCCLUDED, Extent: extent}
	for line, want := range map[string]string{
		MaskLine(&segdv1.MaskFrame{Objects: []*segdv1.Object{hidden, {Id: 2, Label: "bag", State: segdv1.State_STATE_LOST}}}):                                              "Anna 1 occluded, extent (-3,4) 12×30  bag 2 lost",
		eventLine(&segdv1.Event{ObjectId: 1, ObjectLabel: "Anna", Extent: extent, Message: "zone yard"}):                                                                   "Anna 1, extent (-3,4) 12×30: zone yard",
		eventLine(&segdv1.Event{ObjectId: 256, ObjectLabel: "Ben", ObjectClass: "person", Box: &segdv1.Box{X: 1, Y: 2, Width: 3, Height: 4}, Score: .876, Extent: extent}): "Ben 256, a person, at (1,2) 3×4, score 0.88, extent (-3,4) 12×30",
		boxText(extent): "12×30-3+4",
		boxText(nil):    "-",
	} {
		assert.Contains(t, line, want)
	}
}
