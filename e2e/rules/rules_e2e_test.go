//go:build e2e

package rules

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/e2e/harness"
	"github.com/segd/segd/ingest/demo"
)

// The street of the clip, on which persons walk, and its lawn in front.
const configuration = `nats: {addr: '%s'}
webhooks:
  - {name: mine, url: '%s', kinds: [rule]}
cameras:
  - name: street
    url: 'file:%s'
    loop: true
    zones:
      - {name: street, polygon: [[0.2, 0.3], [1, 0.3], [1, 0.75], [0.2, 0.75]]}
    rules:
      - {name: walker, when: present, classes: [person], zone: street, for: 2s, again: 5s}
      - {name: no-bear, when: absent, classes: [bear], for: 3s}
      - {name: never, when: absent, for: 1s, schedule: [{days: [%s]}]}
`

type told struct {
	mu     sync.Mutex
	events []*segdv1.Event
	posted []string
}

func TestRules(t *testing.T) {
	var got told
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got.mu.Lock()
		defer got.mu.Unlock()
		got.posted = append(got.posted, string(body))
	}))
	defer hook.Close()
	addr := harness.FreeAddrs(t, 1)[0]
	tomorrow := strings.ToLower(time.Now().Add(24 * time.Hour).Weekday().String()[:3])
	segd := harness.Run(t, fmt.Sprintf(configuration, addr, hook.URL, demo.FindClip(), tomorrow))
	_, err := harness.Connect(t, segd.NATS).Subscribe("segd.v1.*.street.event", func(m *nats.Msg) {
		ev := new(segdv1.Event)
		if proto.Unmarshal(m.Data, ev) == nil && ev.Kind == segdv1.EventKind_EVENT_KIND_RULE {
			got.mu.Lock()
			defer got.mu.Unlock()
			got.events = append(got.events, ev)
		}
	})
	require.NoError(t, err)
	of := func(rule string) (all []*segdv1.Event) {
		got.mu.Lock()
		defer got.mu.Unlock()
		for _, ev := range got.events {
			if ev.Rule == rule {
				all = append(all, ev)
			}
		}
		return all
	}
	harness.Until(t, 2*time.Minute, "two events of a walker", func(context.Context) error {
		if n := len(of("walker")); n < 2 {
			return fmt.Errorf("%d", n)
		}
		return nil
	})
	for _, ev := range of("walker") {
		if ev.Zone != "street" || ev.ObjectClass != "person" || ev.ObjectId < 256 || ev.Message != "rule walker: a person has been in zone street for 2s" {
			t.Errorf("%v; want one of a person in the street", ev)
		}
		thumbnail, err := harness.Get(t.Context(), segd.Page+strings.TrimPrefix(ev.Thumbnail, "/"))
		if err != nil || http.DetectContentType(thumbnail) != "image/jpeg" {
			t.Errorf("its picture %q is %v, %s", ev.Thumbnail, err, http.DetectContentType(thumbnail))
		}
	}
	a, b := of("walker")[0], of("walker")[1]
	if apart := b.Time.AsTime().Sub(a.Time.AsTime()); apart < 4900*time.Millisecond {
		t.Errorf("two events of a walker are %v apart; want 5 s or more", apart)
	}
	if all := of("no-bear"); len(all) != 1 || all[0].ObjectId != 0 || all[0].Thumbnail != "" {
		t.Errorf("there is no bear: %v; want one event without an object", all)
	}
	if all := of("never"); len(all) > 0 {
		t.Errorf("told on a day that is not in the schedule: %v", all)
	}
	harness.Until(t, 10*time.Second, "the same by webhook", func(context.Context) error {
		got.mu.Lock()
		defer got.mu.Unlock()
		for _, want := range []string{`"rule":"walker"`, `"rule":"no-bear"`} {
			if !strings.Contains(strings.ReplaceAll(strings.Join(got.posted, "\n"), `": "`, `":"`), want) {
				return fmt.Errorf("%d posts without %s", len(got.posted), want)
			}
		}
		return nil
	})

	out, err := exec.CommandContext(t.Context(), harness.Program(t), "check", "-c", segd.Config).CombinedOutput()
	if want := "rule walker of camera street: ok: an event when a person has been in zone street for 2s, once in 5s at most"; !strings.Contains(string(out), want) {
		t.Errorf("segd check: %v, want %q in\n%s", err, want, out)
	}
}
