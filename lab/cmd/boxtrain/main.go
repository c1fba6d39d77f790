// Command boxtrain makes box.weights: it trains the perceptron that judges the superpixels in
// a box. README.md says from which pictures the one in the binary was made.
//
// It reads folders of pictures, JPEG or PNG, with label maps, PNG of 8 or 16 bits, in another
// folder: for NAME.jpg NAME.png or, of several people, NAME-*.png. Of -drawn people drew the
// segments of a picture, 1 and up, and those that two of them drew alike are objects (bsds.py
// writes BSDS500's). Of -labelled a label is a class, and connected pixels of -classes are
// objects. Both flags may be repeated. The same pictures and flags give the same bits on the
// same machine.
//
// From the top of the repository:
//
//	go -C lab build -o "$PWD/bin/boxtrain" ./cmd/boxtrain
//	bin/boxtrain -out tracker/internal/seed/box.weights \
//	    -drawn BSDS500/data/images,LABELS \
//	    -labelled CamVid/train,CamVid/trainannot -labelled CamVid/val,CamVid/valannot \
//	    -labelled CamVid/test,CamVid/testannot -classes 8,9,10 -every 6
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/segd/segd/internal/perceptron"
	"github.com/segd/segd/tracker"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "boxtrain: %v\n", err)
		os.Exit(1)
	}
}

// heldOut is one in how many pictures nothing is learnt from, by their names.
const heldOut = 10

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var pictures []source
	g := gathering{}
	flags := flag.NewFlagSet("boxtrain", flag.ContinueOnError)
	flags.SetOutput(stderr)
	out := flags.String("out", "box.weights", "file to write")
	classes := flags.String("classes", "", "labels, with commas between, that are objects in what is -labelled")
	every := flags.Int("every", 1, "take one in so many pictures of each folder of -labelled")
	epochs := flags.Int("epochs", 14, "times all boxes are learnt from")
	flags.IntVar(&g.boxes, "boxes", 7, "most boxes of a picture")
	flags.IntVar(&g.rows, "rows", 120, "most superpixels of a box that are learnt from")
	flags.Uint64Var(&g.seed, "seed", 1, "of all that is drawn at random")
	var drawn, labelled []string
	flags.Func("drawn", "`PICTURES,LABELS`: folders of pictures and of the segments that people drew in them", appendTo(&drawn))
	flags.Func("labelled", "`PICTURES,LABELS`: folders of pictures and of their pixels' classes", appendTo(&labelled))
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if *every < 1 || g.boxes < 1 || g.rows < 1 {
		return fmt.Errorf("-every %d, -boxes %d, -rows %d; want 1 or more of each", *every, g.boxes, g.rows)
	}
	for _, folders := range drawn {
		some, err := find(folders, drawnAlike, 1)
		if err != nil {
			return err
		}
		pictures = append(pictures, some...)
	}
	class := map[int32]bool{}
	for s := range strings.SplitSeq(*classes, ",") {
		if n, err := strconv.ParseInt(s, 10, 32); err == nil {
			class[int32(n)] = true
		} else if s != "" {
			return fmt.Errorf("-classes: %w", err)
		}
	}
	for _, folders := range labelled {
		some, err := find(folders, rule{classes: class, area: 250, segment: 1, box: 0.5, fill: 0.25, side: 12, contact: 1}, *every)
		if err != nil {
			return err
		}
		pictures = append(pictures, some...)
	}
	if len(pictures) == 0 {
		return errors.New("no pictures; want -drawn or -labelled folders of some")
	}
	boxes, err := g.gather(ctx, pictures, stderr)
	if err != nil {
		return err
	}
	var train []example
	var held []box
	for _, b := range boxes {
		if isHeld(b.picture) {
			held = append(held, b)
		} else {
			train = append(train, b.example)
		}
	}
	fmt.Fprintf(stdout, "%d boxes of %d pictures, %d held out\n", len(boxes), len(pictures), len(held))
	how := training{Units: tracker.BoxUnits[:], Epochs: *epochs, Seed: g.seed}
	p, err := how.Run(ctx, train, func(n int, loss float64, p *perceptron.Perceptron) {
		fmt.Fprintf(stdout, "epoch %d: loss %.4f", n+1, loss)
		if len(held) > 0 {
			loss, j := judge(p, held)
			fmt.Fprintf(stdout, ", held out %.4f, J %.4f", loss, j)
		}
		fmt.Fprintln(stdout)
	})
	if err != nil {
		return err
	}
	return os.WriteFile(*out, p.Append(nil), 0o644)
}

func appendTo(list *[]string) func(string) error {
	return func(s string) error {
		*list = append(*list, s)
		return nil
	}
}

func isHeld(picture string) bool {
	h := fnv.New32a()
	_, _ = io.WriteString(h, filepath.Base(picture))
	return h.Sum32()%heldOut == 0
}

// judge is the mean loss of boxes, and the mean J of the superpixels that are likely.
func judge(p *perceptron.Perceptron, boxes []box) (loss, j float64) {
	d := tracker.BoxUnits[0]
	row := make([]float64, d)
	for _, b := range boxes {
		loss += lossOf(p, &b.example) / float64(len(boxes))
		both, either := 0.0, 0.0
		for k, area := range b.areas {
			for c, v := range b.Inputs[k*d : (k+1)*d] {
				row[c] = float64(v)
			}
			own := area * float64(b.Want[k])
			if p.Odds(row) > 0 {
				both, either = both+own, either+area
			} else {
				either += own
			}
		}
		j += both / math.Max(either, 1e-9) / float64(len(boxes))
	}
	return loss, j
}
