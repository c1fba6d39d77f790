//go:build e2e

package restart

import (
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/bustest"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/e2e/harness"
	"github.com/segd/segd/ingest/demo"
)

var (
	kills  = flag.Int("kills", 20, "how often segd is killed")
	fps    = flag.Int("fps", 10, "frames a second that the camera sends")
	seed   = flag.Uint64("seed", 1, "of the moments")
	asJSON = flag.Bool("json", false, "end with one JSON object")
)

const (
	subject = "segd.v1.restarttest.clip.mask"
	// Two persons who were marked in the frame of the clip with this number stay in sight for length
	// frames.
	first, length = 45, 300
	// A segd is killed least to most frames after the window of those that are compared.
	least, most      = 5, 40
	references       = 5 // segds that are not killed, of which the typical one is compared with
	betterThan       = 0.85
	medianMS, lastMS = 1000, 2000
)

//go:embed persons.json
var persons []byte

// begin starts a camera, which plays the clip from the first frame on, and a segd that follows the persons
// in it and hands over its masks.
func begin(t *testing.T, clip *demo.Clip) (*harness.Segd, <-chan *segdv1.MaskFrame) {
	t.Helper()
	camera, err := demo.NewServer(clip, demo.Config{})
	require.NoError(t, err)
	require.NoError(t, camera.Start())
	t.Cleanup(camera.Close)
	marks := filepath.Join(t.TempDir(), "persons.json")
	require.NoError(t, os.WriteFile(marks, persons, 0o600))
	s := harness.Run(t, fmt.Sprintf(`
site: restarttest
nats: {addr: '%s', store_dir: '%s'}
cameras: [{name: clip, url: '%s', transport: tcp, annotation: '%s', detect: {off: true}}]
`, harness.FreeAddrs(t, 1)[0], t.TempDir(), camera.URL(), marks))
	masks := make(chan *segdv1.MaskFrame, 2*length)
	conn := harness.Connect(t, s.NATS, nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond), nats.ReconnectJitter(0, 0))
	_, err = conn.Subscribe(subject, func(msg *nats.Msg) {
		m := &segdv1.MaskFrame{}
		if err := bustest.Unmarshal(msg.Header.Get("Content-Type"), msg.Data, m); err != nil {
			t.Errorf("a mask: %v", err)
			return
		}
		masks <- m
	})
	require.NoError(t, err)
	return s, masks
}

// playing follows the masks of one showing of the clip.
type playing struct {
	masks <-chan *segdv1.MaskFrame
	run   run
	start time.Time // when the camera sent its first frame, by the first mask
}

// until takes masks until there is one of the frame with that number or a later one, of an epoch that is later
// than the one before, if there was one.
func (p *playing) until(ctx context.Context, frame func(first int) int) error {
	before, from := p.run.epoch(), -1
	for {
		select {
		case m := <-p.masks:
			at := m.CaptureTime.AsTime()
			if p.start.IsZero() {
				p.start = at.Add(-time.Duration(float64(m.Sequence) / float64(*fps) * float64(time.Second)))
			}
			k := int(math.Round(at.Sub(p.start).Seconds() * float64(*fps)))
			p.run.add(k, m)
			if m.Epoch == before {
				continue // sent before the kill
			}
			if from < 0 {
				from = k
			}
			if k >= frame(from) {
				return nil
			}
		case <-time.After(harness.StartLimit):
			return fmt.Errorf("no mask for %v", harness.StartLimit)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func TestRestart(t *testing.T) {
	random := rand.New(rand.NewPCG(*seed, 1))
	clip, err := demo.Prepare(t.Context(), demo.FindClip(), demo.Shape{Start: first, FPS: *fps}, nil)
	require.NoError(t, err)
	var undisturbed []*run
	for range references {
		s, masks := begin(t, clip)
		p := &playing{masks: masks}
		require.NoError(t, p.until(t.Context(), func(int) int { return length }))
		s.End()
		undisturbed = append(undisturbed, &p.run)
	}
	whole := typical(undisturbed)

	f := figures{IDsKept: true}
	for f.Kills < *kills {
		s, masks := begin(t, clip)
		p := &playing{masks: masks}
		for {
			lives := window + least + random.IntN(most-least+1)
			if err := p.until(t.Context(), func(first int) int { return min(first+lives, length) }); err != nil {
				t.Fatalf("after %d kills: %v", f.Kills+len(p.run.starts), err)
			}
			if p.run.last()+window >= length || f.Kills+len(p.run.starts) == *kills {
				break
			}
			s.Kill()
			require.NoError(t, s.Start(t.Context()))
		}
		s.End()
		f.compare(&p.run, whole, *fps)
	}
	f.finish()
	out, err := json.Marshal(f)
	require.NoError(t, err)
	if *asJSON {
		fmt.Println(string(out))
	}
	t.Logf("%s", out)
	if !f.IDsKept {
		t.Error("an id or a name has changed")
	}
	if f.TimeToMask.P50 > medianMS || f.TimeToMask.Max > lastMS {
		t.Errorf("%v ms to the first mask of what is in sight, at most %v; want %d and %d", f.TimeToMask.P50, f.TimeToMask.Max, medianMS, lastMS)
	}
	if f.IoUMean < betterThan {
		t.Errorf("mean IoU %.3f with a segd that was not killed; want %.2f", f.IoUMean, betterThan)
	}
}
