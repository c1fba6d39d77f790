//go:build e2e

package attack

import (
	"bufio"
	"cmp"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/bluenviron/gortsplib/v5/pkg/auth"
	"github.com/bluenviron/gortsplib/v5/pkg/base"
	"github.com/bluenviron/gortsplib/v5/pkg/conn"

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
