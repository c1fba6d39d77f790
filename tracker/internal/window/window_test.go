package window

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/internal/buffers"
	"github.com/segd/segd/tracker/internal/labeling"
	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/scenetest"
	"github.com/segd/segd/tracker/internal/seed"
)

const cols, rows, labels = 12, 9, 2

func inside(i int) bool { x, y := i%cols, i/cols; return x >= 3 && x < 7 && y >= 3 && y < 7 }

var tuned = Config{Nu: 2, Rho: 1, MaxIter: 10}

// made are frames that show a red rectangle on a blue floor, with its labels.
func made(t *testing.T, count int) (frames []*Frame, truth []int32) {
	t.Helper()
	var projection *features.Projection
	var pool picture.Pool
	for seed := range uint64(count) {
		s := scenetest.Squares(seed, cols, rows, func(x, y int) [3]float64 {
			if inside(y/scenetest.Side*cols + x/scenetest.Side) {
				return [3]float64{50 + float64((x+y+int(seed))%7), 60, 40}
			}
			return [3]float64{float64(40 + (7*x+3*y+int(seed))%20), 10, float64(-40 - y%5)}
		})
		if projection == nil {
			var err error
			if projection, err = features.FitProjection(s, 0); err != nil {
				t.Fatal(err)
			}
		}
		f := &Frame{}
		f.Reset(pool.Make(s, projection, 0.25), labels)
		f.Belief.Uniform(labels)
		frames = append(frames, f)
	}
	for i := range frames[0].p.N {
		truth = append(truth, 0)
		if inside(i) {
			truth[i] = 1
		}
	}
	return frames, truth
}

// What is marked on one frame is learnt, and known on the next without any other
// evidence; by the affinity alone it is not.
func TestClassifierIsLearnt(t *testing.T) {
	frames, truth := made(t, 2)
	w := Window{Config: tuned}
	copy(frames[0].Marks.Fixed, truth)
	y := slices.Clone(truth)
	report, err := w.Estimate(t.Context(), frames[:1], y, labels, anew(labels, true), true)
	if err != nil || report.Iterations < 2 || report.Descent <= 0 || !slices.Equal(y, truth) {
		t.Fatalf("%v, %+v", err, report)
	}
	if report.Iterations > 20 { // 14, and 26 without over-relaxation
		t.Errorf("%d iterations where an object is defined; want half as many as without over-relaxation", report.Iterations)
	}
	for l := report.Iterations; l <= Traced; l++ {
		if report.Trace[l-1] != report.Lagrangian {
			t.Errorf("trace %v; want it to end at %g", report.Trace, report.Lagrangian)
		}
	}
	f := frames[1]
	got := make([]int32, len(truth))
	if err := w.Decide(t.Context(), f, got, labels, true); err != nil || !slices.Equal(got, truth) {
		t.Errorf("decided %v (%v); want %v", got, err, truth)
	}
	f.Belief.Shown = make([]float64, len(f.Belief.Q))
	for i := range truth { // nothing is to be seen of the object, by the extents
		f.Belief.Shown[labels*i] = 1
	}
	clear(got)
	if err := w.Decide(t.Context(), f, got, labels, true); err != nil || slices.Contains(got, 1) {
		t.Errorf("the classifier finds what the extents say is not to be seen: %v (%v)", got, err)
	}
	f.Belief.Shown = nil
	for i := range f.Belief.Unlearnt {
		f.Belief.Unlearnt[i] = true
	}
	clear(got)
	if err := w.Decide(t.Context(), f, got, labels, true); err != nil || slices.Contains(got, 1) {
		t.Errorf("the classifier speaks of what it has not learnt: %v (%v)", got, err)
	}
	if err := w.Decide(t.Context(), f, got, labels, false); err != nil || slices.Contains(got, 1) {
		t.Errorf("the classifier is left out, and speaks: %v (%v)", got, err)
	}
}

// What an annotation rules out does not come about, whatever speaks for it.
func TestMarksAreKept(t *testing.T) {
	frames, truth := made(t, 1)
	f := frames[0]
	for i, l := range truth {
		f.Belief.Q[labels*i], f.Belief.Q[labels*i+1] = float64(1-l), float64(l)
	}
	f.Marks.Fixed[0], f.Marks.Fixed[4*cols+4] = 1, 0
	w := Window{Config: tuned}
	y := slices.Clone(truth)
	if err := w.Decide(t.Context(), f, y, labels, false); err != nil {
		t.Fatal(err)
	}
	if y[0] != 1 || y[4*cols+4] != 0 || y[5*cols+5] != 1 {
		t.Errorf("marked superpixels are %d and %d, another one %d; want 1, 0 and 1", y[0], y[4*cols+4], y[5*cols+5])
	}
}

// The weights are those of the definition.
func TestBalance(t *testing.T) {
	frames, truth := made(t, 2)
	w := Window{Config: tuned}
	for k, f := range frames {
		f.Keep(truth)
		for i := range truth {
			f.Belief.Q[labels*i], f.Belief.Q[labels*i+1] = 1-0.1*float64(k+1), 0.1*float64(k+1)
		}
	}
	frames[0].Marks.Fixed[7], frames[1].Marks.Fixed[8] = 0, 0
	frames[0].y[5], frames[1].y[5] = 1, 1 // by a solve: weights go by what was published
	w.balance(frames, labels)
	count := [labels]float64{}
	for _, l := range truth {
		count[l] += 2
	}
	n := 2 * float64(len(truth))
	want, sum := []float64{}, 0.0
	for k, f := range frames {
		for i, l := range truth {
			omega := math.Pow(n/(labels*count[l]), rarityPower)
			if f.Marks.Free(i) {
				omega *= 1 - (1-ambiguous)*0.2*float64(k+1)
			}
			if k == 0 { // the newest is no earlier frame
				omega *= marked
			}
			want, sum = append(want, omega), sum+omega
		}
	}
	got := slices.Concat(frames[0].omega, frames[1].omega)
	for i := range want {
		if want[i] *= n / sum; math.Abs(got[i]-want[i]) > 1e-12 {
			t.Fatalf("sample %d weighs %g; want %g", i, got[i], want[i])
		}
	}
}

// A frame with nothing to learn from leaves the classifier as it is.
func TestNothingToLearn(t *testing.T) {
	frames, truth := made(t, 2)
	w := Window{Config: tuned}
	copy(frames[0].Marks.Fixed, truth)
	y := slices.Clone(truth)
	if _, err := w.Estimate(t.Context(), frames[:1], y, labels, anew(labels, true), true); err != nil {
		t.Fatal(err)
	}
	weight, none := slices.Clone(w.weight), make([]int32, len(truth))
	report, err := w.Estimate(t.Context(), frames, none, labels, nil, false)
	if err != nil || report != (Report{Unlearnt: labels - 1}) || !slices.Equal(w.weight, weight) || slices.Contains(none, 1) {
		t.Errorf("%v, %+v, or another classifier", err, report)
	}
	var other Window
	other.Learn(&w)
	if other.Drop(1, frames[1].p.Dim); len(other.weight) != frames[1].p.Dim+1 || !slices.Equal(w.weight, weight) {
		t.Errorf("%d weights without label 1; want %d, and the other window's as they were", len(other.weight), frames[1].p.Dim+1)
	}
}

// Without time for an iteration the classifier stays what it was: no solve has made
// another one. What is annotated has no limit.
func TestOutOfTime(t *testing.T) {
	frames, truth := made(t, 1)
	w := Window{Config: tuned}
	w.Budget = time.Nanosecond
	y := slices.Clone(truth)
	report, err := w.Estimate(t.Context(), frames, y, labels, anew(labels, true), true)
	if err != nil || report.OutOfTime || report.Iterations == 0 {
		t.Fatalf("annotated: %v, %+v", err, report)
	}
	weight, before := slices.Clone(w.weight), slices.Clone(y)
	report, err = w.Estimate(t.Context(), frames, y, labels, nil, true)
	if err != nil || !report.OutOfTime || report.Iterations != 0 {
		t.Fatalf("%v, %+v", err, report)
	}
	if !slices.Equal(w.weight, weight) || !slices.Equal(y, before) {
		t.Error("another classifier, or other labels, without an iteration")
	}
}

// What left the window is not forgotten: the classifier that it taught labels a frame
// that nothing else is known of, and is still the same one afterwards. From nothing, as
// many iterations find nothing.
func TestClassifierIsCarriedOn(t *testing.T) {
	frames, truth := made(t, 2)
	w := Window{Config: tuned}
	copy(frames[0].Marks.Fixed, truth)
	y := slices.Clone(truth)
	if _, err := w.Estimate(t.Context(), frames[:1], y, labels, anew(labels, true), true); err != nil {
		t.Fatal(err)
	}
	y = make([]int32, len(truth))
	if _, err := w.Estimate(t.Context(), frames[1:], y, labels, nil, true); err != nil || !slices.Equal(y, truth) {
		t.Errorf("labels %v (%v); want %v", y, err, truth)
	}
	if clear(y); !slices.Equal(guess(&w, frames[0], y), truth) {
		t.Errorf("the classifier now says %v of the frame that left; want %v", y, truth)
	}
	w = Window{Config: tuned}
	clear(y)
	if _, err := w.Estimate(t.Context(), frames[1:], y, labels, nil, true); err != nil || slices.Equal(y, truth) {
		t.Errorf("labels from nothing: %v (%v)", y, err)
	}
}

// When the window slides, W₀ is the last window's classifier, wherever the solve starts. After it scores are those of α = −λ/2ν, and so is
// the classifier.
func TestSlide(t *testing.T) {
	frames, truth := made(t, 4)
	w := Window{Config: tuned}
	w.MaxIter = 3
	copy(frames[0].Marks.Fixed, truth)
	for k := range frames {
		last := slices.Clone(w.weight)
		if _, err := w.Estimate(t.Context(), frames[max(0, k-2):k+1], slices.Clone(truth), labels, anew(labels, k == 0), true); err != nil {
			t.Fatal(err)
		}
		if k == 0 {
			continue
		}
		row := frames[0].p.Dim + 1
		own := slices.Concat(w.around[row:], w.weight[row:])
		n := len(w.state.Lambda)
		alpha, moved, scores, before := make([]float64, n), make([]float64, 2*row), make([]float64, n), make([]float64, n)
		w.state.Alpha(alpha, w.Nu)
		w.kernel.Weights(moved, alpha, labels)
		for i, v := range moved {
			own[i] -= v // W₀
		}
		if d := far(own[row:], last[row:]); d > 1e-6 {
			t.Errorf("frame %d: the solve began %g from the last classifier", k, d)
		}
		w.kernel.Scores(before, own, labels)
		w.kernel.Scores(scores, moved, labels)
		for i, a := range alpha {
			scores[i] += before[i] + Gamma*a
		}
		if d, from := far(scores, w.state.Scores), far(before, w.offset); d > 1e-6 || from > 1e-6 || far(moved, make([]float64, 2*row)) < 1e-3 {
			t.Errorf("frame %d: scores are %g from XW₀ + Kα, and those at the start %g from XW₀; or nothing moved", k, d, from)
		}
	}
}

// far is the largest difference.
func far(a, b []float64) (most float64) {
	for i := range a {
		most = max(most, math.Abs(a[i]-b[i]))
	}
	return most
}

// A window starts with λ of the last one for the rows that stay, to the bit, and with the λ for those that came that the optimality
// condition gives; that is consistent, and the problem is the same one: from zero the same solution takes more iterations.
func TestWarmStart(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	var windows [2]Window
	var iterations [2]int
	for k := range windows {
		frames, truth := made(t, 8)
		w := &windows[k]
		w.Config = tuned
		w.Cold = k == 1
		copy(frames[0].Marks.Fixed, truth)
		for last := range 7 {
			report, err := w.Estimate(t.Context(), frames[max(0, last-2):last+1], slices.Clone(truth), labels, anew(labels, last == 0), true)
			if err != nil || !report.Converged {
				t.Fatalf("frame %d: %+v (%v)", last, report, err)
			}
			if last > 0 {
				iterations[k] += report.Iterations
			}
			if last < 2 && report.Carried != 0 {
				t.Errorf("frame %d carries %g of its rows; want none after a frame that defines an object", last, report.Carried)
			}
		}
		if w.Cold {
			continue
		}
		left, n := slices.Clone(w.state.Lambda), labels*frames[0].p.N
		report, err := w.Estimate(stopped, frames[5:], slices.Clone(truth), labels, nil, true) // the state stays as it starts
		if err != nil || report.Iterations != 0 {
			t.Fatalf("%+v (%v)", report, err)
		}
		if report.Carried != 2./3 || !slices.Equal(w.state.Lambda[:2*n], left[n:]) {
			t.Errorf("λ of the rows that stay are %g from what was left, and %g of the rows are said to; want 0, 2/3",
				far(w.state.Lambda[:2*n], left[n:]), report.Carried)
		}
		optimal(t, w, 2*frames[0].p.N)
		consistent(t, w)
		// Of an object that competes with it from now on all rows are new; its own stay.
		for _, f := range frames {
			f.Widen(labels, labels+1)
			f.Belief.Q[3*50+2] = 0.5
		}
		report, err = w.Estimate(stopped, frames[5:], slices.Clone(truth), labels+1, nil, true)
		if err != nil || report.Carried != 1./2 {
			t.Fatalf("another object competes: %+v (%v)", report, err)
		}
		optimal(t, w, 0)
		consistent(t, w)
	}
	if iterations[0] >= iterations[1] {
		t.Errorf("%d iterations from a warm start, %d from zero", iterations[0], iterations[1])
	}
	for i, v := range windows[1].weight {
		if math.Abs(v-windows[0].weight[i]) > 0.01 {
			t.Errorf("weight %d is %g from a warm start, %g from zero", i, windows[0].weight[i], v)
		}
	}
}

// optimal checks that λ of w's rows from one on is optimal where the classifier is W₀: −λ is a subgradient of the hinge at
// β = XW₀ − λ/ρ.
func optimal(t *testing.T, w *Window, from int) {
	t.Helper()
	own := w.problem.Labels
	for i := from * own; i < len(w.state.Lambda); i++ {
		l, omega, sign := w.state.Lambda[i], w.omega[i/own], 1.0 // of the loss max(0, 1 + sign·β)
		if w.state.Y[i/own] == int32(i%own) {
			sign = -1
		}
		inside := 1 + sign*(w.offset[i]-l*Gamma/(2*w.Nu))
		if l *= sign; l < -1e-9 || l > omega+1e-9 || inside > 1e-9 && l < omega-1e-9 || inside < -1e-9 && l > 1e-9 {
			t.Fatalf("λ of row %d, label %d, is %g·%g where the loss is %g and ω %g", i/own, i%own, sign, l, inside, omega)
		}
	}
}

// consistent checks that the scores of w's state are XW₀ + Kα of α = −λ/2ν.
func consistent(t *testing.T, w *Window) {
	t.Helper()
	n, own := len(w.state.Lambda), w.problem.Labels
	alpha, scores, step := make([]float64, n), make([]float64, n), make([]float64, len(w.own))
	w.state.Alpha(alpha, w.Nu)
	w.kernel.Weights(step, alpha, own)
	w.kernel.Scores(scores, step, own)
	for i, a := range alpha {
		scores[i] += w.offset[i] + Gamma*a
	}
	if d := far(scores, w.state.Scores); d > 1e-9 {
		t.Errorf("scores are %g from XW₀ + Kα", d)
	}
}

// Every window converges, and none does that starts from zero and is cut to one iteration: what comes has to be learnt.
func TestWindowsConverge(t *testing.T) {
	for _, most := range []int{tuned.MaxIter, 1} {
		frames, truth := made(t, 8)
		w := Window{Config: tuned}
		w.MaxIter, w.Cold = most, most == 1
		copy(frames[0].Marks.Fixed, truth)
		for k := range frames {
			report, err := w.Estimate(t.Context(), frames[max(0, k-2):k+1], slices.Clone(truth), labels, anew(labels, k == 0), true)
			if err != nil {
				t.Fatal(err)
			}
			if k > 0 && (report.Converged != (most > 1) || report.Iterations > 4 || most > 1 && max(report.Primal, report.Dual/w.Rho) > Tolerance) {
				t.Errorf("at most %d iterations, frame %d: %+v", most, k, report)
			}
		}
	}
}

// The descent is what is gained since the last window's solution: none where nothing has changed.
func TestDescentIsSinceTheLastWindow(t *testing.T) {
	frames, truth := made(t, 3)
	w := Window{Config: tuned}
	copy(frames[2].Marks.Fixed, truth)
	y := slices.Clone(truth)
	var descent []float64
	for k := range 30 {
		report, err := w.Estimate(t.Context(), frames, y, labels, anew(labels, k == 0), true)
		if err != nil {
			t.Fatal(err)
		}
		descent = append(descent, report.Descent)
	}
	if descent[0] < 0.1 || descent[29] < 0 || descent[29] > 0.01 {
		t.Errorf("descent %v; want it large where the object is marked, and next to nothing in the end", descent)
	}
}

// Labels that are hardly better are not worth an iteration.
func TestDelta(t *testing.T) {
	defer func(was float64) { delta = was }(delta)
	for _, delta = range []float64{0, delta} {
		frames, truth := made(t, 2)
		w := Window{Config: tuned}
		copy(frames[0].Marks.Fixed, truth)
		if _, err := w.Estimate(t.Context(), frames[:1], slices.Clone(truth), labels, anew(labels, true), true); err != nil {
			t.Fatal(err)
		}
		// A corner is taken for the object. That it looks like the floor weighs little, as the affinity cannot place it.
		y := slices.Clone(truth)
		y[0] = 1
		report, err := w.Estimate(t.Context(), frames, y, labels, nil, true)
		if err != nil || !report.Converged || (y[0] == 1) != (delta > 0) {
			t.Errorf("δ = %g: label %d, %v, %+v", delta, y[0], err, report)
		}
	}
}

// The window of a frame that defines an object has a stiffer classifier and less slack;
// the next one has those of the Config again.
func TestAnnotatedWindowIsStiffer(t *testing.T) {
	frames, truth := made(t, 2)
	w := Window{Config: tuned}
	for k, annotated := range []bool{true, false} {
		if _, err := w.Estimate(t.Context(), frames[:k+1], slices.Clone(truth), labels, anew(labels, annotated), true); err != nil {
			t.Fatal(err)
		}
		if stiffer, tighter := w.problem.Nu > tuned.Nu, w.kernel.SigmaMin() < Gamma; stiffer != annotated || tighter != annotated {
			t.Errorf("annotated %t: ν %g, γ %g", annotated, w.problem.Nu, w.kernel.SigmaMin())
		}
	}
}

// guess writes the labels that the classifier alone has for f to y.
func guess(w *Window, f *Frame, y []int32) []int32 {
	w.compose(1, f.p.Dim)
	for i := range y {
		scores := w.score(f, i)
		y[i] = labeling.Argmax(scores[:])
	}
	return y
}

// The labels of earlier frames stay open: what was taken for the object by mistake is
// corrected by what is marked later.
func TestLabelsOfTheWindowAreFree(t *testing.T) {
	frames, truth := made(t, 2)
	w := Window{Config: tuned}
	wrong := slices.Clone(truth)
	wrong[0], wrong[5*cols+5] = 1, 0
	frames[0].Keep(wrong)
	copy(frames[1].Marks.Fixed, truth)
	y := slices.Clone(truth)
	if _, err := w.Estimate(t.Context(), frames, y, labels, anew(labels, true), true); err != nil || !slices.Equal(frames[0].y, truth) {
		t.Errorf("the earlier frame keeps %v (%v); want %v", frames[0].y, err, truth)
	}
}

// At ρ = 2ν/γ no window raises the Lagrangian, from its first iteration on and however
// it slides; far below that it may, and is told.
func TestDescent(t *testing.T) {
	for _, tt := range []struct {
		name       string
		rho        float64
		guaranteed bool
	}{
		{"guaranteed", 2 * tuned.Nu / Gamma, true},
		{"not guaranteed", 0.001, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			frames, truth := made(t, 6)
			w := Window{Config: tuned}
			w.Rho = tt.rho
			copy(frames[0].Marks.Fixed, truth)
			rose := 0
			for k := range frames {
				y := slices.Clone(truth)
				report, err := w.Estimate(t.Context(), frames[max(0, k-2):k+1], y, labels, anew(labels, k == 0), true)
				if err != nil {
					t.Fatal(err)
				}
				if got := report.Guaranteed == report.Iterations; got != tt.guaranteed {
					t.Errorf("frame %d: %d of %d iterations are guaranteed", k, report.Guaranteed, report.Iterations)
				}
				rose += report.Violations
			}
			if (rose == 0) != tt.guaranteed {
				t.Errorf("the Lagrangian rose %d times", rose)
			}
		})
	}
}

// An object comes, and another goes.
func TestFrameLabels(t *testing.T) {
	frames, truth := made(t, 1)
	f := frames[0]
	f.Keep(truth)
	c := f.Clone()
	c.Widen(labels, 3)
	c.Drop(1, 3)
	for i := range truth {
		if c.y[i] != 0 || c.told[i] != 0 || !slices.Equal(c.Belief.Q[2*i:2*i+2], []float64{1, 0}) {
			t.Fatalf("superpixel %d: label %d, belief %v", i, c.y[i], c.Belief.Q[2*i:2*i+2])
		}
	}
	if !slices.Equal(f.y, truth) || !slices.Equal(f.told, truth) || f.Belief.Q[1] != 0.5 || c.p != f.p {
		t.Error("a clone shares more than the picture")
	}
}

// What ablations leave out is left out: without the discrete step labels stay as they are, whatever they cost; without
// memory the classifier is that of the window alone; and a cold start takes more iterations to the same classifier.
func TestAblations(t *testing.T) {
	estimate := func(w *Window, frames []*Frame, y []int32, annotated bool) Report {
		t.Helper()
		report, err := w.Estimate(t.Context(), frames, y, labels, anew(labels, annotated), true)
		if err != nil {
			t.Fatal(err)
		}
		return report
	}
	for _, fix := range []bool{false, true} {
		frames, truth := made(t, 2)
		w := Window{Config: tuned}
		w.FixedLabels = fix
		copy(frames[0].Marks.Fixed, truth)
		estimate(&w, frames[:1], slices.Clone(truth), true)
		wrong := slices.Clone(truth)
		wrong[0], wrong[len(wrong)-1] = 1-wrong[0], 1-wrong[len(wrong)-1]
		y := slices.Clone(wrong)
		if report := estimate(&w, frames, y, false); slices.Equal(y, wrong) != fix || (report.Flips == 0) != fix {
			t.Errorf("labels fixed %v: %d flips, labels kept %v", fix, report.Flips, slices.Equal(y, wrong))
		}
	}
	for _, memoryless := range []bool{false, true} {
		frames, truth := made(t, 2)
		var after [2][]float64
		for k := range after {
			w := Window{Config: tuned}
			w.Memoryless = memoryless
			f, _ := made(t, 2)
			if k == 1 { // something else was learnt before
				other := make([]int32, len(truth))
				other[3] = 1
				estimate(&w, f[1:], other, false)
			}
			estimate(&w, frames[:1], slices.Clone(truth), false)
			after[k] = slices.Clone(w.Weights())
		}
		if slices.Equal(after[0], after[1]) != memoryless {
			t.Errorf("memoryless %v: what was learnt before makes a difference: %v", memoryless, !memoryless)
		}
	}
	var reports [2]Report
	var learnt [2][]float64
	for k, cold := range []bool{false, true} {
		frames, truth := made(t, 2)
		w := Window{Config: tuned}
		w.MaxIter = annotatedIter
		copy(frames[0].Marks.Fixed, truth)
		estimate(&w, frames[:1], slices.Clone(truth), true)
		w.Cold = cold
		reports[k] = estimate(&w, frames, slices.Clone(truth), false)
		learnt[k] = slices.Clone(w.Weights())
	}
	if warm, cold := reports[0], reports[1]; warm.Iterations >= cold.Iterations || !warm.Converged || !cold.Converged {
		t.Errorf("a warm start: %+v; a cold one: %+v", warm, cold)
	}
	for i, v := range learnt[0] {
		if math.Abs(v-learnt[1][i]) > 0.01 {
			t.Errorf("weight %d is %g from a warm start, %g from a cold one", i, v, learnt[1][i])
		}
	}
}

func partOf(t *testing.T, f *Frame, labels int, label int32) *part {
	t.Helper()
	c, err := f.part(label, labels)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A frame's graph is that of its picture, whatever the frame was before.
func TestGraphFollowsThePicture(t *testing.T) {
	frames, truth := made(t, 1)
	f := frames[0]
	s := scenetest.Squares(1, cols, rows, nil)
	s.Edges = []features.Edge{{I: 0, J: 4*cols + 4, Length: scenetest.Side}}
	projection, err := features.FitProjection(s, 0)
	if err != nil {
		t.Fatal(err)
	}
	var pool picture.Pool
	other := pool.Make(s, projection, 7)
	y := slices.Clone(truth)
	before, _ := partOf(t, f, labels, 1).graph.Energy(y)
	f.Reset(other, labels)
	if got, _ := partOf(t, f, labels, 1).graph.Energy(y); got != 7 || before == 7 {
		t.Errorf("the energy is %g, in another picture %g; want 7 in that", before, got)
	}
}

func TestSolveAllocatesNothing(t *testing.T) {
	frames, truth := made(t, 3)
	w := Window{Config: tuned}
	w.Budget = time.Hour
	y := slices.Clone(truth)
	step := func() {
		if _, err := w.Estimate(t.Context(), frames, y, labels, nil, true); err != nil {
			t.Fatal(err)
		}
		if err := w.Decide(t.Context(), frames[2], y, labels, true); err != nil {
			t.Fatal(err)
		}
	}
	step()
	if n := testing.AllocsPerRun(10, step); n != 0 {
		t.Errorf("%g allocations a frame; want none", n)
	}
}

// Each frame takes its own labels of the solution, and those of the newest come back.
func TestEveryFrameTakesItsPart(t *testing.T) {
	frames, truth := made(t, 2)
	w := Window{Config: tuned}
	copy(frames[0].Marks.Fixed, truth)
	y := make([]int32, len(truth))
	if _, err := w.Estimate(t.Context(), frames, y, labels, anew(labels, true), true); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(y, truth) || !slices.Equal(frames[0].y, truth) || !slices.Equal(frames[1].y, truth) {
		t.Errorf("labels %v; want %v", y, truth)
	}
}

// two are frames of made's floor with an object in the left half, 1, and one in the right half, 2, of which the superpixels near are
// those of that half.
func two(t *testing.T, count int) []*Frame {
	t.Helper()
	frames, _ := made(t, count)
	for _, f := range frames {
		f.Widen(labels, 3)
		f.Belief.Near = make([]bool, 3*f.p.N)
		for i := range f.p.N {
			half := 1 + i%cols*2/cols
			f.Belief.Near[3*i+half] = true
			q := 0.0
			if x, y := i%cols, i/cols; y == 4 && (x == 2 || x == 9) {
				q = 1
			}
			copy(f.Belief.Q[3*i:], []float64{1 - q, 0, 0})
			f.Belief.Q[3*i+half] = q
		}
	}
	return frames
}

// Objects that no superpixel may be are left out.
func TestObjectsThatAreNowhere(t *testing.T) {
	f := two(t, 1)[0]
	require.Equal(t, []int32{1, 2}, slices.Collect(f.objects(3)))
	for i := range f.p.N {
		f.Belief.Q[3*i+1], f.Belief.Near[3*i+1] = 0, false
	}
	require.Equal(t, []int32{2}, slices.Collect(f.objects(3)))
	f.Belief.Near[3*5+1] = true
	require.Equal(t, []int32{1, 2}, slices.Collect(f.objects(3)))
	f.Belief.Near[3*5+1], f.Belief.Q[3*5+1] = false, 0.1
	require.Equal(t, []int32{1, 2}, slices.Collect(f.objects(3)))
}

// What is solved for an object are the superpixels near it, however many other objects there are, and each keeps what it has.
func TestEstimateIsLocal(t *testing.T) {
	frames := two(t, 3)
	w := Window{Config: tuned}
	y := make([]int32, frames[0].p.N)
	y[4*cols+2], y[4*cols+9] = 1, 2
	for _, f := range frames {
		f.Keep(y)
	}
	if report, err := w.Estimate(t.Context(), frames, y, 3, anew(3, true), true); err != nil || report.Iterations == 0 {
		t.Fatalf("%v, %+v", err, report)
	}
	if got, want := len(w.state.Y), 3*frames[0].p.N/2; got != want {
		t.Errorf("%d superpixels for the second object; want the %d near it", got, want)
	}
	row := frames[0].p.Dim + 1
	before := slices.Clone(w.weight)
	for _, f := range frames { // the second object is nowhere
		for i := range f.p.N {
			f.Belief.Q[3*i+2], f.Belief.Near[3*i+2] = 0, false
		}
	}
	clear(y)
	if _, err := w.Estimate(t.Context(), frames, y, 3, nil, true); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(w.weight[2*row:], before[2*row:]) || slices.Equal(w.weight[row:2*row], before[row:2*row]) {
		t.Error("want the classifier of what is nowhere to stay, and the other one to move")
	}
}

// An object that is defined starts from nothing; the others keep their classifiers and are not solved.
func TestOthersStayWhenOneIsDefined(t *testing.T) {
	frames := two(t, 2)
	w := Window{Config: tuned}
	y := make([]int32, frames[0].p.N)
	y[4*cols+2], y[4*cols+9] = 1, 2
	for _, f := range frames {
		f.Keep(y)
	}
	if _, err := w.Estimate(t.Context(), frames[:1], y, 3, anew(3, true), true); err != nil {
		t.Fatal(err)
	}
	row := frames[0].p.Dim + 1
	for l := 1; l < 3; l++ { // as if learnt since
		for i := range row {
			w.weight[l*row+i]++
			w.around[l*row+i]++
		}
	}
	weight, around := slices.Clone(w.weight), slices.Clone(w.around)
	once := Window{Config: tuned} // which has nothing to forget
	want := slices.Clone(y)
	if _, err := once.Estimate(t.Context(), frames, want, 3, []int32{1}, true); err != nil {
		t.Fatal(err)
	}
	report, err := w.Estimate(t.Context(), frames, y, 3, []int32{1}, true)
	if err != nil || report.Estimated != 1 || report.Unlearnt != 1 {
		t.Fatalf("%v, %d estimated, %d not; want the one that is defined, and the other", err, report.Estimated, report.Unlearnt)
	}
	if !slices.Equal(w.weight[2*row:], weight[2*row:]) || !slices.Equal(w.around[2*row:], around[2*row:]) {
		t.Error("the other object's classifier is another")
	}
	if !slices.Equal(w.weight[row:2*row], once.weight[row:2*row]) || !slices.Equal(w.around[row:2*row], once.around[row:2*row]) {
		t.Error("the classifier of what is defined does not start from nothing")
	}
	if !slices.Equal(y, want) {
		t.Errorf("labels %v; want %v", y, want)
	}
}

// An edge that leaves a part costs the object, as what is beyond is not it.
func TestEdgesThatLeave(t *testing.T) {
	f := two(t, 1)[0]
	c := partOf(t, f, 3, 1)
	border := slices.Index(c.rows, int32(4*cols+cols/2-1))
	want := 0.0
	for _, e := range f.p.Edges {
		if (int(e.I) == 4*cols+cols/2-1) != (int(e.J) == 4*cols+cols/2-1) && (int(e.I)%cols >= cols/2 || int(e.J)%cols >= cols/2) {
			want += e.W
		}
	}
	if want == 0 || math.Abs(c.outward[border]-want) > 1e-12 || c.outward[0] != 0 {
		t.Fatalf("outward %g and %g; want %g and 0", c.outward[border], c.outward[0], want)
	}
	u, q := make([]float64, 2*len(c.rows)), make([]float64, 2*len(c.rows))
	c.price(u, q, nil, f)
	if got := u[2*border+1] - u[2*border]; math.Abs(got-want) > 1e-12 {
		t.Errorf("the object costs %g more at the border; want %g", got, want)
	}
}

// Of what two objects want it is the one that is likelier, whichever comes first.
func TestLikelierObjectTakesIt(t *testing.T) {
	f := two(t, 1)[0]
	f.Belief.Q[3*7+1], f.Belief.Q[3*7+2] = 0.2, 0.7
	f.Belief.Near[3*7+1] = true
	for _, order := range [][]int32{{1, 2}, {2, 1}} {
		y := make([]int32, f.p.N)
		for _, l := range order {
			c := partOf(t, f, 3, l)
			own := make([]int32, len(c.rows))
			own[slices.Index(c.rows, 7)] = 1
			c.take(y, f, own, 3)
		}
		if y[7] != 2 {
			t.Errorf("in the order %v it is %d; want 2", order, y[7])
		}
	}
}

// What an annotation says is another object is background here, and may be nothing else.
func TestMarksOfOthers(t *testing.T) {
	f := two(t, 1)[0]
	f.Marks.Fixed[3] = 2
	c := partOf(t, f, 3, 1)
	if !c.forbids(f, 3, 1) || c.forbids(f, 3, 0) {
		t.Errorf("background forbidden %t, object 1 forbidden %t; want only the object", c.forbids(f, 3, 0), c.forbids(f, 3, 1))
	}
}

// An object is nowhere outside the box that it was marked by, though no superpixel there is marked as another's.
func TestBoundsAreKept(t *testing.T) {
	f := two(t, 1)[0]
	box := []float64{0, 0, 3 * scenetest.Side, float64(f.p.Height)}
	a := &annotation.Annotation{Width: f.p.Width, Height: f.p.Height, Objects: []annotation.Object{{ID: 1, Box: box}}}
	var s seed.Seeder
	require.NoError(t, s.Apply(t.Context(), f.p, &f.Belief, make([]int32, f.p.N), &f.Marks, a, []seed.Object{{Label: 1, Defined: true}}))
	for i := range f.Marks.Fixed {
		f.Marks.Fixed[i] = annotation.Unmarked
	}
	c := partOf(t, f, 3, 1)
	u := make([]float64, 2*len(c.rows))
	c.price(u, make([]float64, 2*len(c.rows)), nil, f)
	for r, i := range c.rows {
		require.Equal(t, int(i)%cols >= 3, math.IsInf(u[2*r+1], 1), "superpixel %d", i)
	}
}

// An object that begins with marks is nothing of what they leave it no probability of.
func TestBegunObjectsKeepToTheirMarks(t *testing.T) {
	f := two(t, 1)[0]
	f.Belief.Q[3*3+1], f.Belief.Q[3*4+1] = 0, 0.1
	c := partOf(t, f, 3, 1)
	for _, begun := range [][]int32{nil, {1}} {
		f.Marks.Begun = begun
		u, q := make([]float64, 2*len(c.rows)), make([]float64, 2*len(c.rows))
		for r, i := range c.rows {
			c.believe(q[2*r:][:2], f, i, 3)
		}
		c.price(u, q, nil, f)
		for i, want := range map[int32]bool{3: begun != nil, 4: false} {
			if r := slices.Index(c.rows, i); math.IsInf(u[2*r+1], 1) != want || math.IsInf(u[2*r], 1) {
				t.Errorf("begun %v: superpixel %d costs %v", begun, i, u[2*r:][:2])
			}
		}
	}
}

// A part that is not used is kept for a while, and then its memory is the next one's, of any frame. One that has far more
// than is needed begins anew.
func TestPartsAreGivenBack(t *testing.T) {
	f := two(t, 1)[0]
	c := partOf(t, f, 3, 1)
	for range idleSolves {
		partOf(t, f, 3, 2)
		f.forget()
	}
	if len(f.parts) != 2 {
		t.Fatalf("%d parts; want both kept", len(f.parts))
	}
	f.forget()
	if len(f.parts) != 1 || partOf(t, two(t, 1)[0], 3, 1) != c {
		t.Errorf("%d parts; want one, and the other's memory used again", len(f.parts))
	}
	c.rows = make([]int32, 0, 10_000)
	c.spare()
	if next := partOf(t, f, 3, 1); next != c || cap(next.rows) > 2*len(next.rows) {
		t.Errorf("room for %d superpixels, of which there are %d", cap(next.rows), len(next.rows))
	}
	f.Release()
	g := two(t, 1)[0]
	d := partOf(t, g, 3, 1)
	if len(f.parts) != 0 || d != c {
		t.Errorf("a frame that was released has %d parts; want what it had lent to others", len(f.parts))
	}
	if err := d.fill(g); err != nil {
		t.Fatal(err)
	}
	rows := d.x[:1]
	if g.Release(); &buffers.Get[float32](cap(rows))[0] != &rows[0] {
		t.Error("nobody gets the memory of its rows")
	}
}

// anew are all objects where a frame defines them, and none where it does not.
func anew(labels int, annotated bool) (defined []int32) {
	for l := 1; annotated && l < labels; l++ {
		defined = append(defined, int32(l))
	}
	return defined
}
