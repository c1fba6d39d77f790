package window

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/segd/segd/features"
	"github.com/segd/segd/tracker/internal/picture"
	"github.com/segd/segd/tracker/internal/scenetest"
)

const cols, rows, labels = 12, 9, 2

func inside(i int) bool { x, y := i%cols, i/cols; return x >= 3 && x < 7 && y >= 3 && y < 7 }

var tuned = Config{Classifier: 1, Evidence: 1, Balance: 0.6, Ambiguous: 0.1, Nu: 5, Gamma: 1, Rho: 1, Tau: 1.05, MaxIter: 5}

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
	report, err := w.Estimate(t.Context(), frames[:1], y, labels, true, true)
	if err != nil || report.Iterations < 2 || report.Descent <= 0 || !slices.Equal(y, truth) {
		t.Fatalf("%v, %+v", err, report)
	}
	for l := report.Iterations; l <= Traced; l++ {
		if report.Trace[l-1] != report.Lagrangian {
			t.Errorf("trace %v; want it to end at %g", report.Trace, report.Lagrangian)
		}
	}
	f := frames[1]
	got := make([]int32, len(truth))
	if w.Guess(f, got, labels); !slices.Equal(got, truth) {
		t.Errorf("guessed %v; want %v", got, truth)
	}
	clear(got)
	if err := w.Decide(t.Context(), f, got, labels, true); err != nil || !slices.Equal(got, truth) {
		t.Errorf("decided %v (%v); want %v", got, err, truth)
	}
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
	if err := w.DecideAlone(t.Context(), f, got, labels); err != nil || !slices.Equal(got, truth) {
		t.Errorf("decided alone: %v (%v); want %v", got, err, truth)
	}
	for i, l := range truth {
		if q := f.Belief.Q[labels*i+1]; (q > 0.5) != (l == 1) {
			t.Errorf("superpixel %d: the classifier's belief is %g; want label %d", i, q, l)
		}
	}
	// Without a classifier nothing is guessed.
	w.Forget()
	clear(got)
	if w.Guess(f, got, labels); slices.Contains(got, 1) {
		t.Error("a guess without a classifier")
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
	frames[1].Marks.Fixed[7] = 0
	w.balance(frames, labels)
	count := [labels]float64{}
	for _, l := range truth {
		count[l] += 2
	}
	n := 2 * float64(len(truth))
	want, sum := []float64{}, 0.0
	for k, f := range frames {
		for i, l := range truth {
			omega := math.Pow(n/(labels*count[l]), tuned.Balance)
			if f.Marks.Free(i) {
				omega *= 1 - (1-tuned.Ambiguous)*0.2*float64(k+1)
			}
			want, sum = append(want, omega), sum+omega
		}
	}
	for i := range want {
		if want[i] *= n / sum; math.Abs(w.omega[i]-want[i]) > 1e-12 {
			t.Fatalf("sample %d weighs %g; want %g", i, w.omega[i], want[i])
		}
	}
}

// A frame with nothing to learn from joins, and leaves the classifier as it is.
func TestNothingToLearn(t *testing.T) {
	frames, truth := made(t, 2)
	w := Window{Config: tuned}
	copy(frames[0].Marks.Fixed, truth)
	y := slices.Clone(truth)
	if _, err := w.Estimate(t.Context(), frames[:1], y, labels, true, true); err != nil {
		t.Fatal(err)
	}
	weight, none := slices.Clone(w.weight), make([]int32, len(truth))
	report, err := w.Estimate(t.Context(), frames, none, labels, false, false)
	if err != nil || report != (Report{}) || !slices.Equal(w.weight, weight) || slices.Contains(none, 1) {
		t.Errorf("%v, %+v, or another classifier", err, report)
	}
	f := frames[1]
	for i := range f.p.N {
		score := 0.0
		for k, v := range f.p.Rows[i*(f.p.Dim+1) : (i+1)*(f.p.Dim+1)] {
			score += v * weight[f.p.Dim+1+k]
		}
		if got := f.scores[labels*i+1]; math.Abs(got-score) > 1e-9*math.Max(1, math.Abs(score)) {
			t.Fatalf("superpixel %d joins with score %g; want %g", i, got, score)
		}
	}
	var other Window
	other.Learn(&w)
	if other.Drop(1, f.p.Dim); len(other.weight) != f.p.Dim+1 || !slices.Equal(w.weight, weight) {
		t.Errorf("%d weights without label 1; want %d, and the other window's as they were", len(other.weight), f.p.Dim+1)
	}
}

func TestOutOfTime(t *testing.T) {
	frames, truth := made(t, 1)
	w := Window{Config: tuned}
	w.Budget = time.Nanosecond
	for _, annotated := range []bool{true, false} { // what is annotated has no limit
		y := slices.Clone(truth)
		report, err := w.Estimate(t.Context(), frames, y, labels, annotated, true)
		if err != nil || report.OutOfTime == annotated {
			t.Errorf("annotated %t: %v, out of time %t", annotated, err, report.OutOfTime)
		}
	}
}

// An object comes, and another goes.
func TestFrameLabels(t *testing.T) {
	frames, truth := made(t, 1)
	f := frames[0]
	f.Keep(truth)
	for i := range f.scores {
		f.scores[i], f.lambda[i] = float64(i), -float64(i)
	}
	c := f.Clone()
	c.Widen(labels, 3)
	c.Drop(1, 3)
	for i := range truth {
		if c.y[i] != 0 || !slices.Equal(c.scores[2*i:2*i+2], []float64{float64(2 * i), 0}) || !slices.Equal(c.Belief.Q[2*i:2*i+2], []float64{1, 0}) {
			t.Fatalf("superpixel %d: label %d, scores %v, belief %v", i, c.y[i], c.scores[2*i:2*i+2], c.Belief.Q[2*i:2*i+2])
		}
	}
	if !slices.Equal(f.y, truth) || f.scores[3] != 3 || f.Belief.Q[1] != 0.5 || c.p != f.p || &c.block.Gram[0] == &f.block.Gram[0] {
		t.Error("a clone shares more than the picture")
	}
}

func TestSolveAllocatesNothing(t *testing.T) {
	frames, truth := made(t, 3)
	w := Window{Config: tuned}
	y := slices.Clone(truth)
	step := func() {
		if _, err := w.Estimate(t.Context(), frames, y, labels, false, true); err != nil {
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

// Each frame takes its own rows of the solution: scores are Kα of the multipliers'
// α = −λ/2ν, with K = XXᵀ + γI, and the labels of the newest come back.
func TestEveryFrameTakesItsPart(t *testing.T) {
	frames, truth := made(t, 2)
	w := Window{Config: tuned}
	copy(frames[0].Marks.Fixed, truth)
	frames[0].Keep(truth)
	y := make([]int32, len(truth))
	if _, err := w.Estimate(t.Context(), frames, y, labels, true, true); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(y, truth) || !slices.Equal(frames[1].y, truth) {
		t.Errorf("labels %v; want %v", y, truth)
	}
	for k, f := range frames {
		d := f.p.Dim + 1
		for i := range f.p.N {
			for l := range labels {
				want := -tuned.Gamma * f.lambda[labels*i+l] / (2 * tuned.Nu)
				for c, v := range f.p.Rows[i*d : (i+1)*d] {
					want += v * w.weight[l*d+c]
				}
				if got := f.scores[labels*i+l]; math.Abs(got-want) > 1e-9*math.Max(1, math.Abs(want)) {
					t.Fatalf("frame %d, superpixel %d, label %d: score %g; want %g", k, i, l, got, want)
				}
			}
		}
	}
}
