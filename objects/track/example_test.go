package track_test

import (
	"fmt"
	"time"

	"github.com/segd/segd/objects/track"
)

// A person walks past a detector that does not see them for half a second.
func Example() {
	tracker, err := track.New(track.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range 20 {
		frame := track.Frame{Time: time.Duration(i) * 100 * time.Millisecond, Width: 640, Height: 480}
		if i < 10 || i >= 15 {
			x := 100 + 8*float64(i)
			frame.Found = []track.Detection{{Box: track.Box{X0: x, Y0: 200, X1: x + 40, Y1: 300}, Class: "person", Score: .8}}
		}
		tracks, _ := tracker.Step(&frame)
		if i%4 == 1 {
			for _, t := range tracks {
				fmt.Printf("%v: %s %d is at %.0f, detected: %v\n", frame.Time, t.Class, t.ID, t.Box.X0, t.Detected >= 0)
			}
		}
	}
	// Output:
	// 100ms: person 1 is at 106, detected: true
	// 500ms: person 1 is at 140, detected: true
	// 900ms: person 1 is at 172, detected: true
	// 1.3s: person 1 is at 204, detected: false
	// 1.7s: person 1 is at 236, detected: true
}
