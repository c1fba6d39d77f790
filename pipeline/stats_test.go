package pipeline

import (
	"testing"
	"time"
)

func TestPublished(t *testing.T) {
	var s stats
	now := time.Unix(1000, 0)
	s.frameIn(now)
	for range 4 {
		now = now.Add(100 * time.Millisecond)
		s.published(now, 10*time.Millisecond)
	}
	if snap := s.snapshot(now); snap.Published != 4 || snap.Span != 400*time.Millisecond {
		t.Errorf("got %+v", snap)
	}
}
