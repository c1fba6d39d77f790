package pending

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/api"
)

func ptr(v uint64) *uint64 { return &v }

// of is a request of that frame; nil: of the next one.
func of(frame *uint64) *Request { return New(&annotation.Annotation{Frame: frame}) }

// More annotations than may wait are refused, and the same frame twice.
func TestLimits(t *testing.T) {
	var q Queue
	for i := range uint64(Max) {
		require.NoError(t, q.Add(of(&i)))
		assert.ErrorIs(t, q.Add(of(ptr(0))), api.ErrBusy, "frame 0 twice")
	}
	assert.ErrorIs(t, q.Add(of(ptr(100))), api.ErrBusy, "one too many")
}

// Annotations of frames that have passed go with the frames that come, one each
// and in order, and those of the coming frames go first.
func TestPassedFramesAreClaimed(t *testing.T) {
	var q Queue
	if q.Claim(50, true) != nil {
		t.Fatal("a request without one waiting")
	}
	var all []*Request
	for _, frame := range []*uint64{ptr(10), ptr(10), nil, ptr(52)} {
		r := of(frame)
		all = append(all, r)
		require.NoError(t, q.Add(r))
	}
	for i, want := range []*Request{all[0], all[3], all[1], all[2], nil} {
		if got := q.Claim(51+uint64(i), true); got != want {
			t.Errorf("frame %d claims %v; want %v", 51+i, got, want)
		}
	}
}

// An annotation of the next frame waits for one that is whole, but not for ever;
// one that names a frame gets it as it is.
func TestDamagedFramesAreNotAnnotated(t *testing.T) {
	var q Queue
	for want := range 3 {
		r := of(nil)
		require.NoError(t, q.Add(r))
		seq := uint64(1000 * want)
		if want == 2 { // for ever
			want = maxPassed
		}
		for i := range want {
			if q.Claim(seq+uint64(i), false) != nil {
				t.Fatalf("damaged frame %d of %d was taken", i, want)
			}
		}
		if q.Claim(seq+uint64(want), want < maxPassed) != r {
			t.Errorf("after %d damaged frames the annotation has none", want)
		}
	}
	named := of(ptr(5000))
	require.NoError(t, q.Add(named))
	if q.Claim(5000, false) != named {
		t.Error("the frame that was named was not taken")
	}
}

// One that names a frame may wait alone; it is told by its frame.
func TestLeave(t *testing.T) {
	var q Queue
	q.Claim(9, true)
	ahead, passed, next := of(ptr(12)), of(ptr(5)), of(nil)
	for _, r := range []*Request{ahead, passed, next} {
		require.NoError(t, q.Add(r))
	}
	if n := q.Ahead(ahead); n != 3 || q.Ahead(passed) != 0 || q.Ahead(next) != 0 {
		t.Errorf("frame 12 is %d ahead of the next, which is 10", n)
	}
	if !q.Leave(ahead) || q.Leave(passed) || q.Leave(next) {
		t.Error("want frame 12 to be waited for, and the others not")
	}
	if !q.Withdraw(next) || q.Withdraw(next) {
		t.Error("want the one to be withdrawn, once")
	}
	fault := errors.New("a fault")
	for _, r := range q.End() {
		told := r.Reject(fault)
		if a := <-r.Done(); !errors.Is(a.Err, fault) || a.Annotated != nil {
			t.Errorf("answered %v", a)
		}
		assert.Equal(t, r == ahead, strings.HasPrefix(told.Error(), "annotation of frame 12: "), "told %v", told)
	}
	if q.Leave(ahead) {
		t.Error("it waits though it was answered")
	}
	assert.ErrorIs(t, q.Add(next), api.ErrDown, "after the end")
}

// No request waits for a frame that is far ahead.
func TestNear(t *testing.T) {
	var q Queue
	q.Claim(41, true)
	assert.NoError(t, q.Near(nil))
	assert.NoError(t, q.Near(ptr(42+maxAhead-1)))
	if err := q.Near(ptr(42 + maxAhead)); !errors.Is(err, annotation.ErrInvalid) || !strings.Contains(err.Error(), "1042 is far ahead, the next is 42; want one below 1042") {
		t.Errorf("%v", err)
	}
}

// The configured annotation counts from the first frame of each source, and may be taken back.
func TestConfigured(t *testing.T) {
	var q Queue
	first := &annotation.Annotation{Frame: ptr(3)}
	r, other := Configured(first), of(ptr(3))
	for _, r := range []*Request{r, other} {
		q.Rebase(100)
		require.NoError(t, q.Add(r))
	}
	q.Rebase(200)
	if *r.Annotation.Frame != 203 || *first.Frame != 3 || *other.Annotation.Frame != 3 {
		t.Errorf("frame %d, of %d, beside %d; want 203, 3 and 3", *r.Annotation.Frame, *first.Frame, *other.Annotation.Frame)
	}
	if q.DropConfigured(); len(q.End()) != 1 {
		t.Error("want the other one left")
	}
}
