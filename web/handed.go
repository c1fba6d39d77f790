package web

import (
	"context"
	"fmt"
	"net/http"

	"github.com/segd/segd/api"
)

// Viewer is what As tells of who may look and change nothing.
const Viewer = "viewer"

// handedAs is the context's key of the role that another box has found who asks to have.
type handedAs struct{}

// handedRole is the role of who sent r, if another box hands it on.
func handedRole(r *http.Request) (as role, handed bool) {
	as, handed = r.Context().Value(handedAs{}).(role)
	return as, handed
}

// As tells as what r is let in, "operator", "viewer", "publisher" or "nobody": what another box is told in place of
// tokens and cookies.
func (s *Server) As(r *http.Request) string {
	as := s.gate.role(r)
	if _, allowed := s.gate.mayPublish(r); as == nobody && allowed {
		as = mayPublish
	}
	return as.String()
}

// ServeHandedOn answers a request that another box has let in, as the one that As tells there. r.RemoteAddr is who asked
// that box. What the other box has seen to is not looked at again: credentials, the site of the page that asks, the
// host that is addressed, proxies; nor is there any header that it adds to each answer.
func (s *Server) ServeHandedOn(w http.ResponseWriter, r *http.Request, as string) {
	for _, who := range []role{mayPublish, mayView, mayOperate} {
		if who.String() == as {
			s.inner.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), handedAs{}, who)))
			return
		}
	}
	api.WriteProblem(w, http.StatusForbidden, fmt.Sprintf("handed on as %q; accepts %s, %s and %s", as, mayPublish, mayView, mayOperate))
}
