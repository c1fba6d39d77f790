package bus

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
)

// keepPictures keeps pictures of 10 KB, with numbers from first on.
func keepPictures(t *testing.T, b *Bus, first, n int) {
	t.Helper()
	for i := first; i < first+n; i++ {
		if err := b.KeepPicture(Picture{Camera: "gate", Name: fmt.Sprintf("1-%d-1", i), JPEG: bytes.Repeat([]byte{byte(i)}, 10_000), Hides: "persons"}); err != nil {
			t.Fatal(err)
		}
	}
}

func picture(t *testing.T, b *Bus, n int) *Picture {
	t.Helper()
	p, err := b.Picture(t.Context(), "gate", fmt.Sprintf("1-%d-1", n))
	require.NoError(t, err)
	if p != nil && (p.Hides != "persons" || !bytes.Equal(p.JPEG, bytes.Repeat([]byte{byte(n)}, 10_000))) {
		t.Fatalf("picture %d: %d bytes, hides %q", n, len(p.JPEG), p.Hides)
	}
	return p
}

// Pictures survive a restart, as many as the stream takes by its bytes, and the oldest go.
func TestPictures(t *testing.T) {
	cfg := Config{Site: "here", Embedded: Embedded{StoreDir: t.TempDir()}, Pictures: Retention{MaxAge: time.Hour, MaxBytes: 1 << 20}}
	b := open(t, cfg)
	for i := range 6 { // no more wait at a time than may
		keepPictures(t, b, 50*i, 50)
		eventually(t, "kept", func() bool { return b.Stats().PicturesKept == uint64(50*(i+1)) })
	}
	if picture(t, b, 299) == nil || picture(t, b, 0) != nil || picture(t, b, 300) != nil {
		t.Error("want the newest, not the oldest, and none that there never was")
	}
	for _, name := range []string{"", "1.2", "*", ">"} {
		if p, err := b.Picture(t.Context(), "gate", name); p != nil || err != nil {
			t.Errorf("%q: %v, %v", name, p, err)
		}
		assert.Error(t, b.KeepPicture(Picture{Camera: "gate", Name: name}), "%q is a name", name)
	}
	js, err := jetstream.New(connect(t, b.URL()))
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), StreamName("here", KindPicture))
	require.NoError(t, err)
	if s := stream.CachedInfo(); s.State.Bytes > 1<<20 || s.State.Msgs < 90 || s.Config.MaxAge != time.Hour {
		t.Errorf("%d bytes, %d pictures, %v; want a MiB at most, and an hour", s.State.Bytes, s.State.Msgs, s.Config.MaxAge)
	}
	closeNow(t, b)

	cfg.Pictures.MaxBytes = 1 << 19
	b = open(t, cfg)
	if picture(t, b, 299) == nil {
		t.Error("the newest is gone after a restart")
	}
	eventually(t, "the oldest are gone by the new limit", func() bool { return picture(t, b, 220) == nil })
	if s := b.Stats(); s.PicturesLost != 0 {
		t.Errorf("%d are lost", s.PicturesLost)
	}
	closeNow(t, b)

	cfg.Pictures = Retention{}
	b = open(t, cfg)
	keepPictures(t, b, 300, 1)
	if picture(t, b, 300) != nil || picture(t, b, 299) != nil {
		t.Error("without the setting there are none")
	}
	closeNow(t, b)
}

// Pictures that wait for a server go when there are too many, and are counted; those at the end, too.
func TestPicturesWait(t *testing.T) {
	port := freePort(t)
	cfg := Config{External: External{URL: urlOf(port)}, Pictures: Retention{MaxAge: time.Hour}}
	b := open(t, cfg)
	keepPictures(t, b, 0, maxPictures+44)
	assert.EqualValues(t, 44, b.Stats().PicturesLost, "are lost")
	stop := natsServer(t, server.Options{Port: port, JetStream: true, JetStreamMaxStore: 1 << 30, JetStreamMaxMemory: 1 << 20})
	eventually(t, "kept", func() bool { return b.Stats().PicturesKept == maxPictures })
	if picture(t, b, 43) != nil || picture(t, b, 44) == nil {
		t.Error("want the newest that waited")
	}
	stop()
	eventually(t, "the end of the connection", func() bool { return !b.Connected() })
	keepPictures(t, b, 300, 7)
	closeNow(t, b)
	if s := b.Stats(); s.PicturesLost != 44+7 || s.PicturesKept != maxPictures {
		t.Errorf("%d kept, %d lost; want %d and %d", s.PicturesKept, s.PicturesLost, maxPictures, 44+7)
	}
}

// A full disk costs pictures, which are counted; masks and events go out meanwhile, and with room pictures are kept again.
func TestPicturesOnAFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("4 s: JetStream fails and is opened anew")
	}
	disk, ok := smallDisk(t)
	if !ok {
		return
	}
	b := open(t, Config{Site: "here", Embedded: Embedded{StoreDir: disk}, Pictures: Retention{MaxAge: time.Hour, MaxBytes: 64 << 20}})
	keepPictures(t, b, 0, 10)
	eventually(t, "kept", func() bool { return b.Stats().PicturesKept == 10 })
	events, masks := hear(t, b.URL(), "segd.v1.here.gate.event"), hear(t, b.URL(), "segd.v1.here.gate.mask")
	free := fill(t, disk)
	for i := range 10 {
		keepPictures(t, b, 10+50*i, 50)
		publishEvents(t, b, i, 1)
		require.NoError(t, b.PublishMask(&segdv1.MaskFrame{Camera: "gate", Sequence: uint64(i + 1), Width: 4, Height: 4}))
	}
	eventually(t, "masks", func() bool { n, _ := masks.count(); return n == 10 })
	eventually(t, "events", func() bool { n, _ := events.count(); return n == 10 })
	eventually(t, "lost pictures", func() bool { return b.Stats().PicturesLost > 0 })
	lost, kept := b.Stats().PicturesLost, b.Stats().PicturesKept
	if lost+kept < 510-maxPictures || lost > 500 {
		t.Errorf("%d kept, %d lost of 510", kept, lost)
	}
	free()
	eventually(t, "pictures are kept again", func() bool { s := b.Stats(); return s.PicturesKept+s.PicturesLost == 510 })
	if picture(t, b, 509) == nil {
		t.Error("the newest is not kept")
	}
	closeNow(t, b)
}
