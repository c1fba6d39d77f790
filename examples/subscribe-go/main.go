// Subscribe-go prints every mask of every camera: the camera, the frame's
// number, and each object's label and area, counted from the decoded mask. It
// reads protobuf, as segd sends it unless configured to send JSON.
//
//	go run ./examples/subscribe-go [nats://127.0.0.1:4222]
package main

import (
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/mask"
)

func main() {
	url := nats.DefaultURL
	if len(os.Args) > 1 {
		url = os.Args[1]
	}
	nc, err := nats.Connect(url)
	if err != nil {
		log.Fatal(err)
	}
	sub, err := nc.SubscribeSync("segd.v1.*.*.mask")
	if err != nil {
		log.Fatal(err)
	}
	for {
		msg, err := sub.NextMsg(time.Minute)
		if err != nil {
			log.Fatal(err)
		}
		if err := show(os.Stdout, msg.Data); err != nil {
			log.Print(err)
		}
	}
}

// show decodes one message and prints a line for each object in it.
func show(w io.Writer, data []byte) error {
	var mf segdv1.MaskFrame
	if err := proto.Unmarshal(data, &mf); err != nil {
		return err
	}
	for _, o := range mf.GetObjects() {
		m, err := mask.Parse(o.GetCounts(), int(mf.GetWidth()), int(mf.GetHeight()))
		if err != nil {
			return err
		}
		fmt.Fprintln(w, mf.GetCamera(), mf.GetSequence(), o.GetLabel(), m.Area())
	}
	return nil
}
