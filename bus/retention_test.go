package bus

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/segd/segd/bus/segdv1"
)

// fullEvent is an event with everything that one of an object may have, with names as long as people make them.
func fullEvent(n int) *segdv1.Event {
	now := timestamppb.New(time.Unix(1_800_000_000, 123456789))
	return &segdv1.Event{
		Site: "warehouse-north", Camera: fmt.Sprintf("loading-dock-%d", n%10), Time: now, Kind: segdv1.EventKind_EVENT_KIND_OBJECT_STAYED,
		ObjectId: 1_000_000 + uint32(n), ObjectLabel: "traffic light", ObjectClass: "traffic light", Message: "zone in-front-of-the-gate, for 1234.5 s",
		Sequence: 15_120_000 + uint64(n), Epoch: 1_800_000_000_123, Lease: 100_000, Zone: "in-front-of-the-gate", StaySeconds: 1234.5,
		Extent: &segdv1.Box{X: 1200, Y: 300, Width: 500, Height: 700}, Box: &segdv1.Box{X: 1200, Y: 300, Width: 500, Height: 700},
		Score: 0.87654321, CaptureTime: now, Width: 1920, Height: 1080,
	}
}

// The stream has room for what ten cameras send in its time, with as many events as package pipeline lets them: one a
// second and 60 more.
func TestEventsFitFor7Days(t *testing.T) {
	const stored, cameras, most = 2000, 10, 1*7*24*3600 + 60
	for _, json := range []bool{false, true} {
		b := open(t, Config{Site: "warehouse-north", Embedded: Embedded{StoreDir: t.TempDir()}, JSON: json})
		for n := range stored {
			require.NoError(t, b.PublishEvent(fullEvent(n)))
		}
		eventually(t, "stored", func() bool { return b.Stats().EventsStored == stored })
		js, err := jetstream.New(connect(t, b.URL()))
		require.NoError(t, err)
		stream, err := js.Stream(t.Context(), StreamName("warehouse-north", KindEvent))
		require.NoError(t, err)
		info := stream.CachedInfo()
		each := float64(info.State.Bytes) / float64(info.State.Msgs)
		if need := each * cameras * most; need > float64(info.Config.MaxBytes) || info.Config.MaxMsgs > 0 || info.Config.MaxAge != eventMaxAge {
			t.Errorf("as JSON %v: %.0f bytes each, %.0f in all; the stream takes %d, %d messages and %v", json, each, need, info.Config.MaxBytes, info.Config.MaxMsgs, info.Config.MaxAge)
		}
		t.Logf("as JSON %v: %.0f bytes each, %.2f GiB in all", json, each, each*cameras*most/(1<<30))
		closeNow(t, b)
	}
}

// The limits that an earlier segd gave the stream are replaced, those that an operator gave it are not.
func TestEarlierRetention(t *testing.T) {
	for _, tt := range []struct {
		name                string
		msgs, bytes         int64
		maxStore            int64 // of the server
		wantMsgs, wantBytes int64
	}{
		{"an earlier segd's", 100_000, 64 << 20, 16 << 30, -1, eventMaxBytes},
		{"an earlier segd's, and no room for more", 100_000, 64 << 20, 1 << 30, 100_000, 64 << 20},
		{"somebody's", 100_000, 128 << 20, 16 << 30, 100_000, 128 << 20},
		{"none, and no room for more", 0, 0, 1 << 30, -1, eventLeastBytes},
	} {
		t.Run(tt.name, func(t *testing.T) {
			port := freePort(t)
			natsServer(t, server.Options{Port: port, JetStream: true, JetStreamMaxStore: tt.maxStore, JetStreamMaxMemory: 1 << 20})
			js, err := jetstream.New(connect(t, urlOf(port)))
			require.NoError(t, err)
			if tt.bytes != 0 {
				if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
					Name: StreamName("home", KindEvent), Subjects: []string{"segd.v1.home.*.event"}, MaxAge: eventMaxAge, MaxMsgs: tt.msgs, MaxBytes: tt.bytes,
				}); err != nil {
					t.Fatal(err)
				}
			}
			b := open(t, Config{External: External{URL: urlOf(port)}})
			publishEvents(t, b, 0, 1)
			eventually(t, "stored", func() bool { return b.Stats().EventsStored == 1 })
			stream, err := js.Stream(t.Context(), StreamName("home", KindEvent))
			require.NoError(t, err)
			if got := stream.CachedInfo().Config; got.MaxMsgs != tt.wantMsgs || got.MaxBytes != tt.wantBytes {
				t.Errorf("%d messages and %d bytes; want %d and %d", got.MaxMsgs, got.MaxBytes, tt.wantMsgs, tt.wantBytes)
			}
			closeNow(t, b)
		})
	}
}
