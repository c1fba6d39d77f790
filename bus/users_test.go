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
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"github.com/segd/segd/bus/segdv1"
)

const (
	watchers = "watchers-0123456789"
	robots   = "robots-0123456789"
	masters  = "$2a$04$0.xtVs.Yx4QAzXv35LUNH.zvJ8.9dRAStwRDALp6Paqh9UuKd.sLO" // bcrypt of masters-0123456789
)

// guarded is a Bus whose server knows one user of each role; the operator has a key.
func guarded(t *testing.T, cfg Config) (b *Bus, as func(Role) string, key nats.Option) {
	t.Helper()
	public, seed := userKey(t)
	key, err := nats.NkeyOptionFromSeed(seed)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Site = "here"
	cfg.Users = []User{
		{Name: "watcher", Password: watchers, Role: Subscriber},
		{Name: "robot", Password: robots, Role: Operator},
		{Name: "robot2", NKey: public, Role: Operator},
		{Name: "master", Password: masters, Role: Admin},
	}
	b = open(t, cfg)
	return b, func(r Role) string {
		user := map[Role]string{Subscriber: "watcher:" + watchers, Operator: "robot:" + robots, Admin: "master:masters-0123456789"}[r]
		return strings.Replace(b.URL(), "://", "://"+user+"@", 1)
	}, key
}

// login connects as a user, whose LastError is what the server does not permit it.
func login(t *testing.T, url string, opts ...nats.Option) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(url, append(opts, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// Each role may do what it is for, and is denied the rest.
func TestRoles(t *testing.T) {
	b, as, key := guarded(t, Config{Masks: Retention{MaxAge: time.Hour}})
	var cleared atomic.Int32
	err := b.Serve(Commands{
		Cameras: []string{"demo"}, Annotate: granted,
		Clear: func(context.Context, string, uint32) error { cleared.Add(1); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(b.PublishMask(maskFrame("demo", 1)), b.PublishEvent(&segdv1.Event{Camera: "demo"})); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the event is stored", func() bool { return b.Stats().EventsStored == 1 })
	const (
		pub = "publish"
		sub = "subscribe"
	)
	for _, tt := range []struct {
		verb, subject string
		may           []Role
	}{
		{sub, "segd.v1.here.demo.mask", []Role{Subscriber, Operator, Admin}},
		{sub, "segd.v1.*.*.mask", []Role{Subscriber, Operator, Admin}},
		{sub, "segd.v1.here.*.event", []Role{Subscriber, Operator, Admin}},
		{sub, "segd.v1.here.demo.status", []Role{Subscriber, Operator, Admin}},
		{sub, "_INBOX_watcher.>", []Role{Subscriber, Admin}},
		{sub, "_INBOX.>", []Role{Operator, Admin}}, // what others are answered, pictures too
		{sub, "segd.v1.>", []Role{Admin}},
		{sub, "segd.v1.here.demo.annotate", []Role{Admin}},
		{sub, "$SRV.>", []Role{Admin}},
		{sub, "$JS.>", []Role{Admin}},
		{sub, ">", []Role{Admin}},
		{pub, "segd.v1.here.demo.mask", []Role{Admin}},
		{pub, "segd.v1.here.demo.event", []Role{Admin}},
		{pub, "segd.v1.here.demo.status", []Role{Admin}},
		{pub, "segd.v1.here.demo.annotate", []Role{Operator, Admin}},
		{pub, "segd.v1.here.demo.clear", []Role{Operator, Admin}},
		{pub, "segd.v1.here.demo.rename", []Role{Operator, Admin}},
		{pub, "segd.v1.here.demo.snapshot", []Role{Operator, Admin}},
		{pub, "segd.v1.here.demo.state", []Role{Operator, Admin}},
		{pub, "segd.v1.there.demo.clear", []Role{Admin}},
		{pub, "_INBOX.another.1", []Role{Admin}},
		{pub, "segd.v1.here.reload", []Role{Operator, Admin}},
		{pub, "segd.v1.there.reload", []Role{Admin}},
		{pub, "segd.v1.here.camera.add", []Role{Operator, Admin}},
		{pub, "segd.v1.here.camera.remove", []Role{Operator, Admin}},
		{pub, "segd.v1.there.camera.list", []Role{Admin}},
		{pub, "$KV.segd_here_cameras.gate", []Role{Admin}},
		{pub, "$JS.API.DIRECT.GET.KV_segd_here_cameras.$KV.segd_here_cameras.gate", []Role{Admin}},
		{pub, "$O.segd_here_checkpoints.C.1", []Role{Admin}},
		{pub, "$JS.API.DIRECT.GET.OBJ_segd_here_checkpoints.$O.segd_here_checkpoints.C.1", []Role{Admin}},
		{pub, "$JS.API.STREAM.MSG.GET.OBJ_segd_here_checkpoints", []Role{Admin}},
		{pub, "$SRV.INFO.segd", []Role{Operator, Admin}},
		{pub, "$SRV.PING", []Role{Operator, Admin}},
		{pub, "$JS.API.STREAM.INFO.segd_here_event", []Role{Subscriber, Operator, Admin}},
		{pub, "$JS.API.STREAM.DELETE.segd_there_event", []Role{Admin}},
		{pub, "$JS.API.STREAM.PURGE.segd_there_event", []Role{Admin}},
		{pub, "$JS.API.STREAM.CREATE.mine", []Role{Admin}},
		{pub, "$JS.API.STREAM.UPDATE.segd_there_event", []Role{Admin}},
		{pub, "$JS.API.STREAM.MSG.DELETE.segd_there_event", []Role{Admin}},
		{pub, "$JS.API.CONSUMER.DELETE.segd_there_event.billing", []Role{Admin}},
		{pub, "$JS.API.STREAM.MSG.GET.segd_there_event", []Role{Admin}},
		{pub, "$SYS.REQ.SERVER.PING", []Role{Admin}}, // who is in another account: nobody hears it
		{pub, "anything", []Role{Admin}},
	} {
		for _, role := range []Role{Subscriber, Operator, Admin} {
			urls, opts := []string{as(role)}, [][]nats.Option{nil}
			if role == Operator {
				urls, opts = append(urls, b.URL()), append(opts, []nats.Option{key})
			}
			for i, url := range urls {
				nc := login(t, url, opts[i]...)
				if tt.verb == sub {
					if _, err := nc.SubscribeSync(tt.subject); err != nil {
						t.Fatal(err)
					}
				} else if err := nc.Publish(tt.subject, nil); err != nil {
					t.Fatal(err)
				}
				if err := nc.Flush(); err != nil {
					t.Fatal(err)
				}
				denied := errors.Is(nc.LastError(), nats.ErrPermissionViolation)
				nc.Close()
				if got, want := !denied, slices.Contains(tt.may, role); got != want {
					t.Errorf("%s may %s %s: %v, want %v", role, tt.verb, tt.subject, got, want)
				}
			}
		}
	}
	cleared.Store(0)

	// The commands and libraries that people use.
	watcher, operator := as(Subscriber), Target{URL: as(Operator), Site: "here", Camera: "demo"}
	masks := make(chan *segdv1.MaskFrame, 1)
	watch(t, watcher, "demo", Handlers{Mask: func(m *segdv1.MaskFrame) { masks <- m }})
	if err := b.PublishMask(maskFrame("demo", 2)); err != nil {
		t.Fatal(err)
	}
	if got := receive(t, masks).Sequence; got != 2 {
		t.Errorf("sequence %d, want 2", got)
	}
	if err := operator.Clear(t.Context(), 0); err != nil || cleared.Load() != 1 {
		t.Errorf("the operator's clear: %v, %d done", err, cleared.Load())
	}
	operator.Camera = "attic"
	if err := operator.Clear(t.Context(), 0); !errors.Is(err, ErrUnknownCamera) || !strings.Contains(err.Error(), "here/demo") {
		t.Errorf("an unknown camera: %v, want the ones there are", err)
	}
	if err := (Target{URL: watcher, Site: "here", Camera: "demo"}).Clear(t.Context(), 0); !errors.Is(err, nats.ErrPermissionViolation) {
		t.Errorf("the subscriber's clear: %v, want %v", err, nats.ErrPermissionViolation)
	}
	if n := cleared.Load(); n != 1 {
		t.Errorf("cleared %d times, want once", n)
	}
	nc := login(t, watcher, nats.CustomInboxPrefix(User{Name: "watcher"}.Inbox()))
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []Kind{KindEvent, KindMask} {
		consumer, err := js.OrderedConsumer(t.Context(), StreamName("here", kind), jetstream.OrderedConsumerConfig{})
		if err != nil {
			t.Fatal(err)
		}
		if msg, err := consumer.Next(); err != nil || kindOf(msg.Subject()) != kind {
			t.Errorf("%s from the stream: %v, %v", kind, msg, err)
		}
	}
	lasting, err := js.CreateConsumer(t.Context(), StreamName("here", KindEvent), jetstream.ConsumerConfig{Durable: "billing"})
	if err != nil {
		t.Fatal(err)
	}
	msg, err := lasting.Next()
	if err != nil {
		t.Fatal(err)
	}
	if err := msg.DoubleAck(t.Context()); err != nil {
		t.Error(err)
	}
	if err := nc.LastError(); err != nil {
		t.Errorf("reading a stream: %v", err)
	}
}

// Who may read a stream may have the server send what is in it, and its own answers,
// to any subject. None of that is a command, and no answer to a command is a mask.
func TestStreamsAreNoCommands(t *testing.T) {
	var refused, cleared atomic.Int32
	b, as, _ := guarded(t, Config{JSON: true, Refused: func(r Refusal) {
		if r == NoRequest {
			refused.Add(1)
		}
	}})
	err := b.Serve(Commands{
		Cameras: []string{"demo"}, Annotate: granted,
		Clear: func(context.Context, string, uint32) error { cleared.Add(1); return nil },
		Objects: func(context.Context, string) (*segdv1.ObjectList, error) {
			return &segdv1.ObjectList{Site: "here", Camera: "demo", Sequence: 1}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.PublishEvent(&segdv1.Event{Camera: "demo"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the event is stored", func() bool { return b.Stats().EventsStored == 1 })
	nc := login(t, as(Subscriber), nats.CustomInboxPrefix(User{Name: "watcher"}.Inbox()))
	old, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	for i, ack := range []nats.AckPolicy{nats.AckNonePolicy, nats.AckExplicitPolicy} {
		_, err = old.AddConsumer(StreamName("here", KindEvent), &nats.ConsumerConfig{
			Name: "c" + string(rune('0'+i)), DeliverSubject: "segd.v1.here.demo.clear", HeadersOnly: true, // an empty payload clears all
			DeliverGroup: micro.DefaultQueueGroup, AckPolicy: ack,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "they are refused", func() bool { return refused.Load() >= 2 })
	if n := cleared.Load(); n > 0 {
		t.Errorf("the objects were cleared %d times", n)
	}

	masks := make(chan string, 1)
	watch(t, as(Subscriber), "demo", Handlers{Mask: func(m *segdv1.MaskFrame) { masks <- m.String() }})
	robot := login(t, as(Operator))
	before := refused.Load()
	if err := robot.PublishRequest("segd.v1.here.demo.objects", "segd.v1.here.demo.mask", nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is refused", func() bool { return refused.Load() > before })
	reply, err := robot.Request("segd.v1.here.demo.objects", nil, patience)
	if err != nil || reply.Header.Get(micro.ErrorCodeHeader) != "" {
		t.Errorf("an ordinary request: %v, %v", reply, err)
	}
	if err := b.PublishMask(maskFrame("demo", 7)); err != nil {
		t.Fatal(err)
	}
	if m := receive(t, masks); !strings.Contains(m, "7") {
		t.Errorf("a subscriber got %s", m)
	}
}

func TestLogins(t *testing.T) {
	lines := make(chan string, 1000)
	b, as, _ := guarded(t, Config{Token: "the-token-0123456789", Logger: logTo(lines)})
	for _, role := range []Role{Subscriber, Operator, Admin} {
		if err := Dial(t.Context(), as(role)); err != nil {
			t.Errorf("%s: %v", role, err)
		}
	}
	with := func(user string) string { return strings.Replace(b.URL(), "://", "://"+user+"@", 1) }
	nc := login(t, with("the-token-0123456789"))
	if err := errors.Join(nc.Publish("anything", nil), nc.Flush(), nc.LastError()); err != nil {
		t.Errorf("the token's bearer may not do everything: %v", err)
	}
	for name, login := range map[string]string{
		"nobody": b.URL(), "no password": with("watcher:"), "another's": with("watcher:" + robots),
		"stranger": with("mallory:" + watchers), "the hash": with("master:" + url.QueryEscape(masters)), "token": with("another-0123456789"), "password as token": with(watchers),
	} {
		if err := Dial(t.Context(), login); !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("%s: %v, want %v", name, err, nats.ErrAuthorization)
		}
	}
	if !b.Connected() {
		t.Error("segd's own connection is gone")
	}
	closeNow(t, b)
	close(lines)
	for line := range lines {
		for _, secret := range []string{watchers, robots, "masters-0", "$2a$", "the-token"} {
			if strings.Contains(line, secret) {
				t.Errorf("%q gives a password away", line)
			}
		}
	}
}

// composeServer starts the NATS of the compose file, and returns the URL for a user.
func composeServer(t *testing.T) (opts *server.Options, url func(user string) string) {
	t.Helper()
	for _, name := range []string{"SEGD", "SUBSCRIBER", "OPERATOR", "ADMIN"} {
		t.Setenv("NATS_"+name, `"1234567890"`) // of digits, quoted as compose.yaml has it
	}
	opts, err := server.ProcessConfigFile("../deploy/compose/nats.conf")
	if err != nil {
		t.Fatal(err)
	}
	opts.Port = freePort(t)
	opts.StoreDir = t.TempDir()
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
		if strings.Contains(strings.ToLower(line), "permission") {
			t.Error(line)
		}
	}
}

// So many cameras are kept that the server wants segd to say now and then how far it has read: that takes a permission,
// without which the server sends no more, and segd takes the rest for damaged.
func TestComposeManyCameras(t *testing.T) {
	_, url := composeServer(t)
	lines := make(chan string, 10000)
	b := open(t, Config{URL: url("segd"), Site: "home", Logger: logTo(lines)})
	keeping, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	eventually(t, "the connection", b.Connected)
	const cameras = 1200
	value := make([]byte, 20_000)
	for i := range cameras {
		if err := b.KeepCamera(keeping, fmt.Sprintf("c%d", i), value); err != nil {
			t.Fatal(err)
		}
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

// segd's user there may what docs/nats.md says that it has to be allowed.
func TestComposeIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/nats.md")
	if err != nil {
		t.Fatal(err)
	}
	subjects := map[string][]string{}
	for _, m := range regexp.MustCompile(`(?m)^    (publish|subscribe): +(.+)$`).FindAllStringSubmatch(string(text), -1) {
		subjects[m[1]] = append(subjects[m[1]], strings.Fields(m[2])...)
	}
	want := &server.Permissions{Publish: &server.SubjectPermission{Allow: subjects["publish"]}, Subscribe: &server.SubjectPermission{Allow: subjects["subscribe"]}}
	opts, _ := composeServer(t)
	i := slices.IndexFunc(opts.Users, func(u *server.User) bool { return u.Username == "segd" })
	if i < 0 {
		t.Fatal("no segd")
	}
	if diff := cmp.Diff(sorted(want), sorted(opts.Users[i].Permissions)); diff != "" {
		t.Errorf("deploy/compose/nats.conf permits segd something else than docs/nats.md asks for (-docs +file):\n%s", diff)
	}
}

// The NATS of the compose file has the same roles, and lets segd do what it does.
func TestComposeUsers(t *testing.T) {
	opts, url := composeServer(t)
	for _, role := range []Role{Subscriber, Operator, Admin} {
		i := slices.IndexFunc(opts.Users, func(u *server.User) bool { return u.Username == string(role) })
		if i < 0 {
			t.Fatalf("no %s", role)
		}
		got, want := opts.Users[i].Permissions, User{Name: string(role), Role: role}.permissions("home")
		if diff := cmp.Diff(sorted(want), sorted(got)); diff != "" {
			t.Errorf("%s may something else than within segd:\n%s", role, diff)
		}
	}
	lines := make(chan string, 1000)
	b := open(t, Config{URL: url("segd"), Site: "home", Logger: logTo(lines), Masks: Retention{MaxAge: time.Minute}})
	keeping, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	eventually(t, "the connection", b.Connected)
	for _, value := range []string{"1", "2"} {
		if err := b.KeepCamera(keeping, "gate", []byte(value)); err != nil {
			t.Error(err)
		}
	}
	if all, err := b.KeptCameras(keeping); err != nil || string(all["gate"]) != "2" {
		t.Errorf("kept: %q, %v", all, err)
	}
	if err := b.ForgetCamera(keeping, "gate"); err != nil {
		t.Error(err)
	}
	checkpoints := b.Checkpoints()
	save(t, checkpoints, "gate", sealedData(1, 300_000), false)
	loaded(t, checkpoints, "gate", nil, sealedData(1, 300_000))
	if err := checkpoints.Delete(keeping, "gate"); err != nil {
		t.Error(err)
	}
	if err := b.Serve(Commands{Cameras: []string{"demo"}, Annotate: granted}); err != nil {
		t.Fatal(err)
	}
	masks := make(chan *segdv1.MaskFrame, 1)
	watch(t, url("subscriber"), "demo", Handlers{Mask: func(m *segdv1.MaskFrame) { masks <- m }})
	if err := errors.Join(b.PublishEvent(&segdv1.Event{Camera: "demo"}), b.PublishMask(maskFrame("demo", 1))); err != nil {
		t.Fatal(err)
	}
	receive(t, masks)
	eventually(t, "the event is stored", func() bool { return b.Stats().EventsStored == 1 })
	if _, err := (Target{URL: url("operator"), Site: "home", Camera: "demo"}).Annotate(t.Context(), []byte("{}")); err != nil {
		t.Error(err)
	}
	closeNow(t, b)
	nothingDenied(t, lines)
}

// sorted are p's subjects in one order; nil for everything.
func sorted(p *server.Permissions) [][]string {
	if p == nil {
		return nil
	}
	return [][]string{slices.Sorted(slices.Values(p.Publish.Allow)), slices.Sorted(slices.Values(p.Subscribe.Allow))}
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
		_, err := Open(t.Context(), Config{Users: tt.users})
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
	b, as, _ := guarded(t, Config{Cert: cert, Key: key})
	if !strings.HasPrefix(b.URL(), "tls://127.0.0.1:") {
		t.Errorf("URL %s", b.URL())
	}
	trusted := Access{CA: filepath.Join(ca.dir, "ca.pem")}
	masks := make(chan *segdv1.MaskFrame, 1)
	watch(t, as(Subscriber), "demo", Handlers{Mask: func(m *segdv1.MaskFrame) { masks <- m }}, trusted)
	if err := b.PublishMask(maskFrame("demo", 3)); err != nil {
		t.Fatal(err)
	}
	if got := receive(t, masks).Sequence; got != 3 {
		t.Errorf("sequence %d, want 3", got)
	}
	plain := strings.Replace(as(Subscriber), "tls://", "nats://", 1)
	if err := Dial(t.Context(), plain, trusted); err != nil {
		t.Errorf("by nats://, with the CA: %v", err)
	}
	for name, a := range map[string][]Access{"no CA": nil, "another CA": {{CA: filepath.Join(other.dir, "ca.pem")}}} {
		for _, url := range []string{as(Subscriber), plain} {
			if err := Dial(t.Context(), url, a...); err == nil || !strings.Contains(err.Error(), "certificate signed by unknown authority") {
				t.Errorf("%s: %v, want it not to trust the certificate", name, err)
			}
		}
	}
	if err := Dial(t.Context(), strings.Replace(as(Subscriber), watchers, "wrong", 1), trusted); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("a wrong password: %v", err)
	}

	for name, tt := range map[string]struct {
		cfg  Config
		want string
	}{
		"half":  {Config{Cert: cert}, "belong together"},
		"none":  {Config{Cert: cert, Key: filepath.Join(t.TempDir(), "none")}, "no such file"},
		"mixed": {Config{Cert: cert, Key: filepath.Join(other.dir, "ca.key")}, "private key does not match"},
	} {
		if _, err := Open(t.Context(), tt.cfg); !errors.Is(err, ErrAccess) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want an ErrAccess with %q", name, err, tt.want)
		}
	}
}
