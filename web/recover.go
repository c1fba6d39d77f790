package web

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"runtime/debug"

	"github.com/segd/segd/api"
)

// begun remembers whether an answer was begun, or the connection handed over.
type begun struct {
	http.ResponseWriter
	yes bool
}

func (b *begun) WriteHeader(status int) {
	b.yes = b.yes || status >= http.StatusOK || status == http.StatusSwitchingProtocols
	b.ResponseWriter.WriteHeader(status)
}

func (b *begun) Write(p []byte) (int, error) {
	b.yes = true
	return b.ResponseWriter.Write(p)
}

// Hijack is for WebSockets.
func (b *begun) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	b.yes = true
	return http.NewResponseController(b.ResponseWriter).Hijack()
}

// Unwrap is for http.ResponseController.
func (b *begun) Unwrap() http.ResponseWriter { return b.ResponseWriter }

// recovering has a request that panics fail alone, and seen: net/http would log it as
// any fault of a connection. What was begun cannot become a 500; its connection is cut.
func (s *Server) recovering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := &begun{ResponseWriter: w}
		defer func() {
			fault := recover()
			if fault == nil {
				return
			}
			if err, ok := fault.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(http.ErrAbortHandler)
			}
			s.cfg.Panicked()
			s.cfg.Logger.Error("a request panicked", "method", r.Method, "path", r.URL.Path, "panic", fault, "stack", string(debug.Stack()))
			if answer.yes {
				panic(http.ErrAbortHandler)
			}
			w.Header().Del("Content-Length")
			api.WriteProblem(w, http.StatusInternalServerError, "segd failed at this request; its log says more")
		}()
		next.ServeHTTP(answer, r)
	})
}
