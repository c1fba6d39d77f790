package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/bus/segdv1"
)

// pngSignature begins a PNG.
const pngSignature = "\x89PNG\r\n\x1a\n"

// granted takes every annotation.
func granted(_ context.Context, camera string, _ []byte) (*segdv1.Annotated, error) {
	return &segdv1.Annotated{Site: "here", Camera: camera}, nil
}

func TestAnnotate(t *testing.T) {
	b := open(t, Config{Site: "here", Version: "v1.2.3-4-gabcdef"})
	type call struct {
		camera  string
		payload string
	}
	calls := make(chan call, 1)
	err := b.Serve(verbs{
		Annotate: func(ctx context.Context, camera string, payload []byte) (*segdv1.Annotated, error) {
			if _, ok := ctx.Deadline(); !ok {
				t.Error("no deadline")
			}
			calls <- call{camera, string(payload)}
			switch string(payload) {
			case "refuse":
				return nil, errors.New("stroke 1 is outside\nof 768×576")
			case "gone":
				return nil, fmt.Errorf("%w: just removed", ErrUnknownCamera)
			}
			return &segdv1.Annotated{Site: "here", Camera: camera}, nil
		},
	}.of("yard", "demo"))
	require.NoError(t, err)
	tests := []struct {
		name, site, camera, payload string
		handled                     bool
		is                          error
		want                        string
	}{
		{"accepted", "here", "demo", `{"strokes":[]}`, true, nil, ""},
		{"PNG", "here", "yard", pngSignature + "rest", true, nil, ""},
		{"refused", "here", "demo", "refuse", true, ErrRejected, "annotate demo: stroke 1 is outside\nof 768×576"},
		{"removed", "here", "demo", "gone", true, ErrUnknownCamera, "just removed"},
		{"empty", "here", "demo", "", false, ErrRejected, "the annotation is empty"},
		{"unknown camera", "here", "attic", "{}", false, ErrUnknownCamera, `"attic" at site "here": want one of here/demo, here/yard`},
		{"unknown site", "there", "demo", "{}", false, ErrUnknownCamera, "want one of here/demo"},
		{"bad name", "here", "de mo", "{}", false, ErrName, "character ' '"},
		{"too large", "here", "demo", strings.Repeat(" ", maxPayload+1), false, nats.ErrMaxPayload, "the server takes 4194304"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Target{URL: b.URL(), Site: tt.site, Camera: tt.camera}.Annotate(t.Context(), []byte(tt.payload))
			if tt.is == nil && err != nil {
				t.Fatal(err)
			}
			if tt.is != nil && (!errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("Annotate = %v, want %v with %q", err, tt.is, tt.want)
			}
			if tt.handled {
				if got, want := receive(t, calls), (call{tt.camera, tt.payload}); got != want {
					t.Errorf("handler got %q, want %q", got, want)
				}
			} else if len(calls) > 0 {
				t.Errorf("handler got %q", <-calls)
			}
		})
	}

	nc := connect(t, b.URL())
	t.Run("somebody else hears the subject", func(t *testing.T) {
		all, err := nc.SubscribeSync("segd.v1.>")
		require.NoError(t, err)
		defer all.Unsubscribe()
		require.NoError(t, nc.Flush())
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err = Target{URL: b.URL(), Site: "here", Camera: "attic"}.Annotate(ctx, []byte("{}"))
		if !errors.Is(err, ErrUnknownCamera) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "want one of here/demo") {
			t.Errorf("Annotate = %v, want ErrUnknownCamera with the cameras there are", err)
		}
	})
	for name, tt := range map[string]struct{ contentType, payload, want string }{
		"PNG that is none": {"image/png", "{}", "Content-Type is image/png and the annotation looks like application/json"},
		"foreign type":     {"text/plain", "{}", `"text/plain", want application/json or image/png`},
		"bad type":         {";", "{}", "Content-Type"},
	} {
		reply, err := nc.RequestMsg(&nats.Msg{
			Subject: "segd.v1.here.demo.annotate", Data: []byte(tt.payload),
			Header: nats.Header{"Content-Type": {tt.contentType}},
		}, patience)
		require.NoError(t, err)
		if code, text := reply.Header.Get(micro.ErrorCodeHeader), reply.Header.Get(micro.ErrorHeader); code != "415" || !strings.Contains(text, tt.want) {
			t.Errorf("%s: %s %q, want 415 with %q", name, code, text, tt.want)
		}
	}

	// Plain requests, as "nats req" sends them: no header, and the reply is ok.
	reply, err := nc.Request("segd.v1.here.demo.annotate", []byte("{}"), patience)
	if err != nil || string(reply.Data) != "ok" || reply.Header.Get(micro.ErrorCodeHeader) != "" {
		t.Errorf("plain request: %v, %v", reply, err)
	}
	<-calls
	ping, err := nc.Request("$SRV.PING.segd", nil, patience)
	if err != nil || !strings.Contains(string(ping.Data), `"version":"1.2.3-4-gabcdef"`) {
		t.Errorf("ping: %s, %v", ping.Data, err)
	}
}

// The reply says what became of the objects: as a message when one is asked for, else ok,
// and the warnings in the header either way.
func TestAnnotated(t *testing.T) {
	for _, inJSON := range []bool{false, true} {
		b := open(t, Config{Site: "here", JSON: inJSON})
		err := b.Serve(verbs{Annotate: func(_ context.Context, _ string, payload []byte) (*segdv1.Annotated, error) {
			warnings, ahead := 2, string(payload) == "ahead"
			if string(payload) == "many" {
				warnings = maxWarnings + 3
			}
			a := &segdv1.Annotated{Site: "here", Camera: "demo", Sequence: 7, MasksSequence: 9, Pending: ahead, Objects: []*segdv1.Object{dog}}
			for id := range warnings {
				a.Warnings = append(a.Warnings, &segdv1.Warning{ObjectId: uint32(id + 1), Message: "it has\nno mask"})
			}
			return a, nil
		}}.of("demo"))
		require.NoError(t, err)
		bare := proto.CloneOf(dog)
		bare.Counts = ""
		want := &segdv1.Annotated{Site: "here", Camera: "demo", Sequence: 7, MasksSequence: 9, Objects: []*segdv1.Object{bare}, Warnings: []*segdv1.Warning{
			{ObjectId: 1, Message: "it has\nno mask"}, {ObjectId: 2, Message: "it has\nno mask"},
		}}
		got, err := Target{URL: b.URL(), Site: "here", Camera: "demo"}.Annotate(t.Context(), []byte("{}"))
		if err != nil || !proto.Equal(got, want) {
			t.Errorf("got %v, %v; want %v", got, err, want)
		}
		nc := connect(t, b.URL())
		reply, err := nc.Request("segd.v1.here.demo.annotate", []byte("{}"), patience)
		if err != nil || string(reply.Data) != "ok" || reply.Header.Get(micro.ErrorCodeHeader) != "" ||
			strings.Join(reply.Header["Segd-Warning"], "|") != "object 1: it has no mask|object 2: it has no mask" {
			t.Errorf("a plain request: %v, %v", reply, err)
		}
		reply, err = nc.RequestMsg(&nats.Msg{Subject: "segd.v1.here.demo.annotate", Data: []byte("{}"), Header: nats.Header{"Accept": {TypeJSON}}}, patience)
		if err != nil || reply.Header.Get("Content-Type") != TypeJSON || !strings.Contains(string(reply.Data), `"warnings":`) || len(reply.Header["Segd-Warning"]) != 2 {
			t.Errorf("as JSON: %v, %v", reply, err)
		}
		reply, err = nc.Request("segd.v1.here.demo.annotate", []byte("ahead"), patience)
		if err != nil || string(reply.Data) != "pending" || reply.Header.Get(micro.ErrorCodeHeader) != "" {
			t.Errorf("far ahead: %v, %v", reply, err)
		}
		if got, err := (Target{URL: b.URL(), Site: "here", Camera: "demo"}).Annotate(t.Context(), []byte("ahead")); err != nil || !got.Pending {
			t.Errorf("far ahead: %v, %v", got, err)
		}
		reply, err = nc.Request("segd.v1.here.demo.annotate", []byte("many"), patience)
		if err != nil || len(reply.Header["Segd-Warning"]) != maxWarnings+1 || reply.Header["Segd-Warning"][maxWarnings] != "and 3 more objects" {
			t.Errorf("many: %v, %v", reply, err)
		}
	}
}

func TestAnnotateNobody(t *testing.T) {
	b := open(t, Config{})
	_, err := Target{URL: b.URL(), Site: "home", Camera: "demo"}.Annotate(t.Context(), []byte("{}"))
	if !errors.Is(err, ErrUnknownCamera) || !strings.Contains(err.Error(), "no segd serves any camera") {
		t.Errorf("Annotate = %v, want ErrUnknownCamera", err)
	}
	_, err = Target{URL: urlOf(freePort(t)), Site: "home", Camera: "demo"}.Annotate(t.Context(), []byte("{}"))
	if !errors.Is(err, nats.ErrNoServers) || !strings.Contains(err.Error(), "connect to NATS server nats://127.0.0.1") {
		t.Errorf("without a server: %v, want %v and the URL", err, nats.ErrNoServers)
	}
}

func TestServeErrors(t *testing.T) {
	b := open(t, Config{})
	assert.Error(t, b.Serve(Commands{Cameras: []string{"demo"}}), "no handler, and no error")
	err := b.Serve(granting("a b"))
	assert.ErrorIs(t, err, ErrName, "Serve")
}

func TestServeAgain(t *testing.T) {
	b := open(t, Config{})
	serve := func(answer string, cameras ...string) {
		t.Helper()
		err := b.Serve(verbs{Annotate: func(context.Context, string, []byte) (*segdv1.Annotated, error) {
			return nil, errors.New(answer)
		}}.of(cameras...))
		require.NoError(t, err)
	}
	serve("first", "demo", "yard")
	serve("second", "demo")
	_, err := Target{URL: b.URL(), Site: "home", Camera: "demo"}.Annotate(t.Context(), []byte("{}"))
	if err == nil || !strings.HasSuffix(err.Error(), ": second") {
		t.Errorf("demo: %v, want the second's answer", err)
	}
	eventually(t, "yard is gone", func() bool {
		_, err := Target{URL: b.URL(), Site: "home", Camera: "yard"}.Annotate(t.Context(), []byte("{}"))
		return errors.Is(err, ErrUnknownCamera)
	})
}

// One camera's slow annotation does not hold up another's, and Close cancels it
// and still delivers its reply.
func TestCloseDuringAnnotate(t *testing.T) {
	b := open(t, Config{})
	entered := make(chan struct{})
	err := b.Serve(verbs{
		Annotate: func(ctx context.Context, camera string, _ []byte) (*segdv1.Annotated, error) {
			if camera == "fast" {
				return &segdv1.Annotated{Site: "home", Camera: camera}, nil
			}
			close(entered)
			<-ctx.Done()
			return nil, fmt.Errorf("not done: %w", ctx.Err()) // cancelled by Close, and not out of time
		},
	}.of("slow", "fast"))
	require.NoError(t, err)
	reply := make(chan error, 1)
	go func() {
		_, err := Target{URL: b.URL(), Site: "home", Camera: "slow"}.Annotate(context.Background(), []byte("{}"))
		reply <- err
	}()
	receive(t, entered)
	_, err = (Target{URL: b.URL(), Site: "home", Camera: "fast"}).Annotate(t.Context(), []byte("{}"))
	assert.NoError(t, err)
	require.NoError(t, b.Close())
	if err := receive(t, reply); !errors.Is(err, ErrRejected) || !strings.Contains(err.Error(), "not done: "+context.Canceled.Error()) {
		t.Errorf("Annotate = %v, want the handler's error", err)
	}
}

func TestHeaderText(t *testing.T) {
	tests := map[string]string{
		"plain":                        "plain",
		"two\r\nNats-Injected: 1":      "two Nats-Injected: 1",
		"":                             "no reason given",
		strings.Repeat("é", 600):       strings.Repeat("é", 500) + "…",
		"x" + strings.Repeat("é", 600): "x" + strings.Repeat("é", 499) + "…",
	}
	for s, want := range tests {
		assert.Equal(t, want, headerText(s), "headerText(%.20q)", s)
	}
}
