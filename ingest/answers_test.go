package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bluenviron/gortsplib/v5"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/ingest/codec"
)

// answerer answers each request with the next of some answers, and then ends the connection.
type answerer struct {
	mu      sync.Mutex
	answers [][]byte
	running sync.WaitGroup
}

var errNoMoreAnswers = errors.New("there are no more answers")

func (a *answerer) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	if !a.more() {
		return nil, errNoMoreAnswers
	}
	a.running.Go(func() {
		defer server.Close()
		request := make([]byte, 64<<10)
		for {
			if _, err := server.Read(request); err != nil {
				return
			}
			if _, err := server.Write(a.next()); err != nil || !a.more() {
				return
			}
		}
	})
	return client, nil
}

func (a *answerer) more() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.answers) > 0
}

func (a *answerer) next() (answer []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.answers) > 0 {
		answer, a.answers = a.answers[0], a.answers[1:]
	}
	return answer
}

// FuzzAnswers lets a hostile camera answer what segd asks it: there are packets then, or an
// error, and nothing is left of it.
func FuzzAnswers(f *testing.F) {
	const end = "\r\n--\r\n"
	sdp := "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=x\r\nc=IN IP4 0.0.0.0\r\nt=0 0\r\nm=video 0 RTP/AVP 26\r\na=x-dimensions:64,48\r\na=control:trackID=0\r\n"
	packet := string(append([]byte{'$', 0, 0, 12 + 9, 0x80, 26, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7}, 0, 0, 0, 0, 1, 50, 8, 6, 0xff))
	// well is how a camera answers whose first request has the number n.
	well := func(n int) string {
		var out []string
		for i, rest := range []string{
			"Public: OPTIONS, DESCRIBE, SETUP, PLAY, TEARDOWN\r\n\r\n",
			fmt.Sprintf("Content-Type: application/sdp\r\nContent-Base: rtsp://127.0.0.1/x/\r\nContent-Length: %d\r\n\r\n%s", len(sdp), sdp),
			"Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\nSession: 12345678;timeout=60\r\n\r\n",
			"Session: 12345678\r\nRTP-Info: url=rtsp://127.0.0.1/x/trackID=0;seq=1;rtptime=0\r\n\r\n" + packet,
		} {
			out = append(out, fmt.Sprintf("RTSP/1.0 200 OK\r\nCSeq: %d\r\n%s", n+i, rest))
		}
		return strings.Join(out, end)
	}
	f.Add([]byte(well(1)))
	f.Add([]byte(strings.Replace(well(1), "interleaved=0-1", "interleaved=300-301", 1)))
	f.Add([]byte("RTSP/1.0 401 Unauthorized\r\nCSeq: 1\r\nWWW-Authenticate: Digest realm=\"a\", nonce=\"b\"\r\n\r\n" + end + well(2)))
	f.Add([]byte("RTSP/1.0 302 Found\r\nCSeq: 1\r\nLocation: rtsp://127.0.0.1/y\r\n\r\n" + end + well(1)))
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		a := &answerer{answers: bytes.Split(in, []byte(end))}
		a.answers = slices.DeleteFunc(a.answers, func(b []byte) bool { return len(b) == 0 })
		s, err := Open(testConfig("rtsp://admin:secret@127.0.0.1/x", "tcp"))
		require.NoError(t, err)
		talk := &rtspTalk{src: s, client: s.rtspClient(gortsplib.ProtocolTCP, new(atomic.Bool)), first: make(chan struct{}), login: login{user: s.url.Network.User}}
		client := talk.client
		client.DialContext = a.dial
		client.ReadTimeout = 20 * time.Millisecond // to an answer to another request
		client.OnRequest, client.OnResponse = talk.request, talk.response
		require.NoError(t, client.Start())
		_, err = talk.negotiate(true)
		r := talk.recv
		if err == nil {
			_ = client.Wait() // until the answers end
		} else if text := s.explain(err).Error(); strings.Contains(text, "secret") {
			t.Errorf("%q shows the password", text)
		}
		client.Close()
		talk.reports.Close()
		a.running.Wait()
		for r != nil && len(r.units) > 0 {
			if u := <-r.units; len(u.data) > codecLimit {
				t.Errorf("a unit of %d bytes", len(u.data))
			}
		}
	})
}

// codecLimit is more than any access unit may be.
const codecLimit = 2*maxImage + codec.MaxSide
