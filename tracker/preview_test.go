package tracker

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
)

// tale steps a tracker over two discs that move, of which the first is marked on
// frame 0, and calls then before each step.
func tale(t *testing.T, tr *Tracker, frames uint64, then func(seq uint64) *annotation.Annotation) (results []*Result) {
	t.Helper()
	for i := range frames {
		s, truth := film(t, i, disc{40 + 2*float64(i), 50, 18, red}, disc{125, 80, 18, blue})
		a := then(i)
		if i == 0 {
			a = byMask(t, truth[0], 1)
		}
		results = append(results, step(t, tr, s, a))
	}
	return results
}

// previewed are annotations of frame 3, which has left the window by frame 10.
func previewed(t *testing.T) map[string]*annotation.Annotation {
	seq := uint64(3)
	_, truth := film(t, seq, disc{46, 50, 18, red}, disc{125, 80, 18, blue})
	second := byMask(t, truth[1], 2)
	box := empty()
	box.Objects = []annotation.Object{{ID: 2, Label: "boxed", Box: []float64{105, 60, 145, 100}}}
	strokes := empty()
	strokes.Objects = []annotation.Object{{ID: 2, Scribbles: stroke(8, annotation.Point{120, 80}, annotation.Point{130, 80})}}
	strokes.Background = stroke(4, annotation.Point{100, 50}, annotation.Point{155, 50}, annotation.Point{155, 110}, annotation.Point{100, 110})
	correction := empty()
	correction.Background = stroke(8, annotation.Point{34, 50}, annotation.Point{39, 50})
	all := map[string]*annotation.Annotation{"mask": second, "box": box, "strokes": strokes, "correction": correction}
	for _, a := range all {
		a.Frame = &seq
	}
	return all
}

// What a preview shows is what the annotation then makes of that frame, and the
// masks that follow are to the bit those of a tracker that was not asked for a preview.
func TestPreviewIsWhatComes(t *testing.T) {
	for name, ann := range previewed(t) {
		t.Run(name, func(t *testing.T) {
			var shown *Result
			asked, plain := newTracker(t, Config{}), newTracker(t, Config{})
			got := tale(t, asked, 14, func(seq uint64) *annotation.Annotation {
				if seq != 10 {
					return nil
				}
				p, err := asked.Preview(ann)
				if err != nil {
					t.Fatal(err)
				}
				defer p.Close()
				if shown, err = p.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				return ann
			})
			want := tale(t, plain, 14, func(seq uint64) *annotation.Annotation {
				if seq == 10 {
					return ann
				}
				return nil
			})
			for i := range got {
				got[i].Solve, want[i].Solve = Solve{}, Solve{} // holds times
				if !reflect.DeepEqual(got[i], want[i]) {
					t.Fatalf("frame %d differs after a preview: %v", i, cmp.Diff(want[i], got[i]))
				}
			}
			at, err := plain.past.Find(3, 13)
			if err != nil {
				t.Fatal(err)
			}
			became := plain.past.Labels(at)
			if shown.Seq != 3 || len(shown.Objects) != len(plain.objects.all) {
				t.Fatalf("preview of frame %d with %d objects; want 3 with %d", shown.Seq, len(shown.Objects), len(plain.objects.all))
			}
			for k, o := range shown.Objects {
				if o.Area == 0 || o.Area != o.Mask.Area() || o.Box != o.Mask.Box() {
					t.Errorf("object %d: area %d, box %v; the mask has %d in %v", o.ID, o.Area, o.Box, o.Mask.Area(), o.Mask.Box())
				}
				if box, area := became.Extent(int32(k+1), testWidth); area != o.Area || !o.Box.In(box) {
					t.Errorf("object %d: %d pixels in %v in the preview; %d in %v came of it", o.ID, o.Area, o.Box, area, box)
				}
			}
		})
	}
}

// The newest frame's masks have outlines drawn by pixels, as Step draws them.
func TestPreviewOfTheNewest(t *testing.T) {
	tr := newTracker(t, Config{})
	tale(t, tr, 8, func(uint64) *annotation.Annotation { return nil })
	_, truth := film(t, 7, disc{54, 50, 18, red}, disc{125, 80, 18, blue})
	box := empty()
	box.Objects = []annotation.Object{{ID: 2, Box: []float64{105, 60, 145, 100}}}
	p, err := tr.Preview(box)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	res, err := p.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for k, o := range res.Objects {
		if j := iou(o.Mask, truth[k]); res.Seq != 7 || j < 0.9 {
			t.Errorf("frame %d, object %d: IoU %.2f; want above 0.9 on frame 7", res.Seq, o.ID, j)
		}
	}
}

// What is lost by now, and was hidden for a moment in the frame that is marked, is occluded in its preview.
func TestPreviewOfTheHidden(t *testing.T) {
	tr := newTracker(t, Config{OccludedFrames: 6})
	var now State
	for i := range uint64(14) {
		ball := disc{40, 50, 18, red}
		if i > 2 {
			ball.r = -1
		}
		s, truth := film(t, i, ball, disc{125, 80, 18, blue})
		var a *annotation.Annotation
		if i == 0 {
			a = byMask(t, truth[0], 1)
		}
		now = step(t, tr, s, a).Objects[0].State
	}
	p, err := tr.Preview(previewed(t)["box"])
	require.NoError(t, err)
	defer p.Close()
	res, err := p.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, Lost, now)
	require.Equal(t, Occluded, res.Objects[0].State)
}

// The outlines of a preview of an earlier frame are drawn by pixels, however long ago it was:
// superpixels that are nearly squares cannot follow a disc.
func TestPreviewHasPixelOutlines(t *testing.T) {
	at := func(i uint64) disc { return disc{40 + 2*float64(i), 50, 22, red} }
	tr := newTracker(t, Config{})
	for i := range uint64(14) {
		s, _ := filmAs(t, features.Config{Superpixels: 300, Compactness: 300}, i, at(i))
		step(t, tr, s, nil)
	}
	seq := uint64(3)
	_, truth := draw(seq, at(seq))
	box := empty()
	box.Frame, box.Objects = &seq, []annotation.Object{{ID: 1, Box: []float64{24, 28, 68, 72}}}
	p, err := tr.Preview(box)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	res, err := p.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if j := iou(res.Objects[0].Mask, truth[0]); j < 0.95 {
		t.Errorf("IoU %.3f; want above 0.95", j)
	}
}

// A preview runs while its tracker goes on; the race detector watches.
func TestPreviewBesideItsTracker(t *testing.T) {
	ann := previewed(t)["strokes"]
	tr := newTracker(t, Config{})
	var first, second *Result
	done := make(chan error, 1)
	tale(t, tr, 14, func(seq uint64) *annotation.Annotation {
		if seq == 8 {
			p, err := tr.Preview(ann)
			if err != nil {
				t.Fatal(err)
			}
			twin, err := tr.Preview(ann)
			if err != nil {
				t.Fatal(err)
			}
			defer twin.Close()
			if first, err = twin.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			go func() {
				defer p.Close()
				var err error
				second, err = p.Run(t.Context())
				done <- err
			}()
		}
		return nil
	})
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(first.Objects, second.Objects) {
		t.Error("a preview beside a tracker at work differs from one of a tracker at rest")
	}
}

func TestPreviewFaults(t *testing.T) {
	tr := newTracker(t, Config{})
	ann := previewed(t)["mask"]
	if _, err := tr.Preview(ann); !errors.Is(err, annotation.ErrFrame) || !errors.Is(err, annotation.ErrInvalid) {
		t.Errorf("before the first frame: %v; want annotation.ErrFrame", err)
	}
	tale(t, tr, 3, func(uint64) *annotation.Annotation { return nil })
	if _, err := tr.Preview(ann); !errors.Is(err, annotation.ErrFrame) || !strings.Contains(err.Error(), "frame: 3 has not come yet; the newest is 2") {
		t.Errorf("a frame to come: %v", err)
	}
	small := *ann
	small.Frame, small.Width, small.Mask = nil, 8, make([]uint8, 8*testHeight)
	p, err := tr.Preview(&small)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var f *annotation.Fault
	if _, err := p.Run(t.Context()); !errors.As(err, &f) || f.Field != "width" {
		t.Errorf("another size: %v; want a fault of width", err)
	}
}

// A clone shares no memory with its frame but the picture, and lacks nothing.
func TestCloneIsWhole(t *testing.T) {
	tr := newTracker(t, Config{})
	tale(t, tr, 3, func(uint64) *annotation.Annotation { return nil })
	f := tr.frames.anchors[0]
	f.Corrected, f.Marks.Corrected, f.Belief.Shown = []bool{true}, []bool{true}, []float64{1}
	c := f.clone()
	var compare func(at string, a, b reflect.Value)
	compare = func(at string, a, b reflect.Value) {
		for i := range a.NumField() {
			name, x, y := at+a.Type().Field(i).Name, a.Field(i), b.Field(i)
			switch {
			case strings.HasSuffix(name, ".Picture"), name == "Frame.p":
				if x.Pointer() != y.Pointer() {
					t.Errorf("%s is copied", name)
				}
			case x.Kind() == reflect.Pointer:
				compare(name+".", x.Elem(), y.Elem())
			case slices.Contains([]string{"Frame.omega", "Frame.parts", "Frame.spare", "Frame.local", "Frame.edges"}, name): // what solves make of it
			case x.Kind() == reflect.Struct:
				compare(name+".", x, y)
			case x.Kind() == reflect.Slice:
				switch {
				case x.Len() == 0:
					t.Errorf("%s is empty: the test shows nothing", name)
				case x.Pointer() == y.Pointer():
					t.Errorf("%s is shared", name)
				case fmt.Sprint(x) != fmt.Sprint(y):
					t.Errorf("%s differs", name)
				}
			case fmt.Sprint(x) != fmt.Sprint(y):
				t.Errorf("%s is %v, want %v", name, y, x)
			}
		}
	}
	compare("", reflect.ValueOf(f).Elem(), reflect.ValueOf(c).Elem())
}
