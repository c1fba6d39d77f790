package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/cmd/segd/daemon/daemontest"
	"github.com/segd/segd/internal/waitfor"
	"github.com/segd/segd/web/boxlink"
)

const (
	operatorToken = "operator-operator"
	viewerToken   = "viewer-viewer-viewer"
	publishToken  = "publish-publish-publish"
)

// withTokens has the boxes have tokens.
func (b *boxes) withTokens() {
	b.http = fmt.Sprintf(", token: %s, viewer_token: %s", operatorToken, viewerToken)
	b.whip = ", token: " + publishToken
}

// overheard is all that a NATS server carries.
type overheard struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (b *boxes) overhear() *overheard {
	b.t.Helper()
	o := &overheard{}
	conn, err := nats.Connect("nats://segd:secret@" + b.nats)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(conn.Close)
	if _, err := conn.Subscribe(">", func(m *nats.Msg) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.data.WriteString(m.Subject)
		for name, values := range m.Header {
			fmt.Fprint(&o.data, name, values)
		}
		o.data.Write(m.Data)
	}); err != nil {
		b.t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		b.t.Fatal(err)
	}
	return o
}

func (o *overheard) has(text string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return bytes.Contains(o.data.Bytes(), []byte(text))
}

// request sends one to a box, with further headers, and returns the status and the answer.
func request(t *testing.T, method, url, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(text)
}

// No credential goes over NATS, however it is presented, and who asks another box may do there what the
// box that they asked has found that they may.
func TestFleetHandsOnNoSecrets(t *testing.T) {
	t.Parallel()
	b := newBoxes(t)
	b.withTokens()
	file := []string{
		fmt.Sprintf("{name: gate, url: 'dir:%s', fps: 5, loop: true, requires: [a=b]}", daemontest.Pictures(t, 20)),
		"{name: door, url: 'whip:', requires: [a=b]}",
	}
	b.start("one", ", labels: [a=b]", file...)
	two := b.start("two", "", file...)
	heard := b.overhear()
	b.holder("gate")

	at := "http://" + two.http
	_, text := request(t, http.MethodPost, at+"/login", "token="+operatorToken, "Content-Type", "application/x-www-form-urlencoded")
	login, _ := request(t, http.MethodGet, at+"/?token="+operatorToken, "")
	if len(login.Cookies()) != 1 {
		t.Fatalf("signing in: %s %v %s", login.Status, login.Header, text)
	}
	cookie := login.Cookies()[0]
	session := cookie.Name + "=" + cookie.Value
	const snapshot, objects = "/api/v1/cameras/gate/snapshot", "/api/v1/cameras/gate/objects"
	marks := strings.Replace(daemontest.Annotation, `"frame": 0, `, "", 1)
	json := []string{"Content-Type", "application/json"}
	sdp := []string{"Content-Type", "application/sdp"}
	bearer := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
	waitfor.True(t, "what happened at the other box's camera", func() bool {
		_, kept := request(t, http.MethodGet, at+"/api/v1/history?camera=gate&kind=camera_up", "", bearer(viewerToken)...)
		return strings.Contains(kept, `"camera":"gate"`)
	})
	for _, tt := range []struct {
		what, method, path, body string
		headers                  [][]string
		want                     int
	}{
		{"an operator looks", "GET", snapshot, "", [][]string{bearer(operatorToken)}, http.StatusOK},
		{"a viewer looks", "GET", snapshot, "", [][]string{bearer(viewerToken)}, http.StatusOK},
		{"with a proxy's and two secrets", "GET", snapshot + "?token=" + operatorToken + "&access_token=" + operatorToken, "", [][]string{bearer(operatorToken), {"Cookie", session, "Proxy-Authorization", "Basic " + operatorToken}}, http.StatusOK},
		{"an operator annotates", "POST", "/api/v1/cameras/gate/annotations", marks, [][]string{bearer(operatorToken), json}, http.StatusOK},
		{"by the page's session", "GET", snapshot, "", [][]string{{"Cookie", session}}, http.StatusOK},
		{"the page clears", "DELETE", objects, "", [][]string{{"Cookie", session, "Sec-Fetch-Site", "same-origin"}}, http.StatusNoContent},
		{"another site with a token", "DELETE", objects, "", [][]string{bearer(operatorToken), {"Sec-Fetch-Site", "cross-site", "Origin", "https://example.com"}}, http.StatusNoContent},
		{"another site", "DELETE", objects, "", [][]string{{"Cookie", session, "Sec-Fetch-Site", "cross-site"}}, http.StatusForbidden},
		{"a viewer clears", "DELETE", objects, "", [][]string{bearer(viewerToken)}, http.StatusForbidden},
		{"a viewer who says that they are more", "DELETE", objects, "", [][]string{bearer(viewerToken), {"Segd-Forwarded-As", "operator", "Segd-Forwarded-For", "127.0.0.1:1"}}, http.StatusForbidden},
		{"a publisher clears", "DELETE", objects, "", [][]string{bearer(publishToken)}, http.StatusUnauthorized},
		{"nobody", "GET", snapshot, "", nil, http.StatusUnauthorized},
		{"a publisher", "POST", "/whip/door", "v=0\n", [][]string{bearer(publishToken), sdp}, http.StatusUnprocessableEntity},
		{"an operator publishes", "POST", "/whip/door", "v=0\n", [][]string{bearer(operatorToken), sdp}, http.StatusUnprocessableEntity},
		{"another site's publisher", "POST", "/whip/door", "v=0\n", [][]string{bearer(publishToken), sdp, {"Sec-Fetch-Site", "cross-site", "Origin", "https://example.com"}}, http.StatusUnprocessableEntity},
		{"a viewer publishes", "POST", "/whip/door", "v=0\n", [][]string{bearer(viewerToken), sdp}, http.StatusForbidden},
		{"a viewer watches", "POST", "/whep/gate/overlay", "v=0\n", [][]string{bearer(viewerToken), sdp}, http.StatusUnprocessableEntity},
		{"a viewer ends another's session", "DELETE", "/whep/gate/guess", "", [][]string{bearer(viewerToken)}, http.StatusNotFound},
		{"a publisher watches", "POST", "/whep/gate", "v=0\n", [][]string{bearer(publishToken), sdp}, http.StatusUnauthorized},
		{"the page watches what there is not", "POST", "/whep/gate/masks", "v=0\n", [][]string{{"Cookie", session}, sdp}, http.StatusNotFound},
	} {
		var headers []string
		for _, h := range tt.headers {
			headers = append(headers, h...)
		}
		resp, text := request(t, tt.method, at+tt.path, tt.body, headers...)
		if resp.StatusCode != tt.want {
			t.Errorf("%s: %s %.200s; want %d", tt.what, resp.Status, text, tt.want)
		}
		for name, values := range resp.Header {
			if len(values) > 1 && name != "Link" {
				t.Errorf("%s: %s is there %d times", tt.what, name, len(values))
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), waitfor.Limit)
	defer cancel()
	live, _, err := websocket.Dial(ctx, "ws://"+two.http+"/api/v1/cameras/gate/live", &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + viewerToken}},
	})
	require.NoError(t, err)
	defer func() { _ = live.CloseNow() }()
	live.SetReadLimit(1 << 20)
	if _, _, err := live.Read(ctx); err != nil {
		t.Error(err)
	}
	for what, secret := range map[string]string{
		"the operator's token": operatorToken, "the viewer's token": viewerToken, "the publisher's token": publishToken, "the session": cookie.Value,
	} {
		if heard.has(secret) {
			t.Errorf("over NATS goes %s", what)
		}
	}
	if heard.has("/gate/snapshot") || heard.has("/gate/annotations") { // events name thumbnails
		t.Error("requests go over NATS")
	}
	if !heard.has("segd.fleet.v1.home.") {
		t.Error("nothing was heard")
	}
}

// A box with other tokens is no box of the fleet to another one, which says why.
func TestFleetHandsOnToItsBoxesOnly(t *testing.T) {
	t.Parallel()
	b := newBoxes(t)
	file := fmt.Sprintf("{name: gate, url: 'dir:%s', fps: 5, loop: true, requires: [a=b]}", daemontest.Pictures(t, 20))
	b.withTokens()
	b.start("one", ", labels: [a=b]", file)
	b.http = ", token: another-another-another"
	two := b.start("two", "", file)
	b.holder("gate")
	var resp *http.Response
	var text string
	waitfor.True(t, "the camera at the other box", func() bool {
		resp, text = request(t, http.MethodGet, "http://"+two.http+"/api/v1/cameras/gate/objects", "", "Authorization", "Bearer another-another-another")
		return resp.StatusCode != http.StatusNotFound
	})
	if resp.StatusCode != http.StatusBadGateway || !strings.Contains(text, boxlink.ErrStranger.Error()) {
		t.Errorf("%s %s; want 502 %q", resp.Status, text, boxlink.ErrStranger)
	}
}

// Each box says where others reach its page: where it is told to, and else where it listens, with a warning that other
// machines do not reach loopback. A client that asks for one that is not there is told so.
func TestFleetAddress(t *testing.T) {
	t.Parallel()
	b := newBoxes(t)
	file := fmt.Sprintf("{name: gate, url: 'dir:%s', fps: 5, loop: true, requires: [a=b]}", daemontest.Pictures(t, 20))
	one := b.start("one", ", labels: [a=b], page: 'http://127.0.0.1:1/', address: 'http://127.0.0.1:2/'", file)
	two := b.start("two", "", file)
	b.holder("gate")
	at := map[string]string{}
	waitfor.True(t, "both boxes", func() bool {
		for _, box := range b.status().Boxes {
			at[box.Name] = box.Address
		}
		return len(at) == 2
	})
	if want := "http://" + two.http + "/"; at["one"] != "http://127.0.0.1:2/" || at["two"] != want {
		t.Errorf("they are reached at %q; want that of one as it is configured, and %s", at, want)
	}
	if status, text := two.ask(http.MethodGet, "/gate/objects", ""); status != http.StatusBadGateway || !strings.Contains(text, "127.0.0.1:2") {
		t.Errorf("%d %s; want 502, and where box one is not", status, text)
	}
	const warning = "boxes on other machines do not reach the page of this one"
	assert.Contains(t, two.segd.Err.String(), warning, "box two does not warn")
	assert.NotContains(t, one.segd.Err.String(), warning, "box one warns")
}

// However many watch a camera of another box, commands get there, and those who cannot watch are told when to come again.
func TestFleetViewersLeaveRoomForCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 6 s: two boxes")
	}
	t.Parallel()
	b := newBoxes(t)
	b.withTokens()
	file := fmt.Sprintf("{name: gate, url: 'dir:%s', fps: 1, loop: true, requires: [a=b]}", daemontest.Pictures(t, 20))
	b.start("one", ", labels: [a=b]", file)
	var asked []*adding
	for _, name := range []string{"two", "three"} {
		asked = append(asked, b.start(name, "", file))
	}
	b.holder("gate")
	ctx, cancel := context.WithTimeout(t.Context(), waitfor.Limit)
	defer cancel()
	watch := func(a *adding) (*websocket.Conn, *http.Response, error) {
		for {
			conn, resp, err := websocket.Dial(ctx, "ws://"+a.http+"/api/v1/cameras/gate/live", &websocket.DialOptions{
				HTTPHeader: http.Header{"Authorization": {"Bearer " + viewerToken}},
			})
			if err == nil || resp == nil || resp.StatusCode != http.StatusTooManyRequests {
				return conn, resp, err
			}
			time.Sleep(100 * time.Millisecond) // until there is allowance again
		}
	}
	const limit = 64 // of one box's viewers, by default
	watching := 0
	var ended atomic.Int32 // who does not keep up on a busy machine
	var readers sync.WaitGroup
	defer readers.Wait()
	for i := range limit + 8 {
		conn, resp, err := watch(asked[i%len(asked)])
		if err == nil {
			defer func() { _ = conn.CloseNow() }()
			watching++
			readers.Go(func() {
				for {
					if _, _, err := conn.Read(ctx); err != nil {
						ended.Add(1)
						return
					}
				}
			})
			continue
		}
		if resp == nil || resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
			t.Errorf("viewer %d: %v", i+1, err)
		}
	}
	if watching < limit {
		t.Errorf("%d watch; want %d", watching, limit)
	}
	waitfor.True(t, "no more who watch at once than are let", func() bool { return watching-int(ended.Load()) <= limit })
	operator, _, err := websocket.Dial(ctx, "ws://"+asked[0].http+"/api/v1/cameras/gate/live", &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + operatorToken}},
	})
	if err != nil {
		t.Errorf("an operator watches: %v", err)
	} else {
		defer func() { _ = operator.CloseNow() }()
	}
	marks := strings.Replace(daemontest.Annotation, `"frame": 0, `, "", 1)
	for _, a := range asked {
		at := "http://" + a.http + "/api/v1/cameras/gate/"
		if resp, text := request(t, http.MethodPost, at+"annotations", marks, "Authorization", "Bearer "+operatorToken, "Content-Type", "application/json"); resp.StatusCode != http.StatusOK {
			t.Errorf("an annotation: %s %s", resp.Status, text)
		}
		for _, token := range []string{operatorToken, viewerToken} {
			waitfor.True(t, "an answer about the objects", func() bool {
				resp, text := request(t, http.MethodGet, at+"objects", "", "Authorization", "Bearer "+token)
				if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusTooManyRequests {
					t.Fatalf("objects: %s %s", resp.Status, text)
				}
				return resp.StatusCode == http.StatusOK
			})
		}
	}
}
