package set

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// camera ends by itself after some time, or when its context does, of which it notes why.
type camera struct {
	name  string
	lasts time.Duration // 0: for ever
	err   error         // of Run
	panic any           // likewise

	runs  bool
	ended error // why
}

func (c *camera) Name() string { return c.name }

func (c *camera) Run(ctx context.Context) error {
	c.runs = true
	defer func() { c.runs = false }()
	if c.panic != nil {
		panic(c.panic)
	}
	var over <-chan time.Time
	if c.lasts > 0 {
		over = time.After(c.lasts)
	}
	select {
	case <-over:
	case <-ctx.Done():
		c.ended = context.Cause(ctx)
	}
	return c.err
}

type builds = map[string]func() (*camera, error)

func built(c *camera) func() (*camera, error) { return func() (*camera, error) { return c, nil } }

// of is a set of these cameras.
func of(t *testing.T, cameras ...*camera) *Set[*camera] {
	t.Helper()
	s := New[*camera]()
	var names []string
	build := builds{}
	for _, c := range cameras {
		names, build[c.name] = append(names, c.name), built(c)
	}
	require.NoError(t, s.Change(names, build))
	return s
}

// begin runs a set beside the test. end ends it and waits.
func begin(t *testing.T, s *Set[*camera]) (end func() error, ended func() bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	var err error
	go func() {
		defer close(done)
		err = s.Run(ctx)
	}()
	return func() error { cancel(); <-done; return err }, func() bool {
		synctest.Wait()
		select {
		case <-done:
			return true
		default:
			return false
		}
	}
}

// has checks which cameras a set has, in their order.
func has(t *testing.T, s *Set[*camera], want string) {
	t.Helper()
	var got []string
	for _, c := range s.Cameras() {
		got = append(got, c.name)
	}
	assert.Equal(t, want, strings.Join(got, " "), "the cameras are %q", got)
}

// A camera is added, replaced and removed while another runs, which notices nothing.
func TestChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stays, old, anew, added := &camera{name: "stays"}, &camera{name: "gate"}, &camera{name: "gate"}, &camera{name: "yard"}
		s := of(t, old, stays)
		if old.runs {
			t.Error("a camera runs before its set does")
		}
		end, _ := begin(t, s)
		synctest.Wait()
		require.NoError(t, s.Change([]string{"yard", "stays", "gate"}, builds{"yard": built(added), "gate": func() (*camera, error) {
			if old.runs {
				t.Error("a camera was built before the one that it replaces had ended")
			}
			if c, err := s.Camera("gate"); c != old || err != nil {
				t.Errorf("meanwhile %v answers, %v", c, err)
			}
			return anew, nil
		}}))
		synctest.Wait()
		has(t, s, "yard stays gate")
		if c, _ := s.Camera("gate"); c != anew || !errors.Is(old.ended, ErrReplaced) || !anew.runs || !added.runs {
			t.Errorf("the old one ended for %v; the new ones run: %t, %t", old.ended, anew.runs, added.runs)
		}
		require.NoError(t, s.Change([]string{"stays", "yard"}, nil))
		has(t, s, "stays yard")
		if _, err := s.Camera("gate"); !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), `"gate"; there is ["stays" "yard"]`) {
			t.Errorf("the removed one: %v", err)
		}
		if !errors.Is(anew.ended, ErrRemoved) || anew.runs || !stays.runs || stays.ended != nil {
			t.Errorf("the removed one ended for %v; the one that stays runs: %t, %v", anew.ended, stays.runs, stays.ended)
		}
		if err := end(); err != nil || stays.runs || !errors.Is(stays.ended, context.Canceled) {
			t.Errorf("the set ended with %v; a camera runs: %t, %v", err, stays.runs, stays.ended)
		}
		assert.ErrorIs(t, s.Change([]string{"yard"}, nil), ErrEnded, "a change of a set that has ended")
	})
}

// A change that cannot be made is refused before any camera is touched.
func TestRefusesAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &camera{name: "a"}
		s := of(t, a)
		end, _ := begin(t, s)
		for _, tt := range []struct {
			names []string
			build builds
			want  string
		}{
			{[]string{"a", "b"}, nil, `unknown camera "b"`},
			{[]string{"a", "a"}, nil, `two cameras are called "a"`},
			{[]string{"a"}, builds{"b": built(a)}, `"b" is to be built and not to be there`},
		} {
			assert.ErrorContains(t, s.Change(tt.names, tt.build), tt.want, "%v", tt.names)
		}
		// What only shows when it is built costs that camera.
		bad := func() (*camera, error) { return nil, errors.New("a part is missing") }
		assert.ErrorContains(t, s.Change([]string{"a", "b"}, builds{"b": bad}), "a part is missing", "a camera without a part")
		synctest.Wait()
		if has(t, s, "a"); !a.runs {
			t.Error("the camera that is there does not run")
		}
		if err := s.Change([]string{"a"}, builds{"a": bad}); err == nil || a.runs {
			t.Errorf("a replacement without a part: %v, the old one runs: %t", err, a.runs)
		}
		has(t, s, "")
		assert.NoError(t, end())
	})
}

// A set runs on while it is empty or is being changed, and ends with the last of its cameras.
func TestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New[*camera]()
		end, ended := begin(t, s)
		time.Sleep(time.Minute)
		a, b := &camera{name: "a", lasts: time.Second}, &camera{name: "b", lasts: 3 * time.Second}
		require.NoError(t, s.Change([]string{"a", "b"}, builds{"a": built(a), "b": built(b)}))
		time.Sleep(2 * time.Second) // a has ended
		// Between the end of b and the beginning of c nothing runs.
		c := &camera{name: "c", lasts: time.Second}
		require.NoError(t, s.Change([]string{"a", "c"}, builds{"c": func() (*camera, error) {
			time.Sleep(time.Second)
			if ended() {
				t.Error("the set has ended while it was changed")
			}
			return c, nil
		}}))
		time.Sleep(900 * time.Millisecond)
		if ended() {
			t.Error("the set has ended before its last camera")
		}
		time.Sleep(time.Second)
		if !ended() {
			t.Error("the set has not ended with its last camera")
		}
		assert.NoError(t, end())
	})
}

// A set that stays goes on after its last camera, until its context ends.
func TestStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := of(t, &camera{name: "a", lasts: time.Second})
		s.Stay()
		end, ended := begin(t, s)
		time.Sleep(time.Minute)
		if ended() {
			t.Error("the set has ended with its last camera")
		}
		assert.NoError(t, end())
	})
}

// What goes wrong in one camera is told at the end, and the others run on.
func TestFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fails, panics, sound := &camera{name: "a", lasts: time.Second, err: errors.New("a fault")}, &camera{name: "b", panic: "a wild index"}, &camera{name: "c"}
		s := of(t, fails, panics, sound)
		end, ended := begin(t, s)
		time.Sleep(time.Minute)
		if ended() || !sound.runs {
			t.Error("the set has ended with what failed")
		}
		if err := end(); err == nil || !strings.Contains(err.Error(), "a fault") || !strings.Contains(err.Error(), "a wild index") {
			t.Errorf("told %v", err)
		}
		assert.Error(t, s.Run(t.Context()), "it ran twice")
	})
}
