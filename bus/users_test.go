package bus

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/api"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/internal/docs"
)

const (
	watchers = "watchers-0123456789"
	robots   = "robots-0123456789"
	masters  = "$2a$04$0.xtVs.Yx4QAzXv35LUNH.zvJ8.9dRAStwRDALp6Paqh9UuKd.sLO" // bcrypt of masters-0123456789
)

// guarded is a Bus whose server knows one user of each role, named by it; another operator has a key.
func guarded(t *testing.T, cfg Config) (b *Bus, as func(Role) string, key nats.Option) {
	t.Helper()
	public, seed := userKey(t)
	key, err := nats.NkeyOptionFromSeed(seed)
	require.NoError(t, err)
	cfg.Site = "home"
	cfg.Users = []User{
		{Name: "subscriber", Password: watchers, Role: Subscriber},
		{Name: "operator", Password: robots, Role: Operator},
		{Name: "robot2", NKey: public, Role: Operator},
		{Name: "admin", Password: masters, Role: Admin},
	}
	b = open(t, cfg)
	return b, func(r Role) string {
		user := string(r) + ":" + map[Role]string{Subscriber: watchers, Operator: robots, Admin: "masters-0123456789"}[r]
		return strings.Replace(b.URL(), "://", "://"+user+"@", 1)
	}, key
}

// onBothServers runs test with the server inside segd, and with that of the compose file.
func onBothServers(t *testing.T, cfg Config, test func(t *testing.T, b *Bus, as func(Role) string)) {
	t.Run("embedded", func(t *testing.T) {
		b, as, _ := guarded(t, cfg)
		test(t, b, as)
	})
	t.Run("compose", func(t *testing.T) {
		_, url := composeServer(t)
		cfg.Site, cfg.URL = "home", url("segd")
		b := open(t, cfg)
		eventually(t, "the connection", b.Connected)
		as := func(r Role) string { return url(string(r)) }
		js, err := jetstream.New(login(t, as(Admin)))
		require.NoError(t, err)
		for _, kind := range []Kind{KindEvent, KindMask} {
			eventually(t, "the stream", func() bool { _, err := js.Stream(t.Context(), StreamName("home", kind)); return err == nil })
			for _, r := range []Role{Subscriber, Operator} {
				if _, err := js.CreateConsumer(t.Context(), StreamName("home", kind), jetstream.ConsumerConfig{Durable: string(r)}); err != nil {
					t.Fatal(err)
				}
			}
		}
		test(t, b, as)
	})
}

// login connects as a user, whose LastError is what the server does not permit it.
func login(t *testing.T, url string, opts ...nats.Option) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(url, append(opts, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))...)
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	return nc
}

// Each role may do what it is for, and is denied the rest.
func TestRoles(t *testing.T) {
	onBothServers(t, Config{Masks: Retention{MaxAge: time.Hour}}, testRoles)
}

func testRoles(t *testing.T, b *Bus, as func(Role) string) {
	var cleared atomic.Int32
	err := b.Serve(verbs{Annotate: granted, Clear: func(context.Context, string, uint32) error { cleared.Add(1); return nil }}.of("demo"))
	require.NoError(t, err)
	require.NoError(t, errors.Join(b.PublishMask(maskFrame("demo", 1)), b.PublishEvent(&segdv1.Event{Camera: "demo"})))
	eventually(t, "the event is stored", func() bool { return b.Stats().EventsStored == 1 })
	var everybody, askers, masters = []Role{Subscriber, Operator, Admin}, []Role{Operator, Admin}, []Role{Admin}
	publishers := map[string][]Role{
		"segd.v1.home.demo.annotate": askers, "segd.v1.home.demo.clear": askers, "segd.v1.home.demo.rename": askers,
		"segd.v1.home.demo.snapshot": askers, "segd.v1.home.demo.state": askers, "segd.v1.home.reload": askers,
		"segd.v1.home.camera.add": askers, "segd.v1.home.camera.remove": askers, "$SRV.INFO.segd": askers, "$SRV.PING": askers,
		"$JS.API.INFO": everybody, "$JS.API.STREAM.INFO.segd_home_event": everybody, "$JS.API.STREAM.MSG.GET.segd_home_event": everybody,
		"segd.v1.home.demo.mask": masters, "segd.v1.home.demo.event": masters, "segd.v1.home.demo.status": masters,
		"segd.v1.there.demo.clear": masters, "segd.v1.there.reload": masters, "segd.v1.there.camera.list": masters,
		"_INBOX.another.1": masters, "$KV.segd_home_cameras.gate": masters, "$O.segd_home_checkpoints.C.1": masters,
		"$JS.API.DIRECT.GET.KV_segd_home_cameras.$KV.segd_home_cameras.gate": masters, "$JS.API.STREAM.MSG.GET.OBJ_segd_home_checkpoints": masters,
		"$JS.API.STREAM.CREATE.mine": masters, "$JS.API.STREAM.DELETE.segd_there_event": masters,
		"$JS.API.CONSUMER.CREATE.segd_there_event": masters, "$JS.API.CONSUMER.CREATE.segd_there_event.c.x": masters,
		"$JS.API.CONSUMER.INFO.segd_home_event.operator": askers, "$JS.API.CONSUMER.MSG.NEXT.segd_home_event.operator": askers, // another's to a subscriber
		"$JS.API.CONSUMER.DELETE.segd_there_event.billing": masters, "$JS.API.CONSUMER.LIST.segd_home_event": masters,
		"$JS.API.STREAM.MSG.GET.segd_there_event": masters, "$SYS.REQ.SERVER.PING": masters, "anything": masters,
	}
	for _, role := range everybody {
		var mu sync.Mutex
		denied := map[string]bool{}
		nc := login(t, as(role))
		nc.SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			mu.Lock()
			defer mu.Unlock()
			if m := regexp.MustCompile(`Publish to "(.*)"`).FindStringSubmatch(err.Error()); m != nil {
				denied[m[1]] = true
			}
		})
		for subject := range publishers {
			require.NoError(t, nc.Publish(subject, nil))
		}
		require.NoError(t, nc.Flush())
		known := func() int { mu.Lock(); defer mu.Unlock(); return len(denied) }
		want := 0
		for _, may := range publishers {
			if !slices.Contains(may, role) {
				want++
			}
		}
		eventually(t, "the server says what it denies", func() bool { return known() >= want })
		for subject, may := range publishers {
			if got, want := !denied[subject], slices.Contains(may, role); got != want {
				t.Errorf("%s may publish %s: %v, want %v", role, subject, got, want)
			}
		}
	}

	// Whatever subject a user subscribes to, it gets what its role may.
	hears := map[Role]*nats.Subscription{}
	for _, role := range everybody {
		nc := login(t, as(role))
		sub, err := nc.SubscribeSync(">")
		require.NoError(t, errors.Join(err, nc.Flush()))
		hears[role] = sub
	}
	master := login(t, as(Admin))
	subjects := map[string][]Role{
		"segd.v1.home.demo.mask": everybody, "segd.v1.there.demo.event": everybody, "segd.v1.home.demo.status": everybody,
		"segd.v1.home.claim": masters, "segd.fleet.v1.home.x": masters, "_INBOX.another.1": masters, "_INBOX_subscriber.1": masters,
		"segd.v1.home.demo.event.store": masters, "$KV.segd_home_cameras.gate": masters, "$O.segd_home_checkpoints.C.1": masters, "$SRV.x": masters, "_R_.1": masters,
	}
	for subject := range subjects {
		require.NoError(t, master.Publish(subject, []byte(t.Name())))
	}
	require.NoError(t, errors.Join(master.Publish("segd.v1.home.last.status", nil), master.Flush()))
	for role, sub := range hears {
		heard := map[string]bool{}
		for {
			msg, err := sub.NextMsg(patience)
			require.NoError(t, err)
			if msg.Subject == "segd.v1.home.last.status" {
				break
			}
			if string(msg.Data) == t.Name() {
				heard[msg.Subject] = true
			}
		}
		for subject, may := range subjects {
			if got, want := heard[subject], slices.Contains(may, role); got != want {
				t.Errorf("%s hears %s: %v, want %v", role, subject, got, want)
			}
		}
	}
	cleared.Store(0)
	for _, sub := range hears { // who hears everything would have each request wait for an answer of theirs
		require.NoError(t, sub.Unsubscribe())
	}
	require.NoError(t, master.Flush())

	// The commands and libraries that people use.
	watcher, operator := as(Subscriber), Target{URL: as(Operator), Site: "home", Camera: "demo"}
	masks := make(chan *segdv1.MaskFrame, 1)
	watch(t, watcher, "demo", Handlers{Mask: func(m *segdv1.MaskFrame) { masks <- m }})
	require.NoError(t, b.PublishMask(maskFrame("demo", 2)))
	assert.EqualValues(t, 2, receive(t, masks).Sequence, "sequence")
	if err := operator.Clear(t.Context(), 0); err != nil || cleared.Load() != 1 {
		t.Errorf("the operator's clear: %v, %d done", err, cleared.Load())
	}
	operator.Camera = "attic"
	if err := operator.Clear(t.Context(), 0); !errors.Is(err, ErrUnknownCamera) || !strings.Contains(err.Error(), "home/demo") {
		t.Errorf("an unknown camera: %v, want the ones there are", err)
	}
	assert.ErrorIs(t, (Target{URL: watcher, Site: "home", Camera: "demo"}).Clear(t.Context(), 0), nats.ErrPermissionViolation, "the subscriber's clear")
	if n := cleared.Load(); n != 1 {
		t.Errorf("cleared %d times, want once", n)
	}
	js, err := jetstream.New(login(t, watcher))
	require.NoError(t, err)
	for _, kind := range []Kind{KindEvent, KindMask} {
		consumer, err := js.Consumer(t.Context(), StreamName("home", kind), "subscriber")
		require.NoError(t, err)
		msg, err := consumer.Next()
		if err != nil || kindOf(msg.Subject()) != kind {
			t.Fatalf("%s from the stream: %v, %v", kind, msg, err)
		}
		assert.NoError(t, msg.DoubleAck(t.Context()))
		stream, err := js.Stream(t.Context(), StreamName("home", kind))
		require.NoError(t, err)
		if msg, err := stream.GetMsg(t.Context(), 1); err != nil || kindOf(msg.Subject) != kind {
			t.Errorf("%s read from the stream: %v, %v", kind, msg, err)
		}
	}
}

// docs/security.md says of each role what it may.
func TestRolesAreDocumented(t *testing.T) {
	rows, err := docs.Table("../docs/security.md", "Over NATS")
	require.NoError(t, err)
	for _, role := range []Role{Subscriber, Operator} {
		says := map[string][]string{}
		for _, row := range rows {
			for _, name := range row.Names {
				name = strings.NewReplacer("SITE", "home", "USER", "me").Replace(name)
				says[row.Cells[string(role)]] = append(says[row.Cells[string(role)]], name)
			}
		}
		var asks []string
		for _, g := range (User{Name: "me", Role: role}).serviceImports("home") {
			asks = append(asks, g.subject)
		}
		for cell, want := range map[string][]string{"hears": streamImports, "asks": asks} {
			assert.Empty(t, cmp.Diff(sortedStrings(want), sortedStrings(says[cell])), "what a %s %s (-code +docs)", role, cell)
		}
	}
}

func sortedStrings(s []string) []string { return slices.Sorted(slices.Values(s)) }

// asUser is the URL for a user of the password watchers.
func asUser(b *Bus, user string) string {
	return strings.Replace(b.URL(), "://", "://"+user+":"+watchers+"@", 1)
}

// nextEvent is the subject of the next event of a user's consumer, which it acknowledges.
func nextEvent(t *testing.T, b *Bus, user string) string {
	t.Helper()
	js, err := jetstream.New(login(t, asUser(b, user)))
	require.NoError(t, err)
	consumer, err := js.Consumer(t.Context(), StreamName("home", KindEvent), user)
	require.NoError(t, err)
	msg, err := consumer.Next()
	if err == nil {
		err = msg.DoubleAck(t.Context())
	}
	require.NoError(t, err)
	return msg.Subject()
}

// Each user has a consumer of its own, which keeps how far it has read over a restart, and goes with the user.
func TestUsersConsumers(t *testing.T) {
	cfg := Config{Site: "home", Embedded: Embedded{StoreDir: t.TempDir(), Users: []User{
		{Name: "billing", Password: watchers, Role: Subscriber}, {Name: "wall", Password: watchers, Role: Subscriber}, {Name: "admin", Password: watchers, Role: Admin},
	}}}
	b := open(t, cfg)
	for _, camera := range []string{"a", "b"} {
		require.NoError(t, b.PublishEvent(&segdv1.Event{Camera: camera}))
	}
	assert.Equal(t, "segd.v1.home.a.event", nextEvent(t, b, "billing"), "first")
	closeNow(t, b)
	cfg.Users = slices.Delete(cfg.Users, 1, 2)
	b = open(t, cfg)
	assert.Equal(t, "segd.v1.home.b.event", nextEvent(t, b, "billing"), "after a restart")
	js, err := jetstream.New(login(t, asUser(b, "admin")))
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), StreamName("home", KindEvent))
	require.NoError(t, err)
	var names []string
	for name := range stream.ConsumerNames(t.Context()).Name() {
		names = append(names, name)
	}
	assert.Empty(t, cmp.Diff([]string{"billing"}, names), "consumers (-want +got)")
}

// A consumer of the user's name that cannot become the user's, as an earlier version had users make, gives way to one that
// is.
func TestUsersConsumerInPlaceOfAnother(t *testing.T) {
	cfg := Config{Site: "home", Embedded: Embedded{StoreDir: t.TempDir()}}
	b := open(t, cfg)
	require.NoError(t, b.PublishEvent(&segdv1.Event{Camera: "a"}))
	eventually(t, "the event is stored", func() bool { return b.Stats().EventsStored == 1 })
	old, err := login(t, b.URL()).JetStream()
	require.NoError(t, err)
	_, err = old.AddConsumer(StreamName("home", KindEvent), &nats.ConsumerConfig{
		Durable: "billing", AckPolicy: nats.AckExplicitPolicy, DeliverSubject: "segd.v1.home.a.clear",
	})
	require.NoError(t, err)
	closeNow(t, b)
	cfg.Users = []User{{Name: "billing", Password: watchers, Role: Subscriber}}
	b = open(t, cfg)
	assert.Equal(t, "segd.v1.home.a.event", nextEvent(t, b, "billing"), "first")
}

// JetStream that was opened anew, as after a full disk, keeps events and has the users' consumers and the limit of them.
func TestReopenWithUsers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 11 s: JetStream opened anew")
	}
	b := open(t, Config{Site: "home", Embedded: Embedded{StoreDir: t.TempDir(), Users: []User{
		{Name: "billing", Password: watchers, Role: Subscriber}, {Name: "admin", Password: watchers, Role: Admin},
	}}})
	require.NoError(t, b.server.reopen())
	b.events.again()
	require.NoError(t, b.PublishEvent(&segdv1.Event{Camera: "a"}))
	assert.Equal(t, "segd.v1.home.a.event", nextEvent(t, b, "billing"), "first")
	consumersAreLimited(t, asUser(b, "admin"), StreamName("home", KindEvent))
}

// Consumers cost memory and files, and there are no more of them than some, with users or without.
func TestConsumersAreLimited(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 5 s: as many consumers as there may be")
	}
	for name, users := range map[string][]User{"anybody": nil, "users": {{Name: "admin", Password: watchers, Role: Admin}}} {
		t.Run(name, func(t *testing.T) {
			b := open(t, Config{Site: "home", Embedded: Embedded{Users: users}})
			consumersAreLimited(t, asUser(b, "admin"), StreamName("home", KindEvent))
		})
	}
	t.Run("compose", func(t *testing.T) {
		_, url := composeServer(t)
		js, err := jetstream.New(login(t, url("admin")))
		if err == nil {
			_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "some", Subjects: []string{"some"}})
		}
		require.NoError(t, err)
		consumersAreLimited(t, url("admin"), "some")
	})
}

func consumersAreLimited(t *testing.T, url, stream string) {
	t.Helper()
	js, err := jetstream.New(login(t, url))
	require.NoError(t, err)
	n := 0
	for ; n < 2*maxConsumers && err == nil; n++ {
		_, err = js.CreateConsumer(t.Context(), stream, jetstream.ConsumerConfig{Durable: fmt.Sprintf("c%d", n)})
	}
	const others = 2 // a consumer more for each user, and the one that is refused
	if err == nil || !strings.Contains(err.Error(), "maximum consumers limit reached") || n > maxConsumers+others {
		t.Errorf("%d consumers, then %v", n, err)
	}
}

// Clients may not connect without end.
func TestConnectionsAreLimited(t *testing.T) {
	b := open(t, Config{})
	var all []*nats.Conn
	for len(all) < 2*maxConns {
		nc, err := nats.Connect(b.URL(), nats.NoReconnect())
		if err != nil { // the server closes it before or after it has said why
			break
		}
		defer nc.Close()
		all = append(all, nc)
	}
	if n := len(all); n == 0 || n >= maxConns { // one is segd's own
		t.Fatalf("%d connections", n)
	}
	all[0].Close()
	eventually(t, "there is room for another", func() bool {
		nc, err := nats.Connect(b.URL(), nats.NoReconnect())
		if err == nil {
			nc.Close()
		}
		return err == nil
	})
	if !b.Connected() {
		t.Error("segd's own connection is gone")
	}
}

// A client may not subscribe without end.
func TestSubscriptionsAreLimited(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 5 s: as many subscriptions as there may be")
	}
	b, as, _ := guarded(t, Config{})
	nc := login(t, as(Subscriber))
	for i := range maxSubs + 1 {
		_, err := nc.SubscribeSync(fmt.Sprintf("x.%d", i))
		require.NoError(t, err)
	}
	_ = nc.Flush() // the connection may be gone
	eventually(t, "the server refuses it", func() bool {
		err := nc.LastError()
		return err != nil && strings.Contains(strings.ToLower(err.Error()), "maximum subscriptions exceeded")
	})
	if !b.Connected() {
		t.Error("segd's own connection is gone")
	}
}

// NATS does not hold against a user's permissions where an answer goes. A user in an account of its own has answers,
// stored messages and its consumer's acknowledgements sent to subjects of its own account, where no one listens.
func TestAnswersElsewhere(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 5 s: servers in which each role tries everything")
	}
	for role, other := range map[Role]Role{Subscriber: Operator, Operator: Subscriber} {
		t.Run(string(role), func(t *testing.T) {
			onBothServers(t, Config{JSON: true, Masks: Retention{MaxAge: time.Hour}}, func(t *testing.T, b *Bus, as func(Role) string) {
				testAnswersElsewhere(t, b, as, role, other)
			})
		})
	}
}

func testAnswersElsewhere(t *testing.T, b *Bus, as func(Role) string, role, other Role) {
	var changed atomic.Int32
	all := verbs{
		Annotate: granted,
		Clear:    func(context.Context, string, uint32) error { changed.Add(1); return nil },
		Objects:  func(string) (uint64, []*segdv1.Object) { return 1, nil },
	}.of("demo")
	all.Reload = func(context.Context) ([]byte, error) { changed.Add(1); return nil, nil }
	require.NoError(t, b.Serve(all))
	kept := []byte("a camera")
	if err := errors.Join(b.PublishEvent(&segdv1.Event{Camera: "demo"}), b.PublishMask(maskFrame("demo", 1)), b.KeepCamera(t.Context(), "gate", kept)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the event is stored", func() bool { return b.Stats().EventsStored == 1 })
	targets := []string{
		"segd.v1.home.demo.mask", "segd.v1.home.demo.event", "segd.v1.home.demo.clear", "segd.v1.home.reload", "segd.v1.home.demo.x",
		"segd.fleet.v1.home.x", "$KV.segd_home_cameras.gate", "$KV.segd_home_fleet.box.a", "$O.segd_home_checkpoints.M.x", "$JS.API.STREAM.DELETE.segd_home_event", "_INBOX.another.1",
	}
	// What comes to the targets in segd's account, and the masks that the other gets.
	heard := make(chan *nats.Msg, 1000)
	listeners := []*nats.Conn{login(t, as(Admin)), login(t, as(other))}
	for i, nc := range listeners {
		for _, subject := range targets {
			if own := role == Operator && (kindOf(subject) == KindClear || kindOf(subject) == KindReload); own || i > 0 && kindOf(subject) != KindMask {
				continue // an operator may say that itself
			}
			_, err := nc.ChanSubscribe(subject, heard)
			require.NoError(t, err)
		}
		require.NoError(t, nc.Flush())
	}
	nc := login(t, as(role))
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	consumer, err := js.Consumer(t.Context(), StreamName("home", KindEvent), string(role))
	require.NoError(t, err)
	msg, err := consumer.Next()
	require.NoError(t, err)
	asks := map[string]string{ // request to payload
		"$JS.API.STREAM.INFO.segd_home_event":                              "",
		"$JS.API.STREAM.MSG.GET.segd_home_mask":                            `{"seq":1}`,
		"$JS.API.CONSUMER.INFO.segd_home_event." + string(role):            "",
		"$JS.API.CONSUMER.MSG.NEXT.segd_home_mask." + string(role):         `{"batch":1,"no_wait":true}`,
		"$JS.ACK.segd_home_event." + string(role) + ".1.1.1.1.0":           "+WPI",
		"$JS.ACK._.x.segd_home_event." + string(role) + ".1.1.1.1.0.token": "+NXT",
		msg.Reply(): "+WPI", // the acknowledgement of a message that was taken
	}
	if role == Operator {
		asks["segd.v1.home.demo.objects"] = ""
		asks["$SRV.INFO.segd"] = ""
	}
	for subject, payload := range asks {
		for _, reply := range targets {
			require.NoError(t, nc.PublishRequest(subject, reply, []byte(payload)))
		}
	}
	_, err = nc.Request("$JS.API.STREAM.INFO.segd_home_event", nil, patience)
	require.NoError(t, err)
	assert.NoError(t, errors.Join(nc.LastError(), listeners[0].Flush(), listeners[1].Flush()))
	for len(heard) > 0 {
		msg := <-heard
		t.Errorf("somewhere else came %s: %.100q", msg.Subject, msg.Data)
	}
	if n := changed.Load(); n > 0 {
		t.Errorf("%d commands were carried out that nobody sent", n)
	}
	if cameras, err := b.KeptCameras(t.Context()); err != nil || string(cameras["gate"]) != string(kept) {
		t.Errorf("kept %q, %v", cameras["gate"], err)
	}
}

// A message without a reply subject, or whose answer would pass for a message of segd's, is no command: the
// server sends such ones to wherever a reader of a stream in segd's account has them sent.
func TestNoRequests(t *testing.T) {
	var refused, changed atomic.Int32
	b := open(t, Config{Site: "home", Refused: func(r Refusal) {
		if r == NoRequest {
			refused.Add(1)
		}
	}})
	all := verbs{Annotate: granted, Clear: func(context.Context, string, uint32) error { changed.Add(1); return nil }}.of("demo")
	all.Reload = func(context.Context) ([]byte, error) { changed.Add(1); return nil, nil }
	require.NoError(t, b.Serve(all))
	require.NoError(t, b.PublishEvent(&segdv1.Event{Camera: "demo"}))
	eventually(t, "the event is stored", func() bool { return b.Stats().EventsStored == 1 })
	nc := login(t, b.URL())
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	want := int32(0)
	for _, subject := range []string{"segd.v1.home.demo.clear", "segd.v1.home.reload"} {
		consumer, err := js.CreateConsumer(t.Context(), StreamName("home", KindEvent), jetstream.ConsumerConfig{})
		require.NoError(t, err)
		msg, err := consumer.Next()
		require.NoError(t, err)
		// An answer to an acknowledgement; a stored message; no reply; one that would pass for a message of segd's.
		require.NoError(t, errors.Join(
			nc.PublishRequest(msg.Reply(), subject, []byte("+WPI")),
			nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+StreamName("home", KindEvent)+"."+consumer.CachedInfo().Name, subject, []byte(`{"batch":1,"no_wait":true}`)),
			nc.Publish(subject, nil),
			nc.PublishRequest(subject, "segd.v1.home.demo.mask", nil),
			nc.PublishRequest(subject, "segd.fleet.v1.home.x", nil),
			nc.PublishRequest(subject, "$KV.segd_home_cameras.gate", nil),
		))
		want += 6
		eventually(t, "they are refused", func() bool { return refused.Load() >= want })
	}
	if n := changed.Load(); n > 0 {
		t.Errorf("%d commands were carried out", n)
	}
}

func TestLogins(t *testing.T) {
	lines := make(chan string, 1000)
	b, as, key := guarded(t, Config{Embedded: Embedded{Token: "the-token-0123456789"}, Logger: logTo(lines)})
	for _, role := range []Role{Subscriber, Operator, Admin} {
		_, err := Dial(t.Context(), as(role))
		assert.NoError(t, err, "%s", role)
	}
	robot := login(t, b.URL(), key)
	_, err := robot.Request("$JS.API.STREAM.INFO.segd_home_event", nil, patience)
	assert.NoError(t, err, "by a key")
	with := func(user string) string { return strings.Replace(b.URL(), "://", "://"+user+"@", 1) }
	nc := login(t, with("the-token-0123456789"))
	assert.NoError(t, errors.Join(nc.Publish("anything", nil), nc.Flush(), nc.LastError()), "the token's bearer may not do everything")
	for name, login := range map[string]string{
		"nobody": b.URL(), "no password": with("subscriber:"), "another's": with("subscriber:" + robots),
		"stranger": with("mallory:" + watchers), "the hash": with("admin:" + url.QueryEscape(masters)), "token": with("another-0123456789"), "password as token": with(watchers),
	} {
		_, err := Dial(t.Context(), login)
		assert.ErrorIs(t, err, nats.ErrAuthorization, "%s", name)
	}
	if !b.Connected() {
		t.Error("segd's own connection is gone")
	}
	closeNow(t, b)
	close(lines)
	for line := range lines {
		for _, secret := range []string{watchers, robots, "masters-0", "$2a$", "the-token"} {
			assert.NotContains(t, line, secret, "gives a password away")
		}
	}
}

// composeServer starts the NATS of the compose file, and returns the URL for a user.
func composeServer(t *testing.T) (opts *server.Options, url func(user string) string) {
	t.Helper()
	return composeServerIn(t, t.TempDir())
}

func composeServerIn(t *testing.T, dir string) (opts *server.Options, url func(user string) string) {
	t.Helper()
	for _, name := range []string{"SEGD", "SUBSCRIBER", "OPERATOR", "ADMIN"} {
		t.Setenv("NATS_"+name, `"1234567890"`) // of digits, quoted as compose.yaml has it
	}
	opts, err := server.ProcessConfigFile("../deploy/compose/nats.conf")
	require.NoError(t, err)
	opts.Port = freePort(t)
	opts.StoreDir = dir
	natsServer(t, *opts)
	return opts, func(user string) string {
		return strings.Replace(urlOf(opts.Port), "://", "://"+user+":1234567890@", 1)
	}
}

// nothingDenied fails for each line that tells of a permission.
func nothingDenied(t *testing.T, lines chan string) {
	t.Helper()
	close(lines)
	for line := range lines {
		assert.NotContains(t, strings.ToLower(line), "permission", line)
	}
}

// A server of the compose file from before its users had accounts goes on with what it has, as CHANGELOG.md says.
func TestComposeUpgrade(t *testing.T) {
	dir := t.TempDir()
	port := freePort(t)
	stop := natsServer(t, server.Options{Port: port, JetStream: true, StoreDir: dir})
	b := open(t, Config{External: External{URL: urlOf(port)}, Site: "home"})
	eventually(t, "the connection", b.Connected)
	require.NoError(t, errors.Join(b.KeepCamera(t.Context(), "gate", []byte("a camera")), b.PublishEvent(&segdv1.Event{Camera: "gate"})))
	eventually(t, "the event is stored", func() bool { return b.Stats().EventsStored == 1 })
	closeNow(t, b)
	stop()
	require.NoError(t, os.Rename(filepath.Join(dir, "jetstream", "$G"), filepath.Join(dir, "jetstream", "SEGD")))
	_, url := composeServerIn(t, dir)
	b = open(t, Config{External: External{URL: url("segd")}, Site: "home"})
	eventually(t, "the connection", b.Connected)
	if all, err := b.KeptCameras(t.Context()); err != nil || string(all["gate"]) != "a camera" {
		t.Errorf("kept: %q, %v", all, err)
	}
	js, err := jetstream.New(login(t, url("admin")))
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), StreamName("home", KindEvent))
	if err != nil || stream.CachedInfo().State.Msgs != 1 {
		t.Errorf("the events: %+v, %v", stream, err)
	}
}

// So many cameras are kept that the server wants segd to say now and then how far it has read: that takes a permission,
// without which the server sends no more, and segd takes the rest for damaged.
func TestComposeManyCameras(t *testing.T) {
	_, url := composeServer(t)
	lines := make(chan string, 10000)
	b := open(t, Config{External: External{URL: url("segd")}, Site: "home", Logger: logTo(lines)})
	keeping, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	eventually(t, "the connection", b.Connected)
	const cameras = 1200
	value := make([]byte, 20_000)
	for i := range cameras {
		require.NoError(t, b.KeepCamera(keeping, fmt.Sprintf("c%d", i), value))
	}
	all, err := b.KeptCameras(keeping)
	read := 0
	for _, v := range all {
		if len(v) == len(value) {
			read++
		}
	}
	if err != nil || read != cameras {
		t.Errorf("%d of %d kept cameras are read: %v", read, cameras, err)
	}
	closeNow(t, b)
	nothingDenied(t, lines)
}

// composePermissions are those of segd's user in the compose file's NATS, to which docs/nats.md refers.
func composePermissions(t *testing.T) *server.Permissions {
	t.Helper()
	for _, name := range []string{"SEGD", "SUBSCRIBER", "OPERATOR", "ADMIN"} {
		t.Setenv("NATS_"+name, `"1234567890"`)
	}
	opts, err := server.ProcessConfigFile("../deploy/compose/nats.conf")
	require.NoError(t, err)
	i := slices.IndexFunc(opts.Users, func(u *server.User) bool { return u.Username == "segd" })
	if i < 0 {
		t.Fatal("no segd")
	}
	return opts.Users[i].Permissions
}

// The NATS of the compose file has the same roles, and lets segd do what it does.
func TestComposeUsers(t *testing.T) {
	opts, url := composeServer(t)
	for _, role := range []Role{Subscriber, Operator, Admin} {
		i := slices.IndexFunc(opts.Users, func(u *server.User) bool { return u.Username == string(role) })
		if i < 0 {
			t.Fatalf("no %s", role)
		}
		var want *server.Permissions
		if role != Admin {
			want = &server.Permissions{Publish: &server.SubjectPermission{}}
			for _, g := range (User{Name: string(role), Role: role}).serviceImports("home") {
				want.Publish.Allow = append(want.Publish.Allow, g.subject)
			}
		}
		assert.Empty(t, cmp.Diff(sorted(want), sorted(opts.Users[i].Permissions)), "%s may something else than within segd", role)
	}
	lines := make(chan string, 1000)
	b := open(t, Config{External: External{URL: url("segd")}, Site: "home", Logger: logTo(lines), Masks: Retention{MaxAge: time.Minute}, Pictures: Retention{MaxAge: time.Minute}})
	keeping, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	eventually(t, "the connection", b.Connected)
	for _, value := range []string{"1", "2"} {
		assert.NoError(t, b.KeepCamera(keeping, "gate", []byte(value)))
	}
	if all, err := b.KeptCameras(keeping); err != nil || string(all["gate"]) != "2" {
		t.Errorf("kept: %q, %v", all, err)
	}
	assert.NoError(t, b.ForgetCamera(keeping, "gate"))
	checkpoints := b.Checkpoints()
	save(t, checkpoints, "gate", sealedData(1, 300_000), false)
	loaded(t, checkpoints, "gate", nil, sealedData(1, 300_000))
	assert.NoError(t, checkpoints.Delete(keeping, "gate"))
	require.NoError(t, b.Serve(granting("demo")))
	masks := make(chan *segdv1.MaskFrame, 1)
	watch(t, url("subscriber"), "demo", Handlers{Mask: func(m *segdv1.MaskFrame) { masks <- m }})
	require.NoError(t, errors.Join(b.PublishEvent(&segdv1.Event{Camera: "demo"}), b.PublishMask(maskFrame("demo", 1))))
	receive(t, masks)
	eventually(t, "the event is stored", func() bool { return b.Stats().EventsStored == 1 })
	_, err := (Target{URL: url("operator"), Site: "home", Camera: "demo"}).Annotate(t.Context(), []byte("{}"))
	assert.NoError(t, err)
	if events, _, err := b.Kept(keeping, api.Kept{Camera: "demo", From: time.Now().Add(-time.Hour), Limit: 1}); err != nil || len(events) != 1 {
		t.Errorf("kept: %v, %v", events, err)
	}
	keepPictures(t, b, 0, 1)
	eventually(t, "the picture is kept", func() bool { return b.Stats().PicturesKept == 1 })
	if picture(t, b, 0) == nil {
		t.Error("it is not there")
	}
	closeNow(t, b)
	nothingDenied(t, lines)
}

// sorted are p's subjects in one order; nil for everything.
func sorted(p *server.Permissions) [][]string {
	if p == nil {
		return nil
	}
	all := [][]string{slices.Sorted(slices.Values(p.Publish.Allow))}
	if p.Subscribe != nil {
		all = append(all, slices.Sorted(slices.Values(p.Subscribe.Allow)))
	}
	return all
}

func TestUserFaults(t *testing.T) {
	public, _ := userKey(t)
	secret := "secret-0123456789"
	for name, tt := range map[string]struct {
		users []User
		want  string
	}{
		"name":            {[]User{{Name: "a b", Password: secret, Role: Admin}}, `user 0: bus: bad name "a b"`},
		"twice":           {[]User{{Name: "a", Password: secret, Role: Admin}, {Name: "a", NKey: public, Role: Admin}}, `user "a" is there twice`},
		"neither":         {[]User{{Name: "a", Role: Admin}}, "want a password or a public NKey"},
		"both":            {[]User{{Name: "a", Password: secret, NKey: public, Role: Admin}}, "want a password or a public NKey"},
		"NKey":            {[]User{{Name: "a", NKey: "UABC", Role: Admin}}, `user "a": NKey is not a user's public one; want U…`},
		"one NKey of two": {[]User{{Name: "a", NKey: public, Role: Admin}, {Name: "b", NKey: public, Role: Admin}}, `user "b": another one has that NKey`},
		"role":            {[]User{{Name: "a", Password: secret, Role: "root"}}, `role "root"; want subscriber, operator or admin`},
	} {
		_, err := Open(t.Context(), Config{Embedded: Embedded{Users: tt.users}})
		if !errors.Is(err, ErrAccess) || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v, want an ErrAccess with %q", name, err, tt.want)
		}
	}
}

// TLS of the server inside: who trusts its certificate is let in, others are not, and
// a renewed one is used.
func TestServerTLS(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	cert, key := ca.issue("server")
	b, as, _ := guarded(t, Config{Embedded: Embedded{Cert: cert, Key: key}})
	if !strings.HasPrefix(b.URL(), "tls://127.0.0.1:") {
		t.Errorf("URL %s", b.URL())
	}
	trusted := Access{CA: filepath.Join(ca.dir, "ca.pem")}
	masks := make(chan *segdv1.MaskFrame, 1)
	watch(t, as(Subscriber), "demo", Handlers{Mask: func(m *segdv1.MaskFrame) { masks <- m }}, trusted)
	require.NoError(t, b.PublishMask(maskFrame("demo", 3)))
	assert.EqualValues(t, 3, receive(t, masks).Sequence, "sequence")
	plain := strings.Replace(as(Subscriber), "tls://", "nats://", 1)
	_, err := Dial(t.Context(), plain, trusted)
	assert.NoError(t, err, "by nats://, with the CA")
	for name, a := range map[string][]Access{"no CA": nil, "another CA": {{CA: filepath.Join(other.dir, "ca.pem")}}} {
		for _, url := range []string{as(Subscriber), plain} {
			_, err := Dial(t.Context(), url, a...)
			assert.ErrorContains(t, err, "certificate signed by unknown authority", "%s", name)
		}
	}
	_, err = Dial(t.Context(), strings.Replace(as(Subscriber), watchers, "wrong", 1), trusted)
	assert.ErrorIs(t, err, nats.ErrAuthorization, "a wrong password")

	for name, tt := range map[string]struct {
		cfg  Config
		want string
	}{
		"half":  {Config{Embedded: Embedded{Cert: cert}}, "belong together"},
		"none":  {Config{Embedded: Embedded{Cert: cert, Key: filepath.Join(t.TempDir(), "none")}}, "no such file"},
		"mixed": {Config{Embedded: Embedded{Cert: cert, Key: filepath.Join(other.dir, "ca.key")}}, "private key does not match"},
	} {
		if _, err := Open(t.Context(), tt.cfg); !errors.Is(err, ErrAccess) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want an ErrAccess with %q", name, err, tt.want)
		}
	}
}
