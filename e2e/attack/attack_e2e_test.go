//go:build e2e

package attack

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	mrand "math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/e2e/harness"
	"github.com/segd/segd/internal/docs"
	"github.com/segd/segd/web/boxlink"
)

var (
	seed   = flag.Uint64("seed", 1, "in which order, and what is tried at random")
	length = flag.Duration("for", 2*time.Minute, "how long all of it goes on: what is left after the tables is for tries at random")
	asJSON = flag.Bool("json", false, "print what came of it as a line of JSON")
)

const (
	// manyConsumers, each with a name of its own, are tried to be made.
	manyConsumers = 4000
	// manyViews are opened by a viewer; it is segd's limit, http.viewers.
	manyViews = 64
	// atRandom bounds the tries at random of a role.
	atRandom = 20_000
	// longest is an error's text, in bytes: a few sentences that quote a part of what was sent.
	longest = 4 << 10
	// batch of them goes before the server is asked what it denied.
	batch = 500
)

func TestAttack(t *testing.T) {
	report := &Report{}
	for i, begin := range []func(*testing.T) *world{inside, beside} {
		name := []string{"inside", "beside"}[i]
		t.Run(name, func(t *testing.T) {
			w := begin(t)
			w.attack(report, name, time.Now().Add(*length/2))
		})
	}
	report.print(t.Output())
	if *asJSON {
		line, err := json.Marshal(report)
		require.NoError(t, err)
		fmt.Println(string(line))
	}
	if report.Tried != report.Held {
		t.Errorf("%d tried, %d held", report.Tried, report.Held)
	}
}

// attack tries everything, and at random until then.
func (w *world) attack(report *Report, where string, until time.Time) {
	random := mrand.New(mrand.NewPCG(*seed, 1))
	all, err := allSubjects(harness.Root(w.t), w.admin.ConnectedServerId())
	if err != nil {
		w.t.Fatal(err)
	}
	stage := func(name, role string, do func(*Stage)) {
		if w.t.Context().Err() != nil {
			return
		}
		start := time.Now()
		s := Stage{Name: where + ", " + name}
		if role != "" {
			s.Name += ", " + role
		}
		w.watched(&s, role, do)
		s.Held = max(0, s.Held)
		w.t.Logf("%s: %d tried, %d held in %v", s.Name, s.Tried, s.Held, time.Since(start).Round(time.Millisecond))
		for _, f := range s.Faults {
			w.t.Errorf("%s: %s", s.Name, f)
		}
		report.add(s)
	}
	stage("logins", "", w.logins)
	for _, role := range roles {
		stage("what it may", role, func(s *Stage) { w.granted(s, role) })
	}
	w.level() // what it may changes something
	for _, role := range roles {
		stage("subjects", role, func(s *Stage) { w.publish(s, role, shuffled(random, forbidden(all, w.may[role]))) })
		stage("answers elsewhere", role, func(s *Stage) { w.publish(s, role, shuffled(random, elsewhere(role, w.may[role]))) })
		stage("acknowledgements elsewhere", role, func(s *Stage) { w.acknowledge(s, role) })
		stage("consumers", role, func(s *Stage) { w.publish(s, role, consumers()) })
	}
	stage("routes", "", w.routes)
	stage("other routes", "", w.otherRoutes)
	stage("live views", "", w.views)
	stage("as a box", "", w.strangers)
	stage("connections", "", w.connections)
	stage("a false box", "", w.falseBox)
	stage("alerts", "", w.alerts)
	stage("RTSP", "", w.rtspRequests)
	stage("RTSP messages", "", w.rtspMessages)
	stage("RTSP connections", "", w.rtspConnections)
	stage("MQTT", "", w.mqtt)
	for _, role := range roles {
		stage("at random", role, func(s *Stage) {
			tries := slices.Concat(forbidden(all, w.may[role]), elsewhere(role, w.may[role]))
			end := time.Now().Add(time.Until(until) / time.Duration(len(roles)-slices.Index(roles, role)))
			for n := 0; n < atRandom && time.Now().Before(end); n += batch {
				var some []try
				for range batch {
					one, other := tries[random.IntN(len(tries))], tries[random.IntN(len(tries))]
					one.reply = other.reply
					some = append(some, one)
				}
				w.publish(s, role, some)
			}
		})
	}
	for _, c := range w.cameras() {
		before := report.Tried - report.Held
		stage("cameras: "+c.name, "", func(s *Stage) { w.camera(s, c) })
		if report.Tried-report.Held > before {
			w.again() // so that one that has it hang is not told for all that follow
		}
	}
	stage("SIGTERM", "", w.terminate)
}

func shuffled(random *mrand.Rand, tries []try) []try {
	random.Shuffle(len(tries), func(i, j int) { tries[i], tries[j] = tries[j], tries[i] })
	return tries
}

// watched does something while there are witnesses in the other accounts, and holds segd to be as it was afterwards.
func (w *world) watched(s *Stage, role string, do func(*Stage)) {
	var witnesses []*witness
	for _, user := range append([]string{"admin"}, roles...) {
		if user == role {
			continue
		}
		// What an operator has asked for before may come later, where it may ask itself.
		v, err := w.watch(user, w.may[cmp.Or(role, "operator")])
		if err != nil {
			s.fault("a witness in the account of %s: %v", user, err)
			return
		}
		witnesses = append(witnesses, v)
	}
	do(s)
	s.try(1)
	faults := w.unchanged(witnesses)
	for _, v := range witnesses {
		faults = append(faults, v.end()...)
	}
	// Without the witnesses, whose connections count.
	for _, f := range append(faults, w.holding()...) {
		s.fault("%s", f)
	}
}

// unchanged tells what of segd is not as it was.
func (w *world) unchanged(witnesses []*witness) (faults []string) {
	if w.ended {
		return nil
	}
	ctx := w.t.Context()
	for i, b := range w.boxes {
		if err := b.Err(); err != nil {
			return []string{fmt.Sprintf("segd %d has ended: %v", i, err)}
		}
	}
	for _, v := range witnesses {
		if err := v.flowing(ctx); err != nil {
			faults = append(faults, err.Error())
		}
	}
	if w.before == nil {
		return faults
	}
	var last state
	var changes []string
	if err := harness.Wait(ctx, answerLimit, "as it was", func(ctx context.Context) error {
		now, err := w.state(ctx)
		if err == nil {
			last, changes = now, w.before.diff(now)
		}
		if len(changes) > 0 {
			err = errors.New(strings.Join(changes, "; "))
		}
		return err
	}); err != nil {
		faults = append(faults, err.Error())
		if last != nil {
			w.before = last // so that each change is told once
		}
	}
	return faults
}

// holding tells what segd holds more of than before.
func (w *world) holding() (more []string) {
	if w.levels == nil || w.ended {
		return nil
	}
	if err := harness.Wait(w.t.Context(), answerLimit, "what segd holds", func(ctx context.Context) error {
		now, err := w.measure(ctx)
		if err == nil {
			more = now.above(w.levels)
		}
		if len(more) > 0 {
			err = errors.New("more than before")
		}
		return err
	}); err != nil && len(more) == 0 {
		more = []string{err.Error()}
	}
	return more
}

// level notes what there is from which nothing may change, and what segd holds, several times, since it goes up and down by itself.
func (w *world) level() {
	harness.Until(w.t, answerLimit, "what there is", func(ctx context.Context) (err error) {
		w.before, err = w.state(ctx)
		return err
	})
	for i, camera := range []string{gate, yard}[:len(w.boxes)] { // whip.addr is taken with the first viewer by WHEP, and kept
		if _, _, err := w.ask(w.t.Context(), http.MethodPost, w.boxes[i].Page, viewerToken, "/whep/"+camera, ""); err != nil {
			w.t.Fatal(err)
		}
	}
	w.levels = levels{}
	for range 10 {
		now, err := w.measure(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		w.levels.raise(now)
		_ = harness.Pause(w.t.Context(), 300*time.Millisecond)
	}
	w.t.Logf("segd holds %v", w.levels)
}

// logins tries to log in without valid credentials.
func (w *world) logins(s *Stage) {
	with := func(user string) string { return strings.Replace(w.url, "://", "://"+user, 1) }
	for _, url := range []string{
		w.url, with("subscriber@"), with("subscriber:@"), with("subscriber:operator" + password + "@"), with("operator:subscriber" + password + "@"),
		with("admin:operator" + password + "@"), with("segd:admin" + password + "@"), with("segd@"), with("$G:x@"), with("sys:sys@"),
		with(operatorToken + "@"), with(viewerToken + "@"), with("subscriber" + password + "@"), with(strings.Repeat("x", 3000) + ":x@"),
	} {
		s.try(1)
		conn, err := nats.Connect(url, nats.NoReconnect())
		if err == nil {
			conn.Close()
		}
		if !errors.Is(err, nats.ErrAuthorization) {
			s.fault("logged in by %s: %v", url, err)
		}
	}
}

// denial is what the server says of a message that it does not take.
var denial = regexp.MustCompile(`Publish to "(.*)"`)

// publish sends tries as a role. The server has to deny those that the role may not make, and only those.
func (w *world) publish(s *Stage, role string, tries []try) {
	s.try(len(tries))
	var mu sync.Mutex
	denied := map[string]bool{}
	conn, err := nats.Connect(w.as(role), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		if m := denial.FindStringSubmatch(err.Error()); m != nil {
			mu.Lock()
			defer mu.Unlock()
			denied[m[1]] = true
		}
	}))
	if err != nil {
		s.fault("%v", err)
		return
	}
	defer conn.Close()
	inbox := nats.NewInbox()
	if _, err := conn.Subscribe(inbox, func(*nats.Msg) {}); err != nil {
		s.fault("%v", err)
	}
	for i, try := range tries {
		if try.reply == "" {
			try.reply = inbox
		}
		if err := conn.PublishRequest(try.subject, try.reply, []byte(try.payload)); err != nil {
			s.fault("%s: %v", try.subject, err)
		}
		if i%batch == batch-1 || i == len(tries)-1 {
			if err := conn.FlushTimeout(answerLimit); err != nil {
				s.fault("after %d: %v", i, err)
			}
		}
	}
	wrong := func() (all []string) {
		mu.Lock()
		defer mu.Unlock()
		for _, try := range tries {
			if denied[try.subject] == w.may[role].mayAsk(try.subject) {
				all = append(all, fmt.Sprintf("%s publishes %s: denied %v", role, try.subject, denied[try.subject]))
			}
		}
		return all
	}
	// It says so beside the answers.
	_ = harness.Wait(w.t.Context(), answerLimit/3, "denials", func(context.Context) error {
		if n := len(wrong()); n > 0 {
			return fmt.Errorf("%d wrong", n)
		}
		return nil
	})
	for _, f := range wrong() {
		s.fault("%s", f)
	}
}

// consumers are many tries to make one.
func consumers() (all []try) {
	for i := range manyConsumers {
		name := fmt.Sprintf("%s-%d", marker, i)
		all = append(all, try{
			subject: "$JS.API.CONSUMER.CREATE." + streams[0] + "." + name,
			payload: fmt.Sprintf(`{"stream_name":"%s","config":{"durable_name":"%s","ack_policy":"explicit","deliver_policy":"all"},"action":"create"}`, streams[0], name),
		})
	}
	return all
}

// granted does what a role may, by the libraries that people use.
func (w *world) granted(s *Stage, role string) {
	ctx, cancel := context.WithTimeout(w.t.Context(), 4*answerLimit)
	defer cancel()
	conn, err := nats.Connect(w.as(role))
	if err != nil {
		s.fault("%v", err)
		return
	}
	defer conn.Close()
	may := func(what string, err error) {
		s.try(1)
		if err != nil {
			s.fault("%s may %s: %v", role, what, err)
		}
	}
	for _, pattern := range w.may[role].hears {
		if strings.HasSuffix(pattern, ".event") {
			continue // one comes when something happens; the stored ones are read below
		}
		sub, err := conn.SubscribeSync(pattern)
		if err == nil {
			_, err = sub.NextMsg(answerLimit)
		}
		may("hear "+pattern, err)
	}
	for _, h := range harmless(role, w.may[role]) {
		// Of acknowledgements and the next message below; of a fleet only where there is one.
		if strings.HasPrefix(h.subject, "$JS.ACK") || strings.Contains(h.subject, "MSG.NEXT") || strings.Contains(h.subject, ".fleet.") && len(w.boxes) == 1 || strings.Contains(h.payload, marker) {
			continue
		}
		_, err := conn.Request(h.subject, []byte(h.payload), answerLimit)
		may("ask "+h.subject, err)
	}
	js, err := jetstream.New(conn)
	if err != nil {
		s.fault("%v", err)
		return
	}
	for _, stream := range streams[:2] {
		may("read "+stream, func() error {
			consumer, err := js.Consumer(ctx, stream, role)
			if err != nil {
				return err
			}
			msg, err := consumer.Next(jetstream.FetchMaxWait(answerLimit))
			if err != nil {
				return err
			}
			return msg.DoubleAck(ctx)
		}())
	}
	asks := bus.Target{URL: w.as(role), Site: site, Camera: gate}
	if role != "operator" {
		return
	}
	_, err = asks.Annotate(ctx, []byte(box))
	may("annotate", err)
	_, err = asks.Rename(ctx, 1, "box")
	may("rename", err)
	_, err = asks.State(ctx)
	may("ask for the state", err)
	_, err = asks.Snapshot(ctx, true)
	may("ask for a snapshot", err)
	_, err = asks.Reload(ctx)
	may("have the configuration read", err)
	_, err = asks.AddCamera(ctx, []byte(`{"name":"`+spare+`","url":"whip:"}`))
	may("add a camera", err)
	// In a fleet whichever box takes the request may not have heard of it yet.
	may("remove a camera", harness.Wait(ctx, answerLimit, spare, func(ctx context.Context) error { return asks.RemoveCamera(ctx, spare) }))
	if len(w.boxes) > 1 {
		_, err = asks.ShowFleet(ctx)
		may("see the fleet", err)
		may("cordon a box", asks.OrderBox(ctx, "box-a", bus.KindCordon))
		may("uncordon a box", asks.OrderBox(ctx, "box-a", bus.KindUncordon))
	}
}

// acknowledge takes messages of its consumers, and has the server answer the acknowledgements elsewhere.
func (w *world) acknowledge(s *Stage, role string) {
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*answerLimit)
	defer cancel()
	conn, err := nats.Connect(w.as(role), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // some are denied
	if err != nil {
		s.fault("%v", err)
		return
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		s.fault("%v", err)
		return
	}
	for _, stream := range streams[:2] {
		consumer, err := js.Consumer(ctx, stream, role)
		if err != nil {
			s.fault("%s: %v", stream, err)
			continue
		}
		msgs, err := consumer.FetchNoWait(2)
		if err != nil {
			s.fault("%s: %v", stream, err)
			continue
		}
		for msg := range msgs.Messages() {
			for _, target := range targets() {
				for _, ack := range []string{"+WPI", "+NXT", `+NXT {"batch":3,"no_wait":true}`, "-NAK"} {
					s.try(1)
					if err := conn.PublishRequest(msg.Reply(), target, []byte(ack)); err != nil {
						s.fault("%s: %v", target, err)
					}
				}
			}
		}
	}
	if err := conn.FlushTimeout(answerLimit); err != nil {
		s.fault("%v", err)
	}
}

// tokens by who has them.
var tokens = map[string]string{"nobody": "", "publisher": publisherToken, "viewer": viewerToken, "operator": operatorToken}

// refusals are the answers to who may not: to come with a token, not with this one, or to sign in.
var refusals = []int{http.StatusUnauthorized, http.StatusForbidden}

// routes asks for each route of docs/security.md as everybody: who may not is refused, with what would do harm;
// who may is not, with what does none.
func (w *world) routes(s *Stage) {
	rows, err := docs.Table(w.file, "Over HTTP")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, row := range rows {
		for _, route := range row.Names {
			method, path, _ := strings.Cut(route, " ")
			for who, token := range tokens {
				may := row.Cells[who] == "yes"
				asked, body := fillPath(path, "nowhere", "nowhere"), "["
				if !may || method == http.MethodGet {
					asked, body = fillPath(path, gate, "box-a"), harm(method, path)
				}
				for _, method := range heads(method) {
					s.try(1)
					status, answer, err := w.ask(w.t.Context(), method, w.page(), token, asked, body)
					refused := slices.Contains(refusals, status) || status == http.StatusSeeOther && string(answer) == "/login"
					if err != nil || refused == may || status >= http.StatusInternalServerError && status != http.StatusServiceUnavailable {
						s.fault("%s, %s %s: %d %.100q, %v", who, method, asked, status, answer, err)
					}
				}
			}
			// A token that is none.
			s.try(1)
			status, answer, err := w.ask(w.t.Context(), method, w.page(), "wrong-0123456789-wrong", fillPath(path, gate, "box-a"), harm(method, path))
			refused := slices.Contains(refusals, status) || status == http.StatusSeeOther && string(answer) == "/login"
			if err != nil || refused == (row.Cells["nobody"] == "yes") {
				s.fault("a wrong token, %s %s: %d %.100q, %v", method, path, status, answer, err)
			}
		}
	}
}

// heads are a method and, of GET, HEAD.
func heads(method string) []string {
	if method == http.MethodGet {
		return []string{http.MethodGet, http.MethodHead}
	}
	return []string{method}
}

func fillPath(path, camera, box string) string {
	return strings.NewReplacer("{camera}", camera, "{box}", box, "{id}", "1", "{sequence}", "1", "{holder}", marker, "{name}", "main.js").Replace(path)
}

// harm is a body with which a request would do some.
func harm(method, path string) string {
	switch {
	case method == http.MethodGet || method == http.MethodDelete:
		return ""
	case path == "/login":
		return "token=wrong"
	case strings.HasSuffix(path, "/annotations"):
		return strings.Replace(box, `"box"`, `"`+marker+`"`, 1)
	case strings.HasSuffix(path, "/zones"):
		return `{"zones":[{"name":"` + marker + `","polygon":[[0,0],[1,0],[1,1]]}],"lines":[]}`
	case strings.HasSuffix(path, "/objects/{id}"):
		return `{"label":"` + marker + `"}`
	case strings.HasSuffix(path, "/move"):
		return `{"box":"box-b"}`
	case path == "/api/v1/cameras":
		return `{"name":"` + marker + `","url":"whip:"}`
	case method == http.MethodPatch:
		return `{"paused":true}`
	}
	return "{}"
}

// otherRoutes asks for what is not served, and by methods that no route has. No role may have more than a word.
func (w *world) otherRoutes(s *Stage) {
	rows, err := docs.Table(w.file, "Over HTTP")
	if err != nil {
		w.t.Fatal(err)
	}
	served := map[string][]string{} // methods by path
	for _, row := range rows {
		for _, route := range row.Names {
			method, path, _ := strings.Cut(route, " ")
			served[path] = append(served[path], heads(method)...)
		}
	}
	for _, path := range []string{
		"/debug/pprof/", "/debug/vars", "/api", "/api/", "/api/v1", "/api/v1/", "/api/v2/cameras", "/api/v1/nothing", "/api/v1/cameras/", "/api/v1/cameras/gate/", "/api/v1/cameras/gate/nothing",
		"/api/v1/openapi.json/", "/metrics/", "/metrics/x", "/assets/", "/assets/..%2findex.html", "/assets/%2e%2e/login", "//api/v1/cameras", "/api/v1//cameras", "/login/../api/v1/cameras",
		"/livez/../metrics", "/publish/../api/v1/config", "/publish/gate/../../metrics", "/whip/../api/v1/config", "/whip/", "/whip/gate/1/2", "/api/v1/cameras/%67ate", "/api/v1/cameras/..%2f..%2fconfig",
		"/.git/config", "/etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/index.html", "/favicon.ico", "/robots.txt", "/healthz", "/ws", "/api/v1/fleet/boxes/box-a/reboot",
	} {
		served[path] = nil
	}
	for path, methods := range served {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "COPY"} {
			if slices.Contains(methods, method) {
				continue
			}
			for who, token := range tokens {
				s.try(1)
				status, answer, err := w.ask(w.t.Context(), method, w.page(), token, fillPath(path, gate, "box-a"), "")
				// A preflight of WHIP and WHEP is for everybody, and says which methods there are. %67 is a g.
				preflight := method == http.MethodOptions && (strings.HasPrefix(path, "/whip/") || strings.HasPrefix(path, "/whep/")) && len(answer) == 0
				same := strings.Contains(path, "%67") && (method == http.MethodGet || method == http.MethodHead) && (who == "viewer" || who == "operator")
				if err != nil || status < 300 && !preflight && !same || status >= http.StatusInternalServerError && status != http.StatusNotImplemented {
					s.fault("%s, %s %s: %d %.100q, %v", who, method, path, status, answer, err)
				}
			}
		}
	}
}

// views has a viewer look at a camera as often as segd lets anybody, through the first box at one of the second where there are
// two. Meanwhile an operator works through it as before.
func (w *world) views(s *Stage) {
	camera := gate
	if len(w.boxes) > 1 {
		camera = yard
	}
	var views []net.Conn
	defer func() {
		for _, v := range views {
			_ = v.Close()
		}
	}()
	for range manyViews {
		s.try(1)
		conn, status, err := w.view(camera)
		switch {
		case err != nil:
			s.fault("a live view: %v", err)
		case status == http.StatusSwitchingProtocols:
			views = append(views, conn)
		case status != http.StatusServiceUnavailable:
			s.fault("a live view: %d", status)
		default:
			_ = conn.Close()
		}
	}
	if len(views) < manyViews/2 {
		s.fault("%d live views", len(views))
	}
	for _, path := range []string{"/objects", "/snapshot", ""} {
		s.try(1)
		status, answer, err := w.ask(w.t.Context(), http.MethodGet, w.page(), operatorToken, "/api/v1/cameras/"+camera+path, "")
		if err != nil || status != http.StatusOK {
			s.fault("an operator asks for %s%s beside %d live views: %d %.200q, %v", camera, path, len(views), status, answer, err)
		}
	}
	s.try(1)
	status, answer, err := w.ask(w.t.Context(), http.MethodPatch, w.page(), operatorToken, "/api/v1/cameras/"+camera+"/objects/1", `{"label":"box"}`)
	if err != nil || status != http.StatusOK {
		s.fault("an operator renames beside %d live views: %d %.200q, %v", len(views), status, answer, err)
	}
}

// strangers ask each box as if they were one, with what each role has of the boxes' secret, and with nothing. Who has all
// of it is one.
func (w *world) strangers(s *Stage) {
	const objects, remove = "/api/v1/cameras/" + gate + "/objects", "DELETE /api/v1/cameras/" + gate + "/objects HTTP/1.1\r\nHost: localhost\r\n" +
		"Segd-Forwarded-As: operator\r\nSegd-Forwarded-For: 127.0.0.1:1\r\nAuthorization: Bearer " + viewerToken + "\r\n\r\n"
	all := []string{site, operatorToken, viewerToken, publisherToken}
	secrets := [][]string{
		all, {site, "", "", ""}, {"", operatorToken, viewerToken, publisherToken}, {site, "", viewerToken, publisherToken},
		{site, operatorToken, viewerToken, ""}, {site, operatorToken, "", publisherToken},
	}
	for _, token := range []string{viewerToken, publisherToken} {
		secrets = append(secrets, []string{site, token, token, token}, []string{site, token, "", ""})
	}
	for i, b := range w.boxes {
		for _, secret := range secrets {
			text, err := json.Marshal(secret)
			if err != nil {
				w.t.Fatal(err)
			}
			link, err := boxlink.New(boxlink.Config{
				Box: "stranger", Secret: text, Address: func(string) (string, error) { return b.Page, nil },
				As: func(*http.Request) string { return "operator" }, Viewer: "viewer", Commands: 1, Views: 1, Answer: func(http.ResponseWriter, *http.Request, string) {},
			})
			if err != nil {
				w.t.Fatal(err)
			}
			for _, box := range []string{"box-a", "box-b", "stranger"} {
				method, want := http.MethodDelete, http.StatusBadGateway
				if own := []string{"box-a", "box-b"}[i]; len(w.boxes) > 1 && own == box && slices.Equal(secret, all) {
					method, want = http.MethodGet, map[string]int{"box-a": http.StatusOK, "box-b": http.StatusServiceUnavailable}[own] // which does not run it
				}
				s.try(1)
				answer := httptest.NewRecorder()
				link.To(box).ServeHTTP(answer, httptest.NewRequestWithContext(w.t.Context(), method, objects, http.NoBody))
				if answer.Code != want {
					s.fault("with %q %s %s as %s: %d %.200q; want %d", secret, method, b.Page, box, answer.Code, answer.Body, want)
				}
			}
			link.Close()
		}
		// Before the upgrade, behind it, and without any keys.
		for _, text := range []string{remove, upgrade + remove, upgrade + "\x16\x03\x01" + remove, upgrade + upgrade + remove} {
			s.try(1)
			if answer, err := say(strings.TrimPrefix(strings.TrimSuffix(b.Page, "/"), "http://"), text); err != nil || strings.Contains(answer, "HTTP/1.1 2") {
				s.fault("%q: %.200q, %v", text, answer, err)
			}
		}
	}
}

// upgrade has a page take a connection of another box.
const upgrade = "GET " + boxlink.Path + " HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: " + boxlink.Protocol + "\r\n\r\n"

// say sends text, what follows a head once that was answered, and returns all that comes until nothing does.
func say(host, text string) (answer string, err error) {
	conn, err := net.DialTimeout("tcp", host, answerLimit)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	head := make([]byte, 64<<10)
	for part := range strings.SplitAfterSeq(text, "\r\n\r\n") {
		if _, err := conn.Write([]byte(part)); err != nil {
			return answer, nil // it has hung up
		}
		_ = conn.SetReadDeadline(time.Now().Add(time.Second))
		n, err := conn.Read(head)
		answer += string(head[:n])
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return answer, nil
		}
	}
	return answer, nil
}

// view asks for live pictures and reads none.
func (w *world) view(camera string) (conn net.Conn, status int, err error) {
	host := strings.TrimPrefix(w.page(), "http://")
	conn, err = net.DialTimeout("tcp", host, answerLimit)
	if err != nil {
		return nil, 0, err
	}
	_ = conn.SetDeadline(time.Now().Add(answerLimit))
	key := make([]byte, 16)
	_, _ = rand.Read(key) // never fails
	if _, err = fmt.Fprintf(conn, "GET /api/v1/cameras/%s/live HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n",
		camera, host, viewerToken, base64.StdEncoding.EncodeToString(key)); err == nil {
		var resp *http.Response
		if resp, err = http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
			return conn, resp.StatusCode, nil
		}
	}
	_ = conn.Close()
	return nil, 0, err
}

// hostile is a camera that an operator adds.
type hostile struct {
	name   string // of the entry
	fields string // of the camera, as JSON, but for its name
	refuse bool   // segd has to refuse it
}

// cameras are those that an operator may wish to add and that would take segd's turn, memory or log, or show what
// is no picture.
func (w *world) cameras() []hostile {
	dir := w.t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			w.t.Fatal(err)
		}
		return path
	}
	fifo := func(name string) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), syscall.Mkfifo(path, 0o644)); err != nil {
			w.t.Fatal(err)
		}
		return path
	}
	text := write("text.txt", strings.Repeat("root:x:0:0:a secret that is no picture\n", 40))
	list := write("list.m3u8", "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n"+text+"\n#EXT-X-ENDLIST\n")
	concat := write("list.ffconcat", "ffconcat version 1.0\nfile '"+filepath.Join(w.dir, "0.png")+"'\n")
	long := strings.Repeat("a", 200_000)
	url := func(u string) string { return `"url":"` + u + `"` }
	return []hostile{
		{"an annotation that is a terminal", url("dir:"+w.dir) + `,"annotation":"/dev/ptmx"`, false},
		{"an annotation that is a FIFO", url("dir:"+w.dir) + `,"annotation":"` + fifo("annotation") + `"`, false},
		{"an annotation without end", url("dir:"+w.dir) + `,"annotation":"/dev/zero"`, false},
		{"a folder with a FIFO", url("dir:" + filepath.Dir(fifo("fifos/a.jpg"))), false},
		{"a folder with a terminal", url("dir:" + filepath.Dir(link(w.t, "/dev/ptmx", filepath.Join(dir, "terminals", "a.jpg")))), false},
		{"a folder that is a FIFO", url("dir:" + fifo("folder")), false},
		{"a file that is a FIFO", url("file:" + fifo("video.mp4")), false},
		{"a file that is a terminal", url("file:/dev/ptmx"), false},
		{"a file without end", url("file:/dev/zero"), false},
		{"a file of text", url("file:" + text), false},
		{"a playlist of text", url("file:" + list), false},
		{"a list of other files", url("file:" + concat), false},
		{"a url of 200 kB", url("rtsp://127.0.0.1/" + long), true},
		{"a path of 200 kB", url("file:/" + long), true},
		{"an annotation of 200 kB", url("whip:") + `,"annotation":"/` + long + `"`, true},
		{"a label that a box needs of 200 kB", url("whip:") + `,"requires":["at=` + long + `"]`, true},
	}
}

// link makes a symbolic link in a folder that is made, and returns its path.
func link(t *testing.T, to, path string) string {
	t.Helper()
	require.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(to, path)))
	return path
}

// camera tries, adds and removes one as an operator. Each is answered, and what is no picture is not shown.
func (w *world) camera(s *Stage, c hostile) {
	ctx := w.t.Context()
	answered := func(method, path, body string) int {
		s.try(1)
		status, answer, err := w.ask(ctx, method, w.page(), operatorToken, path, body)
		if err != nil || slices.Contains([]int{http.StatusInternalServerError, http.StatusBadGateway}, status) {
			s.fault("%s %s: %d %.200q, %v", method, path, status, answer, err)
		}
		if status >= 400 && len(answer) > longest {
			s.fault("%s %s: %d in %d bytes; want a few words", method, path, status, len(answer))
		}
		return status
	}
	const at = "/api/v1/cameras"
	isNone := !strings.Contains(c.fields, `"url":"dir:`+w.dir)
	tried := answered(http.MethodPost, at+"/test", "{"+c.fields+"}")
	added := answered(http.MethodPost, at, `{"name":"`+spare+`",`+c.fields+`}`)
	if c.refuse && !slices.Contains([]int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}, added) {
		s.fault("was not refused, but answered with %d", added)
	}
	if isNone && tried == http.StatusOK {
		s.fault("showed a test picture")
	}
	if added >= 400 {
		return
	}
	// Long enough for a picture, if there were one.
	if isNone {
		_ = harness.Pause(ctx, time.Second)
		if answered(http.MethodGet, at+"/"+spare+"/snapshot", "") == http.StatusOK {
			s.fault("showed a picture")
		}
	}
	answered(http.MethodPost, "/api/v1/config/reload", "")
	if removed := answered(http.MethodDelete, at+"/"+spare, ""); removed != http.StatusNoContent {
		s.fault("was not removed: %d", removed)
	}
}

// again starts the first segd anew after a fault, without the camera that made it.
func (w *world) again() {
	w.boxes[0].Kill()
	if err := w.boxes[0].Start(w.t.Context()); err != nil {
		w.t.Fatalf("segd does not start again: %v", err)
	}
	if _, _, err := w.ask(w.t.Context(), http.MethodDelete, w.page(), operatorToken, "/api/v1/cameras/"+spare, ""); err != nil {
		w.t.Fatalf("segd has the camera still: %v", err)
	}
}

// terminate has each segd end by itself: harness kills one that takes longer than ten seconds.
func (w *world) terminate(s *Stage) {
	w.ended = true
	for i, b := range w.boxes {
		s.try(1)
		start := time.Now()
		b.End()
		if err := b.Err(); err != nil {
			s.fault("segd %d ended after %v: %v", i, time.Since(start), err)
		}
	}
}

// page is that of the first box, without a slash at the end.
func (w *world) page() string { return strings.TrimSuffix(w.boxes[0].Page, "/") }
