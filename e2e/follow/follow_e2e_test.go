//go:build e2e

package follow

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/bus/bustest"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/e2e/harness"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/lab/mot"
)

var (
	clip     = flag.String("clip", demo.FindClip(), "clip to play, an AVI")
	truthAt  = flag.String("truth", os.Getenv("TRUTH"), "true boxes of its persons, MOTChallenge's gt.txt (default the environment's TRUTH)")
	sequence = flag.Uint64("sequence", 150, "sequence number of the frame that is marked, or the first after it that has masks")
	frames   = flag.Int("frames", 300, "frames looked at after that, as far as the truth goes")
	fps      = flag.Float64("fps", 4, "frames a second the clip is played at, slow enough that none is dropped; 0: its own")
	reach    bars
)

func init() {
	flag.Float64Var(&reach.ellipseIDF1, "ellipse-idf1", 0.70, "least IDF1 of all marked by ellipses")
	flag.Float64Var(&reach.ellipseIDP, "ellipse-idp", 0.85, "least IDP of the same")
	flag.Float64Var(&reach.boxIDF1, "box-idf1", 0.70, "least IDF1 of all marked by boxes")
	flag.Float64Var(&reach.aloneRight, "alone-right", 0.60, "least share of a person's frames in which it is found, marked alone")
	flag.Float64Var(&reach.aloneFalse, "alone-false", 0.10, "largest share, of as many, of frames in which it is where it is not")
}

const (
	site, camera = "followtest", "clip"
	// silence is how long no masks may come before something is wrong: more than a
	// frame takes at the slowest pace.
	silence = time.Minute
)

func TestFollow(t *testing.T) {
	if *truthAt == "" {
		t.Fatal("no truth to compare with; want make follow-test TRUTH=FILE, the true boxes of the clip's persons in MOTChallenge's format (frame,id,left,top,width,height,flag,…), such as the gt.txt of PETS09-S2L1 for vtest.avi")
	}
	if *frames < 1 || *fps < 0 {
		t.Fatalf("-frames %d, -fps %g; want 1 frame or more, and a rate that is not negative", *frames, *fps)
	}
	file, err := os.Open(*truthAt)
	require.NoError(t, err, "-truth")
	defer func() { _ = file.Close() }()
	truth, err := mot.ParseTruth(file, *truthAt)
	require.NoError(t, err, "-truth")
	playing := filepath.Join(t.TempDir(), "clip.avi")
	if *fps > 0 {
		err = pace(playing, *clip, *fps)
	} else {
		playing, err = filepath.Abs(*clip)
	}
	require.NoError(t, err)
	width, height, err := size(playing)
	require.NoError(t, err)

	var runs []result
	take := func(name string, m mot.Mark, only int) {
		t.Run(name, func(t *testing.T) {
			r, err := once(t, truth, playing, m, only)
			require.NoError(t, err)
			r.name = name
			runs = append(runs, *r)
			for _, bar := range reach.missed(*r) {
				t.Error(bar)
			}
		})
	}
	take("ellipses", mot.MarkEllipse, 0)
	take("boxes", mot.MarkBox, 0)
	for _, id := range truth.Whole(int(*sequence)+1, width, height) {
		take(fmt.Sprintf("person %d alone", id), mot.MarkEllipse, id)
	}
	assert.NoError(t, reach.print(t.Output(), runs))
}

// once plays the clip to a segd, marks persons, one or all (0), and gathers what it says.
func once(t *testing.T, truth *mot.Truth, playing string, m mot.Mark, only int) (*result, error) {
	ctx := t.Context()
	segd := harness.Run(t, fmt.Sprintf("site: %s\nlog: {level: warn}\ncameras: [{name: %s, url: 'file:%s', detect: {off: true}}]\n", site, camera, playing))
	masks := make(chan *segdv1.MaskFrame, 1024) // more than come while one annotation is answered
	if _, err := harness.Connect(t, segd.NATS).Subscribe(fmt.Sprintf("segd.v1.%s.%s.mask", site, camera), func(msg *nats.Msg) {
		f := new(segdv1.MaskFrame)
		if err := bustest.Unmarshal(msg.Header.Get("Content-Type"), msg.Data, f); err != nil {
			t.Errorf("%s: %v", msg.Subject, err)
			return
		}
		masks <- f
	}); err != nil {
		return nil, err
	}
	next := func() (*segdv1.MaskFrame, error) {
		select {
		case f := <-masks:
			return f, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-segd.Exited:
			return nil, errors.New("segd ended")
		case <-time.After(silence):
			return nil, fmt.Errorf("no masks in %v", silence)
		}
	}

	first, err := next()
	for err == nil && first.GetSequence() < *sequence {
		first, err = next()
	}
	if err != nil {
		return nil, err
	}
	r := &result{marked: int(first.GetSequence()) + 1}
	r.last = min(r.marked+*frames, truth.Last())
	width, height := int(first.GetWidth()), int(first.GetHeight())
	if r.persons = truth.Whole(r.marked, width, height); only != 0 {
		if !slices.Contains(r.persons, only) {
			return nil, fmt.Errorf("person %d is not whole in frame %d, the first with masks from %d on", only, r.marked, *sequence+1)
		}
		r.persons = []int{only}
	}
	if len(r.persons) == 0 {
		return nil, fmt.Errorf("the truth has nobody whole in frame %d of %d×%d pixels", r.marked, width, height)
	}
	recording, err := mot.NewRecording(truth, r.marked, r.persons...)
	if err != nil {
		return nil, err
	}
	a, err := recording.Annotation(m, width, height)
	if err != nil {
		return nil, err
	}
	a.Frame = new(first.GetSequence())
	payload, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	// Masks gather in the channel meanwhile.
	answer, err := bus.Target{URL: segd.NATS, Site: site, Camera: camera}.Annotate(ctx, payload)
	if err != nil {
		return nil, err
	}
	r.warnings = answer.GetWarnings()
	// The last frame may be dropped: the one after it is as good a sign.
	for n := r.marked; n < r.last; {
		f, err := next()
		if err != nil {
			return nil, err
		}
		if n = int(f.GetSequence()) + 1; n <= r.last {
			recording.Look(n, boxes(f))
			r.masks++
		}
	}
	r.figures = recording.Figures()
	return r, nil
}

// boxes are those of the objects that are in sight.
func boxes(f *segdv1.MaskFrame) map[uint32]mot.Box {
	found := map[uint32]mot.Box{}
	for _, o := range f.GetObjects() {
		if b := o.GetBox(); o.GetState() == segdv1.State_STATE_VISIBLE && o.GetArea() > 0 {
			found[o.GetId()] = mot.Box{Left: float64(b.GetX()), Top: float64(b.GetY()), Width: float64(b.GetWidth()), Height: float64(b.GetHeight())}
		}
	}
	return found
}
