package follow

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/lab/mot"
)

// A paced clip is the clip, but for when its frames come.
func TestPace(t *testing.T) {
	to := filepath.Join(t.TempDir(), "slow.avi")
	require.NoError(t, pace(to, demo.ClipPath, 4))
	if w, h, err := size(to); w != 768 || h != 576 || err != nil {
		t.Errorf("%d×%d, %v; want 768×576", w, h, err)
	}
	before, err := os.ReadFile(demo.ClipPath)
	require.NoError(t, err)
	after, err := os.ReadFile(to)
	require.NoError(t, err)
	differ := 0
	for k := range before {
		if before[k] != after[k] {
			differ++
		}
	}
	if len(before) != len(after) || differ > 12 {
		t.Errorf("%d bytes of %d differ; want those of three numbers", differ, len(before))
	}
	m, err := codec.OpenFile(to)
	require.NoError(t, err)
	defer m.Close()
	for n := range 3 {
		p, err := m.Next()
		if want := time.Duration(n) * 250 * time.Millisecond; err != nil || time.Duration(p.PTS) != want {
			t.Errorf("frame %d at %v, %v; want %v", n, p.PTS, err, want)
		}
	}
	none := filepath.Join(t.TempDir(), "clip.mp4")
	require.NoError(t, os.WriteFile(none, []byte("RIFFavih"), 0o600))
	assert.ErrorContains(t, pace(to, none, 4), "is no AVI", "another file")
}

func TestBars(t *testing.T) {
	b := bars{ellipseIDF1: 0.70, ellipseIDP: 0.85, boxIDF1: 0.70, aloneRight: 0.60, aloneFalse: 0.10}
	group := func(idf1, idp float64) mot.Group { return mot.Group{IDF1: &idf1, IDP: &idp} }
	alone := func(present, right, wrong int) mot.Group {
		return mot.Group{PerObject: []mot.Object{{ID: 9, Present: present, Right: right, False: wrong}}}
	}
	for _, tt := range []struct {
		name    string
		run     string
		figures mot.Group
		want    string
	}{
		{"all reached", "ellipses", group(0.70, 0.85), ""},
		{"too few found", "ellipses", group(0.69, 0.9), "IDF1 below 0.70"},
		{"too many false", "ellipses", group(0.8, 0.84), "IDP below 0.85"},
		{"nothing to count", "ellipses", mot.Group{}, "IDF1 below 0.70, IDP below 0.85"},
		{"boxes", "boxes", group(0.70, 0.1), ""},
		{"boxes, too few", "boxes", group(0.69, 1), "IDF1 below 0.70"},
		{"alone", "person 9 alone", alone(100, 60, 10), ""},
		{"alone, lost", "person 9 alone", alone(100, 59, 10), "right in less than 60 %"},
		{"alone, elsewhere", "person 9 alone", alone(100, 60, 11), "false in more than 10 %"},
		{"alone, never there", "person 9 alone", alone(0, 0, 0), "right in less than 60 %"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := result{name: tt.run, marked: 151, last: 400, masks: 249, figures: tt.figures}
			assert.Equal(t, tt.want, strings.Join(b.missed(r), ", "), "misses")
			var out strings.Builder
			if err := b.print(&out, []result{r}); (err != nil) != (tt.want != "") || !strings.Contains(out.String(), "249 of 249") {
				t.Errorf("%v and\n%s", err, out.String())
			}
		})
	}
	assert.Error(t, b.print(io.Discard, nil), "nothing was tried, and that is well")
}
