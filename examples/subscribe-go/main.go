// Subscribe-go prints every mask of every camera: the camera, the frame's
// number, and each object's name, state, area and centre, taken from the decoded
// mask, and the extent of what has a track.
//
//	go run ./examples/subscribe-go [nats://127.0.0.1:4222]
package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/mask"
)

func main() {
	url := nats.DefaultURL
	if len(os.Args) > 1 {
		url = os.Args[1]
	}
	nc, err := nats.Connect(url, nats.MaxReconnects(-1))
	if err != nil {
		log.Fatal(err)
	}
	messages := make(chan *nats.Msg, 256) // what does not fit is lost, and nats.go says so
	if _, err := nc.ChanSubscribe("segd.v1.*.*.mask", messages); err != nil {
		log.Fatal(err)
	}
	for msg := range messages {
		if err := show(os.Stdout, msg); err != nil {
			log.Print(err)
		}
	}
}

// show decodes one message, which is protobuf or JSON, and prints a line for each
// object in it. The error tells which objects have no mask.
func show(w io.Writer, msg *nats.Msg) error {
	var frame segdv1.MaskFrame
	var err error
	if msg.Header.Get("Content-Type") == "application/json" {
		err = protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(msg.Data, &frame)
	} else {
		err = proto.Unmarshal(msg.Data, &frame)
	}
	if err != nil {
		return err
	}
	var faults []error
	for _, o := range frame.GetObjects() {
		m, err := mask.Parse(o.GetCounts(), int(frame.GetWidth()), int(frame.GetHeight()))
		if err != nil { // the others of the frame may be sound
			faults = append(faults, fmt.Errorf("%s %d, object %d: %w", frame.GetCamera(), frame.GetSequence(), o.GetId(), err))
			continue
		}
		var area, x, y int
		for i, bit := range m.Decode(nil) { // height rows of width pixels, 0 or 1
			area += int(bit)
			x += int(bit) * (i % m.Width)
			y += int(bit) * (i / m.Width)
		}
		state := strings.ToLower(strings.TrimPrefix(o.GetState().String(), "STATE_"))
		fmt.Fprintf(w, "%s %d %s %s %d px", frame.GetCamera(), frame.GetSequence(), o.GetLabel(), state, area)
		if area > 0 {
			fmt.Fprintf(w, " around %.1f,%.1f", float64(x)/float64(area), float64(y)/float64(area))
		}
		if e := o.GetExtent(); e != nil { // all of it, also while it is hidden
			fmt.Fprintf(w, " within %d,%d %d×%d", e.GetX(), e.GetY(), e.GetWidth(), e.GetHeight())
		}
		fmt.Fprintln(w)
	}
	return errors.Join(faults...)
}
