package restream

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bluenviron/gortsplib/v5"
	"github.com/bluenviron/gortsplib/v5/pkg/base"
	"github.com/bluenviron/gortsplib/v5/pkg/format"
	"github.com/pion/rtp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/internal/docs"
	"github.com/segd/segd/internal/limit"
	"github.com/segd/segd/internal/waitfor"
)

const (
	operator = "operator-operator"
	viewing  = "viewer-viewer-viewer"
)

func serveRTSP(t *testing.T, s *Streams, cfg RTSPConfig) (addr string) {
	t.Helper()
	cfg.Addr = "127.0.0.1:0"
	server, err := Listen(cfg, s)
	require.NoError(t, err)
	t.Cleanup(server.Close)
	server.server.WriteTimeout = waitfor.Limit
	require.NoError(t, server.Start())
	return server.Addr().String()
}

// play plays a stream until the test ends. Times are those of the pictures whose packets came.
func play(t *testing.T, addr, user, path string) (times func() []uint32, err error) {
	t.Helper()
	u, err := base.ParseURL("rtsp://" + user + addr + "/" + path)
	require.NoError(t, err)
	c := &gortsplib.Client{Scheme: u.Scheme, Host: u.Host}
	require.NoError(t, c.Start())
	t.Cleanup(c.Close)
	desc, _, err := c.Describe(u)
	if err != nil {
		return nil, err
	}
	var h *format.H264
	media := desc.FindFormat(&h)
	if media == nil {
		t.Fatalf("no H.264 in %+v", desc)
	}
	if _, err := c.Setup(desc.BaseURL, media, 0, 0); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var seen []uint32
	c.OnPacketRTP(media, h, func(p *rtp.Packet) {
		mu.Lock()
		defer mu.Unlock()
		if p.Marker {
			seen = append(seen, p.Timestamp)
		}
	})
	_, err = c.Play(nil)
	return func() []uint32 {
		mu.Lock()
		defer mu.Unlock()
		return seen
	}, err
}

// Streams are played by RTSP, over TCP though UDP is asked for first, by those who have a token: one that leaves is not
// counted any more.
func TestRTSP(t *testing.T) {
	s := streams(t, 0)
	addr := serveRTSP(t, s, RTSPConfig{Tokens: []string{operator, viewing}, Elsewhere: func(camera string) string {
		return map[string]string{"door": "box-2"}[camera]
	}})
	for _, tc := range []struct{ name, user, path, want string }{
		{"nobody", "", "gate", "401"},
		{"wrong password", "segd:guess-guess-guess-guess@", "gate", "401"},
		{"password as the user", viewing + ":@", "gate", "401"},
		{"no such camera", "segd:" + viewing + "@", "street", `404 (Not Found: no such stream "street"; accepts CAMERA and CAMERA/overlay, of the cameras ["gate" "yard"])`},
		{"another box's", "segd:" + viewing + "@", "door/overlay", `404 (Not Found: camera "door" is run by box "box-2"; ask there)`},
	} {
		_, err := play(t, addr, tc.user, tc.path)
		assert.ErrorContains(t, err, tc.want, "%s", tc.name)
	}
	plain, err := play(t, addr, "segd:"+viewing+"@", "gate")
	require.NoError(t, err)
	drawn, err := play(t, addr, "me:"+operator+"@", "gate/overlay")
	require.NoError(t, err)
	publish(s, 0, 20, 320, 240)
	for _, times := range []func() []uint32{plain, drawn} {
		waitfor.True(t, "20 pictures", func() bool { return len(times()) == 20 })
		for i, at := range times() {
			require.Equal(t, uint32(i*3600), at, "picture %d is of", i)
		}
	}
	if got := s.Stats(); got.Viewers[RTSPProtocol] != 2 || got.Encoded != 40 || got.Dropped != 0 {
		t.Errorf("%+v", got)
	}
	s.Cameras(nil)
	waitfor.True(t, "nobody watches a camera that is gone", func() bool { return s.Stats().Viewers[RTSPProtocol] == 0 })
}

// There are only so many viewers.
func TestRTSPLimit(t *testing.T) {
	s := streams(t, 2)
	addr := serveRTSP(t, s, RTSPConfig{})
	_, err := play(t, addr, "", "gate")
	require.NoError(t, err)
	for range 20 {
		_, err := play(t, addr, "", "gate")
		require.ErrorContains(t, err, "503 (Service Unavailable: too many viewers: gate has its limit of 1, half of http.viewers)", "one too many")
	}
	if got := s.Stats(); got.Refused != 20 || got.Viewers[RTSPProtocol] != 1 {
		t.Errorf("%+v", got)
	}
}

// Who guesses passwords is soon told to wait.
func TestGuesses(t *testing.T) {
	s := streams(t, 0)
	addr := serveRTSP(t, s, RTSPConfig{Tokens: []string{viewing}})
	for i := range limit.Burst {
		answer := say(t, addr, "DESCRIBE rtsp://"+addr+"/gate RTSP/1.0\r\nCSeq: 1\r\nAuthorization: Digest username=\"u\", realm=\"ipcam\", nonce=\"n\", uri=\"/\", response=\"r\"\r\n\r\n")
		switch {
		case strings.HasPrefix(answer, "RTSP/1.0 401"):
		case strings.HasPrefix(answer, "RTSP/1.0 503 Service Unavailable: too many requests without a right password"):
			if i < limit.Burst/limit.CostWork {
				t.Errorf("after %d guesses", i)
			}
			return
		default:
			t.Fatalf("%q", answer)
		}
	}
	t.Errorf("%d guesses are answered", limit.Burst)
}

// say sends a request and returns the answer's first line.
func say(t *testing.T, addr, request string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte(request))
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(waitfor.Limit)))
	line, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err, "%q", line)
	return line
}

// What is not RTSP is closed before gortsplib has it: within HTTP it would serve pages of other sites, take a message of a
// terabyte into memory, and end the process for one byte after a handshake. Who has RTSP goes on.
func TestNoTunnels(t *testing.T) {
	s := streams(t, 0)
	addr := serveRTSP(t, s, RTSPConfig{})
	play, err := play(t, addr, "", "gate")
	require.NoError(t, err)
	const handshake = "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
		"Sec-WebSocket-Protocol: rtsp.onvif.org\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
	for _, says := range []string{
		handshake, handshake + "X", "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET / HTTP/1.1\r\nAccept: application/x-rtsp-tunnelled\r\nX-Sessioncookie: a\r\n\r\n",
		"POST / HTTP/1.1\r\nContent-Type: application/x-rtsp-tunnelled\r\nX-Sessioncookie: a\r\n\r\n",
	} {
		conn, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		_, err = io.WriteString(conn, says)
		require.NoError(t, err)
		if answer, _ := io.ReadAll(conn); len(answer) > 0 {
			t.Errorf("%q is answered %q", says, answer)
		}
		_ = conn.Close()
	}
	publish(s, 0, 1, 320, 240)
	waitfor.True(t, "the picture after them", func() bool { return len(play()) == 1 })
}

// A viewer that does not read loses frames, which are counted, and delays no other viewer.
func TestRTSPDoesNotRead(t *testing.T) {
	s := streams(t, 4)
	addr := serveRTSP(t, s, RTSPConfig{})
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(4<<10))
	in := bufio.NewReader(conn)
	session := ""
	for i, request := range []string{
		"SETUP rtsp://%s/gate/trackID=0 RTSP/1.0\r\nTransport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n",
		"PLAY rtsp://%s/gate RTSP/1.0\r\n",
	} {
		if _, err := fmt.Fprintf(conn, request+"CSeq: %d\r\n%s\r\n", addr, i+1, session); err != nil {
			t.Fatal(err)
		}
		var answer base.Response
		if err := answer.Unmarshal(in); err != nil || answer.StatusCode != base.StatusOK {
			t.Fatalf("%q: %v %v", request, err, answer)
		}
		id, _, _ := strings.Cut(answer.Header["Session"][0], ";")
		session = "Session: " + id + "\r\n"
	}
	times, err := play(t, addr, "", "gate")
	require.NoError(t, err)
	noise := rand.NewChaCha8([32]byte{})
	for n := 0; s.Stats().Dropped == 0; n++ {
		m, bgr := frame(n, 1280, 720)
		_, _ = noise.Read(bgr) // which is much to encode
		show(s)(m, bgr)
		waitfor.True(t, "the picture at the one that reads", func() bool { return len(times()) == n+1 })
	}
	assert.Equal(t, 2, s.Stats().Viewers[RTSPProtocol], "viewers")
}

// Who has no password takes some of the connections only, and the oldest of them go: newcomers come in, and those with a
// password stay. These are limited by client, so that none has all.
func TestStrangersAreFew(t *testing.T) {
	addr := serveRTSP(t, streams(t, 4*maxConns), RTSPConfig{Tokens: []string{operator}})
	open := func(from string) net.Conn {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		conn, err := dialer.Dial("tcp", addr)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	// talks tells whether a connection is let say something.
	talks := func(conn net.Conn) bool {
		if _, err := io.WriteString(conn, "OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n"); err != nil {
			return false
		}
		line, _ := bufio.NewReader(conn).ReadString('\n')
		return strings.HasPrefix(line, "RTSP/1.0 200")
	}
	login := "segd:" + operator + "@"
	for range 3 {
		_, err := play(t, addr, login, "gate")
		require.NoError(t, err)
	}
	patient := open("127.0.0.2")
	for i := range 2 * maxConns {
		if from := fmt.Sprintf("127.0.0.%d", 3+i%4); !talks(open(from)) {
			t.Fatalf("stranger %d is not let in", i)
		}
	}
	if !talks(patient) {
		t.Error("who has one connection makes room for who has many")
	}
	for i := 3; i < maxClient; i++ {
		_, err := play(t, addr, login, "gate")
		require.NoError(t, err, "connection %d with a password", i)
	}
	if talks(open("127.0.0.1")) {
		t.Error("a client has one too many")
	}
	if !talks(open("127.0.0.9")) {
		t.Error("one client has all")
	}
}

// docs/security.md has a table of who may make which request: who may not is refused.
func TestRights(t *testing.T) {
	rows, err := docs.Table("../../docs/security.md", "Over RTSP")
	require.NoError(t, err)
	addr := serveRTSP(t, streams(t, 0), RTSPConfig{Tokens: []string{viewing}})
	public := ""
	for _, row := range rows {
		for _, method := range row.Names {
			conn, err := net.Dial("tcp", addr)
			require.NoError(t, err)
			defer conn.Close()
			_, _ = fmt.Fprintf(conn, "%s rtsp://%s/gate RTSP/1.0\r\nCSeq: 1\r\nTransport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n\r\n", method, addr)
			var answer base.Response
			err = answer.Unmarshal(bufio.NewReader(conn))
			if allowed := err == nil && answer.StatusCode == base.StatusOK; allowed != (row.Cells["nobody"] == "yes") {
				t.Errorf("%s without a password: %v %v", method, answer.StatusCode, err)
			}
			if all := answer.Header["Public"]; len(all) > 0 {
				public = all[0]
			}
		}
	}
	for method := range strings.SplitSeq(public, ", ") {
		if !slices.ContainsFunc(rows, func(r docs.Row) bool { return slices.Contains(r.Names, method) && r.Cells["viewer"] == "yes" }) {
			t.Errorf("%s is served, and not in the table", method)
		}
	}
	assert.Equal(t, 5, strings.Count(public, ", "), "served are %q", public)
}

func TestListen(t *testing.T) {
	s := streams(t, 0)
	addr := serveRTSP(t, s, RTSPConfig{})
	for _, tc := range []struct{ addr, want string }{
		{addr, "is already in use: another segd or another program listens there; accepts: another rtsp.addr"},
		{"192.0.2.1:0", "is not an address of this machine; accepts: another rtsp.addr"},
		{"nowhere", "accepts: another rtsp.addr"},
	} {
		_, err := Listen(RTSPConfig{Addr: tc.addr}, s)
		assert.ErrorContains(t, err, tc.want, "%s", tc.addr)
	}
	unused, err := Listen(RTSPConfig{Addr: "127.0.0.1:0"}, s)
	require.NoError(t, err)
	unused.Close()
	unused.Close()
}
