package solver

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/segd/segd/solver/kernel"
	"github.com/segd/segd/solver/mrf"
)

// entering is n samples with scores, some of them tied or at the margin, and
// weights, some of them 0.
func entering(rng *rand.Rand, n, labels int) (*State, []float64) {
	s, omega := cold(n, labels), make([]float64, n)
	for i := range s.Scores {
		s.Scores[i] = 2 * rng.NormFloat64()
		if rng.IntN(2) == 0 {
			s.Scores[i] = math.Round(s.Scores[i])
		}
		s.Lambda[i] = rng.NormFloat64()
	}
	for i := range s.Y {
		s.Y[i], omega[i] = int32(rng.IntN(labels)), max(0, 2*rng.Float64()-0.3)
	}
	return s, omega
}

func randomScores(rng *rand.Rand, n int) []float64 {
	s := make([]float64, n)
	for i := range s {
		s[i] = rng.NormFloat64()
	}
	return s
}

// A λ in ω∂ℓ(y; β) is one whose prox, from β + λ/ρ, is β, whatever ρ.
func TestEnterLeavesTheScores(t *testing.T) {
	const n, from, to = 50, 20, 45
	for _, l := range losses {
		for labels := 2; labels <= 4; labels++ {
			for _, weighted := range []bool{false, true} {
				t.Run(fmt.Sprintf("%T/L=%d/weighted=%v", l, labels, weighted), func(t *testing.T) {
					s, omega := entering(rand.New(rand.NewPCG(61, uint64(labels))), n, labels)
					if !weighted {
						omega = nil
					}
					was := slices.Clone(s.Lambda)
					s.Enter(&Problem{Labels: labels, Loss: l, Omega: omega}, from, to)
					for _, rho := range []float64{0.1, 1, 30} {
						beta := make([]float64, n*labels)
						for i, v := range s.Scores {
							beta[i] = v + s.Lambda[i]/rho
						}
						l.Prox(beta, beta, omega, s.Y, labels, rho)
						for i := from * labels; i < to*labels; i++ {
							if math.Abs(beta[i]-s.Scores[i]) > 1e-9 {
								t.Fatalf("ρ=%g: the prox moves score %d of sample %d, label %d, from %g to %g", rho, i%labels, i/labels, s.Y[i/labels], s.Scores[i], beta[i])
							}
						}
					}
					if !slices.Equal(s.Lambda[:from*labels], was[:from*labels]) || !slices.Equal(s.Lambda[to*labels:], was[to*labels:]) {
						t.Error("other samples' multipliers changed")
					}
				})
			}
		}
	}
}

func TestReweighKeepsSubgradients(t *testing.T) {
	const n = 60
	for _, l := range losses {
		for _, test := range []struct {
			name     string
			was, now bool // not nil
		}{{"both", true, true}, {"from none", false, true}, {"to none", true, false}, {"none", false, false}} {
			t.Run(fmt.Sprintf("%T/%s", l, test.name), func(t *testing.T) {
				const labels = 3
				rng := rand.New(rand.NewPCG(71, 72))
				s, was := entering(rng, n, labels)
				_, now := entering(rng, n, labels)
				if !test.was {
					was = nil
				}
				if !test.now {
					now = nil
				}
				s.Enter(&Problem{Labels: labels, Loss: l, Omega: was}, 0, n)
				s.Reweigh(was, now)
				got := slices.Clone(s.Lambda)
				s.Enter(&Problem{Labels: labels, Loss: l, Omega: now}, 0, n)
				for i, want := range s.Lambda {
					if was != nil && was[i/labels] == 0 {
						want = 0
					}
					if !(math.Abs(got[i]-want) <= 1e-12) {
						t.Fatalf("multiplier %d of sample %d is %g; want %g", i%labels, i/labels, got[i], want)
					}
				}
			})
		}
	}
}

func TestSettle(t *testing.T) {
	const n, d, labels, nu, gamma = 30, 4, 3, 0.7, 0.3
	rng := rand.New(rand.NewPCG(81, 82))
	x, gram := make([]float64, n*d), make([]float64, n*n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	for i := range n {
		for j := range n {
			for k := range d {
				gram[i*n+j] += x[i*d+k] * x[j*d+k]
			}
		}
	}
	var linear kernel.Linear
	linear.Reset([]*kernel.Block{kernel.NewBlock(x, n, d)}, gamma)
	s, _ := entering(rng, n, labels)
	var ws Workspace
	p := &Problem{Labels: labels, Kernel: &linear, Nu: nu, Offset: randomScores(rng, n*labels)}
	if s.Settle(p, &ws); testing.AllocsPerRun(10, func() { s.Settle(p, &ws) }) > 0 {
		t.Error("settling allocates")
	}
	for i := range s.Scores {
		l, want := i%labels, p.Offset[i]-gamma*s.Lambda[i]/(2*nu)
		for j := range n {
			want -= gram[i/labels*n+j] * s.Lambda[j*labels+l] / (2 * nu)
		}
		if math.Abs(s.Scores[i]-want) > 1e-9*(1+math.Abs(want)) {
			t.Fatalf("score %d is %g; O + Kα is %g", i, s.Scores[i], want)
		}
	}
}

// A window slides: samples leave and others come, with the scores that the
// classifier gives them. The first iteration moves it little, whatever the loss;
// samples that come from 0 jolt it.
func TestSlidingKeepsTheClassifier(t *testing.T) {
	const n, d, slide, labels = 200, 5, 40, 2
	for _, l := range losses {
		t.Run(fmt.Sprintf("%T", l), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(9, 9))
			var blocks []*kernel.Block
			var y []int32
			for range n/slide + 1 {
				x := make([]float64, slide*d)
				for i := range slide {
					label := int32(rng.IntN(labels))
					for k := range d {
						x[i*d+k] = rng.NormFloat64()
					}
					x[i*d] += 4*float64(label) - 2
					y = append(y, label)
				}
				blocks = append(blocks, kernel.NewBlock(x, slide, d))
			}
			problem := func(blocks []*kernel.Block, y []int32) (*Problem, *kernel.Linear) {
				var k kernel.Linear
				k.Reset(blocks, 1)
				var graph mrf.Potts
				graph.Reset(n, labels, nil)
				unary := make([]float64, n*labels)
				for i, label := range y {
					unary[i*labels+1-int(label)] = math.Inf(1)
				}
				return &Problem{Labels: labels, Loss: l, Kernel: &k, MRF: &graph, Unary: unary, Nu: 2}, &k
			}
			solve := func(p *Problem, k *kernel.Linear, s *State, iterations int) []float64 {
				if _, err := Solve(t.Context(), &Workspace{}, p, s, Options{MaxIter: iterations, Rho: 1, Tol: 1e-12}); err != nil {
					t.Fatal(err)
				}
				alpha, w := make([]float64, n*labels), make([]float64, labels*d)
				s.Alpha(alpha, p.Nu)
				k.Weights(w, alpha, labels)
				return w
			}
			s := cold(n, labels)
			copy(s.Y, y)
			p, k := problem(blocks[:n/slide], s.Y)
			w := solve(p, k, s, 3000)

			next := cold(n, labels)
			copy(next.Y, y[slide:])
			copy(next.Scores, s.Scores[slide*labels:])
			copy(next.Lambda, s.Lambda[slide*labels:])
			for i := range slide {
				for l := range labels {
					for k, v := range blocks[n/slide].X[i*d : (i+1)*d] {
						next.Scores[(n-slide+i)*labels+l] += w[l*d+k] * v
					}
				}
			}
			p, k = problem(blocks[1:], next.Y)
			moved := func(s State) float64 {
				s.Scores, s.Lambda, s.Y = slices.Clone(s.Scores), slices.Clone(s.Lambda), slices.Clone(s.Y)
				far, size := 0.0, 0.0
				for i, v := range solve(p, k, &s, 1) {
					far, size = far+(v-w[i])*(v-w[i]), size+w[i]*w[i]
				}
				return math.Sqrt(far / size)
			}
			next.Enter(p, n-slide, n)
			warm := moved(*next)
			clear(next.Scores[(n-slide)*labels:])
			clear(next.Lambda[(n-slide)*labels:])
			if cold := moved(*next); warm > 0.1 || warm > cold/2 {
				t.Errorf("the classifier moved by %.1f %% in the first iteration of the next window; with newcomers from 0, by %.1f %%", 100*warm, 100*cold)
			}
		})
	}
}

// A window slides, and what leaves goes on in the offset: the warm start is
// consistent without Settle, and its classifier is the last one.
func TestOffsetHoldsWhatLeaves(t *testing.T) {
	const rows, d, labels, leave = 30, 4, 3, 2
	const n = 3 * rows
	rng := rand.New(rand.NewPCG(91, 92))
	var blocks []*kernel.Block
	for range 3 + leave {
		blocks = append(blocks, kernel.NewBlock(randomScores(rng, rows*d), rows, d))
	}
	var k, left kernel.Linear
	k.Reset(blocks[:3], 0.5)
	var none mrf.Potts
	none.Reset(n, labels, nil)
	prior := randomScores(rng, labels*d)
	p := &Problem{Labels: labels, Loss: losses[0], Kernel: &k, MRF: &none, Nu: 0.7, Offset: make([]float64, n*labels)}
	k.Scores(p.Offset, prior, labels)
	s := cold(n, labels)
	if _, err := Solve(t.Context(), &Workspace{}, p, s, Options{MaxIter: 4}); err != nil {
		t.Fatal(err)
	}
	weights := func(k *kernel.Linear, alpha []float64) []float64 {
		w := make([]float64, labels*d)
		k.Weights(w, alpha, labels)
		for i, v := range prior {
			w[i] += v
		}
		return w
	}
	alpha := make([]float64, n*labels)
	s.Alpha(alpha, p.Nu)
	was := weights(&k, alpha)

	left.Reset(blocks[:leave], 0.5)
	prior = weights(&left, alpha[:leave*rows*labels])
	k.Reset(blocks[leave:], 0.5)
	k.Scores(p.Offset, prior, labels)
	next := cold(n, labels)
	k.Scores(next.Scores, was, labels) // the newcomers'
	copy(next.Scores, s.Scores[leave*rows*labels:])
	copy(next.Lambda, s.Lambda[leave*rows*labels:])

	next.Alpha(alpha, p.Nu)
	for i, w := range weights(&k, alpha) {
		if math.Abs(w-was[i]) > 1e-9 {
			t.Errorf("weight %d was %g and is %g", i, was[i], w)
		}
	}
	scores := slices.Clone(next.Scores)
	next.Settle(p, &Workspace{})
	for i, want := range next.Scores {
		if math.Abs(scores[i]-want) > 1e-9 {
			t.Fatalf("score %d is %g; O + Kα is %g", i, scores[i], want)
		}
	}
}
