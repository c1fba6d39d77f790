package whip

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/pion/sdp/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/internal/freeport"
)

// plainOffer is one that is accepted.
const plainOffer = "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\n" +
	"m=video 9 UDP/TLS/RTP/SAVPF 96\r\nc=IN IP4 0.0.0.0\r\na=setup:actpass\r\na=mid:0\r\na=sendonly\r\n" +
	"a=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\na=rtcp-mux\r\na=rtpmap:96 VP8/90000\r\n" +
	"a=fingerprint:sha-256 0F:74:31:25:CB:A2:13:EC:28:6F:6D:2C:61:FF:5D:C2:BC:B9:DB:3D:98:14:8D:1A:BB:EA:33:0C:A4:60:A8:8E\r\n" +
	"a=candidate:1 1 udp 2130706431 10.0.0.1 50000 typ host\r\n"

func TestRefusals(t *testing.T) {
	_, base := serve(t, Config{})
	edit := func(from, to string) string {
		require.Contains(t, plainOffer, from, "the offer")
		return strings.Replace(plainOffer, from, to, 1)
	}
	head, section, _ := strings.Cut(plainOffer, "m=video")
	section = "m=video" + section
	for _, tc := range []struct {
		name, method, path, contentType, body string
		status                                int
		words                                 string
	}{
		{"no such camera", "POST", "/whip/b", typeSDP, plainOffer, 404, `no camera \"b\"`},
		{"GET", "GET", "/whip/a", "", "", 405, "POST, OPTIONS"},
		{"HEAD", "HEAD", "/whip/a", "", "", 405, ""},
		{"PUT", "PUT", "/whip/a", typeSDP, plainOffer, 405, ""},
		{"JSON", "POST", "/whip/a", "application/json", "{}", 415, "application/sdp"},
		{"no type", "POST", "/whip/a", "", plainOffer, 415, "application/sdp"},
		{"oversize", "POST", "/whip/a", typeSDP, plainOffer + strings.Repeat("a=x\r\n", maxOffer/5), 413, "65536"},
		{"empty", "POST", "/whip/a", typeSDP, "", 422, "no video section"},
		{"garbage", "POST", "/whip/a", typeSDP, "\x00\xffhello", 400, "SDP"},
		{"half", "POST", "/whip/a", typeSDP, plainOffer[:90], 400, "SDP"},
		{"no media", "POST", "/whip/a", typeSDP, head, 422, "no video section"},
		{"two videos", "POST", "/whip/a", typeSDP, plainOffer + section, 422, "accepts one of video"},
		{"a thousand videos", "POST", "/whip/a", typeSDP, plainOffer + strings.Repeat("m=video 9 UDP/TLS/RTP/SAVPF 96\r\n", 1000), 422, "1001 media sections"},
		{"data", "POST", "/whip/a", typeSDP, plainOffer + "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=mid:1\r\n", 422, "application"},
		{"only receives", "POST", "/whip/a", typeSDP, edit("sendonly", "recvonly"), 422, "accepts sendonly"},
		{"simulcast", "POST", "/whip/a", typeSDP, plainOffer + "a=rid:h send\r\na=simulcast:send h\r\n", 422, "single quality"},
		{"strange codec", "POST", "/whip/a", typeSDP, edit("VP8/90000", "theora/90000"), 422, "theora; accepts H.264, VP8"},
		{"no mid", "POST", "/whip/a", typeSDP, edit("a=mid:0\r\n", ""), 422, "a=mid"},
		{"no fragment", "POST", "/whip/a", typeSDP, edit("a=ice-ufrag:abcd\r\n", ""), 422, "ice-ufrag"},
		{"no fingerprint", "POST", "/whip/a", typeSDP, edit("a=fingerprint", "a=fingertip"), 422, "fingerprint"},
		{"bad fingerprint", "POST", "/whip/a", typeSDP, edit("sha-256 0F", "sha-256\r\na=x:"), 422, "offer refused"},
		{"no such session", "DELETE", "/whip/a/guess", "", "", 404, "no such session"},
		{"no such session to patch", "PATCH", "/whip/a/guess", typeFragment, "", 404, "no such session"},
		{"session of no camera", "DELETE", "/whip/b/guess", "", "", 404, "no camera"},
		{"nothing there", "POST", "/whip/", typeSDP, plainOffer, 404, ""},
		{"one that is accepted", "POST", "/whip/a", typeSDP, plainOffer, 201, "a=ice-lite"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			resp, body := ask(t, tc.method, base+tc.path, tc.contentType, tc.body)
			if resp.StatusCode != tc.status || !strings.Contains(body, tc.words) {
				t.Errorf("%d %s; want %d with %q", resp.StatusCode, body, tc.status, tc.words)
			}
			if resp.StatusCode == 405 && resp.Header.Get("Allow") != endpointMethods {
				t.Errorf("Allow: %q", resp.Header.Get("Allow"))
			}
		})
	}
}

// What an answer says, and what can be done with a session.
func TestResource(t *testing.T) {
	s, base := serve(t, Config{
		PublicIPs: []string{"192.0.2.10", "2001:db8::1"},
		ICEServers: []ICEServer{
			{URL: "stun:stun.example.net"},
			{URL: "turn:turn.example.net?transport=udp", Username: "user", Credential: "pass word"},
		},
	})
	resp, answer := ask(t, "POST", base+"/whip/a", typeSDP+"; charset=utf-8", plainOffer)
	if resp.StatusCode != 201 || resp.Header.Get("Content-Type") != typeSDP {
		t.Fatalf("%d %s %s", resp.StatusCode, resp.Header.Get("Content-Type"), answer)
	}
	var d sdp.SessionDescription
	require.NoError(t, d.UnmarshalString(answer))
	var hosts []string
	for _, a := range d.MediaDescriptions[0].Attributes {
		if a.Key == "candidate" {
			f := strings.Fields(a.Value)
			hosts = append(hosts, f[2]+" "+f[4])
			if f[2] == "udp" && f[5] != strings.TrimPrefix(strings.TrimPrefix(s.udp.GetListenAddresses()[0].String(), "127.0.0.1"), ":") {
				t.Errorf("candidate %q is not at the server's port", a.Value)
			}
		}
	}
	slices.Sort(hosts)
	want := []string{"tcp 127.0.0.1", "tcp 192.0.2.10", "tcp 2001:db8::1", "udp 127.0.0.1", "udp 192.0.2.10", "udp 2001:db8::1"}
	hosts = slices.Compact(hosts)
	assert.Equal(t, want, hosts, "candidates")
	if _, ok := d.MediaDescriptions[0].Attribute("recvonly"); !ok {
		t.Errorf("the answer does not receive:\n%s", answer)
	}
	links := []string{
		`<stun:stun.example.net>; rel="ice-server"`,
		`<turn:turn.example.net?transport=udp>; rel="ice-server"; username="user"; credential="pass word"; credential-type="password"`,
	}
	assert.Equal(t, links, resp.Header.Values("Link"), "Link")
	location, etag := resp.Header.Get("Location"), resp.Header.Get("ETag")
	if id, ok := strings.CutPrefix(location, "/whip/a/"); !ok || len(id) < 22 { // 128 bits in base64
		t.Errorf("Location %q", location)
	}

	preflight, _ := ask(t, "OPTIONS", base+"/whip/a", "", "")
	if preflight.StatusCode != 204 || preflight.Header.Get("Accept-Post") != typeSDP || preflight.Header.Get("Allow") != endpointMethods ||
		!slices.Equal(preflight.Header.Values("Link"), links) {
		t.Errorf("OPTIONS: %d %v", preflight.StatusCode, preflight.Header)
	}
	if resp, _ := ask(t, "OPTIONS", base+location, "", ""); resp.StatusCode != 204 || resp.Header.Get("Accept-Patch") != typeFragment {
		t.Errorf("OPTIONS of the session: %d %v", resp.StatusCode, resp.Header)
	}

	const fragment = "a=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\nm=video 9 RTP/AVP 0\r\na=mid:0\r\n" +
		"a=candidate:2 1 udp 2130706431 10.0.0.2 50001 typ host\r\na=end-of-candidates\r\n"
	for _, tc := range []struct {
		name, contentType, match, body string
		status                         int
	}{
		{"candidates", typeFragment, etag, fragment, 204},
		{"nothing", typeFragment, etag, "", 204},
		{"an offer", typeSDP, etag, plainOffer, 415},
		{"not SDP", typeFragment, etag, "candidate", 400},
		{"oversize", typeFragment, etag, strings.Repeat("a=x\r\n", maxFragment), 413},
		{"no If-Match", typeFragment, "", fragment, 428},
		{"an old If-Match", typeFragment, `"x"`, fragment, 412},
		{"restart", typeFragment, "*", strings.Replace(fragment, "abcd", "efgh", 1), 422},
		{"restart in disguise", typeFragment, etag, strings.Replace(fragment, "abcd", "efgh", 1), 422},
	} {
		resp, body := ask(t, "PATCH", base+location, tc.contentType, tc.body, "If-Match", tc.match)
		if resp.StatusCode != tc.status {
			t.Errorf("PATCH with %s: %d %s, want %d", tc.name, resp.StatusCode, body, tc.status)
		}
	}
	if resp, _ := ask(t, "GET", base+location, "", ""); resp.StatusCode != 405 || resp.Header.Get("Allow") != resourceMethods {
		t.Errorf("GET of the session: %d %v", resp.StatusCode, resp.Header)
	}
	if resp, _ := ask(t, "DELETE", base+location, "", ""); resp.StatusCode != 200 {
		t.Errorf("DELETE: %d", resp.StatusCode)
	}
	if resp, _ := ask(t, "PATCH", base+location, typeFragment, fragment, "If-Match", etag); resp.StatusCode != 404 {
		t.Errorf("PATCH after DELETE: %d", resp.StatusCode)
	}
}

func TestConfig(t *testing.T) {
	for _, tc := range []struct {
		name string
		cfg  Config
		want string // in the error
	}{
		{"no port", Config{Addr: "127.0.0.1"}, "accepts host:port"},
		{"bad port", Config{Addr: "127.0.0.1:x"}, `port "x"`},
		{"a name", Config{Addr: "myhost:8189"}, "no IP address"},
		{"every interface, any port", Config{Addr: ":0"}, "port above 0"},
		{"not here", Config{Addr: "192.0.2.1:0"}, "not an address of this machine"},
		{"public IP", Config{PublicIPs: []string{"gate.example"}}, `public IP "gate.example"`},
		{"ICE server", Config{ICEServers: []ICEServer{{URL: "https://x"}}}, "accepts such as stun:"},
		{"ICE server that breaks out", Config{ICEServers: []ICEServer{{URL: "stun:x>; rel=y"}}}, "accepts such as stun:"},
		{"credential that breaks out", Config{ICEServers: []ICEServer{{URL: "turn:x", Credential: `a"b`}}}, "without quotes"},
		{"camera twice", Config{Cameras: []string{"a", "a"}}, "named twice"},
		{"two at once", Config{Addr: "x", Cameras: []string{"a/b"}}, "has a slash"},
		{"timeout", Config{SilenceTimeout: -1}, "positive durations"},
	} {
		s, err := New(tc.cfg)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.HasPrefix(err.Error(), "whip: ") {
			t.Errorf("%s: error %v, want one with %q", tc.name, err, tc.want)
		}
	}
	s, err := New(Config{Addr: "LocalHost:0"})
	require.NoError(t, err)
	defer s.Close()
	_, err = New(Config{Addr: s.udp.GetListenAddresses()[0].String()})
	assert.ErrorContains(t, err, "already in use", "second server on the port")
}

// The port that TCP got for port 0 may be another program's over UDP; then there is another. One that was asked for is refused.
func TestPortTakenOverUDP(t *testing.T) {
	for _, tc := range []struct {
		name  string
		addr  string
		taken int // so many tries find another program over UDP
		tries int
		wrong bool
	}{
		{"another", "127.0.0.1:0", 1, 2, false},
		{"none", "127.0.0.1:0", anyPortTries, anyPortTries, true},
		{"named", freeport.Addr(t), anyPortTries, 1, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tries := 0
			listener, conn, err := listenBoth(netip.MustParseAddrPort(tc.addr), func(network string, addr *net.UDPAddr) (*net.UDPConn, error) {
				if tries++; tries <= tc.taken {
					return nil, &net.OpError{Op: "listen", Net: network, Addr: addr, Err: os.NewSyscallError("bind", syscall.EADDRINUSE)}
				}
				return net.ListenUDP(network, addr)
			})
			if tries != tc.tries || (err != nil) != tc.wrong || tc.wrong && !errors.Is(err, syscall.EADDRINUSE) {
				t.Fatalf("%d tries, %v", tries, err)
			}
			if err != nil {
				return
			}
			defer listener.Close()
			defer conn.Close()
			if a, b := listener.Addr().(*net.TCPAddr).AddrPort(), conn.LocalAddr().(*net.UDPAddr).AddrPort(); a != b {
				t.Errorf("TCP at %v, UDP at %v", a, b)
			}
		})
	}
}

// Every interface, on one port.
func TestEveryInterface(t *testing.T) {
	s, err := New(Config{Addr: strings.TrimPrefix(freeport.Addr(t), "127.0.0.1"), Cameras: []string{"a"}})
	require.NoError(t, err)
	h := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		plainHTTP.CloseIdleConnections()
		h.Close()
		s.Close()
	})
	w := follow(t, s, "a", 0)
	publish(t, h.URL, "a", clientConfig{codec: codec.H264, answered: func(_ *http.Response, answer string) {
		assert.Contains(t, answer, " 127.0.0.1 ", "loopback is not offered")
	}})
	w.next()
}

// FuzzOffer posts hostile offers: an answer comes, whatever it is, and nothing is
// left of it.
func FuzzOffer(f *testing.F) {
	f.Add(plainOffer)
	f.Add(strings.Replace(plainOffer, "a=rtpmap:96 VP8/90000", "a=rtpmap:96 H264/90000\r\na=fmtp:96 packetization-mode=1;profile-level-id=zz", 1))
	f.Add(plainOffer + "a=extmap:3 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01\r\na=ssrc:1 cname:x\r\na=ssrc-group:FID 1 2\r\n")
	f.Add(plainOffer + "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:1\r\na=sendonly\r\na=rtpmap:111 opus/48000/2\r\n")
	f.Add("v=0\r\nm=video")
	s, err := New(Config{Addr: "127.0.0.1:0", Cameras: []string{"a"}, Replace: true})
	require.NoError(f, err)
	f.Cleanup(s.Close)
	h := s.Handler()
	f.Fuzz(func(t *testing.T, offer string) {
		r := httptest.NewRequest("POST", "/whip/a", strings.NewReader(offer))
		r.Header.Set("Content-Type", typeSDP)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 201 && w.Code != 400 && w.Code != 413 && w.Code != 422 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if w.Code == 201 {
			end := httptest.NewRecorder()
			h.ServeHTTP(end, httptest.NewRequest("DELETE", w.Header().Get("Location"), nil))
			if end.Code != 200 {
				t.Fatalf("DELETE: %d %s", end.Code, end.Body)
			}
		}
	})
}

// One client does not get all of the TCP connections that there may be.
func TestClientsTCPConnections(t *testing.T) {
	s, _ := serve(t, Config{})
	closed := make(chan int)
	for i := range maxClientTCP + 1 {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.Port()))
		require.NoError(t, err)
		var read sync.WaitGroup
		t.Cleanup(func() {
			_ = conn.Close()
			read.Wait()
		})
		read.Go(func() {
			_, _ = conn.Read(make([]byte, 1))
			select {
			case closed <- i:
			case <-t.Context().Done():
			}
		})
	}
	// The others are closed after firstWord, or at the end.
	if i := <-closed; i != maxClientTCP {
		t.Errorf("connection %d is closed first", i)
	}
}
