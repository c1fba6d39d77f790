package web

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"strings"

	"github.com/segd/segd/api"
	"github.com/segd/segd/internal/limit"
	"github.com/segd/segd/internal/listen"
)

const (
	cookieName   = "segd_session"
	cookieMaxAge = 30 * 24 * 3600 // seconds
	maxLoginBody = 4 << 10
)

// securityHeaders are on every answer. Nothing is loaded from elsewhere, nothing
// inline is run, and no other site may frame, embed or read the page.
var securityHeaders = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
		"media-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy":           "camera=(), microphone=(), geolocation=()",
	"Cache-Control":                "no-store",
}

// hstsHeader has browsers come by HTTPS for a year, once they have.
const hstsHeader = "max-age=31536000"

func withSecurityHeaders(https bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if https {
			w.Header().Set("Strict-Transport-Security", hstsHeader)
		}
		for name, value := range securityHeaders {
			w.Header().Set(name, value)
		}
		next.ServeHTTP(w, r)
	})
}

// gate decides who may ask for what. With tokens, clients that have one; without, only
// requests addressed to loopback: a site whose name is made to resolve to
// 127.0.0.1 would otherwise count as same-origin.
type gate struct {
	limits   *limit.Limiter[allowance]
	operator *credentials       // digests: of equal length, so comparing tells nothing of it
	open     bool               // no token is set
	root     string             // the path at which browsers find the page, without a slash at the end unless it is all
	viewer   *credentials       // nil: none is set
	publish  *[sha256.Size]byte // digest of the token that lets publish, and no more; nil: none is set
}

// credentials are the digests of a token and of its session.
type credentials struct{ token, session [sha256.Size]byte }

func newCredentials(token string) *credentials {
	return &credentials{sha256.Sum256([]byte(token)), sha256.Sum256([]byte(sessionOf(token)))}
}

func newGate(cfg Config) *gate {
	g := &gate{
		limits:   limit.New[allowance](),
		operator: newCredentials(cfg.Token),
		open:     cfg.Token == "",
		root:     cmp.Or(cfg.BasePath, "/"),
	}
	if cfg.ViewerToken != "" {
		g.viewer = newCredentials(cfg.ViewerToken)
	}
	if cfg.PublishToken != "" {
		digest := sha256.Sum256([]byte(cfg.PublishToken))
		g.publish = &digest
	}
	return g
}

// sessionOf is the cookie's value for a token: it lets the page in without
// holding the token itself.
func sessionOf(token string) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("segd page session v1"))
	return hex.EncodeToString(mac.Sum(nil))
}

func same(given string, want [sha256.Size]byte) bool {
	digest := sha256.Sum256([]byte(given))
	return hmac.Equal(digest[:], want[:])
}

// role is what a client may do.
type role int

const (
	mayPublish role = iota - 1 // and nothing else; only who was handed on as that has it
	nobody
	mayView    // see, and change nothing
	mayOperate // everything
)

func (who role) String() string {
	return map[role]string{mayPublish: "publisher", nobody: "nobody", mayView: Viewer, mayOperate: "operator"}[who]
}

// role of who sent r, by its token or cookie; everybody is operator where none is set. Another box has looked at those
// of what it hands on.
func (g *gate) role(r *http.Request) role {
	if as, handed := handedRole(r); handed {
		return as
	}
	if g.open {
		return mayOperate
	}
	if token, ok := presented(r); ok {
		return g.byToken(token)
	}
	cookie, err := r.Cookie(cookieName)
	switch {
	case err != nil:
	case same(cookie.Value, g.operator.session):
		return mayOperate
	case g.viewer != nil && same(cookie.Value, g.viewer.session):
		return mayView
	}
	return nobody
}

func (g *gate) byToken(token string) role {
	switch {
	case same(token, g.operator.token):
		return mayOperate
	case g.viewer != nil && same(token, g.viewer.token):
		return mayView
	}
	return nobody
}

// presented returns the token that r presents, if it does.
func presented(r *http.Request) (token string, ok bool) {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(token), ok && strings.EqualFold(scheme, "Bearer")
}

// checkHost refuses requests addressed to names that are not this server's.
func (g *gate) checkHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.open && !listen.Loopback(withoutPort(r.Host)) {
			api.WriteProblem(w, http.StatusMisdirectedRequest, "without a token segd answers only when addressed as "+
				"localhost or a loopback address")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// withoutPort is the host of a Host header.
func withoutPort(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return hostport
}

// require answers 401 to strangers and 403 to who is less than least, and has the
// others spend cost of their allowance.
func (g *gate) require(least role, cost int, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := g.role(r)
		switch {
		case who <= nobody:
			g.deny(w, r, `accepts "Authorization: Bearer TOKEN", or the cookie of the sign-in page`)
		case !g.spend(w, r, who, cost):
		case who < least:
			api.WriteProblem(w, http.StatusForbidden, onlyOperator)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// onlyOperator is what viewers are told.
const onlyOperator = "this token is a viewer's, which sees everything and changes nothing; accepts the operator's token"

// deny answers 401, or 429 to who tries too often.
func (g *gate) deny(w http.ResponseWriter, r *http.Request, detail string) {
	if g.spend(w, r, nobody, costFailed) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="segd"`)
		api.WriteProblem(w, http.StatusUnauthorized, detail)
	}
}

// sameSite refuses what pages of other sites would change through the browser of
// a user signed in, or on the machine of a segd without a token. Who presents the
// token was given it. Programs other than browsers send neither of the headers that
// tell.
func (g *gate) sameSite(next http.Handler) http.Handler {
	otherSites := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, byToken := presented(r)
		byToken = byToken && !g.open // then it was checked
		_, handed := handedRole(r)   // then all was
		if !byToken && !handed && otherSites.Check(r) != nil {
			api.WriteProblem(w, http.StatusForbidden, "pages of other sites may change nothing here; accepts requests of segd's own page, "+
				"of programs that are no browser, and those with the bearer token")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// page serves the page itself: a right ?token= becomes the cookie and leaves
// the address bar; without either the sign-in page comes.
func (g *gate) page(index asset) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		token := r.URL.Query().Get("token")
		switch {
		case token != "" && !g.open && g.byToken(token) != nobody:
			g.setSession(w, r, token)
			http.Redirect(w, r, "/", http.StatusSeeOther)
		case token != "" && !g.open && !g.spend(w, r, nobody, costFailed):
		case g.role(r) == nobody:
			http.Redirect(w, r, "/login", http.StatusSeeOther)
		default:
			index.serve(w, r)
		}
	}
}

// signIn takes the sign-in page's form.
func (g *gate) signIn(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxLoginBody)
	token := r.PostFormValue("token")
	switch {
	case g.open:
		http.Redirect(w, r, "/", http.StatusSeeOther)
	case g.byToken(token) != nobody:
		g.setSession(w, r, token)
		http.Redirect(w, r, "/", http.StatusSeeOther)
	case g.spend(w, r, nobody, costFailed):
		http.Redirect(w, r, "/login#failed", http.StatusSeeOther)
	}
}

// setSession uses Lax and not Strict: Strict would be held back on the redirect
// that follows a link with ?token= from a terminal or a chat.
func (g *gate) setSession(w http.ResponseWriter, r *http.Request, token string) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: sessionOf(token), Path: g.root, MaxAge: cookieMaxAge,
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: bySecure(r),
	})
}
