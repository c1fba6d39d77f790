// Subscribe-go prints every mask of every camera: the camera, the frame's
// number, and each object's name, state, area and centre, taken from the decoded
// mask, and the extent of what has a track.
//
//	go run ./clients/examples/subscribe-go [nats://127.0.0.1:4222]
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/mask"
)

func main() {
	url := "nats://127.0.0.1:4222"
	if len(os.Args) > 1 {
		url = os.Args[1]
	}
	log.Fatal(bus.Watch(context.Background(), url, "segd.v1.*.*.mask", bus.Handlers{
		Mask: show,
		Bad:  func(subject string, err error) { log.Print(subject, ": ", err) }, // the others of a frame may be sound
	}))
}

// show prints a line for each object of a frame.
func show(frame *segdv1.MaskFrame) {
	for _, o := range frame.GetObjects() {
		m, err := mask.Parse(o.GetCounts(), int(frame.GetWidth()), int(frame.GetHeight()))
		if err != nil { // bus leaves those out
			log.Print(err)
			continue
		}
		var area, x, y int
		for i, bit := range m.Decode(nil) { // height rows of width pixels, 0 or 1
			area += int(bit)
			x += int(bit) * (i % m.Width)
			y += int(bit) * (i / m.Width)
		}
		state := strings.ToLower(strings.TrimPrefix(o.GetState().String(), "STATE_"))
		fmt.Printf("%s %d %s %s %d px", frame.GetCamera(), frame.GetSequence(), o.GetLabel(), state, area)
		if area > 0 {
			fmt.Printf(" around %.1f,%.1f", float64(x)/float64(area), float64(y)/float64(area))
		}
		if e := o.GetExtent(); e != nil { // all of it, also while it is hidden
			fmt.Printf(" within %d,%d %d×%d", e.GetX(), e.GetY(), e.GetWidth(), e.GetHeight())
		}
		fmt.Println()
	}
}
