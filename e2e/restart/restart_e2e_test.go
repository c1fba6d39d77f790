//go:build e2e

package restart

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/demo"
	"github.com/segd/segd/e2e/harness"
)

var (
	kills  = flag.Int("kills", 20, "how often segd is killed")
	fps    = flag.Int("fps", 10, "frames a second that the camera sends")
	seed   = flag.Uint64("seed", 1, "of the moments")
	asJSON = flag.Bool("json", false, "end with one JSON object")
)

const (
	subject = "segd.v1.restarttest.clip.mask"
	// window is how many frames after a start are compared, and lives how many frames of the camera a
	// segd lives beyond these, at random from the first to the second.
	window           = 50
	least, most      = 10, 40
	betterThan       = 0.85
	medianMS, lastMS = 1000, 2000
)

// camera plays the clip from the frame on which its persons are marked.
func camera(t *testing.T) *demo.Server {
	t.Helper()
	clip, err := demo.PrepareAs(t.Context(), demo.FindClip(), demo.Shape{Start: demo.Start, FPS: *fps}, nil)
	if err != nil {
		t.Fatal(err)
	}
	server, err := demo.NewServer(clip, demo.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server
}

// start starts a segd that follows the clip's persons, and hands over its masks.
func start(t *testing.T) (*harness.Segd, <-chan *segdv1.MaskFrame) {
	t.Helper()
	marks := filepath.Join(t.TempDir(), "persons.json")
	if err := os.WriteFile(marks, demo.Persons, 0o600); err != nil {
		t.Fatal(err)
	}
	server := harness.FreeAddrs(t, 1)[0]
	s := harness.Run(t, fmt.Sprintf(`
site: restarttest
nats: {addr: '%s', store_dir: '%s'}
cameras: [{name: clip, url: '%s', transport: tcp, annotation: '%s'}]
`, server, t.TempDir(), camera(t).URL(), marks))
	masks := make(chan *segdv1.MaskFrame, 1<<14) // all of a run
	conn := harness.Connect(t, s.NATS, nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond), nats.ReconnectJitter(0, 0))
	_, err := conn.Subscribe(subject, func(msg *nats.Msg) {
		m := &segdv1.MaskFrame{}
		if err := proto.Unmarshal(msg.Data, m); err != nil {
			t.Errorf("a mask: %v", err)
			return
		}
		masks <- m
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, masks
}

// sent is when the camera sent its first frame, by one of the first life.
func sent(m *segdv1.MaskFrame) time.Time {
	return m.CaptureTime.AsTime().Add(-time.Duration(float64(m.Sequence) / float64(*fps) * float64(time.Second)))
}

// until takes masks until stop says so of one.
func until(ctx context.Context, masks <-chan *segdv1.MaskFrame, all []*segdv1.MaskFrame, stop func(*segdv1.MaskFrame) bool) ([]*segdv1.MaskFrame, error) {
	for {
		select {
		case m := <-masks:
			if all = append(all, m); stop(m) {
				return all, nil
			}
		case <-time.After(harness.StartLimit):
			return all, fmt.Errorf("no mask for %v", harness.StartLimit)
		case <-ctx.Done():
			return all, ctx.Err()
		}
	}
}

func TestRestart(t *testing.T) {
	random := rand.New(rand.NewPCG(*seed, 1))
	s, masks := start(t)
	var all []*segdv1.MaskFrame
	begin := time.Time{}
	for life := range *kills + 1 {
		frames := window + least + random.IntN(most-least+1)
		var from time.Time
		epoch := uint64(0)
		if len(all) > 0 {
			epoch = all[len(all)-1].Epoch
		}
		var err error
		all, err = until(t.Context(), masks, all, func(m *segdv1.MaskFrame) bool {
			at := m.CaptureTime.AsTime()
			if begin.IsZero() {
				begin = sent(m)
			}
			if m.Epoch == epoch {
				return false // sent before the kill
			}
			if from.IsZero() {
				from = at
			}
			return at.Sub(from).Seconds()*float64(*fps) >= float64(frames)
		})
		if err != nil {
			t.Fatalf("after %d kills: %v", life, err)
		}
		if life == *kills {
			break
		}
		s.Kill()
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	end := all[len(all)-1].CaptureTime.AsTime().Sub(begin)
	s.End()
	killed := newRun(all, begin, float64(*fps))

	// The same once more, and nobody kills it.
	whole, masks := start(t)
	begin = time.Time{}
	all, err := until(t.Context(), masks, nil, func(m *segdv1.MaskFrame) bool {
		at := m.CaptureTime.AsTime()
		if begin.IsZero() {
			begin = sent(m)
		}
		return at.Sub(begin) >= end
	})
	if err != nil {
		t.Fatal(err)
	}
	whole.End()

	f := compare(killed, newRun(all, begin, float64(*fps)), window)
	out, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	if *asJSON {
		fmt.Println(string(out))
	}
	t.Logf("%s", out)
	if f.Kills != *kills || !f.IDsKept {
		t.Errorf("%d starts after a kill, ids and names kept: %v; want %d, and true", f.Kills, f.IDsKept, *kills)
	}
	if f.TimeToMask.P50 > medianMS || f.TimeToMask.Max > lastMS {
		t.Errorf("%v ms to the first mask of what is in sight, at most %v; want %d and %d", f.TimeToMask.P50, f.TimeToMask.Max, medianMS, lastMS)
	}
	if f.IoUMean < betterThan {
		t.Errorf("mean IoU %.3f with a run that was not killed; want %.2f", f.IoUMean, betterThan)
	}
}
