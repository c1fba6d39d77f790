package pipeline

import (
	"errors"
	"fmt"
	"image"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/api"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/pipeline/internal/accuracy"
)

// counts is a mask with the pixels in r, as clients send it.
func counts(r image.Rectangle) string {
	bits := make([]uint8, testWidth*testHeight)
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			bits[y*testWidth+x] = 1
		}
	}
	return mask.Encode(bits, testWidth, testHeight).String()
}

// A truth is compared pixel by pixel with what was published of its frame, and changes nothing that is published.
func TestJudge(t *testing.T) {
	live(t, nil, func(t *testing.T, b *bench, c *Camera) {
		before := b.rec.newest()
		seq, o := before.Sequence, before.Objects[0]
		published, err := mask.Parse(o.Counts, testWidth, testHeight)
		if err != nil || published.Area() == 0 {
			t.Fatal(o, err)
		}
		truth := published.Box()
		truth.Max.X -= truth.Dx() / 2 // of what is there its left half, say
		bits := published.Decode(nil)
		both := 0
		for y := truth.Min.Y; y < truth.Max.Y; y++ {
			for x := truth.Min.X; x < truth.Max.X; x++ {
				both += int(bits[y*testWidth+x])
			}
		}
		all, area := truth.Dx()*truth.Dy(), published.Area()
		elsewhere := image.Rect(0, 0, 3, 2)
		for _, tt := range []struct {
			name            string
			truth           api.Truth
			pixels, mask    int
			j, missed, outs float64
		}{
			{"as it is", api.Truth{ID: 1, Counts: o.Counts}, area, area, 1, 0, 0},
			{"half", api.Truth{ID: 1, Counts: counts(truth)}, all, area, float64(both) / float64(all+area-both), 1 - float64(both)/float64(all), 1 - float64(both)/float64(area)},
			{"elsewhere", api.Truth{ID: 1, Counts: counts(elsewhere)}, 6, area, float64(0), 1, 1},
			{"not there", api.Truth{ID: 1}, 0, area, 0, 0, 1},
			{"not followed", api.Truth{Label: "cat", Counts: counts(elsewhere)}, 6, 0, 0, 1, 0},
		} {
			if elsewhere.Overlaps(published.Box()) {
				t.Fatal("the object is where it should not be")
			}
			got, err := c.Judge(seq, []api.Truth{tt.truth})
			if err != nil || len(got) != 1 {
				t.Fatalf("%s: %v, %v", tt.name, got, err)
			}
			g, label := got[0], "square"
			if tt.truth.ID == 0 {
				label = "cat"
			}
			near := func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }
			if g.Sequence != seq || !g.Time.Equal(before.CaptureTime.AsTime()) || g.ID != tt.truth.ID || g.Label != label || g.Truth != tt.pixels || g.Mask != tt.mask ||
				!near(g.J, tt.j) || !near(g.Missed, tt.missed) || !near(g.False, tt.outs) {
				t.Errorf("%s: %+v; want %+v", tt.name, g, tt)
			}
		}
		if kept := c.Accuracy(); len(kept) != 2 || kept[0].ID != 1 || kept[0].False != 1 || kept[1].Label != "cat" {
			t.Errorf("%+v; want the last truth of each object", kept)
		}
		time.Sleep(time.Second)
		after := b.rec.newest()
		if now, err := mask.Parse(after.Objects[0].Counts, testWidth, testHeight); err != nil || len(after.Objects) != 1 || now.Area() < area/2 {
			t.Errorf("the truth is tracked: %v", after.Objects)
		}
		for _, ev := range b.rec.events {
			if strings.Contains(ev.Kind.String(), "ANNOTATION") && ev.Sequence >= seq {
				t.Errorf("the truth is an annotation: %v", ev)
			}
		}
		c.ForgetAccuracy()
		if kept := c.Accuracy(); len(kept) != 0 {
			t.Errorf("dropped, and there are %+v", kept)
		}
	})
}

// What a camera publishes is the same to the bit whether its masks are judged or not.
func TestJudgeChangesNoMask(t *testing.T) {
	var runs [2][]*segdv1.MaskFrame
	for k := range runs {
		live(t, nil, func(t *testing.T, b *bench, c *Camera) {
			for range 10 {
				if m := b.rec.newest(); k == 1 {
					_, err := c.Judge(m.Sequence, []api.Truth{{ID: 1, Counts: counts(image.Rect(0, 0, 9, 9))}, {Label: "cat", Counts: counts(image.Rect(20, 20, 40, 40))}})
					require.NoError(t, err)
				}
				time.Sleep(200 * time.Millisecond)
			}
			b.rec.mu.Lock()
			defer b.rec.mu.Unlock()
			runs[k] = slices.Clone(b.rec.masks)
		})
	}
	same := 0
	for i := range min(len(runs[0]), len(runs[1])) {
		a, b := runs[0][i], runs[1][i]
		if a.Sequence != b.Sequence || len(a.Objects) != len(b.Objects) {
			t.Fatalf("frame %d with %d objects, judged frame %d with %d", a.Sequence, len(a.Objects), b.Sequence, len(b.Objects))
		}
		for o := range a.Objects {
			if !proto.Equal(a.Objects[o], b.Objects[o]) {
				t.Errorf("frame %d: %v; judged %v", a.Sequence, a.Objects[o], b.Objects[o])
			}
			same++
		}
	}
	if same < 30 {
		t.Errorf("%d masks were compared; want some seconds of them", same)
	}
}

func TestJudgeRefuses(t *testing.T) {
	live(t, nil, func(t *testing.T, b *bench, c *Camera) {
		m := b.rec.newest()
		good := api.Truth{ID: 1, Counts: m.Objects[0].Counts}
		for _, tt := range []struct {
			name   string
			seq    uint64
			truths []api.Truth
			is     error
			want   string
		}{
			{"a frame to come", 1 << 40, []api.Truth{good}, api.ErrFrame, "has not come yet"},
			{"nothing", m.Sequence, nil, annotation.ErrInvalid, "objects: 0; want 1…255"},
			{"too much", m.Sequence, make([]api.Truth, 256), annotation.ErrInvalid, "objects: 256; want 1…255"},
			{"an object that is not there", m.Sequence, []api.Truth{good, {ID: 7}}, annotation.ErrInvalid, "objects[1].id: 7; accepted: [1], the objects of frame"},
			{"an object twice", m.Sequence, []api.Truth{good, good}, annotation.ErrInvalid, "objects[1].id: 1 is used twice"},
			{"another size", m.Sequence, []api.Truth{{ID: 1, Counts: mask.Empty(9, 9).String()}}, annotation.ErrInvalid, "objects[0].counts: "},
			{"no text of counts", m.Sequence, []api.Truth{{ID: 1, Counts: "\x00"}}, annotation.ErrInvalid, "objects[0].counts: "},
			{"nothing of nothing", m.Sequence, []api.Truth{{Label: "cat"}}, annotation.ErrInvalid, "objects[0].counts: no pixels"},
			{"a label of two lines", m.Sequence, []api.Truth{{Label: "c\nat", Counts: good.Counts}}, annotation.ErrInvalid, "objects[0].label: "},
		} {
			if _, err := c.Judge(tt.seq, tt.truths); !errors.Is(err, tt.is) || !strings.Contains(fmt.Sprint(err), tt.want) {
				t.Errorf("%s: %v; want %q", tt.name, err, tt.want)
			}
		}
		if kept := c.Accuracy(); len(kept) != 0 {
			t.Errorf("refused, and kept: %+v", kept)
		}
		for range 5 {
			_, err := c.Judge(m.Sequence, many(good.Counts))
			require.NoError(t, err)
		}
		if kept := c.Accuracy(); len(kept) != accuracy.MaxRecords || kept[len(kept)-1].Label != "254" || kept[0].Label == "0" {
			t.Errorf("%d kept; want the newest %d", len(kept), accuracy.MaxRecords)
		}
	})
}

// many are as many truths as a request may have.
func many(counts string) (all []api.Truth) {
	for i := range 255 {
		all = append(all, api.Truth{Label: fmt.Sprint(i), Counts: counts})
	}
	return all
}

// The masks of a frame that is held stay for as long as it is.
func TestMasksOfAHeldFrame(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 6 s: minutes of frames")
	}
	live(t, nil, func(t *testing.T, b *bench, c *Camera) {
		held := b.rec.newest()
		for _, holder := range []string{"me", "you"} {
			_, err := c.Hold(t.Context(), held.Sequence, holder)
			require.NoError(t, err)
		}
		time.Sleep(time.Minute)
		truth := []api.Truth{{ID: 1, Counts: held.Objects[0].Counts}}
		_, err := c.Judge(held.Sequence+1, []api.Truth{truth[0]})
		require.ErrorIs(t, err, api.ErrFrame, "the frame after it is still there")
		for _, tt := range []struct {
			letGo string
			is    error
		}{{"", nil}, {"you", nil}, {"me", api.ErrFrame}} {
			if tt.letGo != "" {
				require.NoError(t, c.LetGo(t.Context(), held.Sequence, tt.letGo))
			}
			if got, err := c.Judge(held.Sequence, truth); !errors.Is(err, tt.is) || err == nil && got[0].J != 1 {
				t.Errorf("let go by %q: %+v, %v", tt.letGo, got, err)
			}
		}
	})
}
