package bus_test

import (
	"context"
	"fmt"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/bus/segdv1"
)

func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	// The daemon: a NATS server of its own on a free port, and one message.
	b, err := bus.Open(ctx, bus.Config{Site: "harbour"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() {
		if err := b.Close(); err != nil {
			fmt.Println(err)
		}
	}()
	publish := func() {
		err := b.PublishMask(&segdv1.MaskFrame{
			Camera: "quay", Sequence: 41, Width: 4, Height: 3,
			Objects: []*segdv1.Object{{Id: 1, Label: "boat", State: segdv1.State_STATE_VISIBLE, Area: 1, Counts: "714"}},
		})
		if err != nil {
			fmt.Println(err)
		}
	}

	// A subscriber, elsewhere.
	err = bus.Watch(ctx, b.URL(), "quay", bus.Handlers{
		Ready: publish,
		Mask: func(mf *segdv1.MaskFrame) {
			for _, o := range mf.GetObjects() {
				fmt.Println(mf.GetSite(), mf.GetCamera(), mf.GetSequence(), o.GetLabel(), o.GetArea())
			}
			cancel()
		},
	})
	fmt.Println(err)
	// Output:
	// harbour quay 41 boat 1
	// context canceled
}
