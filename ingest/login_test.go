package ingest

import (
	"crypto/md5"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bluenviron/gortsplib/v5/pkg/base"
	"github.com/stretchr/testify/assert"
)

// gate is who lets users in by RFC 7616, reckoned here by hand; the user is anna, the password
// "r%ght/p@ss:".
type gate struct {
	asking
	mu      sync.Mutex
	nonces  int
	used    int
	counts  map[string]bool // nonce and nc that were there
	told    int             // requests with an Authorization
	wrong   int             // that had the wrong password, by a good nonce or another
	methods map[string]int  // scheme or algorithm of those that were let in
	faults  []string
}

// asking is how a gate asks.
type asking struct {
	// offers are the values of WWW-Authenticate; NONCE stands for the nonce of now.
	offers []string
	// uses is how many requests a nonce is good for; 0: any number.
	uses int
	// stale says that a nonce that is used up is called so; always that any is.
	stale, always bool
}

var digestParameter = regexp.MustCompile(`(\w+)=(?:"([^"]*)"|([^\s,]+))`)

func hexSum(algorithm string, parts ...string) string {
	text := []byte(strings.Join(parts, ":"))
	switch strings.TrimSuffix(algorithm, "-sess") {
	case "SHA-256":
		return fmt.Sprintf("%x", sha256.Sum256(text))
	case "SHA-512-256":
		return fmt.Sprintf("%x", sha512.Sum512_256(text))
	}
	return fmt.Sprintf("%x", md5.Sum(text))
}

func (g *gate) nonce() string { return fmt.Sprintf("n0nce%d", g.nonces) }

// in tells whether a request is let in, and what it is challenged by if not.
func (g *gate) in(method, uri string, authorization []string) (challenges []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	stale := ""
	if len(authorization) == 1 {
		g.told++
		ok, good := g.check(method, uri, authorization[0])
		if ok {
			return nil
		}
		if good && g.stale || g.always {
			stale = ", stale=TRUE"
		}
	}
	g.nonces++
	g.used = 0
	for _, o := range g.offers {
		challenges = append(challenges, strings.ReplaceAll(strings.ReplaceAll(o, "NONCE", g.nonce()), "STALE", stale))
	}
	return challenges
}

// check tells whether authorization is right, and whether its password is.
func (g *gate) check(method, uri, authorization string) (ok, password bool) {
	scheme, rest, _ := strings.Cut(authorization, " ")
	if scheme == "Basic" {
		ok = rest == "YW5uYTpyJWdodC9wQHNzOg=="
		g.methods[scheme]++
		return ok, ok
	}
	p := map[string]string{}
	for _, m := range digestParameter.FindAllStringSubmatch(rest, -1) {
		p[m[1]] = m[2] + m[3]
	}
	a := p["algorithm"]
	key := hexSum(a, p["username"], "a realm, with=signs", "r%ght/p@ss:")
	if strings.HasSuffix(a, "-sess") {
		key = hexSum(a, key, p["nonce"], p["cnonce"])
	}
	want := hexSum(a, key, p["nonce"], hexSum(a, method, uri))
	if p["qop"] != "" {
		want = hexSum(a, key, p["nonce"], p["nc"], p["cnonce"], p["qop"], hexSum(a, method, uri))
		if p["qop"] == "auth-int" {
			want = hexSum(a, key, p["nonce"], p["nc"], p["cnonce"], p["qop"], hexSum(a, method, uri, hexSum(a, "")))
		}
		if n, err := strconv.ParseUint(p["nc"], 16, 32); err != nil || len(p["nc"]) != 8 || n == 0 || g.counts[p["nonce"]+p["nc"]] || p["cnonce"] == "" {
			g.faults = append(g.faults, "nonce count "+authorization)
		}
		g.counts[p["nonce"]+p["nc"]] = true
	}
	if strings.Contains(strings.Join(g.offers, ""), "qop=") != (p["qop"] != "") || strings.Contains(strings.Join(g.offers, ""), "opaque") && p["opaque"] != "0pa" || p["uri"] != uri {
		g.faults = append(g.faults, authorization)
	}
	password = p["response"] == want
	if !password {
		g.wrong++
	}
	g.used++
	if ok = password && p["nonce"] == g.nonce() && (g.uses == 0 || g.used <= g.uses); ok {
		g.methods[a]++
	}
	return ok, password
}

const offer = `Digest realm="a realm, with=signs", nonce="NONCE"STALE`

// gates are the ways in which cameras ask who is there, and what is answered.
var gates = map[string]struct {
	asking
	by string // what lets in
}{
	"Basic":                  {asking{offers: []string{`Basic realm="x"`}}, "Basic"},
	"no qop":                 {asking{offers: []string{offer}}, ""},
	"MD5, auth":              {asking{offers: []string{offer + `, qop="auth"`}}, ""},
	"MD5, named":             {asking{offers: []string{offer + `, algorithm=MD5, qop="auth", opaque="0pa"`}}, "MD5"},
	"quoted algorithm":       {asking{offers: []string{offer + `, algorithm="MD5", qop="auth"`}}, "MD5"},
	"SHA-256":                {asking{offers: []string{offer + `, algorithm=SHA-256`}}, "SHA-256"},
	"SHA-256, auth":          {asking{offers: []string{offer + `, algorithm=SHA-256, qop="auth"`}}, "SHA-256"},
	"SHA-512-256, auth":      {asking{offers: []string{offer + `, algorithm=SHA-512-256, qop="auth"`}}, "SHA-512-256"},
	"MD5-sess":               {asking{offers: []string{offer + `, algorithm=MD5-sess, qop="auth"`}}, "MD5-sess"},
	"MD5-sess without qop":   {asking{offers: []string{offer + `, algorithm=MD5-sess`}}, "MD5-sess"},
	"SHA-256-sess":           {asking{offers: []string{offer + `, algorithm=SHA-256-sess, qop="auth"`}}, "SHA-256-sess"},
	"auth and auth-int":      {asking{offers: []string{offer + `, qop="auth-int, auth"`}}, ""},
	"auth-int":               {asking{offers: []string{offer + `, qop="auth-int"`}}, ""},
	"bare words":             {asking{offers: []string{`digest Realm="a realm, with=signs",qop=auth,nOnce="NONCE"`}}, ""},
	"the strongest of lines": {asking{offers: []string{`Basic realm="x"`, offer + `, qop="auth"`, offer + `, algorithm=SHA-256, qop="auth"`, offer + `, qop="auth", algorithm=MD5`}}, "SHA-256"},
	"the strongest of one":   {asking{offers: []string{offer + `, algorithm=SHA-256, qop="auth", ` + offer + `, qop="auth", Basic realm="x"`}}, "SHA-256"},
	"unknown and known":      {asking{offers: []string{`Negotiate`, `Bearer realm="x"`, offer + `, algorithm=SHA3, qop="auth"`, offer + `, qop="auth"`}}, ""},
	"unknown and Basic":      {asking{offers: []string{`Bearer realm="x", Basic realm="y"`}}, "Basic"},
	"stale":                  {asking{offers: []string{offer + `, qop="auth"`}, uses: 1, stale: true}, ""},
	"stale, not said so":     {asking{offers: []string{offer + `, qop="auth"`}, uses: 1}, ""},
	"stale, no qop":          {asking{offers: []string{offer}, uses: 1}, ""},
}

func open(a asking) *gate {
	return &gate{asking: a, counts: map[string]bool{}, methods: map[string]int{}}
}

// checkLogin looks at a gate that pictures came through.
func (g *gate) checkLogin(t *testing.T, by string) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.faults) > 0 || g.wrong > 0 {
		t.Errorf("%d with a wrong password; not by RFC 7616: %q", g.wrong, g.faults)
	}
	if len(g.methods) != 1 || g.methods[by] == 0 {
		t.Errorf("let in by %v, want %q", g.methods, by)
	}
}

// checkWrong looks at a gate that had a wrong password.
func (g *gate) checkWrong(t *testing.T, err error) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	mustWrap(t, err, ErrUnauthorized)
	if !strings.Contains(err.Error(), "wrong credentials") || strings.Contains(err.Error(), "guess1") {
		t.Errorf("error %q", err)
	}
	if g.told != 1 {
		t.Errorf("a wrong password was told %d times", g.told)
	}
}

// guard has an RTSP camera guarded by g, but for OPTIONS.
func guard(g *gate) func(*base.Request, *base.Response) *base.Response {
	return func(req *base.Request, _ *base.Response) *base.Response {
		if req.Method == base.Options {
			return nil
		}
		if challenges := g.in(string(req.Method), req.URL.String(), req.Header["Authorization"]); challenges != nil {
			return &base.Response{StatusCode: 401, Header: base.Header{"WWW-Authenticate": challenges}}
		}
		return nil
	}
}

const anna, guess = "anna:r%25ght%2Fp%40ss:@", "anna:guess1@"

func TestRTSPLogin(t *testing.T) {
	for name, tc := range gates {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := open(tc.asking)
			c := serveOdd(t, &oddCamera{answer: guard(g)})
			w := start(t, testConfig(c.url(anna), "auto"))
			w.take(3)
			_ = w.stop()
			g.checkLogin(t, tc.by)
			if w.events.downs != 0 || c.overUDP() == 0 || len(c.asked(base.Setup)) != c.overUDP() {
				t.Errorf("down %d times, %v", w.events.downs, w.events.lastDown)
			}

			g = open(tc.asking)
			c = serveOdd(t, &oddCamera{answer: guard(g)})
			g.checkWrong(t, probe(t.Context(), testConfig(c.url(guess), "auto")))
		})
	}
}

// web is a camera that sends JPEGs over HTTP to whom g lets in: with single, one a request.
func (g *gate) web(t testing.TB, single bool) string {
	address := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		for _, c := range g.in(r.Method, r.URL.RequestURI(), r.Header["Authorization"]) {
			w.Header().Add("WWW-Authenticate", c)
		}
		switch {
		case len(w.Header()) > 0:
			w.WriteHeader(http.StatusUnauthorized)
		case single:
			w.Header().Set("Content-Type", "image/jpeg")
			w.Write(numberedJPEG(t, 128, 96, 1))
		default:
			w.Header().Set("Content-Type", "multipart/x-mixed-replace; boundary=x")
			for n := range 3 {
				fmt.Fprintf(w, "--x\r\n\r\n%s\r\n", numberedJPEG(t, 128, 96, n))
			}
			http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	}) + "/a%20b?channel=1&x=y"
	if single {
		return strings.Replace(address, "mjpeg+", "snapshot+", 1)
	}
	return address
}

func TestHTTPLogin(t *testing.T) {
	for name, tc := range gates {
		for _, single := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, single %v", name, single), func(t *testing.T) {
				t.Parallel()
				g := open(tc.asking)
				cfg := testConfig(strings.Replace(g.web(t, single), "//", "//"+anna, 1), "")
				if single {
					cfg.FPS = 50
				}
				w := start(t, cfg)
				w.take(3)
				_ = w.stop()
				g.checkLogin(t, tc.by)
				if w.events.downs != 0 {
					t.Errorf("down %d times, %v", w.events.downs, w.events.lastDown)
				}
				g = open(tc.asking)
				g.checkWrong(t, probe(t.Context(), testConfig(strings.Replace(g.web(t, single), "//", "//"+guess, 1), "")))
			})
		}
	}
}

// The user is sent to no camera that does not ask, and not by an unknown scheme.
func TestLoginOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	c := serveOdd(t, &oddCamera{})
	assert.NoError(t, probe(t.Context(), testConfig(c.url(anna), "tcp")))
	for _, r := range append(c.asked(base.Describe), c.asked(base.Setup)...) {
		if r.Header["Authorization"] != nil {
			t.Errorf("%s with %q", r.Method, r.Header["Authorization"])
		}
	}
	var told atomic.Int32
	tell := func(r *http.Request) { told.Add(int32(len(r.Header["Authorization"]))) }
	open := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		tell(r)
		w.WriteHeader(404)
	})
	mustWrap(t, probe(t.Context(), testConfig(strings.Replace(open, "//", "//"+anna, 1), "")), ErrNotFound)
	bearer := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		tell(r)
		w.Header().Set("WWW-Authenticate", `Bearer realm="x"`)
		w.WriteHeader(401)
	})
	err := probe(t.Context(), testConfig(strings.Replace(bearer, "//", "//"+anna, 1), ""))
	mustWrap(t, err, ErrUnauthorized)
	if told.Load() != 0 || !strings.Contains(err.Error(), "another authentication than Basic and Digest") {
		t.Errorf("told %d times; error %q", told.Load(), err)
	}
}

// A camera that insists on one new nonce after the other is not called one that refuses the
// password, and is asked a few times only.
func TestInsistence(t *testing.T) {
	t.Parallel()
	g := open(asking{offers: []string{offer + `, qop="auth"`}, always: true})
	c := serveOdd(t, &oddCamera{answer: guard(g)})
	err := probe(t.Context(), testConfig(c.url(guess), "auto"))
	mustWrap(t, err, ErrUnauthorized)
	g.mu.Lock()
	told := g.told
	g.mu.Unlock()
	if told != 1+maxRenewed || !strings.Contains(err.Error(), "calls each nonce of its own out of date") || strings.Contains(err.Error(), "wrong") {
		t.Errorf("told %d times; error %q", told, err)
	}

	// Accepted once, and never again.
	g = open(asking{offers: []string{offer + `, qop="auth"`}})
	c = serveOdd(t, &oddCamera{})
	c.answer = func(req *base.Request, res *base.Response) *base.Response {
		if req.Method != base.Describe && req.Method != base.Options {
			g.mu.Lock()
			g.used, g.uses = 1, -1
			g.mu.Unlock()
		}
		return guard(g)(req, res)
	}
	err = probe(t.Context(), testConfig(c.url(anna), "tcp"))
	assert.ErrorContains(t, err, "although it has accepted the user name and password")
}

// Challenges as cameras write them.
func TestStrongest(t *testing.T) {
	for _, tc := range []struct {
		lines    []string
		nonce    string
		offered  bool
		realm    string
		stale    bool
		qop, alg string
	}{
		{nil, "", false, "", false, "", ""},
		{[]string{""}, "", false, "", false, "", ""},
		{[]string{"Basic"}, "", true, "", false, "", ""},
		{[]string{`Digest realm="a \"b\", nonce=x", nonce="1", stale=true`}, "1", true, `a "b", nonce=x`, true, "", ""},
		{[]string{`Digest realm="a"`}, "", false, "", false, "", ""},
		{[]string{`Digest realm=a nonce=1 qop=auth`}, "1", true, "a", false, "auth", ""},
		{[]string{`DIGEST  realm = "a" , nonce = "1", qop = "AUTH,auth-conf", algorithm=md5-SESS, stale = "FALSE"`}, "1", true, "a", false, "auth auth-conf", "md5-SESS"},
		{[]string{`Digest realm="a", nonce="1", qop="auth-conf"`}, "", false, "", false, "", ""},
		{[]string{`NTLM TlRMTVNTUAAC==, Digest nonce="1", realm="a"`}, "1", true, "a", false, "", ""},
		{[]string{`Digest nonce="1", realm="unclosed`}, "1", true, "", false, "", ""},
		{[]string{`Digest nonce="1", algorithm=SHA-512`, `Digest nonce="2", algorithm=SHA-256`}, "1", true, "", false, "", "SHA-512"},
	} {
		c, offered := strongest(tc.lines)
		if offered != tc.offered || (c == nil) != (tc.nonce == "") {
			t.Errorf("%q: %v, %v", tc.lines, c, offered)
			continue
		}
		if c != nil && (c.Nonce != tc.nonce || c.Realm != tc.realm || c.Stale != tc.stale || strings.Join(c.QOP, " ") != tc.qop || c.Algorithm != tc.alg) {
			t.Errorf("%q: %+v", tc.lines, c)
		}
	}
}

func FuzzChallenge(f *testing.F) {
	for _, tc := range gates {
		for _, o := range tc.offers {
			f.Add(o)
		}
	}
	f.Fuzz(func(t *testing.T, line string) {
		l := login{user: url.UserPassword("anna", "s3cret")}
		if l.again(401, []string{line}) == (l.authorization("GET", "/") == "") {
			t.Errorf("%q: asked again, and told nothing, or the other way round", line)
		}
	})
}

// A client that is closed where the camera wants another nonce is not asked for ever.
func TestInsistEnds(t *testing.T) {
	talk, asked := new(rtspTalk), 0
	talk.again.Store(true)
	_, err := insist(talk, func() (int, error) { asked++; return 0, net.ErrClosed })
	if asked != 2 || err == nil {
		t.Errorf("asked %d times, error %v", asked, err)
	}
}
