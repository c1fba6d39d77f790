package ingest

import (
	"fmt"
	"strings"
	"testing"
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
	var p pool
	f := p.frame(4, 2)
	pix := &f.Pix[0]
	f.Retain()
	f.Release()
	if f.Pix == nil || len(p.free) != 0 {
		t.Fatal("pixels went back with a reference left")
	}
	f.Release()
	if f.Pix != nil || len(p.free) != 1 {
		t.Fatal("pixels did not go back with the last reference")
	}
	if g := p.frame(2, 2); &g.Pix[0] != pix || len(g.Pix) != 12 {
		t.Error("the buffer was not used again")
	}
	if msg := panics(f.Release); !strings.Contains(msg, "Release of a frame that was released") {
		t.Errorf("second Release: %q", msg)
	}
	g := p.frame(1, 1)
	g.Release()
	if msg := panics(g.Retain); !strings.Contains(msg, "Retain of a frame that was released") {
		t.Errorf("Retain after Release: %q", msg)
	}
}

func TestPoolIsBounded(t *testing.T) {
	var p pool
	frames := make([]*Frame, 3*poolSize)
	for i := range frames {
		frames[i] = p.frame(8, 8)
	}
	for _, f := range frames {
		f.Release()
	}
	if len(p.free) != poolSize {
		t.Errorf("%d buffers kept, want %d", len(p.free), poolSize)
	}
	// After the picture shrinks, the large buffers go.
	p.frame(2, 2).Release()
	if len(p.free) != 1 || cap(p.free[0]) > 2*12 {
		t.Errorf("%d buffers kept, the first of %d bytes", len(p.free), cap(p.free[0]))
	}
}

func TestPoolAllocations(t *testing.T) {
	var p pool
	p.frame(640, 480).Release()
	// The frame itself is new each time, so that using it after Release shows.
	if n := testing.AllocsPerRun(100, func() { p.frame(640, 480).Release() }); n > 1 {
		t.Errorf("%v allocations a frame", n)
	}
}

func TestClockString(t *testing.T) {
	for c, want := range map[Clock]string{ClockArrival: "arrival", ClockSenderReport: "sender-report", ClockMedia: "media", 9: "clock 9"} {
		if c.String() != want {
			t.Errorf("%d is %q, want %q", c, c, want)
		}
	}
}
