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
	if err != nil {
		t.Fatal(err)
	}
	if all, err := b.KeptCameras(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("before the first: %v, %v", all, err)
	}
	if err := b.ForgetCamera(t.Context(), "gate"); err != nil {
		t.Errorf("forgotten before it was kept: %v", err)
	}
	large := bytes.Repeat([]byte{7}, maxCameraValue)
	for _, one := range []struct {
		camera string
		value  []byte
	}{{"gate", []byte("1")}, {"attic", large}, {"porch", []byte("3")}, {"gate", []byte("4")}} {
		if err := b.KeepCamera(t.Context(), one.camera, one.value); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.KeepCamera(t.Context(), "cellar", append(large, 7)); err == nil {
		t.Error("too large a value was kept")
	}
	if err := b.ForgetCamera(t.Context(), "porch"); err != nil {
		t.Fatal(err)
	}
	closeNow(t, b)

	b = open(t, Config{Site: "yard", Embedded: Embedded{StoreDir: dir}})
	all, err := b.KeptCameras(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]byte{"gate": []byte("4"), "attic": large}, all); diff != "" {
		t.Error(diff)
	}
	stream, err := b.events.js.Stream(t.Context(), camerasStream("yard"))
	if err != nil || stream.CachedInfo().State.Msgs != 2 {
		t.Errorf("%+v, %v", stream.CachedInfo().State, err)
	}
}

// Without a connection, and without JetStream, that is said.
func TestKeptCamerasAway(t *testing.T) {
	port := freePort(t)
	b := open(t, Config{External: External{URL: urlOf(port)}})
	if _, err := b.KeptCameras(t.Context()); !errors.Is(err, ErrNotConnected) {
		t.Errorf("no server: %v", err)
	}
	if err := b.KeepCamera(t.Context(), "gate", nil); !errors.Is(err, ErrNotConnected) {
		t.Errorf("no server: %v", err)
	}
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
	if _, err := b.KeptCameras(ctx); !errors.Is(err, nats.ErrPermissionViolation) {
		t.Errorf("%v", err)
	}
	if err := b.PublishEvent(&segdv1.Event{Camera: "gate"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the event is stored", func() bool { return b.Stats().EventsStored == 1 })
	closeNow(t, b)
}
