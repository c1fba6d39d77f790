package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/internal/limit"
)

var testProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::7/128"), netip.MustParsePrefix("127.0.0.1/32")}

// through makes one request as it comes to the handler: from a peer, with headers.
func through(t *testing.T, s *Server, peer, method, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, "http://localhost"+path, nil)
	req.RemoteAddr = peer
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, req)
	return w
}

// Whose allowance a request spends: of two that differ in it, the second is served
// though the first is spent.
func TestClientBehindProxies(t *testing.T) {
	const forwarded = "X-Forwarded-For"
	for _, tt := range []struct {
		name, peer, a, b string // a and b are X-Forwarded-For
		same             bool   // they are one client
	}{
		{"two clients of a proxy", "10.1.2.3:1", "203.0.113.1", "203.0.113.2", false},
		{"two clients of two proxies in a row", "10.1.2.3:1", "203.0.113.1, 10.9.9.9", "203.0.113.2, 10.9.9.8", false},
		{"one client over two proxies", "10.1.2.3:1", "203.0.113.1, 10.9.9.9", "203.0.113.1, 10.9.9.8", true},
		{"with ports", "10.1.2.3:1", "203.0.113.1:1000", "203.0.113.1:2000", true},
		{"IPv6, one network", "[2001:db8::7]:1", "[2001:db8:1::1]:1000", "2001:db8:1::2", true},
		{"IPv6, two networks", "[2001:db8::7]:1", "2001:db8:1::1", "2001:db8:2::1", false},
		{"IPv4 in IPv6", "[::ffff:10.1.2.3]:1", "::ffff:203.0.113.1", "203.0.113.1", true},
		{"what a client claims is before what the proxy adds", "10.1.2.3:1", "198.51.100.1, 203.0.113.1", "198.51.100.2, 203.0.113.1", true},
		{"a claim of being the proxy", "10.1.2.3:1", "10.5.5.5, 203.0.113.1", "10.6.6.6, 203.0.113.1", true},
		{"no address", "10.1.2.3:1", "unknown", "_hidden", true},
		{"no address behind one", "10.1.2.3:1", "203.0.113.1, nonsense", "203.0.113.2, nonsense", true},
		{"nobody told", "10.1.2.3:1", "", "", true},
		{"a stranger claims", "192.0.2.9:1", "203.0.113.1", "203.0.113.2", true},
		{"a stranger claims to pass on a proxy", "192.0.2.9:1", "203.0.113.1, 10.1.2.3", "203.0.113.2, 10.1.2.3", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // no allowance comes meanwhile
				s, err := New(Config{Token: testToken, TrustedProxies: testProxies, Commands: newCameras()})
				require.NoError(t, err)
				defer s.Close()
				s.Cameras([]string{"gate"})
				from := func(who string) int {
					return through(t, s, tt.peer, "GET", "/api/v1/cameras/gate/snapshot", forwarded, who, "Authorization", "Bearer "+testToken).Code
				}
				spent := false
				for range 10 * limit.Burst {
					if spent = from(tt.a) == http.StatusTooManyRequests; spent {
						break
					}
				}
				if !spent {
					t.Fatal("the first one's allowance has no end")
				}
				assert.Equal(t, tt.same, from(tt.b) == http.StatusTooManyRequests, "%q spends the allowance of %q", tt.b, tt.a)
			})
		})
	}
}

// Several lines of a header are one list.
func TestForwardedLines(t *testing.T) {
	h := http.Header{"X-Forwarded-For": {"198.51.100.1", "203.0.113.1, 10.0.0.1"}}
	if got := proxies(testProxies).client(netip.MustParseAddr("10.1.2.3"), h); got != netip.MustParseAddr("203.0.113.1") {
		t.Errorf("the client is %v", got)
	}
}

// A cookie is Secure when the browser came by HTTPS, which only a trusted proxy may tell.
func TestSecureCookies(t *testing.T) {
	for _, tt := range []struct {
		name, peer, proto string
		secure            bool
	}{
		{"by a proxy with HTTPS", "10.1.2.3:1", "https", true},
		{"in capitals", "10.1.2.3:1", "HTTPS", true},
		{"by a proxy in the open", "10.1.2.3:1", "http", false},
		{"by a proxy that does not tell", "10.1.2.3:1", "", false},
		{"a stranger claims", "192.0.2.9:1", "https", false},
	} {
		s, err := New(Config{Token: testToken, TrustedProxies: testProxies})
		require.NoError(t, err)
		defer s.Close()
		w := through(t, s, tt.peer, "GET", "/?token="+testToken, "X-Forwarded-Proto", tt.proto)
		cookies := w.Result().Cookies()
		if len(cookies) != 1 || cookies[0].Secure != tt.secure {
			t.Errorf("%s: %d, cookies %v; want Secure: %v", tt.name, w.Code, cookies, tt.secure)
		}
	}
}

// Who guesses tokens spends an allowance of failures alone, wherever they try; the right
// token from the same address goes on.
func TestFailedAuthentication(t *testing.T) {
	for name, attempt := range map[string]func(s *Server, i int) *httptest.ResponseRecorder{
		"API": func(s *Server, i int) *httptest.ResponseRecorder {
			return through(t, s, "192.0.2.9:1", "GET", "/api/v1/cameras", "Authorization", fmt.Sprint("Bearer wrong", i))
		},
		"metrics": func(s *Server, _ int) *httptest.ResponseRecorder {
			return through(t, s, "192.0.2.9:1", "GET", "/metrics", "Authorization", "Bearer wrong")
		},
		"link": func(s *Server, i int) *httptest.ResponseRecorder {
			return through(t, s, "192.0.2.9:1", "GET", fmt.Sprint("/?token=wrong", i))
		},
		"sign-in": func(s *Server, i int) *httptest.ResponseRecorder {
			return through(t, s, "192.0.2.9:1", "POST", fmt.Sprint("/login?token=wrong", i)) // a form's field as well
		},
		"publishing": func(s *Server, _ int) *httptest.ResponseRecorder {
			return through(t, s, "192.0.2.9:1", "POST", "/whip/gate", "Authorization", "Bearer wrong")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // no allowance comes meanwhile
				s, err := New(Config{
					Token: testToken, Commands: newCameras(), Metrics: http.NotFoundHandler(),
					WHIP: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }),
				})
				require.NoError(t, err)
				defer s.Close()
				s.Cameras([]string{"gate"})
				limited := 0
				for i := range 3 * limit.Burst {
					w := attempt(s, i)
					if w.Code == http.StatusTooManyRequests {
						limited++
						if w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "without a right token") {
							t.Fatalf("%v %s", w.Header(), w.Body)
						}
					}
				}
				if limited < limit.Burst {
					t.Errorf("of %d guesses %d were refused for their number", 3*limit.Burst, limited)
				}
				for _, path := range []string{"/api/v1/cameras", "/api/v1/cameras/gate/snapshot"} {
					if w := through(t, s, "192.0.2.9:1", "GET", path, "Authorization", "Bearer "+testToken); w.Code != http.StatusOK {
						t.Errorf("the right token from there: %s: %d %s", path, w.Code, w.Body)
					}
				}
			})
		})
	}
}

func FuzzForwardedFor(f *testing.F) {
	for _, seed := range []string{"", "203.0.113.1", "1.2.3.4, [2001:db8::1]:80", ",,", "10.0.0.1,10.0.0.2", "fe80::1%eth0", "1.2.3.4:99999", "::ffff:10.0.0.1"} {
		f.Add(seed)
	}
	stranger, proxy := netip.MustParseAddr("192.0.2.9"), netip.MustParseAddr("10.0.0.1")
	f.Fuzz(func(t *testing.T, given string) {
		h := http.Header{"X-Forwarded-For": {given}}
		if got := proxies(testProxies).client(stranger, h); got != stranger {
			t.Fatalf("a stranger is taken for %v", got)
		}
		got := proxies(testProxies).client(proxy, h)
		if !got.IsValid() || got.Is4In6() || got.Zone() != "" {
			t.Fatalf("%q is from %v", given, got)
		}
		// What a client adds before is not believed.
		h = http.Header{"X-Forwarded-For": {"198.51.100.1, " + given}}
		if again := proxies(testProxies).client(proxy, h); again != got && !proxies(testProxies).trust(got) {
			t.Fatalf("%q is from %v, and with a claim before it from %v", given, got, again)
		}
	})
}
