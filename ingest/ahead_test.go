package ingest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/ingest/demo"
)

// A source that runs ahead has the next frame at once, of a camera whose key frames are rare; who attaches is told how
// things stand and what comes.
func TestAhead(t *testing.T) {
	cfg := clipConfig
	cfg.GOP = clipFrames // one in 400 ms
	s := serve(t, clip(t, cfg), demo.Config{})
	a, err := OpenAhead(testConfig(s.URL(), "tcp"))
	require.NoError(t, err)
	defer a.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, a.Wait(ctx))
	var e events
	a.Attach(e.observer())
	if e.ups != 1 || e.reconnects != 0 || len(e.decoders) != 1 {
		t.Errorf("who attaches hears of %d ups, %d of them again, and %d decoders", e.ups, e.reconnects, len(e.decoders))
	}
	runs, stop := context.WithCancel(t.Context())
	frames := make(chan seen, 1000)
	var running sync.WaitGroup
	running.Go(func() {
		if err := a.Run(runs, func(f *Frame) {
			n := number(f)
			f.Release()
			frames <- seen{f, n}
		}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	first := <-frames
	if first.Seq == 0 { // which was there before it was asked for
		t.Error("the first frame is the source's first; want one after it")
	}
	for i := range clipFrames {
		if f := <-frames; f.Seq != first.Seq+uint64(i)+1 || f.number != (first.number+i+1)%clipFrames {
			t.Fatalf("frame %d shows %d after frame %d, which showed %d", f.Seq, f.number, first.Seq, first.number)
		}
	}
	s.Close()
	eventually(t, "who has attached hears that the camera is gone", func() bool { e.mu.Lock(); defer e.mu.Unlock(); return e.downs > 0 })
	stop()
	running.Wait()
}

// One that is not waited for any more ends, and one that cannot be reached says so to who does.
func TestAheadEnds(t *testing.T) {
	_, err := OpenAhead(Config{URL: "nosuch:"})
	assert.ErrorIs(t, err, ErrConfig)
	a, err := OpenAhead(testConfig("rtsp://127.0.0.1:1/", "tcp"))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	assert.ErrorIs(t, a.Wait(ctx), context.DeadlineExceeded)
	a.Close()
	assert.ErrorIs(t, a.Wait(t.Context()), context.Canceled)
}

// Who attaches hears why the decoder is not the one that was asked for.
func TestAheadFallback(t *testing.T) {
	a := &Ahead{observer: Observer{}.complete()}
	a.observe().Decoder(codec.H264, codec.Software, errors.New("no card"))
	var e events
	a.Attach(e.observer())
	if len(e.decoders) != 1 || e.fallbacks != 1 {
		t.Errorf("hears of %v, and of %d fallbacks", e.decoders, e.fallbacks)
	}
}
