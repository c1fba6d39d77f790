//go:build e2e

package attack

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/bluenviron/gortsplib/v5/pkg/auth"
	"github.com/bluenviron/gortsplib/v5/pkg/base"
	"github.com/bluenviron/gortsplib/v5/pkg/conn"

	"github.com/segd/segd/e2e/harness"
	"github.com/segd/segd/internal/docs"
)

// rtspRequests makes each request of docs/security.md as everybody, by the first box's camera: who may is answered, one request
// after the other, and who may not is refused.
func (w *world) rtspRequests(s *Stage) {
	rows, err := docs.Table(w.file, "Over RTSP")
	if err != nil {
		w.t.Fatal(err)
	}
	for who, password := range map[string]string{"nobody": "", "publisher": publisherToken, "viewer": viewerToken, "operator": operatorToken} {
		p := w.player(password)
		for _, row := range rows {
			may := row.Cells[cmp.Or(map[string]string{"publisher": "nobody"}[who], who)] == "yes"
			for _, method := range row.Names {
				s.try(1)
				if !may {
					p.hangUp()
					p = w.player(password)
				}
				status, err := p.ask(base.Method(method), "/"+gate)
				if answered := err == nil && status == base.StatusOK; answered != may {
					s.fault("%s, %s by RTSP: %d, %v", who, method, status, err)
				}
			}
		}
		p.hangUp()
	}
}

// player speaks RTSP. Without a connection it makes one when it is asked to.
type player struct {
	addr, password string
	from           string // its address; empty: any
	conn           net.Conn
	rtsp           *conn.Conn
	login          *auth.Sender
	session        string
	cseq           int
}

func (w *world) player(password string) *player { return &player{addr: w.rtsp[0], password: password} }

func (p *player) dial() (err error) {
	var dialer net.Dialer
	if p.from != "" {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(p.from)}
	}
	if p.conn, err = dialer.Dial("tcp", p.addr); err == nil {
		p.rtsp = conn.NewConn(bufio.NewReader(p.conn), p.conn)
	}
	return err
}

func (p *player) hangUp() {
	if p.conn != nil {
		_ = p.conn.Close()
	}
}

// ask makes a request, once more with the password if that is asked for.
func (p *player) ask(method base.Method, path string) (base.StatusCode, error) {
	if p.conn == nil {
		if err := p.dial(); err != nil {
			return 0, err
		}
	}
	res, err := p.say(method, path)
	if err == nil && res.StatusCode == base.StatusUnauthorized && p.password != "" && p.login == nil {
		p.login = &auth.Sender{WWWAuth: res.Header["WWW-Authenticate"], User: "segd", Pass: p.password}
		if err = p.login.Initialize(); err == nil {
			res, err = p.say(method, path)
		}
	}
	if err != nil {
		return 0, err
	}
	if session := res.Header["Session"]; len(session) == 1 {
		p.session, _, _ = strings.Cut(session[0], ";")
	}
	return res.StatusCode, nil
}

func (p *player) say(method base.Method, path string) (*base.Response, error) {
	p.cseq++
	req := &base.Request{Method: method, Header: base.Header{"CSeq": base.HeaderValue{strconv.Itoa(p.cseq)}}}
	if method == base.Setup {
		path += "/trackID=0"
		req.Header["Transport"] = base.HeaderValue{"RTP/AVP/TCP;unicast;interleaved=0-1"}
	}
	if p.session != "" {
		req.Header["Session"] = base.HeaderValue{p.session}
	}
	var err error
	if req.URL, err = base.ParseURL("rtsp://" + p.addr + path); err != nil {
		return nil, err
	}
	if p.login != nil {
		p.login.AddAuthorization(req)
	}
	_ = p.conn.SetDeadline(time.Now().Add(answerLimit))
	if err := p.rtsp.WriteRequest(req); err != nil {
		return nil, err
	}
	for {
		what, err := p.rtsp.Read()
		if err != nil {
			return nil, err
		}
		switch what := what.(type) {
		case *base.Response:
			return what, nil
		case *base.InterleavedFrame: // pictures
		default:
			return nil, fmt.Errorf("a %T", what)
		}
	}
}

// tunnel begins RTSP within a WebSocket, which segd does not serve.
const tunnel = "GET /" + gate + " HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
	"Sec-WebSocket-Protocol: rtsp.onvif.org\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"

// endless is how much is sent of what has no end, by a connection, and rtspMemory how much more segd may hold of all that.
const (
	endless    = 64 << 20
	rtspMemory = 50 << 20
)

// rtspMessages sends what is not RTSP, and messages without end, with a password and without. None of it is taken.
func (w *world) rtspMessages(s *Stage) {
	before, err := w.measure(w.t.Context())
	if err != nil {
		s.fault("%v", err)
		return
	}
	for _, text := range []string{
		tunnel, tunnel + "X", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "\x16\x03\x01\x02\x00\x01", strings.Repeat("\r\n", 100),
		"POST / HTTP/1.1\r\nContent-Type: application/x-rtsp-tunnelled\r\nX-Sessioncookie: a\r\n\r\n",
	} {
		s.try(1)
		if answer, err := say(w.rtsp[0], text); err != nil || answer != "" {
			s.fault("%q by RTSP is answered %.200q, %v", text, answer, err)
		}
	}
	line := strings.Repeat("a", 2000)
	for _, password := range []string{"", viewerToken} {
		for _, tc := range []struct{ begins, repeats string }{
			{"GET ", line}, {"POST / HTTP/1.1\r\n", "a: " + line + "\r\n"}, {tunnel + "\x82\xff\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00", line},
			{"OPTIONS ", line}, {"OPTIONS * RTSP/1.0\r\n", "a: " + line + "\r\n"}, {"OPTIONS * RTSP/1.0\r\nCSeq: 1\r\nContent-Length: 1099511627776\r\n\r\n", line},
			{"OPTIONS * RTSP/1.0\r\nCSeq: 1\r\nContent-Length: 131072\r\n\r\n", line}, {"OPTI", line}, {"", "$\x00\xff\xff" + line},
			{"", "OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n"},
		} {
			s.try(1)
			p := w.player(password)
			err := p.dial()
			if err == nil && password != "" {
				_, err = p.ask(base.Describe, "/"+gate)
			}
			if err != nil {
				s.fault("%v", err)
				continue
			}
			_ = p.conn.SetDeadline(time.Now().Add(answerLimit))
			go func() { _, _ = io.Copy(io.Discard, p.conn) }() // until it hangs up
			text := []byte(strings.Repeat(tc.repeats, 1<<20/len(tc.repeats)))
			sent, err := io.WriteString(p.conn, tc.begins)
			for err == nil && sent < endless {
				var n int
				n, err = p.conn.Write(text)
				sent += n
			}
			if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				s.fault("password %q: %d bytes of %.60q, then %.20q without end are taken: %v", password, sent, tc.begins, tc.repeats, err)
			}
			p.hangUp()
		}
	}
	s.try(1)
	if err := harness.Wait(w.t.Context(), answerLimit, "memory", func(ctx context.Context) error {
		now, err := w.measure(ctx)
		const name = "process_resident_memory_bytes"
		if err == nil && now[name] > before[name]+rtspMemory {
			err = fmt.Errorf("%.0f bytes, %.0f before", now[name], before[name])
		}
		return err
	}); err != nil {
		s.fault("%v", err)
	}
}

// rtspConnections takes all connections that there are, without a password and with one. Newcomers are served
// meanwhile, and who has no password goes, silent or not.
func (w *world) rtspConnections(s *Stage) {
	var players []*player
	take := func(from, password string, method base.Method) {
		p := w.player(password)
		p.from = from
		players = append(players, p)
		_, _ = p.ask(method, "/"+gate)
	}
	newcomer := func(beside string) {
		s.try(1)
		p := w.player(viewerToken)
		p.from = "127.0.0.9"
		if status, err := p.ask(base.Describe, "/"+gate); err != nil || status != base.StatusOK {
			s.fault("a newcomer beside %s: %d, %v", beside, status, err)
		}
		p.hangUp()
	}
	for n := range 4 * 64 {
		take(fmt.Sprintf("127.0.0.%d", 1+n%4), "", base.Options)
	}
	newcomer("256 connections without a password")
	last := players[len(players)-1]
	for n := range 256 {
		take("127.0.0.5", viewerToken, base.Describe)
		if n%64 == 63 {
			newcomer(fmt.Sprintf("%d of one viewer", n+1))
		}
	}
	// The last one without a password says something all the time.
	s.try(1)
	if err := harness.Wait(w.t.Context(), answerLimit, "its end", func(context.Context) error {
		if _, err := last.ask(base.Options, "/"+gate); err == nil {
			return errors.New("it is there")
		}
		return nil
	}); err != nil {
		s.fault("a connection without a password: %v", err)
	}
	for _, p := range players {
		p.hangUp()
	}
}
