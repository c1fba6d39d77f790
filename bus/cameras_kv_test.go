package bus

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
)

// What is kept is there after a restart, with the last value of each; what is forgotten is not, and its
// stream holds no mark of it.
func TestKeptCameras(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 5 s: servers started again")
	}
	dir := t.TempDir()
	b, err := Open(t.Context(), Config{Site: "yard", Embedded: Embedded{StoreDir: dir}})
	require.NoError(t, err)
	if all, err := b.KeptCameras(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("before the first: %v, %v", all, err)
	}
	assert.NoError(t, b.ForgetCamera(t.Context(), "gate"), "forgotten before it was kept")
	large := bytes.Repeat([]byte{7}, maxCameraValue)
	for _, one := range []struct {
		camera string
		value  []byte
	}{{"gate", []byte("1")}, {"attic", large}, {"porch", []byte("3")}, {"gate", []byte("4")}} {
		require.NoError(t, b.KeepCamera(t.Context(), one.camera, one.value))
	}
	assert.Error(t, b.KeepCamera(t.Context(), "cellar", append(large, 7)), "too large a value was kept")
	require.NoError(t, b.ForgetCamera(t.Context(), "porch"))
	closeNow(t, b)

	b = open(t, Config{Site: "yard", Embedded: Embedded{StoreDir: dir}})
	all, err := b.KeptCameras(t.Context())
	require.NoError(t, err)
	assert.Empty(t, cmp.Diff(map[string][]byte{"gate": []byte("4"), "attic": large}, all))
	stream, err := b.events.js.Stream(t.Context(), camerasStream("yard"))
	if err != nil || stream.CachedInfo().State.Msgs != 2 {
		t.Errorf("%+v, %v", stream.CachedInfo().State, err)
	}
}

// Without a connection, and without JetStream, that is said.
func TestKeptCamerasAway(t *testing.T) {
	port := freePort(t)
	b := open(t, Config{External: External{URL: urlOf(port)}})
	_, err := b.KeptCameras(t.Context())
	assert.ErrorIs(t, err, ErrNotConnected, "no server")
	assert.ErrorIs(t, b.KeepCamera(t.Context(), "gate", nil), ErrNotConnected, "no server")
	natsServer(t, server.Options{Port: port})
	eventually(t, "the connection", b.Connected)
	if _, err := b.KeptCameras(t.Context()); !errors.Is(err, nats.ErrNoResponders) || !strings.Contains(err.Error(), "has no JetStream") {
		t.Errorf("no JetStream: %v", err)
	}
	if err := b.KeepCamera(t.Context(), "gate", nil); !errors.Is(err, nats.ErrNoResponders) || !strings.Contains(err.Error(), "has no JetStream") {
		t.Errorf("no JetStream: %v", err)
	}
	closeNow(t, b)
}

// A server that does not permit them is named as the reason, and events are stored all the same.
func TestKeptCamerasDenied(t *testing.T) {
	port := freePort(t)
	natsServer(t, server.Options{Port: port, JetStream: true, Users: []*server.User{{
		Username: "segd", Password: "1234567890123456",
		Permissions: &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{"$JS.API.STREAM.INFO.KV_segd_home_cameras"}}},
	}}})
	b := open(t, Config{External: External{URL: strings.Replace(urlOf(port), "://", "://segd:1234567890123456@", 1)}})
	eventually(t, "the connection", b.Connected)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := b.KeptCameras(ctx)
	assert.ErrorIs(t, err, nats.ErrPermissionViolation)
	require.NoError(t, b.PublishEvent(&segdv1.Event{Camera: "gate"}))
	eventually(t, "the event is stored", func() bool { return b.Stats().EventsStored == 1 })
	closeNow(t, b)
}
