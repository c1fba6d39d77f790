package web

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/segd/segd/api"
	"github.com/segd/segd/internal/limit"
)

const (
	publishName = "publish.html"
	publishPath = "/publish/{camera}"
	whipPath    = "/whip/"
	whepPath    = "/whep/"

	rtcMethods = "POST, PATCH, DELETE, OPTIONS"
	rtcHeaders = "Authorization, Content-Type, If-Match"
	// rtcExposes is what scripts of other sites may read of an answer.
	rtcExposes = "Location, ETag, Link, Accept-Post, Accept-Patch, WWW-Authenticate"
	corsMaxAge = "86400" // seconds
)

// publishPage serves the page that sends a browser's camera. It holds no secret:
// who may publish shows when it does.
func publishPage(page asset) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Permissions-Policy", "camera=(self), microphone=(), geolocation=()")
		page.serve(w, r)
	}
}

// publisher lets through who may publish: clients that have the token for it or the
// server's, or the sign-in page's cookie; everybody, if no token is set at all.
func (g *gate) publisher(next http.Handler) http.Handler {
	return g.webrtc(next, !g.open || g.publish != nil, g.mayPublish, onlyOperator+", or the one for publishing",
		`accepts "Authorization: Bearer TOKEN" with the token for publishing`, mayPublish, mayOperate)
}

// watcher lets through who may see the cameras, and has each who begins to watch spend some of their allowance.
func (g *gate) watcher(next http.Handler) http.Handler {
	may := func(r *http.Request) (token, allowed bool) {
		_, token = presented(r)
		allowed = g.role(r) >= mayView
		return token && allowed && !g.open, allowed
	}
	spending := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || g.spend(w, r, g.role(r), limit.CostWork) {
			next.ServeHTTP(w, r)
		}
	})
	return g.webrtc(spending, !g.open, may, "", `accepts "Authorization: Bearer TOKEN", or the cookie of the sign-in page`, mayView, mayOperate)
}

// webrtc lets through to next who may: of what another box hands on, those roles. byToken tells whether there is a token
// for it; viewers are told that they may not.
//
// Pages of other sites may come with a token, which they must have been given.
// Without one they must not: the browser of a user who is signed in, or on the machine
// of a segd without tokens, would let them in.
func (g *gate) webrtc(next http.Handler, byToken bool, may func(*http.Request) (token, allowed bool), viewers, accepts string, roles ...role) http.Handler {
	otherSites := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if as, handed := handedRole(r); handed {
			if !slices.Contains(roles, as) {
				api.WriteProblem(w, http.StatusForbidden, cmp.Or(viewers, accepts))
				return
			}
			next.ServeHTTP(w, r)
			return
		}
		h := w.Header()
		if byToken {
			h.Set("Access-Control-Allow-Origin", "*")
			h.Set("Access-Control-Expose-Headers", rtcExposes)
		}
		token, allowed := may(r)
		switch {
		case r.Method == http.MethodOptions && !token:
			// A browser's question before the request has no token. What next would add
			// is for those only who may.
			h.Set("Access-Control-Allow-Methods", rtcMethods)
			h.Set("Access-Control-Allow-Headers", rtcHeaders)
			h.Set("Access-Control-Max-Age", corsMaxAge)
			if !allowed || r.Header.Get("Access-Control-Request-Method") != "" {
				h.Set("Accept-Post", "application/sdp")
				w.WriteHeader(http.StatusNoContent)
				return
			}
		case !allowed && g.role(r) == mayView:
			api.WriteProblem(w, http.StatusForbidden, viewers)
			return
		case !allowed:
			g.deny(w, r, accepts)
			return
		case !token && otherSites.Check(r) != nil:
			api.WriteProblem(w, http.StatusForbidden, "pages of other sites can do this only with a token")
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
