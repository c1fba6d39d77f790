package web

import (
	"net/http"

	"github.com/segd/segd/internal/problem"
)

const (
	publishName = "publish.html"
	publishPath = "/publish/{camera}"
	whipPath    = "/whip/"

	whipMethods = "POST, PATCH, DELETE, OPTIONS"
	whipHeaders = "Authorization, Content-Type, If-Match"
	// whipExposes is what scripts of other sites may read of an answer.
	whipExposes = "Location, ETag, Link, Accept-Post, Accept-Patch, WWW-Authenticate"
	corsMaxAge  = "86400" // seconds
)

// publishPage serves the page that sends a browser's camera. It holds no secret:
// who may publish shows when it does.
func publishPage(page asset) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Permissions-Policy", "camera=(self), microphone=(), geolocation=()")
		page.serve(w, r)
	}
}

// publisher lets through who may publish: whoever has the token for it or the
// server's, or the sign-in page's cookie; everybody, if no token is set at all.
//
// Pages of other sites may publish with a token, which they must have been given.
// Without one they must not: the browser of somebody signed in, or on the machine
// of a segd without tokens, would let them in.
func (g *gate) publisher(next http.Handler) http.Handler {
	otherSites := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if as, handed := handedRole(r); handed {
			if as != mayPublish && as != mayOperate {
				problem.Write(w, http.StatusForbidden, onlyOperator+", or the one for publishing")
				return
			}
			next.ServeHTTP(w, r)
			return
		}
		h := w.Header()
		if !g.open || g.publish != nil {
			h.Set("Access-Control-Allow-Origin", "*")
			h.Set("Access-Control-Expose-Headers", whipExposes)
		}
		token, allowed := g.mayPublish(r)
		switch {
		case r.Method == http.MethodOptions && !token:
			// A browser's question before the request has no token. What next would add
			// is for publishers only.
			h.Set("Access-Control-Allow-Methods", whipMethods)
			h.Set("Access-Control-Allow-Headers", whipHeaders)
			h.Set("Access-Control-Max-Age", corsMaxAge)
			if !allowed || r.Header.Get("Access-Control-Request-Method") != "" {
				h.Set("Accept-Post", "application/sdp")
				w.WriteHeader(http.StatusNoContent)
				return
			}
		case !allowed && g.role(r) == mayView:
			problem.Write(w, http.StatusForbidden, onlyOperator+", or the one for publishing")
			return
		case !allowed:
			g.deny(w, r, `accepts "Authorization: Bearer TOKEN" with the token for publishing`)
			return
		case !token && otherSites.Check(r) != nil:
			problem.Write(w, http.StatusForbidden, "pages of other sites can publish only with a token")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// mayPublish tells whether r comes from a publisher, and whether by a token.
func (g *gate) mayPublish(r *http.Request) (token, allowed bool) {
	if given, ok := presented(r); ok {
		all, one := same(given, g.operator.token), g.publish != nil && same(given, *g.publish)
		if !g.open && all || one {
			return true, true
		}
		return false, g.open && g.publish == nil
	}
	if g.open {
		return false, g.publish == nil
	}
	return false, g.role(r) == mayOperate
}
