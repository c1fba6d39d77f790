package bus

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
)

// Cameras come and go: those that stay are answered all the while, also what is in hand, and
// those that have gone are not answered for, so that another segd may have them.
func TestCamerasChange(t *testing.T) {
	port := freePort(t)
	natsServer(t, server.Options{Port: port})
	b := open(t, Config{External: External{URL: urlOf(port)}, Site: "here"})
	eventually(t, "a connection", b.Connected)
	assert.Error(t, b.Cameras([]string{"gate"}), "cameras before Serve were accepted")
	held, release := make(chan struct{}), make(chan struct{})
	require.NoError(t, b.Serve(verbs{
		Annotate: func(ctx context.Context, camera string, payload []byte) (*segdv1.Annotated, error) {
			if string(payload) == `{"slow":1}` {
				close(held)
				select {
				case <-release:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			return &segdv1.Annotated{Camera: camera}, nil
		},
	}.of("gate", "yard")))
	nc := connect(t, urlOf(port))
	ask := func(camera, payload string) string {
		reply, err := nc.Request("segd.v1.here."+camera+".annotate", []byte(payload), patience)
		if errors.Is(err, nats.ErrNoResponders) {
			return "nobody"
		}
		if err != nil {
			return err.Error()
		}
		return reply.Header.Get(micro.ErrorHeader) + string(reply.Data)
	}
	var asking sync.WaitGroup
	asking.Go(func() {
		assert.Equal(t, "ok", ask("gate", `{"slow":1}`), "the command in hand")
	})
	<-held
	stop := make(chan struct{})
	asking.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			if reply, err := nc.Request("segd.v1.here.yard.annotate", []byte("{}"), patience); err != nil {
				t.Errorf("request %d to a camera that stays: %v", n, err)
			} else if code := reply.Header.Get(micro.ErrorCodeHeader); code != "" && code != "429" { // which is an answer, too
				t.Errorf("request %d to a camera that stays: %s %s", n, code, reply.Data)
			}
		}
	})
	for _, tt := range []struct {
		names []string
		attic string
	}{
		{[]string{"gate", "yard", "attic"}, "ok"},
		{[]string{"yard", "gate"}, "nobody"},
		{[]string{"yard", "attic", "gate"}, "ok"},
		{[]string{"yard"}, "nobody"},
	} {
		began := time.Now()
		require.NoError(t, b.Cameras(tt.names))
		if tt.attic == "nobody" {
			assert.GreaterOrEqual(t, time.Since(began), handOver, "to %v, and the service before answers for a while", tt.names)
		}
		assert.Equal(t, tt.attic, ask("attic", "{}"), "with %v a request to attic is answered", tt.names)
		assert.Equal(t, tt.names, b.claims.now().Holds, "with %v it claims", tt.names)
	}
	close(stop)
	close(release)
	asking.Wait()

	var info micro.Info
	reply, err := nc.Request("$SRV.INFO.segd", nil, patience)
	if err != nil || json.Unmarshal(reply.Data, &info) != nil || slices.ContainsFunc(info.Endpoints, func(e micro.EndpointInfo) bool { return e.Metadata["camera"] != "yard" }) {
		t.Errorf("one camera is left, and the service has %v, %v", info.Endpoints, err)
	}
	second := open(t, Config{External: External{URL: urlOf(port)}, Site: "here"})
	eventually(t, "a connection", second.Connected)
	assert.NoError(t, second.Serve(granting("gate")), "a camera that has gone")
	assert.ErrorIs(t, b.Cameras([]string{"gate", "yard"}), ErrTaken, "a camera of another segd")
	assert.Equal(t, []string{"yard"}, b.claims.now().Holds, "refused, and it claims")
	assert.Equal(t, "ok", ask("yard", "{}"), "refused, and its own camera answers")
	closeNow(t, second)
	closeNow(t, b)
	assert.ErrorIs(t, b.Cameras([]string{"yard"}), ErrClosed, "after Close")
}

// A reload is asked of the site, not of a camera, also after cameras have gone, and of who has no
// configuration to read no subscriber gets.
func TestReload(t *testing.T) {
	b := open(t, Config{Site: "here"})
	var wrong atomic.Bool
	c := granting("gate", "yard")
	c.Reload = func(context.Context) ([]byte, error) {
		if wrong.Load() {
			return nil, errors.New("cameras[0].url is wrong")
		}
		return []byte(`{"added":[]}`), nil
	}
	require.NoError(t, b.Serve(c))
	require.NoError(t, b.Cameras([]string{"gate"}))
	here := Target{URL: b.URL(), Site: "here"}
	if answer, err := here.Reload(t.Context()); err != nil || string(answer) != `{"added":[]}` {
		t.Errorf("%q, %v", answer, err)
	}
	wrong.Store(true)
	if _, err := here.Reload(t.Context()); !errors.Is(err, ErrRejected) || !strings.Contains(err.Error(), "cameras[0].url is wrong") {
		t.Errorf("refused: %v", err)
	}
	reply, err := connect(t, b.URL()).Request("segd.v1.here.reload", []byte("cameras: []"), patience)
	if err != nil || reply.Header.Get(micro.ErrorCodeHeader) != "400" || !strings.Contains(string(reply.Data), "want none") {
		t.Errorf("with a payload: %v, %v", reply, err)
	}
	_, err = (Target{URL: b.URL(), Site: "there"}).Reload(t.Context())
	assert.ErrorContains(t, err, `no segd of site "there"`, "another site")
	c.Reload = nil
	require.NoError(t, b.Serve(c))
	_, err = here.Reload(t.Context())
	assert.ErrorContains(t, err, "no segd", "without a configuration")
}
