package ingest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

func panics(f func()) (msg string) {
	defer func() {
		if r := recover(); r != nil {
			msg = fmt.Sprint(r)
		}
	}()
	f()
	return ""
}

func TestReferences(t *testing.T) {
	f := newFrame(4, 2)
	pix := &f.Pix[0]
	f.Retain()
	f.Release()
	if f.Pix == nil {
		t.Fatal("pixels went back with a reference left")
	}
	f.Release()
	if f.Pix != nil {
		t.Fatal("pixels did not go back with the last reference")
	}
	g := newFrame(4, 2)
	if &g.Pix[0] != pix || len(g.Pix) != 24 {
		t.Error("the memory was not used again")
	}
	assert.Contains(t, panics(f.Release), "Release of a frame that was released", "second Release")
	g.Release()
	assert.Contains(t, panics(g.Retain), "Retain of a frame that was released", "Retain after Release")
}

func TestFrameAllocations(t *testing.T) {
	newFrame(640, 480).Release()
	// The frame itself is new each time, so that using it after Release shows.
	if n := testing.AllocsPerRun(100, func() { newFrame(640, 480).Release() }); n > 1 {
		t.Errorf("%v allocations a frame", n)
	}
}

func TestClockString(t *testing.T) {
	for c, want := range map[Clock]string{ClockArrival: "arrival", ClockSenderReport: "sender-report", ClockMedia: "media", 9: "clock 9"} {
		assert.Equal(t, want, c.String(), "%d is %q", c, c)
	}
}
