// Command cutpersons makes cmd/segd-tools/measure/crowd/persons.json: the masks of persons of the demo's clip, by which
// segd bench crowd cuts them out. It follows who is marked by the detector, and writes who is seen whole for a while.
//
// From the top of the repository:
//
//	go -C lab run ./cmd/cutpersons >cmd/segd-tools/measure/crowd/persons.json
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"io"
	"os"
	"os/signal"

	"github.com/segd/segd/cmd/segd-tools/measure/crowd"
	"github.com/segd/segd/features"
	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/lab/internal/offline"
	"github.com/segd/segd/objects/marking"
	"github.com/segd/segd/tracker"
)

const (
	// Frames are followed from the first on, with a look at all of every lookEvery-th.
	followed  = 120
	lookEvery = 10
	// leastShown is the share of a person's full box that his mask fills in every frame.
	leastShown = 0.35
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "cutpersons: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	model, err := dnn.Embedded(dnn.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, model.Close()) }()
	camera, err := offline.NewCamera(model, features.Config{}, tracker.Config{}, marking.Config{Classes: []string{"person"}}, nil)
	if err != nil {
		return err
	}
	var found []crowd.Person
	whole := map[uint32]*crowd.Person{} // for as long as each is
	n, enough := 0, errors.New("enough")
	err = offline.Play(demo.FindClip(), 0, false)(ctx, func(p *offline.Picture) error {
		f, err := camera.Step(ctx, n, p, nil, n%lookEvery == 0)
		if err != nil {
			return err
		}
		for _, o := range f.Objects {
			if !isWhole(&o, p) {
				delete(whole, o.ID)
				continue
			}
			if whole[o.ID] == nil {
				whole[o.ID] = &crowd.Person{Frame: n}
			}
			person := whole[o.ID]
			if person.Masks = append(person.Masks, o.Mask.String()); len(person.Masks) == crowd.Cut {
				found = append(found, *person)
				delete(whole, o.ID)
			}
		}
		if n++; n == followed {
			return enough
		}
		return nil
	})
	if err != nil && !errors.Is(err, enough) {
		return err
	}
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	return enc.Encode(found)
}

// isWhole tells whether a person is in sight as a whole.
func isWhole(o *tracker.Object, p *offline.Picture) bool {
	return o.State == tracker.Visible && !o.Extent.Empty() && o.Extent.In(image.Rect(0, 0, p.Width, p.Height)) &&
		float64(o.Area) >= leastShown*float64(o.Extent.Dx()*o.Extent.Dy())
}
