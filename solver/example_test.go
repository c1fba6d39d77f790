package solver_test

import (
	"context"
	"fmt"
	"math"

	"github.com/segd/segd/solver"
	"github.com/segd/segd/solver/kernel"
	"github.com/segd/segd/solver/loss"
	"github.com/segd/segd/solver/mrf"
)

// linear is the kernel XXᵀ + γI of n rows of d numbers.
func linear(x []float64, n, d int, gamma float64) (*kernel.Linear, error) {
	block, err := kernel.NewBlock(x, n, d)
	if err != nil {
		return nil, err
	}
	k := new(kernel.Linear)
	return k, k.Reset([]*kernel.Block{block}, gamma)
}

// known forbids every label but those that are given; −1 is one that is not.
func known(labels int, given ...int32) []float64 {
	u := make([]float64, labels*len(given))
	for i, y := range given {
		for l := range labels {
			if y >= 0 && int32(l) != y {
				u[i*labels+l] = math.Inf(1)
			}
		}
	}
	return u
}

// Two classes on a chain of samples, the last number of each row a bias. Only the two at
// the ends are known. By its features sample 2 belongs to the second class; what an edge
// between different labels costs says that it does not.
func Example_twoClasses() {
	k, err := linear([]float64{
		-2, 1,
		-1.5, 1,
		0.6, 1,
		-1.6, 1,
		1.1, 1,
		1.4, 1,
		2, 1,
	}, 7, 2, 0.1)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, weight := range []float64{0, 2} {
		var chain []mrf.Edge
		for i := range int32(6) {
			chain = append(chain, mrf.Edge{I: i, J: i + 1, W: weight})
		}
		var graph mrf.Potts
		if err := graph.Reset(7, 2, chain); err != nil {
			fmt.Println(err)
			return
		}
		p := &solver.Problem{
			Labels: 2, Loss: loss.Hinge{}, Kernel: k, MRF: &graph, Nu: 0.1,
			Unary: known(2, 0, -1, -1, -1, -1, -1, 1),
		}
		s := &solver.State{Scores: make([]float64, 14), Lambda: make([]float64, 14), Y: []int32{0, 0, 0, 0, 0, 0, 1}}
		_, err := solver.Solve(context.Background(), new(solver.Workspace), p, s, solver.Options{})
		fmt.Println(s.Y, err)
	}
	// Output:
	// [0 0 1 0 1 1 1] <nil>
	// [0 0 0 0 1 1 1] <nil>
}

// bounded allows each label between lo and hi samples. It is the discrete energy of an
// application: anything with these two methods will do, and an approximate solution is
// enough, as Solve takes no labels that are worse than those it has.
type bounded struct{ lo, hi int }

// Label gives every sample the cheapest label that has room, the surest sample first,
// and keeps room for labels that lack samples.
func (b bounded) Label(_ context.Context, y []int32, u []float64) error {
	labels := len(u) / len(y)
	done, count := make([]bool, len(y)), make([]int, labels)
	for left := len(y); left > 0; left-- {
		lacking := 0
		for _, c := range count {
			lacking += max(0, b.lo-c)
		}
		at, to, gain := -1, 0, math.Inf(-1)
		for i := range y {
			if done[i] {
				continue
			}
			first, second, best := math.Inf(1), math.Inf(1), 0
			for l, v := range u[i*labels:][:labels] {
				switch {
				case count[l] >= b.hi || left <= lacking && count[l] >= b.lo: // no room
				case v < first:
					first, second, best = v, first, l
				case v < second:
					second = v
				}
			}
			if g := min(second, 1e300) - first; g > gain {
				at, to, gain = i, best, g
			}
		}
		y[at], done[at] = int32(to), true
		count[to]++
	}
	return nil
}

// Energy is 0 within the bounds and +Inf outside.
func (b bounded) Energy(y []int32) (float64, error) {
	count := map[int32]int{}
	for _, l := range y {
		count[l]++
	}
	for _, c := range count {
		if c < b.lo || c > b.hi {
			return math.Inf(1), nil
		}
	}
	return 0, nil
}

// Three classes of which one sample each is known, and each of which has two or three
// samples: the paper's E_C with C all samples.
func Example_sizeBounds() {
	k, err := linear([]float64{
		3, 0, 0,
		2, 1, 0,
		0, 3, 0,
		1, 2, 0,
		0, 0, 3,
		1, 0, 1.1,
		1.1, 0.5, 1,
	}, 7, 3, 0.1)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, mrf := range []solver.Labeler{bounded{0, 7}, bounded{2, 3}} {
		p := &solver.Problem{
			Labels: 3, Loss: loss.Hinge{}, Kernel: k, MRF: mrf, Nu: 0.1,
			Unary: known(3, 0, -1, 1, -1, 2, -1, -1),
		}
		s := &solver.State{Scores: make([]float64, 21), Lambda: make([]float64, 21), Y: []int32{0, 0, 1, 1, 2, 2, 2}}
		_, err = solver.Solve(context.Background(), new(solver.Workspace), p, s, solver.Options{})
		fmt.Println(s.Y, err)
	}
	// Output:
	// [0 0 1 1 2 0 0] <nil>
	// [0 0 1 1 2 0 2] <nil>
}

// A window of three frames slides over a video of six, whose colours drift. Each window
// starts from the classifier W of the one before: its scores are the offset, and λ = 0.
func Example_slidingWindow() {
	const perFrame, frames, labels, d = 4, 3, 2, 2
	const n = perFrame * frames
	// frame makes the samples of a frame, two of each class.
	frame := func(t int) (*kernel.Block, error) {
		drift := 0.4 * float64(t)
		return kernel.NewBlock([]float64{drift - 2, 1, drift - 1, 1, drift + 1, 1, drift + 2, 1}, perFrame, d)
	}
	var (
		ws     solver.Workspace
		k      kernel.Linear
		blocks []*kernel.Block
		y      []int32
		w      = make([]float64, labels*d)
	)
	for t := range 6 {
		block, err := frame(t)
		if err != nil {
			fmt.Println(err)
			return
		}
		if t == 0 {
			y = []int32{0, 0, 1, 1}
		} else {
			y = append(y, y[len(y)-perFrame:]...) // as the last frame
		}
		if blocks = append(blocks, block); len(blocks) > frames {
			blocks, y = blocks[1:], y[perFrame:]
		}
		if len(blocks) < frames {
			continue
		}
		var graph mrf.Potts
		if err := graph.Reset(n, labels, nil); err != nil {
			fmt.Println(err)
			return
		}
		if err := k.Reset(blocks, 0.5); err != nil {
			fmt.Println(err)
			return
		}
		offset := make([]float64, n*labels)
		if err := k.Scores(offset, w, labels); err != nil {
			fmt.Println(err)
			return
		}
		s := &solver.State{Scores: append([]float64(nil), offset...), Lambda: make([]float64, n*labels), Y: y}
		p := &solver.Problem{Labels: labels, Loss: loss.Hinge{}, Kernel: &k, MRF: &graph, Nu: 0.5, Offset: offset}
		if t == frames-1 {
			p.Unary = known(labels, 0, 0, 1, 1, -1, -1, -1, -1, -1, -1, -1, -1)
		}
		res, err := solver.Solve(context.Background(), &ws, p, s, solver.Options{Rho: 2 * p.Nu / k.SigmaMin(), Tau: 1, Consistent: true})
		if err != nil {
			fmt.Println(err)
			return
		}
		step := make([]float64, labels*d)
		if err := k.SolvedWeights(step, labels); err != nil {
			fmt.Println(err)
			return
		}
		for i, v := range step {
			w[i] += v
		}
		fmt.Println("frame", t, y[n-perFrame:], res.Status, "with the boundary at", math.Round(-10*w[3]/w[2])/10)
	}
	// Output:
	// frame 2 [0 0 1 1] converged with the boundary at 0.4
	// frame 3 [0 0 1 1] converged with the boundary at 0.7
	// frame 4 [0 0 1 1] converged with the boundary at 1.1
	// frame 5 [0 0 1 1] converged with the boundary at 1.5
}
