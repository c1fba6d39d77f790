package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/segd/segd/api"
	"github.com/segd/segd/bus/segdv1"
)

// pages asks until there are no more, and counts the requests.
func pages(t *testing.T, b *Bus, q api.Kept) (sequences []uint64, requests int) {
	t.Helper()
	for {
		events, next, err := b.Kept(t.Context(), q)
		require.NoError(t, err)
		if len(events) > q.Limit {
			t.Fatalf("%d events, want %d at most", len(events), q.Limit)
		}
		for _, e := range events {
			sequences = append(sequences, e.Sequence)
		}
		requests++
		if next == 0 {
			return sequences, requests
		}
		if q.Before != 0 && next >= q.Before {
			t.Fatalf("next %d after before %d", next, q.Before)
		}
		q.Before = next
	}
}

// What is wanted comes newest first, once each, however large the pages are, and no request looks at more than it may.
func TestKept(t *testing.T) {
	before := keptSpans
	keptSpans = []uint64{4, 16}
	t.Cleanup(func() { keptSpans = before })
	for _, json := range []bool{false, true} {
		b := open(t, Config{Site: "here", JSON: json, Embedded: Embedded{StoreDir: t.TempDir()}})
		const n = 100
		begin := time.Now().Add(-n * time.Second).Truncate(time.Second)
		all := make([]*segdv1.Event, n)
		for i := range all {
			e := &segdv1.Event{
				Camera: []string{"gate", "yard"}[i%2], Sequence: uint64(i + 1), Time: timestamppb.New(begin.Add(time.Duration(i) * time.Second)),
				Kind: segdv1.EventKind_EVENT_KIND_OBJECT_APPEARED, ObjectId: uint32(i%7) + 1, ObjectLabel: fmt.Sprintf("Person %d", i%7+1), ObjectClass: "person",
			}
			switch {
			case i%10 == 3:
				e.Kind, e.Zone = segdv1.EventKind_EVENT_KIND_OBJECT_ENTERED, "lawn"
			case i%10 == 4:
				e.Kind, e.Line = segdv1.EventKind_EVENT_KIND_LINE_CROSSED, "path"
			case i == 5:
				e.ObjectClass = "dog"
			}
			all[i] = e
			require.NoError(t, b.PublishEvent(e))
		}
		eventually(t, "stored", func() bool { return b.Stats().EventsStored == n })
		for _, tt := range []struct {
			name     string
			q        api.Kept
			want     func(i int, e *segdv1.Event) bool
			requests int // 0: however many
		}{
			{"all", api.Kept{Limit: 7}, func(int, *segdv1.Event) bool { return true }, 15},
			{"all at once, as far as a request looks", api.Kept{Limit: 200}, func(int, *segdv1.Event) bool { return true }, 5},
			{"a camera", api.Kept{Limit: 9, Camera: "yard"}, func(_ int, e *segdv1.Event) bool { return e.Camera == "yard" }, 0},
			{"no such camera", api.Kept{Limit: 9, Camera: "attic"}, func(int, *segdv1.Event) bool { return false }, 5},
			{"a kind", api.Kept{Limit: 50, Kind: "line_crossed"}, func(i int, _ *segdv1.Event) bool { return i%10 == 4 }, 0},
			{"a zone", api.Kept{Limit: 50, Zone: "lawn"}, func(i int, _ *segdv1.Event) bool { return i%10 == 3 }, 0},
			{"a line", api.Kept{Limit: 50, Zone: "path"}, func(i int, _ *segdv1.Event) bool { return i%10 == 4 }, 0},
			{"a class, the oldest but five", api.Kept{Limit: 50, Class: "dog"}, func(i int, _ *segdv1.Event) bool { return i == 5 }, 5},
			{"an object by number", api.Kept{Limit: 50, Object: "3"}, func(i int, _ *segdv1.Event) bool { return i%7 == 2 }, 0},
			{"an object by a part of its label", api.Kept{Limit: 50, Object: "pERSON 3"}, func(i int, _ *segdv1.Event) bool { return i%7 == 2 }, 0},
			{
				"a time, with a camera", api.Kept{Limit: 3, Camera: "gate", From: begin.Add(10 * time.Second), To: begin.Add(20 * time.Second)},
				func(i int, _ *segdv1.Event) bool { return i >= 10 && i < 20 && i%2 == 0 }, 0,
			},
			{"long ago", api.Kept{Limit: 3, To: begin.Add(-2 * storedLate)}, func(int, *segdv1.Event) bool { return false }, 1},
			{"to come", api.Kept{Limit: 3, From: time.Now().Add(time.Hour)}, func(int, *segdv1.Event) bool { return false }, 1},
		} {
			var want []uint64
			for i, e := range slices.Backward(all) {
				if tt.want(i, e) {
					want = append(want, e.Sequence)
				}
			}
			got, requests := pages(t, b, tt.q)
			if !slices.Equal(got, want) || tt.requests != 0 && requests != tt.requests {
				t.Errorf("as JSON %v, %s: %v by %d requests; want %v by %d", json, tt.name, got, requests, want, tt.requests)
			}
		}
		js, err := jetstream.New(connect(t, b.URL()))
		require.NoError(t, err)
		stream, err := js.Stream(t.Context(), StreamName("here", KindEvent))
		require.NoError(t, err)
		assert.Equal(t, 0, stream.CachedInfo().State.Consumers, "consumers are left")
		closeNow(t, b)
	}
}

// A time leads to where the stream was then.
func TestKeptFindsTimes(t *testing.T) {
	b := open(t, Config{Site: "here"})
	publishEvents(t, b, 1, 5)
	eventually(t, "stored", func() bool { return b.Stats().EventsStored == 5 })
	time.Sleep(10 * time.Millisecond) // so that the times differ
	then := time.Now()
	publishEvents(t, b, 6, 5)
	eventually(t, "stored", func() bool { return b.Stats().EventsStored == 10 })
	stream, err := b.events.js.Stream(t.Context(), StreamName("here", KindEvent))
	require.NoError(t, err)
	for at, want := range map[time.Time]uint64{then: 6, then.Add(-time.Hour): 1, then.Add(time.Hour): 11} {
		if n, err := sequenceAt(t.Context(), stream, at, 11); n != want || err != nil {
			t.Errorf("%v: %d, %v; want %d", at.Sub(then), n, err, want)
		}
	}
	// What was stored an hour after it happened is found by its time, what was stored later is not looked for.
	first, end, err := between(t.Context(), stream, api.Kept{From: then.Add(clocksApart), To: then.Add(-storedLate)})
	if first != 6 || end != 6 || err != nil {
		t.Errorf("from %d, before %d, %v; want 6 and 6", first, end, err)
	}
}

// Who asks where there is nothing is told why.
func TestKeptRefuses(t *testing.T) {
	port := freePort(t)
	b := open(t, Config{External: External{URL: urlOf(port)}})
	if _, _, err := b.Kept(t.Context(), api.Kept{Limit: 1}); !errors.Is(err, ErrNotConnected) {
		t.Errorf("without a connection: %v", err)
	}
	natsServer(t, server.Options{Port: port})
	eventually(t, "a connection", b.Connected)
	if _, _, err := b.Kept(t.Context(), api.Kept{Limit: 1}); !errors.Is(err, api.ErrNoHistory) {
		t.Errorf("without JetStream: %v", err)
	}
	if _, _, err := b.Kept(t.Context(), api.Kept{Limit: 1, Camera: "a.>"}); !errors.Is(err, ErrName) {
		t.Errorf("a name that is none: %v", err)
	}
	require.NoError(t, b.reading.Acquire(t.Context(), keptAtOnce))
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, _, err := b.Kept(ctx, api.Kept{Limit: 1}); !errors.Is(err, api.ErrBusy) {
		t.Errorf("while others are answered: %v", err)
	}
	closeNow(t, b)
}

// A user who may hear events and nothing of consumers is told so, and events go on.
func TestKeptWithoutPermission(t *testing.T) {
	port := freePort(t)
	natsServer(t, server.Options{Port: port, JetStream: true, Users: []*server.User{
		{Username: "admin", Password: "admin"},
		{Username: "segd", Password: "segd", Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Allow: []string{"segd.v1.home.>", "$JS.API.STREAM.*.segd_home_event"}},
		}},
	}})
	b := open(t, Config{External: External{URL: fmt.Sprintf("nats://segd:segd@127.0.0.1:%d", port)}, Pictures: Retention{MaxAge: time.Hour}})
	publishEvents(t, b, 0, 3)
	eventually(t, "stored", func() bool { return b.Stats().EventsStored == 3 })
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, _, err := b.Kept(ctx, api.Kept{Limit: 1}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v; want %v", err, context.DeadlineExceeded)
	}
	publishEvents(t, b, 3, 3)
	eventually(t, "stored, too", func() bool { return b.Stats().EventsStored == 6 })
	closeNow(t, b)
}
