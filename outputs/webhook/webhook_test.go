package webhook

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/internal/waitfor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	appeared = segdv1.EventKind_EVENT_KIND_OBJECT_APPEARED
	entered  = segdv1.EventKind_EVENT_KIND_OBJECT_ENTERED
	down     = segdv1.EventKind_EVENT_KIND_CAMERA_DOWN

	secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
)

func event(n int) *segdv1.Event {
	return &segdv1.Event{
		Site: "home", Camera: "gate", Kind: entered, ObjectId: 256, ObjectLabel: "Ada", ObjectClass: "person", Zone: "door", Sequence: uint64(n),
		Time: timestamppb.New(time.Unix(1_800_000_000, 120_000_000)), Score: 0.5,
	}
}

// posted is what came to a server.
type posted struct {
	header http.Header
	body   []byte
	event  cloudEvent
}

// server answers posts by what do says, with the number of the post and of the event; nil: all are taken.
type server struct {
	*httptest.Server
	do atomic.Pointer[func(w http.ResponseWriter, n int, seq string)]

	mu  sync.Mutex
	all []posted
}

func serve(t *testing.T, do func(w http.ResponseWriter, n int, seq string)) *server {
	t.Helper()
	s := &server{}
	s.answer(do)
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := posted{header: r.Header}
		p.body, _ = io.ReadAll(r.Body)
		if err := json.Unmarshal(p.body, &p.event); err != nil || r.Method != http.MethodPost {
			t.Errorf("%s of %q: %v", r.Method, p.body, err)
		}
		s.mu.Lock()
		s.all = append(s.all, p)
		n := len(s.all)
		s.mu.Unlock()
		if do := s.do.Load(); *do != nil {
			(*do)(w, n, p.sequence())
		}
	}))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	t.Cleanup(s.Close)
	return s
}

func (s *server) answer(do func(w http.ResponseWriter, n int, seq string)) { s.do.Store(&do) }

func (p *posted) sequence() string {
	var ev segdv1.Event
	_ = protojson.Unmarshal(p.event.Data, &ev)
	return strconv.FormatUint(ev.Sequence, 10)
}

func (s *server) posts() []posted {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

// sequences are the events' of the posts, in their order.
func (s *server) sequences() (all []string) {
	for _, p := range s.posts() {
		all = append(all, p.sequence())
	}
	return all
}

// run has a Sender run until the test's end, or stop.
func run(t *testing.T, log *slog.Logger, hooks ...Hook) (s *Sender, stop func()) {
	t.Helper()
	s = New("1.2.3", log)
	s.times = times{answer: waitfor.Limit, minRetry: time.Millisecond, maxRetry: 4 * time.Millisecond, old: time.Hour, last: waitfor.Limit}
	require.NoError(t, s.Set(hooks))
	return s, start(t, s)
}

// start runs s until the test's end, or stop.
func start(t *testing.T, s *Sender) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		assert.NoError(t, s.Run(ctx))
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	t.Cleanup(stop)
	return stop
}

// The example of Standard Webhooks' reference libraries.
func TestSign(t *testing.T) {
	key, err := ParseSecret(secret)
	require.NoError(t, err)
	if got := sign(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`)); got != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
		t.Errorf("%s", got)
	}
}

// A post is a CloudEvent with the event in it, signed.
func TestPost(t *testing.T) {
	srv := serve(t, nil)
	srv.Start()
	file := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(file, []byte(secret+"\n"), 0o600))
	s, stop := run(t, nil, Hook{Name: "signed", URL: srv.URL + "/x?y=z", SecretFile: file}, Hook{Name: "plain", URL: srv.URL})
	want := event(7)
	s.Event(want)
	s.Event(&segdv1.Event{Site: "home", Camera: "gate", Kind: down, Time: want.Time, Message: `"no" <route>`})
	waitfor.True(t, "four posts", func() bool { return len(srv.posts()) == 4 })
	stop()
	ids := map[string]bool{}
	signed := 0
	for _, p := range srv.posts() {
		id, at := p.header.Get("Webhook-Id"), p.header.Get("Webhook-Timestamp")
		ids[id] = true
		if n, err := strconv.ParseInt(at, 10, 64); err != nil || time.Since(time.Unix(n, 0)).Abs() > waitfor.Limit {
			t.Errorf("timestamp %q", at)
		}
		if got := p.header.Get("Webhook-Signature"); got != "" {
			key, _ := ParseSecret(secret)
			if signed++; got != sign(key, id, at, p.body) {
				t.Errorf("signature %q", got)
			}
		}
		if p.header.Get("Content-Type") != "application/cloudevents+json; charset=utf-8" || p.header.Get("User-Agent") != "segd/1.2.3" {
			t.Errorf("headers %v", p.header)
		}
		var got segdv1.Event
		require.NoError(t, protojson.Unmarshal(p.event.Data, &got))
		e := p.event
		e.Data = nil
		expected := cloudEvent{
			SpecVersion: "1.0", ID: id, Source: "/segd/home/gate", Type: "segd.v1.object_entered", Subject: "objects/256",
			Time: "2027-01-15T08:00:00.12Z", DataContentType: "application/json",
		}
		if got.Kind == down {
			expected.Type, expected.Subject = "segd.v1.camera_down", ""
		} else if !proto.Equal(&got, want) {
			t.Errorf("event %v; want %v", &got, want)
		}
		assert.Equal(t, fmt.Sprint(expected), fmt.Sprint(e), "%+v\nwant %+v", e, expected)
	}
	if len(ids) != 2 || signed != 2 {
		t.Errorf("%d ids and %d signed of 2 events, each posted to 2 servers", len(ids), signed)
	}
}

// Each hook hears of what it asks for.
func TestWants(t *testing.T) {
	for _, tt := range []struct {
		name string
		hook Hook
		ev   *segdv1.Event
		want bool
	}{
		{"everything", Hook{}, event(1), true},
		{"a kind", Hook{Kinds: []string{"object_entered"}}, event(1), true},
		{"another kind", Hook{Kinds: []string{"object_left", "camera_down"}}, event(1), false},
		{"a camera", Hook{Cameras: []string{"yard", "gate"}}, event(1), true},
		{"another camera", Hook{Cameras: []string{"yard"}}, event(1), false},
		{"a class", Hook{Classes: []string{"person"}}, event(1), true},
		{"another class", Hook{Classes: []string{"car"}}, event(1), false},
		{"of no class", Hook{Classes: []string{"person"}}, &segdv1.Event{Kind: down}, false},
		{"a zone", Hook{Zones: []string{"door"}}, event(1), true},
		{"another zone", Hook{Zones: []string{"yard"}}, event(1), false},
		{"a line", Hook{Zones: []string{"street"}}, &segdv1.Event{Line: "street"}, true},
		{"of no zone", Hook{Zones: []string{"door"}}, &segdv1.Event{Kind: appeared}, false},
		{"all of them", Hook{Kinds: []string{"object_entered"}, Cameras: []string{"gate"}, Classes: []string{"person"}, Zones: []string{"door"}}, event(1), true},
	} {
		assert.Equal(t, tt.want, tt.hook.wants(tt.ev), "%s", tt.name)
	}
}

// heard is a log that counts its warnings.
func heard() (*slog.Logger, func() string) {
	var mu sync.Mutex
	var text strings.Builder
	log := slog.New(slog.NewTextHandler(writer(func(b []byte) {
		mu.Lock()
		defer mu.Unlock()
		text.Write(b)
	}), nil))
	return log, func() string {
		mu.Lock()
		defer mu.Unlock()
		return text.String()
	}
}

type writer func([]byte)

func (w writer) Write(b []byte) (int, error) { w(b); return len(b), nil }

// What a server does not take is posted again, in order and under its id, and said once.
func TestRetries(t *testing.T) {
	log, said := heard()
	srv := serve(t, func(w http.ResponseWriter, n int, _ string) {
		if n <= 5 { // for two causes in turn
			w.WriteHeader([]int{http.StatusBadGateway, http.StatusInternalServerError}[n%2])
		}
	})
	srv.Start()
	s, stop := run(t, log, Hook{Name: "door", URL: srv.URL + "/token-in-the-path"})
	for n := range 3 {
		s.Event(event(n))
	}
	waitfor.True(t, "all taken", func() bool { return s.Stats()[0].Delivered == 3 })
	stop()
	if got, want := srv.sequences(), []string{"0", "0", "0", "0", "0", "0", "1", "2"}; !slices.Equal(got, want) {
		t.Errorf("posted %q; want %q", got, want)
	}
	all := srv.posts()
	for _, p := range all[1:6] {
		if p.event.ID != all[0].event.ID || p.header.Get("Webhook-Id") != all[0].event.ID {
			t.Errorf("id %q; want that of the first post, %q", p.event.ID, all[0].event.ID)
		}
	}
	if st := s.Stats()[0]; st != (Stats{Name: "door", Delivered: 3, Failed: 5}) {
		t.Errorf("%+v", st)
	}
	if text := said(); strings.Count(text, "level=WARN") != 1 || !strings.Contains(text, "500 Internal Server Error") || strings.Contains(text, "token-in-the-path") || strings.Count(text, "takes events again") != 1 {
		t.Errorf("log:\n%s", text)
	}
}

// A server that says when to come again is not asked before, but for more than maxAfter.
func TestRetryAfter(t *testing.T) {
	srv := serve(t, func(w http.ResponseWriter, n int, _ string) {
		w.Header().Set("Retry-After", []string{"1", "99999999"}[n%2])
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	srv.Start()
	target := &target{Hook: Hook{Name: "door", URL: srv.URL}}
	client := target.client(waitfor.Limit)
	defer client.CloseIdleConnections()
	for _, want := range []time.Duration{maxAfter, time.Second} {
		if a := target.post(t.Context(), client, "segd", &message{id: "evt_1", body: []byte("{}")}); a.err == nil || a.forGood || a.after != want {
			t.Errorf("%+v; want it to be posted again after %v", a, want)
		}
	}
}

// A server that does not answer does not keep segd from ending.
func TestEndWhileServerHangs(t *testing.T) {
	hanging := make(chan struct{})
	srv := serve(t, func(http.ResponseWriter, int, string) { <-hanging })
	srv.Start()
	defer close(hanging)
	s := New("1.2.3", nil)
	s.times.answer, s.times.last = time.Hour, 10*time.Millisecond
	require.NoError(t, s.Set([]Hook{{Name: "door", URL: srv.URL}}))
	s.Event(event(0))
	stop := start(t, s)
	waitfor.True(t, "posted", func() bool { return len(srv.posts()) > 0 })
	stop()
	if st := s.Stats()[0]; st.Waiting != 1 {
		t.Errorf("%+v; want one that was not sent", st)
	}
	if err := s.Set([]Hook{{Name: "door", URL: srv.URL, Kinds: []string{"camera_up"}}}); err != nil { // after the end, too
		t.Error(err)
	}
}

// What a server refuses for good is not posted again; a redirect is not followed, and anything else is tried again.
func TestRefused(t *testing.T) {
	elsewhere := serve(t, nil)
	elsewhere.Start()
	status := map[string]int{"0": 400, "1": 413, "2": 422, "3": 415, "4": 404, "5": 302, "6": 429}
	var mu sync.Mutex
	times := map[string]int{}
	srv := serve(t, func(w http.ResponseWriter, _ int, seq string) {
		mu.Lock()
		defer mu.Unlock()
		if times[seq]++; times[seq] == 1 {
			w.Header().Set("Location", elsewhere.URL)
			w.WriteHeader(status[seq])
		}
	})
	srv.Start()
	s, _ := run(t, nil, Hook{Name: "door", URL: srv.URL})
	for n := range 7 {
		s.Event(event(n))
	}
	waitfor.True(t, "all dealt with", func() bool { st := s.Stats()[0]; return st.Delivered+st.Refused == 7 })
	if st := s.Stats()[0]; st != (Stats{Name: "door", Delivered: 3, Failed: 7, Refused: 4}) {
		t.Errorf("%+v", st)
	}
	assert.Equal(t, 0, len(elsewhere.posts()), "posts where the server sent us")
}

// While a server hangs, so many events wait, the newest, and no camera waits for them.
func TestQueueIsBounded(t *testing.T) {
	hang := make(chan struct{})
	srv := serve(t, func(http.ResponseWriter, int, string) { <-hang })
	srv.Start()
	s, _ := run(t, nil, Hook{Name: "door", URL: srv.URL})
	s.Event(event(0))
	waitfor.True(t, "it hangs", func() bool { return len(srv.posts()) == 1 })
	for n := range maxEvents + 9 {
		s.Event(event(n + 1))
	}
	if st := s.Stats()[0]; st.Waiting != maxEvents || st.Overflowed != 10 {
		t.Errorf("%+v; want %d to wait, and 10 to have gone", st, maxEvents)
	}
	large := event(0)
	large.Message = strings.Repeat("x", maxBytes/2)
	for range 3 {
		s.Event(large)
	}
	if st := s.Stats()[0]; st.Waiting != 1 {
		t.Errorf("%+v; want one large event to wait", st)
	}
	close(hang)
	waitfor.True(t, "it goes on", func() bool { return s.Stats()[0].Delivered == 1 })
	assert.Equal(t, []string{"0", "0"}, srv.sequences(), "posted")
}

// A server that hangs is given up for a while, and an event that is too old for ever.
func TestTooOld(t *testing.T) {
	hang := make(chan struct{})
	srv := serve(t, func(http.ResponseWriter, int, string) { <-hang })
	srv.Start()
	defer close(hang)
	s := New("1.2.3", nil)
	s.times = times{answer: 10 * time.Millisecond, minRetry: time.Millisecond, maxRetry: time.Millisecond, old: 50 * time.Millisecond, last: time.Millisecond}
	require.NoError(t, s.Set([]Hook{{Name: "door", URL: srv.URL}}))
	start(t, s)
	s.Event(event(0))
	waitfor.True(t, "given up", func() bool { return s.Stats()[0].Expired == 1 })
	if st := s.Stats()[0]; st.Waiting != 0 || st.Failed == 0 {
		t.Errorf("%+v", st)
	}
}

// Another URL takes what waits, a hook that is removed gets nothing any more, and a faulty change changes nothing.
func TestSet(t *testing.T) {
	bad := serve(t, func(w http.ResponseWriter, _ int, _ string) { w.WriteHeader(http.StatusBadGateway) })
	bad.Start()
	good := serve(t, nil)
	good.Start()
	worse := serve(t, func(w http.ResponseWriter, _ int, _ string) { w.WriteHeader(http.StatusInternalServerError) })
	worse.Start()
	log, said := heard()
	s, stop := run(t, log, Hook{Name: "door", URL: bad.URL}, Hook{Name: "gone", URL: bad.URL})
	s.Event(event(0))
	waitfor.True(t, "posted", func() bool { return len(bad.posts()) >= 2 })
	err := s.Set([]Hook{{Name: "door", URL: "ftp://x", Secret: "guess-me-not", SecretFile: "/nowhere", CA: "/nowhere"}, {Name: "yard", URL: good.URL}})
	for _, want := range []string{"webhook: door: url: it is none", "webhook: door: secret: it is none; accepted: whsec_", "webhook: door: secret_file: ", "webhook: door: ca: /nowhere"} {
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "guess") {
			t.Errorf("%v; want it to say %q", err, want)
		}
	}
	if all := s.Stats(); len(all) != 2 || all[1].Name != "gone" {
		t.Errorf("%+v; want the hooks as they were", all)
	}
	require.NoError(t, s.Set([]Hook{{Name: "door", URL: worse.URL}}))
	waitfor.True(t, "posted to another that does not take it", func() bool { return len(worse.posts()) >= 2 })
	require.NoError(t, s.Set([]Hook{{Name: "door", URL: good.URL}, {Name: "new", URL: good.URL}}))
	waitfor.True(t, "it comes to the other server", func() bool { return s.Stats()[0].Delivered == 1 })
	s.Event(event(1))
	waitfor.True(t, "the next ones too", func() bool { return len(good.posts()) == 3 })
	stop()
	assert.Equal(t, []string{"0", "1", "1"}, good.sequences(), "posted")
	if text := said(); strings.Count(text, "500 Internal Server Error") != 1 {
		t.Errorf("each server that takes nothing is to be told of once:\n%s", text)
	}
}

// A hook is another one when anything of it differs, and what is in its files.
func TestSame(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "secret")
	srv := serve(t, nil)
	srv.StartTLS()
	write := func(name string, text []byte) string {
		t.Helper()
		name = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(name, text, 0o600))
		return name
	}
	write("secret", []byte(secret))
	ca := write("ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}))
	ready := func(h Hook) *target {
		t.Helper()
		made, err := h.ready()
		require.NoError(t, err)
		return made
	}
	h := Hook{Name: "a", URL: "https://h", SecretFile: file, CA: ca, Kinds: []string{"camera_up"}}
	before := ready(h)
	if !before.same(ready(h)) {
		t.Error("nothing differs")
	}
	other := h
	other.Kinds = nil
	if before.same(ready(other)) {
		t.Error("the kinds differ")
	}
	other = h
	other.CA = ""
	if before.same(ready(other)) {
		t.Error("there is no CA")
	}
	write("secret", []byte(keyPrefix+base64.StdEncoding.EncodeToString(make([]byte, 32))))
	if before.same(ready(h)) {
		t.Error("the file has another secret")
	}
}

// At the end what waits is posted, and counted if it cannot be.
func TestEnd(t *testing.T) {
	for _, works := range []bool{true, false} {
		log, said := heard()
		srv := serve(t, func(w http.ResponseWriter, _ int, _ string) {
			if !works {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		})
		srv.Start()
		s := New("1.2.3", log)
		s.times.minRetry, s.times.maxRetry = time.Hour, time.Hour
		s.times.answer, s.times.last = waitfor.Limit, waitfor.Limit
		require.NoError(t, s.Set([]Hook{{Name: "door", URL: srv.URL}}))
		for n := range 3 {
			s.Event(event(n)) // which waits for Run
		}
		stop := start(t, s)
		waitfor.True(t, "posted", func() bool { return len(srv.posts()) > 0 })
		stop()
		s.Event(event(9))
		want := Stats{Name: "door", Delivered: 3}
		if !works {
			want = Stats{Name: "door", Waiting: 3, Failed: 2}
		}
		if st := s.Stats()[0]; st != want {
			t.Errorf("%+v; want %+v", st, want)
		}
		if got := strings.Contains(said(), "before a webhook's server has taken all events"); got == works {
			t.Errorf("log:\n%s", said())
		}
	}
}

// A server's certificate is looked at, and its own CA may be named.
func TestTLS(t *testing.T) {
	srv := serve(t, nil)
	srv.StartTLS()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600))
	trusted, not := Hook{Name: "trusted", URL: srv.URL, CA: ca}, Hook{Name: "not", URL: srv.URL}
	assert.NoError(t, Try(t.Context(), trusted))
	if err := Try(t.Context(), not); err == nil || !strings.HasPrefix(err.Error(), "webhook: not: ") {
		t.Errorf("%v; want the certificate refused", err)
	}
	s, _ := run(t, nil, trusted, not)
	s.Event(event(0))
	waitfor.True(t, "posted", func() bool { st := s.Stats(); return st[0].Delivered == 1 && st[1].Failed > 0 })
	assert.Len(t, srv.posts(), 1, "posts")
	old := serve(t, nil)
	old.TLS = &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}
	old.StartTLS()
	assert.ErrorContains(t, Try(t.Context(), Hook{Name: "old", URL: old.URL, CA: ca}), "protocol version")
	assert.NoError(t, Try(t.Context(), Hook{Name: "plain", URL: "http" + strings.TrimPrefix(srv.URL, "https")}))
}

func TestParseSecret(t *testing.T) {
	for text, ok := range map[string]bool{
		secret: true, "": false, "whsec_": false, strings.TrimPrefix(secret, keyPrefix): false, "whsec_*": false,
		keyPrefix + base64.StdEncoding.EncodeToString(make([]byte, 64)): true, keyPrefix + base64.StdEncoding.EncodeToString(make([]byte, 65)): false,
		keyPrefix + base64.StdEncoding.EncodeToString(make([]byte, 23)): false,
	} {
		if _, err := ParseSecret(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}
