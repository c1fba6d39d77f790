package davis

import (
	"encoding/json"
	"errors"
	"image"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/features"
	"github.com/segd/segd/lab/internal/clip/cliptest"
	"github.com/segd/segd/mask"
)

func TestRun(t *testing.T) {
	root := cliptest.New(t, "square", 6)
	ticks := 0
	var masks, truths []mask.RLE
	report, err := Run(t.Context(), Options{
		Root: root, Features: features.Config{Superpixels: 200}, ModelName: "colour",
		Progress: func(done, total int) {
			ticks++
			if done != ticks || total != 6 {
				t.Errorf("progress %d of %d; want %d of 6", done, total, ticks)
			}
		},
		Frame: func(name string, i int, f Frame) error {
			if name != "square" || f.Result.Seq != uint64(i) || f.Truth.Area() != 900 {
				t.Errorf("frame %d of %s: sequence %d, %d true pixels", i, name, f.Result.Seq, f.Truth.Area())
			}
			masks, truths = append(masks, f.Result.Objects[0].Mask), append(truths, f.Truth)
			return nil
		},
	})
	require.NoError(t, err)
	if ticks != 6 || len(report.Sequences) != 1 {
		t.Fatalf("%d ticks, %d sequences; want 6 and 1", ticks, len(report.Sequences))
	}
	row := report.Sequences[0]
	if row.Frames != 4 || row.J < 0.9 || row.J > 1 || row.J != report.MeanJ || row.F < 0.9 || row.F != report.MeanF {
		t.Errorf("row is %+v with mean %.3f; want 4 frames, J and F above 0.9", row, report.MeanJ)
	}
	if b := report.Reliability; len(b) != 1 || b[0].Masks != 4 || b[0].Right != 1 || b[0].Score < b[0].From {
		t.Errorf("reliability %+v; want four masks that are right", b)
	}
	j, change := 0.0, 0.0
	for i := 1; i < 5; i++ {
		j += mask.IoU(masks[i], truths[i]) / 4
		change += ((1 - mask.IoU(masks[i], masks[i-1])) - (1 - mask.IoU(truths[i], truths[i-1]))) / 4
	}
	if math.Abs(j-row.J) > 1e-12 || math.Abs(change-row.Instability) > 1e-12 || row.Instability != report.MeanInstability {
		t.Errorf("J %v, instability %v; want %v and %v", row.J, row.Instability, j, change)
	}
	s := row.StageMS
	if row.MSPerFrame <= 0 || s.Network != 0 || s.Features <= 0 || s.Projection <= 0 || s.Affinity <= 0 || s.Solve <= 0 || s.Mask <= 0 ||
		math.Abs(s.Features+s.Projection+s.Affinity+s.Solve+s.Mask-row.MSPerFrame) > 1e-9 || s != report.MeanStageMS {
		t.Errorf("%v ms a frame, of which %+v; want the sum of all stages, and none of a network that is not there", row.MSPerFrame, s)
	}
	text, err := json.Marshal(report)
	require.NoError(t, err)
	for _, key := range []string{
		`"mode":"joint"`, `"model":"colour"`, `"sequences":[{"name":"square","frames":4,"j":`, `"f":`, `"ms_per_frame":`, `"mean_j":`, `"mean_f":`,
		`"j_decay":`, `"f_decay":`, `"instability":`, `"false":{"outline":`, `"mean_false":{"outline":`, `"reliability":[{"from":0.9,"masks":4,"score":`, `"stage_ms":{"network":0,"features":`, `"camera_motion":0,"camera":"standing"`, `"standing":{"sequences":1,"mean_j":`, `"moving":null`, `"mean_instability":`,
	} {
		if !strings.Contains(string(text), key) {
			t.Errorf("report %s lacks %s", text, key)
		}
	}
	for _, key := range []string{"perturb", "seed", "skipped", "undisturbed", "covered", "after", "stabilise"} {
		if strings.Contains(string(text), key) {
			t.Errorf("undisturbed report has %s: %s", key, text)
		}
	}
}

// A bubble's clock stands still but for the model's naps.
func TestNetworkTime(t *testing.T) {
	root := cliptest.New(t, "square", 3)
	synctest.Test(t, func(t *testing.T) {
		const nap = 20 * time.Millisecond
		report, err := Run(t.Context(), Options{Root: root, Features: features.Config{Superpixels: 50}, Model: slowModel(nap)})
		require.NoError(t, err)
		want := StageMS{Network: 20, Features: 20}
		if s := report.MeanStageMS; math.Abs(s.Network-20) > 1e-9 || math.Abs(s.Features-20) > 1e-9 || math.Abs(report.MeanMSPerFrame-20) > 1e-9 {
			t.Errorf("%v ms a frame, of which %+v; want %+v", report.MeanMSPerFrame, s, want)
		}
	})
}

type slowModel time.Duration

func (m slowModel) Features(dst features.Sight, bgr []byte, _, _ int, _ features.View) (features.Sight, error) {
	time.Sleep(time.Duration(m))
	dst.Maps = append(dst.Maps, features.Map{Channels: 1, Height: 1, Width: 1, StrideX: 1, StrideY: 1, Data: []float32{float32(bgr[0])}})
	return dst, nil
}

func TestFrameEndsTheRun(t *testing.T) {
	full := errors.New("disk full")
	_, err := Run(t.Context(), Options{
		Root: cliptest.New(t, "square", 3), Features: features.Config{Superpixels: 50},
		Frame: func(string, int, Frame) error { return full },
	})
	assert.ErrorIs(t, err, full)
}

// Masks come of the first frame's truth alone: with others shuffled they are the same.
func TestHiddenTruths(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 4 s: sequences of pictures")
	}
	for _, tt := range []struct {
		name        string
		opt         Options
		first, last int // shuffled
	}{
		{"forwards", Options{}, 1, 7},
		{"backwards", Options{Backwards: true}, 0, 6},
		{"noise", Options{Perturb: Noise}, 1, 7},
		{"repeats", Options{Repeat: 2}, 3, 7}, // one of them begins with frame 2 at the latest
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := cliptest.New(t, "square", 8)
			tt.opt.Root, tt.opt.Features = root, features.Config{Superpixels: 100}
			run := func() (masks []mask.RLE, j float64) {
				tt.opt.Frame = func(_ string, _ int, f Frame) error {
					masks = append(masks, f.Result.Objects[0].Mask)
					return nil
				}
				r, err := Run(t.Context(), tt.opt)
				require.NoError(t, err)
				return masks, r.MeanJ
			}
			want, honest := run()
			rng := rand.New(rand.NewPCG(1, 1))
			for i := tt.first; i <= tt.last; i++ {
				truth := image.NewGray(image.Rect(0, 0, 96, 64))
				for k := range truth.Pix {
					truth.Pix[k] = 255 * byte(rng.IntN(2))
				}
				writeTruth(t, root, "square", i, truth)
			}
			got, random := run()
			assert.Equal(t, want, got, "masks depend on truths after the first frame")
			if random > honest/2 {
				t.Errorf("J %.2f with random truths, %.2f with the real ones", random, honest)
			}
		})
	}
}

// The bins are numpy's: ids = round(linspace(1, n, 5) + 1e-10) − 1, each bin with
// both its ends.
func TestDecay(t *testing.T) {
	for _, tt := range []struct {
		v    []float64
		want float64
	}{
		{[]float64{0.3}, 0},
		{[]float64{1, 0}, 1}, // ids 0 0 1 1 1
		{[]float64{4, 2, 1, 0}, 3 - 0.5},
		{[]float64{1, 2, 3, 4, 5, 6, 7, 8}, 2 - 7},
		{[]float64{9, 8, 7, 6, 5, 4, 3, 2, 1}, 8 - 2},
	} {
		if got := decay(tt.v); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("decay of %v is %v; want %v", tt.v, got, tt.want)
		}
	}
}
