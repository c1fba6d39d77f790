package mot

import (
	"context"
	"fmt"
	"testing"

	"github.com/segd/segd/features"
)

// Two persons meet in frame 4, and are apart 50 frames later; a third one is too small, and a fourth one goes with the first.
func TestMeetings(t *testing.T) {
	const frames = 60
	var lines []string
	for n := 1; n <= frames; n++ {
		for id, b := range map[int][4]int{1: {40 + n, 10, 20, 70}, 2: {48 - n, 12, 20, 70}, 3: {44, 30, 14, 50}, 4: {42 + n, 10, 20, 70}} {
			lines = append(lines, fmt.Sprintf("%d,%d,%d,%d,%d,%d,1", n, id, b[0]+1, b[1]+1, b[2], b[3]))
		}
	}
	truth := parse(t, lines...)
	got := truth.meetings(1, frames, size{160, 100})
	if len(got) != 2 || got[0].IDs != [2]int{2, 4} || got[0].Marked != 3 || got[1].IDs != [2]int{1, 2} || got[1].Marked != 4 {
		t.Errorf("%+v", got)
	}
	if got := truth.meetings(1, 53, size{160, 100}); len(got) != 1 {
		t.Errorf("%d of 53 frames; want that of which 50 more are known", len(got))
	}
	video := func(ctx context.Context, show func(*Picture) error) error {
		for n := 1; n <= frames; n++ {
			p := &Picture{Width: 160, Height: 100, BGR: make([]byte, 3*160*100), Time: streetTime(n)}
			for i := range 160 * 100 {
				c, x, y := [3]byte{60, byte(110 + i%8), 60}, i%160, i/160
				if x >= 40+n && x < 60+n && y >= 10 && y < 80 {
					c = [3]byte{30, 30, 200}
				}
				if x >= 48-n && x < 68-n && y >= 12 && y < 82 {
					c = [3]byte{220, 60, 20}
				}
				copy(p.BGR[3*i:], c[:])
			}
			if err := show(p); err != nil {
				return err
			}
		}
		return ctx.Err()
	}
	delete(truth.boxes, 4)
	r, err := RunMeetings(t.Context(), Options{Video: video, Truth: truth, Features: features.Config{Superpixels: 300}})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Meetings) != 1 || len(r.Meetings[0].looked) != frames-4 || r.ByMask != r.ByExtent || r.ByMask.Right < 0.5 || r.ByMask != r.Meetings[0].ByMask.Means() {
		t.Errorf("%+v, %+v", r, r.Meetings)
	}
	delete(truth.boxes, 2)
	if _, err := RunMeetings(t.Context(), Options{Video: video, Truth: truth, Features: features.Config{Superpixels: 300}}); err == nil {
		t.Error("nobody meets anybody")
	}
}
