package layout

import (
	"math"
	"testing"
)

// turned is b whose legs have turned, by share, into a stranger's.
func (b body) turned(share float64) body {
	for i := range b.look[2] {
		b.look[2][i] += share * (stranger[2][i] - b.look[2][i])
	}
	return b
}

// beside is somebody next to b who does not stand still, or would be background by and by.
func (s *street) beside(b body) body {
	other := body{x: b.x + bodyWidth + 2, y: b.y, look: headless}
	if s.seq%2 == 0 {
		other.look = stranger
	}
	return other
}

// turn shows b beside somebody while its legs turn, slowly, into what is share of a
// stranger's; it returns what it is then, and whether it was always found.
func (s *street) turn(o *Object, b body, share float64) (turned body, found bool) {
	found = true
	for k := 0.0; k < share+0.05; k += 0.005 {
		turned = b.turned(min(k, share))
		s.see([]*Object{o}, turned, s.beside(b))
		found = found && o.Found
	}
	return turned, found
}

// backIn is after how many pictures of b object o is found; 30 if it is not.
func (s *street) backIn(o *Object, b body) int {
	for n := range 30 {
		if s.see([]*Object{o}, b); o.Found {
			return n + 1
		}
	}
	return 30
}

func (s *street) hide(o *Object, n int) {
	s.t.Helper()
	for range n {
		s.see([]*Object{o})
		s.gone(o, "hidden")
	}
}

// watchHidden is watch, until b has been seen in ten pictures and hidden in n.
func watchHidden(t testing.TB, b body, n int) (*street, *Object) {
	t.Helper()
	s, o := watch(t, b)
	for range 10 {
		s.see([]*Object{o}, b)
	}
	s.hide(o, n)
	return s, o
}

// What turns into something else beside somebody is somebody else; alone it is still itself,
// and looks like that from then on.
func TestTurns(t *testing.T) {
	b := body{x: 100, y: 90, look: person}
	for _, tt := range []struct {
		name   string
		beside bool
		want   bool
	}{{"alone", false, true}, {"beside somebody", true, false}} {
		t.Run(tt.name, func(t *testing.T) {
			s, o := watch(t, b)
			// Of the coat too: not a third of it is as it was.
			c, found := b, true
			for k := 0.0; k <= 0.5; k += 0.005 {
				for p := range c.look {
					for i := range c.look[p] {
						c.look[p][i] = person[p][i] + k*(stranger[p][i]-person[p][i])
					}
				}
				bodies := []body{c}
				if tt.beside {
					bodies = append(bodies, s.beside(b))
				}
				s.see([]*Object{o}, bodies...)
				found = found && o.Found
			}
			if found != tt.want {
				t.Fatalf("found to the end %t; want %t (similarity %.2f)", found, tt.want, o.similarity)
			}
			if !tt.want {
				return
			}
			s.hide(o, 6)
			if n := s.backIn(o, c); n != backPictures {
				t.Errorf("back after %d pictures; want %d", n, backPictures)
			}
		})
	}
}

// The longer an object is hidden, the more it must look like itself to be back, and it is not
// back at all where it looks like what it was perhaps taken for.
func TestBackInDoubt(t *testing.T) {
	b := body{x: 100, y: 90, look: person}
	for _, tt := range []struct {
		name   string
		share  float64 // of its legs that have turned
		hidden int
		back   bool
	}{
		{"a little, soon", 0.33, 6, true},
		{"a little, late", 0.33, 60, false},
		{"much, soon", 0.45, 6, false},
		{"not, late", 0, 60, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, o := watch(t, b)
			for range 8 {
				s.see([]*Object{o}, b, s.beside(b))
			}
			c, found := s.turn(o, b, tt.share)
			if !found {
				t.Fatalf("lost before it was hidden, at similarity %.2f", o.similarity)
			}
			s.hide(o, tt.hidden)
			if n := s.backIn(o, c); (n < 30) != tt.back {
				t.Errorf("back after %d pictures, similarity %.2f; want it back %t", n, o.similarity, tt.back)
			}
		})
	}
}

// Who was hidden is let go sooner, until it is certain that it is itself.
func TestHeldInDoubt(t *testing.T) {
	b := body{x: 100, y: 90, look: person}
	for _, hidden := range []bool{false, true} {
		s, o := watch(t, b)
		for range 8 {
			s.see([]*Object{o}, b, s.beside(b))
		}
		if hidden {
			s.hide(o, 6)
			for range backPictures {
				s.see([]*Object{o}, b, s.beside(b))
			}
			s.at(o, b, "back")
		}
		if _, found := s.turn(o, b, 0.45); found == hidden {
			t.Errorf("hidden before %t: found to the end %t (similarity %.2f)", hidden, found, o.similarity)
		}
	}
}

// One odd picture says nothing.
func TestOddPicture(t *testing.T) {
	b := body{x: 100, y: 90, look: person}
	s, o := watch(t, b)
	s.see([]*Object{o}, b, s.beside(b))
	s.hide(o, 6)
	for range backPictures {
		s.see([]*Object{o}, b, s.beside(b))
	}
	s.at(o, b, "back")
	s.see([]*Object{o}, b.turned(0.8), s.beside(b))
	s.at(o, b, "for one picture")
}

// Apart from everybody for a while it is certain again.
func TestCertainAgain(t *testing.T) {
	b := body{x: 100, y: 90, look: person}
	s, o := watch(t, b)
	s.see([]*Object{o}, b)
	if !o.certain {
		t.Error("alone since it was marked it is not certain")
	}
	if s.see([]*Object{o}, b, s.beside(b)); o.certain {
		t.Error("beside somebody it is certain")
	}
	for n := 1; n <= apartPictures; n++ {
		if s.see([]*Object{o}, b); o.certain != (n == apartPictures) {
			t.Errorf("certain %t after %d pictures apart", o.certain, n)
		}
	}
}

// Long hidden, it is found wherever it can have come by then, also larger or smaller.
func TestComesBackFarAway(t *testing.T) {
	for _, more := range []float64{0, 0.5, -0.3} {
		b := body{x: 40, y: 110, look: person}
		s, o := watchHidden(t, b, 60)
		far := body{x: 180, y: 80, look: person, more: more}
		for range 12 {
			s.see([]*Object{o}, far, body{x: 120, y: 120, look: headless})
		}
		s.at(o, far, "far away")
		if size := o.h / bodyHeight; math.Abs(size/(1+more)-1) > 0.2 {
			t.Errorf("%.2f times as large; want %.2f", size, 1+more)
		}
	}
}

// What looks nothing like it, but is there, is not gone to by and by.
func TestStrangersComeBy(t *testing.T) {
	b := body{x: 40, y: 110, look: person}
	s, o := watchHidden(t, b, 20)
	for k := range 60 {
		s.see([]*Object{o}, body{x: 60 + 2*float64(k), y: 100, look: headless}, body{x: 250 - 2*float64(k), y: 70, look: stranger})
		s.gone(o, "others are there")
	}
}

// Nor is it as small from then on as somebody it was not.
func TestSmallerStranger(t *testing.T) {
	b := body{x: 60, y: 100, look: person}
	s, o := watchHidden(t, b, 30)
	smaller := b.turned(0.8)
	smaller.more = 1/(scale*scale) - 1
	for range 30 {
		s.see([]*Object{o}, smaller)
		s.gone(o, "somebody smaller is there")
		if size := o.h / bodyHeight; math.Abs(size-1) > 0.1 {
			t.Fatalf("%.2f times as large as it was", size)
		}
	}
}

// Appearances know what is how high up, and nothing of the background.
func TestSimilarity(t *testing.T) {
	b := body{x: 100, y: 90, look: person}
	s, o := watch(t, b)
	for _, tt := range []struct {
		name     string
		look     [3][3]float64
		from, to float64
	}{{"itself", person, 0.99, 1.001}, {"in a little more light", b.lit(3).look, 0.9, 1}, {"upside down", headless, 0, 0.5}, {"somebody else", stranger, 0, 0.5}} {
		s.f.Look(s.next(body{x: b.x, y: b.y, look: tt.look}))
		got := s.f.similarityAt(o, b.x, b.y, bodyWidth, bodyHeight)
		if got < tt.from || got > tt.to {
			t.Errorf("%s: %.2f; want %g to %g", tt.name, got, tt.from, tt.to)
		}
	}
	s.f.Look(s.next(b))
	if got := s.f.similarityAt(o, b.x, b.y, 1.6*bodyWidth, bodyHeight); got < 0.95 {
		t.Errorf("%.2f in a box that is too wide; want what it is without the background", got)
	}
}
