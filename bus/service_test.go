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
)

func TestAnnotate(t *testing.T) {
	b := open(t, Config{Site: "here", Version: "v1.2.3-4-gabcdef"})
	type call struct {
		camera  string
		payload string
	}
	calls := make(chan call, 1)
	err := b.Serve(Commands{
		Cameras: []string{"yard", "demo"},
		Annotate: func(ctx context.Context, camera string, payload []byte) error {
			if _, ok := ctx.Deadline(); !ok {
				t.Error("no deadline")
			}
			calls <- call{camera, string(payload)}
			switch string(payload) {
			case "refuse":
				return errors.New("stroke 1 is outside\nof 768×576")
			case "gone":
				return fmt.Errorf("%w: just removed", ErrUnknownCamera)
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
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
			err := Target{URL: b.URL(), Site: tt.site, Camera: tt.camera}.Annotate(t.Context(), []byte(tt.payload))
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
		if err != nil {
			t.Fatal(err)
		}
		defer all.Unsubscribe()
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		err = Target{URL: b.URL(), Site: "here", Camera: "attic"}.Annotate(ctx, []byte("{}"))
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
		if err != nil {
			t.Fatal(err)
		}
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

func TestAnnotateNobody(t *testing.T) {
	b := open(t, Config{})
	err := Target{URL: b.URL(), Site: "local", Camera: "demo"}.Annotate(t.Context(), []byte("{}"))
	if !errors.Is(err, ErrUnknownCamera) || !strings.Contains(err.Error(), "no segd serves any camera") {
		t.Errorf("Annotate = %v, want ErrUnknownCamera", err)
	}
	err = Target{URL: urlOf(freePort(t)), Site: "local", Camera: "demo"}.Annotate(t.Context(), []byte("{}"))
	if !errors.Is(err, nats.ErrNoServers) || !strings.Contains(err.Error(), "connect to NATS server nats://127.0.0.1") {
		t.Errorf("without a server: %v, want %v and the URL", err, nats.ErrNoServers)
	}
}

func TestServeErrors(t *testing.T) {
	b := open(t, Config{})
	if err := b.Serve(Commands{Cameras: []string{"demo"}}); err == nil {
		t.Error("no handler, and no error")
	}
	err := b.Serve(Commands{Cameras: []string{"a b"}, Annotate: func(context.Context, string, []byte) error { return nil }})
	if !errors.Is(err, ErrName) {
		t.Errorf("Serve = %v, want ErrName", err)
	}
}

func TestServeAgain(t *testing.T) {
	b := open(t, Config{})
	serve := func(answer string, cameras ...string) {
		t.Helper()
		err := b.Serve(Commands{Cameras: cameras, Annotate: func(context.Context, string, []byte) error {
			return errors.New(answer)
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	serve("first", "demo", "yard")
	serve("second", "demo")
	err := Target{URL: b.URL(), Site: "local", Camera: "demo"}.Annotate(t.Context(), []byte("{}"))
	if err == nil || !strings.HasSuffix(err.Error(), ": second") {
		t.Errorf("demo: %v, want the second's answer", err)
	}
	eventually(t, "yard is gone", func() bool {
		return errors.Is(Target{URL: b.URL(), Site: "local", Camera: "yard"}.Annotate(t.Context(), []byte("{}")), ErrUnknownCamera)
	})
}

// One camera's slow annotation does not hold up another's, and Close cancels it
// and still delivers its reply.
func TestCloseDuringAnnotate(t *testing.T) {
	b := open(t, Config{})
	entered := make(chan struct{})
	err := b.Serve(Commands{
		Cameras: []string{"slow", "fast"},
		Annotate: func(ctx context.Context, camera string, _ []byte) error {
			if camera == "fast" {
				return nil
			}
			close(entered)
			<-ctx.Done()
			return fmt.Errorf("not done: %w", ctx.Err())
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	reply := make(chan error, 1)
	go func() {
		reply <- Target{URL: b.URL(), Site: "local", Camera: "slow"}.Annotate(context.Background(), []byte("{}"))
	}()
	receive(t, entered)
	if err := (Target{URL: b.URL(), Site: "local", Camera: "fast"}).Annotate(t.Context(), []byte("{}")); err != nil {
		t.Error(err)
	}
	start := time.Now()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(start); d > commandTimeout/2 {
		t.Errorf("Close took %v", d)
	}
	if err := receive(t, reply); !errors.Is(err, ErrRejected) || !strings.Contains(err.Error(), "not done") {
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
		if got := headerText(s); got != want {
			t.Errorf("headerText(%.20q) = %q, want %q", s, got, want)
		}
	}
}
