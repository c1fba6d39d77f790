package main

import (
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/cmd/segd/daemon/daemontest"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/internal/waitfor"
)

// A checkpoint of which a disk has made another bit is refused, with an event, and the one before it is used.
func TestDamagedCheckpoint(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 5 s: segd started again and again")
	}
	t.Parallel()
	gate := "{name: gate, transport: tcp, url: '" + daemontest.Camera(t, demo.Config{}).URL() + "'}"
	a, store := keeping(t, gate)
	a.start()
	a.follows("gate")
	a.stop()
	flipNewest(t, store, "gate")
	a.start()
	a.up("gate")
	waitfor.True(t, "the object of the checkpoint before", func() bool { // there are none before the first frame has masks
		return strings.Contains(a.want(http.StatusOK, http.MethodGet, "/gate/objects", ""), "square")
	})
	waitfor.True(t, "the event", func() bool {
		return slices.Contains(a.keptEvents(), segdv1.EventKind_EVENT_KIND_CHECKPOINT_REFUSED)
	})
	if !clitest.LineWith(a.segd.Err.String(), []string{"a checkpoint cannot be read", "camera=gate"}) {
		t.Errorf("the log does not say why:\n%s", a.segd.Err.String())
	}
}

// keptEvents are the kinds of the events of all cameras, the oldest first.
func (a *adding) keptEvents() (kinds []segdv1.EventKind) {
	a.t.Helper()
	js, end := jetStream(a.t, "nats://"+a.nats)
	defer end()
	stream, err := js.Stream(a.t.Context(), "segd_home_event")
	if err != nil {
		a.t.Fatal(err)
	}
	for n := range stream.CachedInfo().State.LastSeq {
		msg, err := stream.GetMsg(a.t.Context(), n+1)
		if err != nil {
			a.t.Fatal(err)
		}
		var e segdv1.Event
		if err := bus.Unmarshal(msg.Header.Get("Content-Type"), msg.Data, &e); err != nil {
			a.t.Fatal(err)
		}
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

// flipNewest changes a bit of the newest whole checkpoint of a camera in the store of a segd that does not run.
func flipNewest(t *testing.T, dir, camera string) {
	t.Helper()
	b, err := bus.Open(t.Context(), bus.Config{Site: "home", Embedded: bus.Embedded{StoreDir: dir}, KeptOnly: true, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer func() {
		assert.NoError(t, b.Close())
	}()
	js, end := jetStream(t, b.URL())
	defer end()
	objects, err := js.ObjectStore(t.Context(), bus.CheckpointBucket("home"))
	require.NoError(t, err)
	var newest *jetstream.ObjectInfo
	most := -1
	for k := range 2 {
		info, err := objects.GetInfo(t.Context(), camera+"."+strconv.Itoa(k))
		require.NoError(t, err)
		generation, err := strconv.Atoi(info.Metadata["generation"])
		require.NoError(t, err)
		if generation > most {
			newest, most = info, generation
		}
	}
	stream, err := js.Stream(t.Context(), "OBJ_"+bus.CheckpointBucket("home"))
	require.NoError(t, err)
	subject := "$O." + bus.CheckpointBucket("home") + ".C." + newest.NUID
	last, err := stream.GetLastMsgForSubject(t.Context(), subject)
	if err == nil {
		err = stream.DeleteMsg(t.Context(), last.Sequence)
	}
	if err == nil {
		last.Data[len(last.Data)/2] ^= 1
		_, err = js.Publish(t.Context(), subject, last.Data)
	}
	require.NoError(t, err)
}
