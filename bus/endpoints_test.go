package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/api"
	"github.com/segd/segd/bus/segdv1"
)

var dog = &segdv1.Object{
	Id: 2, Label: "dog", State: segdv1.State_STATE_VISIBLE, Box: &segdv1.Box{X: 1, Y: 2, Width: 3, Height: 4},
	Area: 12, Score: 0.5, Counts: "52203", Extent: &segdv1.Box{X: -1, Y: 2, Width: 5, Height: 9},
}

// notes is what a service was asked, by the goroutines that serve it.
type notes struct {
	mu    sync.Mutex
	asked []string
}

func (n *notes) add(call string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, call)
}

// take returns what came since the last take.
func (n *notes) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	asked := n.asked
	n.asked = nil
	return asked
}

// serveAll serves a camera called demo that notes what it is asked.
func serveAll(t *testing.T, b *Bus) *notes {
	t.Helper()
	calls := new(notes)
	note := func(ctx context.Context, format string, args ...any) {
		if _, ok := ctx.Deadline(); !ok {
			t.Error("no deadline")
		}
		calls.add(fmt.Sprintf(format, args...))
	}
	all := verbs{
		Annotate: func(ctx context.Context, _ string, _ []byte) (*segdv1.Annotated, error) {
			note(ctx, "annotate")
			return nil, &api.Refusal{Status: 409, Detail: "it is 409"}
		},
		Clear: func(ctx context.Context, camera string, id uint32) error {
			note(ctx, "clear %s %d", camera, id)
			if id == 7 {
				return fmt.Errorf("wrapped: %w", &api.Refusal{Status: 404, Detail: "it is 404"})
			}
			return nil
		},
		Rename: func(ctx context.Context, camera string, id uint32, label string) (*segdv1.Object, error) {
			note(ctx, "rename %s %d %q", camera, id, label)
			o := proto.CloneOf(dog)
			o.Id, o.Label = id, label
			return o, nil
		},
		Keep: func(ctx context.Context, camera string, id uint32) (*segdv1.Object, error) {
			note(ctx, "keep %s %d", camera, id)
			o := proto.CloneOf(dog)
			o.Id, o.Class, o.Automatic = id, "dog", true // to see that they are sent
			return o, nil
		},
		Objects: func(camera string) (uint64, []*segdv1.Object) {
			calls.add("objects " + camera)
			return 41, []*segdv1.Object{dog}
		},
		State: func(camera string) *segdv1.Status {
			calls.add("state " + camera)
			return &segdv1.Status{Site: "here", Camera: camera, Up: true, FpsIn: 25}
		},
	}.of("demo")
	all.Snapshot = func(camera string, overlay bool) (uint64, []byte, error) {
		calls.add(fmt.Sprintf("snapshot %s %v", camera, overlay))
		return 41, []byte("\xff\xd8" + strings.Repeat("x", 2000)), nil
	}
	require.NoError(t, b.Serve(all))
	return calls
}

func TestRequests(t *testing.T) {
	for _, json := range []bool{false, true} {
		b := open(t, Config{Site: "here", JSON: json})
		calls := serveAll(t, b)
		demo := Target{URL: b.URL(), Site: "here", Camera: "demo"}
		ctx := t.Context()

		assert.NoError(t, demo.Clear(ctx, 3))
		assert.NoError(t, demo.Clear(ctx, 0))
		if err := demo.Clear(ctx, 7); !errors.Is(err, ErrRejected) || !strings.Contains(err.Error(), "clear demo: wrapped: it is 404") {
			t.Errorf("an unknown object: %v", err)
		}
		want := &segdv1.Object{Id: 9, Label: `a "cat"`, State: dog.State, Box: dog.Box, Extent: dog.Extent, Area: 12, Score: 0.5}
		if o, err := demo.Rename(ctx, 9, `a "cat"`); err != nil || !proto.Equal(o, want) {
			t.Errorf("renamed %v, %v", o, err)
		}
		want = &segdv1.Object{Id: 256, Label: "dog", State: dog.State, Box: dog.Box, Extent: dog.Extent, Area: 12, Score: 0.5, Class: "dog", Automatic: true}
		if o, err := demo.Keep(ctx, 256); err != nil || !proto.Equal(o, want) {
			t.Errorf("kept %v, %v", o, err)
		}
		if list, err := demo.Objects(ctx); err != nil || list.Sequence != 41 || len(list.Objects) != 1 || list.Objects[0].Label != "dog" || list.Objects[0].Counts != "" {
			t.Errorf("objects %v, %v", list, err)
		}
		if dog.Counts == "" {
			t.Fatal("the caller's object was changed")
		}
		if picture, err := demo.Snapshot(ctx, true); err != nil || len(picture) != 2002 {
			t.Errorf("snapshot of %d bytes, %v", len(picture), err)
		}
		if st, err := demo.State(ctx); err != nil || !st.Up || st.FpsIn != 25 {
			t.Errorf("state %v, %v", st, err)
		}
		if _, err := (Target{URL: b.URL(), Site: "here", Camera: "attic"}).State(ctx); !errors.Is(err, ErrUnknownCamera) || !strings.Contains(err.Error(), "want one of here/demo") {
			t.Errorf("an unknown camera: %v", err)
		}
		wantCalls := []string{"clear demo 3", "clear demo 0", "clear demo 7", `rename demo 9 "a \"cat\""`, "keep demo 256", "objects demo", "snapshot demo true", "state demo"}
		assert.Equal(t, wantCalls, calls.take(), "asked")
	}
}

// Requests as the nats command line sends them.
func TestPlainRequests(t *testing.T) {
	b := open(t, Config{Site: "here"})
	calls := serveAll(t, b)
	nc := connect(t, b.URL())
	for _, tt := range []struct {
		kind, payload, code, want, call string
	}{
		{"clear", "", "", "ok", "clear demo 0"},
		{"clear", `{"id": 3}`, "", "ok", "clear demo 3"},
		{"clear", `{"id": 7}`, "404", "it is 404", "clear demo 7"},
		{"clear", `{}`, "400", "id: missing", ""},
		{"clear", `{"id": 0}`, "400", "id: 0; want an object's id", ""},
		{"clear", `{"id": -1}`, "400", "-1", ""},
		{"clear", `{"object": 1}`, "400", `unknown field "object"`, ""},
		{"clear", `{"id": 1} {"id": 2}`, "400", "something follows", ""},
		{"clear", `all`, "400", `the payload "all"`, ""},
		{"clear", `{"label": "` + strings.Repeat("x", 300) + `"}`, "400", "the payload: /label: 300 bytes; accepted: at most 256", ""},
		{"rename", `{"id": 1}`, "400", "label: missing", ""},
		{"rename", `{"id": 300, "label": "cat", "kept": true}`, "", "", `rename demo 300 "cat" keep demo 300`},
		{"rename", `{"id": 300, "kept": false}`, "400", "label: missing", ""},
		{"rename", `{"kept": true}`, "400", "id or label: missing", ""},
		{"rename", ``, "400", "id or label: missing", ""},
		{"annotate", `{}`, "409", "it is 409", "annotate"},
		{"snapshot", ``, "", "\xff\xd8", "snapshot demo false"},
		{"snapshot", `{"overlay": true}`, "", "\xff\xd8", "snapshot demo true"},
		{"snapshot", `{"overlay": 1}`, "400", "overlay", ""},
	} {
		calls.take()
		reply, err := nc.Request("segd.v1.here.demo."+tt.kind, []byte(tt.payload), patience)
		require.NoError(t, err)
		if code := reply.Header.Get(micro.ErrorCodeHeader); code != tt.code || !strings.Contains(string(reply.Data), tt.want) {
			t.Errorf("%s %q: code %q, %q; want %q with %q", tt.kind, tt.payload, code, reply.Data, tt.code, tt.want)
		}
		sequence := ""
		if tt.kind == "snapshot" && tt.code == "" {
			sequence = "41"
		}
		assert.Equal(t, sequence, reply.Header.Get(api.HeaderSequence), "%s %q: of frame", tt.kind, tt.payload)
		assert.Equal(t, tt.call, strings.Join(calls.take(), " "), "%s %q asked for", tt.kind, tt.payload)
	}
	reply, err := nc.RequestMsg(&nats.Msg{Subject: "segd.v1.here.demo.objects", Header: nats.Header{"Accept": {"application/json"}}}, patience)
	require.NoError(t, err)
	list := new(segdv1.ObjectList)
	if err := protojson.Unmarshal(reply.Data, list); err != nil || list.Sequence != 41 || reply.Header.Get("Content-Type") != TypeJSON {
		t.Errorf("as JSON: %q, %v", reply.Data, err)
	}
	info, err := nc.Request("$SRV.INFO.segd", nil, patience)
	require.NoError(t, err)
	var service micro.Info
	require.NoError(t, json.Unmarshal(info.Data, &service))
	var subjects []string
	for _, e := range service.Endpoints {
		subjects = append(subjects, strings.TrimPrefix(e.Subject, "segd.v1.here.demo."))
	}
	slices.Sort(subjects)
	assert.Equal(t, []string{"annotate", "clear", "objects", "rename", "snapshot", "state"}, subjects, "endpoints")
}

// A picture that the server does not take is refused with the reason, and the next
// request is answered.
func TestReplyTooLarge(t *testing.T) {
	port := freePort(t)
	natsServer(t, server.Options{Port: port, MaxPayload: 1500})
	b := open(t, Config{External: External{URL: urlOf(port)}, Site: "here"})
	eventually(t, "a connection", b.Connected)
	serveAll(t, b)
	demo := Target{URL: urlOf(port), Site: "here", Camera: "demo"}
	if _, err := demo.Snapshot(t.Context(), false); !errors.Is(err, ErrRejected) || !strings.Contains(err.Error(), "the reply has 2002 bytes") {
		t.Errorf("got %v", err)
	}
	_, err := demo.State(t.Context())
	assert.NoError(t, err)
}
