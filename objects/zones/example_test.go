package zones_test

import (
	"fmt"
	"time"

	"github.com/segd/segd/objects/zones"
)

// A person walks down the picture, into the yard.
func Example() {
	w, err := zones.New(zones.Layout{
		Zones: []zones.Zone{{Name: "yard", Polygon: []zones.Point{{0, 0.6}, {1, 0.6}, {1, 1}, {0, 1}}}},
		Lines: []zones.Line{{Name: "gate", Points: []zones.Point{{0.2, 0.5}, {0.8, 0.5}}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range 50 {
		person := zones.OfBox(1, 300, 100+6*float64(i), 40, 100, 640, 480)
		frame := zones.Frame{Time: time.Duration(i) * 40 * time.Millisecond, Width: 640, Height: 480, Objects: []zones.Object{person}}
		for _, e := range w.Observe(frame) {
			switch e.Kind {
			case zones.Crossed:
				fmt.Println("frame", i, "crossed", e.Name, "from a to b:", e.AToB)
			case zones.Entered:
				fmt.Println("frame", i, "entered", e.Name)
			}
		}
	}
	fmt.Printf("%+v\n", w.Counts())
	// Output:
	// frame 16 crossed gate from a to b: true
	// frame 22 entered yard
	// {Zones:[{Name:yard Objects:1 Entries:1 Stays:0}] Lines:[{Name:gate AToB:1 BToA:0}]}
}
