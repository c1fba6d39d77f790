package mot

import "testing"

// Two cars drive past one another, one of them detected poorly for some frames; a third thing is there once.
func TestByteTrack(t *testing.T) {
	var detected []Found
	add := func(n int, x, score float64) {
		detected = append(detected, Found{n, -1, Box{x, 100, 60, 40}, score}, Found{n, -1, Box{x + 2, 101, 60, 40}, score / 2})
	}
	for n := 1; n <= 20; n++ {
		score := .8
		if n >= 8 && n <= 10 {
			score = .3
		}
		add(n, float64(10*n), score)
		detected = append(detected, Found{n, -1, Box{float64(400 - 10*n), 200, 80, 50}, .7})
	}
	detected = append(detected, Found{5, -1, Box{300, 10, 20, 20}, .9}, Found{6, -1, Box{500, 10, 20, 20}, .55})
	frames := map[int]int{}
	for _, f := range PlainByteTrack(.6).Follow(detected, 1, 20) {
		frames[f.ID]++
		want := Box{float64(10 * f.Frame), 100, 60, 40}
		if f.ID == 2 {
			want = Box{float64(400 - 10*f.Frame), 200, 80, 50}
		}
		if d := f.Box.Distance(want); d > .2 {
			t.Errorf("frame %d: track %d is %.2f from where it is", f.Frame, f.ID, d)
		}
	}
	if len(frames) != 2 || frames[1] != 19 || frames[2] != 19 {
		t.Errorf("frames by track: %v; want two of 19, from their second on", frames)
	}
}
