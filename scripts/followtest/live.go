package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/eval/mot"
	"github.com/segd/segd/scripts/process"
)

const (
	site, camera = "followtest", "clip"
	// silence is how long no masks may come before something is wrong: more than a
	// frame takes at the slowest pace.
	silence = time.Minute
)

// result is what came of one run.
type result struct {
	name     string
	marked   int // true frame in which persons were marked
	last     int // true frame up to which it was looked at
	masks    int // how many frames after that one had masks
	persons  []int
	warnings []*segdv1.Warning
	figures  mot.Group
}

// once plays the clip to a segd, marks persons, one or all (0), and gathers what it says.
func (o *options) once(ctx context.Context, folder string, m mot.Mark, only int) (*result, error) {
	addrs, err := process.FreeAddrs(ctx, 2)
	if err != nil {
		return nil, err
	}
	settings := filepath.Join(folder, "segd.yaml")
	text := fmt.Sprintf("site: %s\nhttp: {addr: '%s'}\nnats: {addr: '%s'}\nlog: {level: warn}\ncameras: [{name: %s, url: 'file:%s'}]\n", site, addrs[0], addrs[1], camera, o.clip)
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		return nil, err
	}
	segd, err := process.Run(ctx, o.said, o.segd, "run", "-c", settings)
	if err != nil {
		return nil, err
	}
	defer segd.End()
	frames, hangUp, err := subscribe(ctx, "nats://"+addrs[1], segd.Exited)
	if err != nil {
		return nil, err
	}
	defer hangUp()
	next := func() (*segdv1.MaskFrame, error) {
		select {
		case f := <-frames:
			return f, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-segd.Exited:
			return nil, errors.New("segd ended; -v shows why")
		case <-time.After(silence):
			return nil, fmt.Errorf("no masks in %v; -v may show why", silence)
		}
	}

	first, err := next()
	for err == nil && first.GetSequence() < o.sequence {
		first, err = next()
	}
	if err != nil {
		return nil, err
	}
	r := &result{marked: int(first.GetSequence()) + 1}
	r.last = min(r.marked+o.frames, o.truth.Last())
	width, height := int(first.GetWidth()), int(first.GetHeight())
	if r.persons = o.truth.Whole(r.marked, width, height); only != 0 {
		if !slices.Contains(r.persons, only) {
			return nil, fmt.Errorf("person %d is not whole in frame %d, the first with masks from %d on", only, r.marked, o.sequence+1)
		}
		r.persons = []int{only}
	}
	if len(r.persons) == 0 {
		return nil, fmt.Errorf("the truth has nobody whole in frame %d of %d×%d pixels", r.marked, width, height)
	}
	recording, err := mot.NewRecording(o.truth, r.marked, r.persons...)
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
	answer, err := bus.Target{URL: "nats://" + addrs[1], Site: site, Camera: camera}.Annotate(ctx, payload)
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

// subscribe returns the masks that come, once the server is up.
func subscribe(ctx context.Context, url string, exited <-chan struct{}) (frames chan *segdv1.MaskFrame, hangUp func(), err error) {
	var conn *nats.Conn
	for deadline := time.Now().Add(silence); ; {
		if conn, err = nats.Connect(url); err == nil {
			break
		}
		select {
		case <-exited:
			return nil, nil, errors.New("segd ended before it served anything; -v shows why")
		default:
		}
		if time.Now().After(deadline) {
			return nil, nil, err
		}
		if err := process.Pause(ctx, 50*time.Millisecond); err != nil {
			return nil, nil, err
		}
	}
	frames = make(chan *segdv1.MaskFrame, 1024) // more than come while one annotation is answered
	_, err = conn.Subscribe(fmt.Sprintf("segd.v1.%s.%s.mask", site, camera), func(msg *nats.Msg) {
		f := new(segdv1.MaskFrame)
		if proto.Unmarshal(msg.Data, f) == nil {
			frames <- f
		}
	})
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return frames, conn.Close, nil
}
