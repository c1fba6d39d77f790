package web

import (
	"net/http"
	"strings"
)

// below serves what is at / at base as well, which a proxy hands on with the path or without it. Where an answer
// leads to on this server is below base always: that is where the proxy has it.
func below(base string, next http.Handler) http.Handler {
	if base == "" {
		return next
	}
	stripped := http.StripPrefix(base, next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w = &basedWriter{ResponseWriter: w, base: base}
		switch {
		case r.URL.Path == base: // what the page names is relative to base with a slash
			to := *r.URL
			to.Path = "/"
			http.Redirect(w, r, to.RequestURI(), http.StatusPermanentRedirect)
		case strings.HasPrefix(r.URL.Path, base+"/"):
			stripped.ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// basedWriter puts base before a Location on this server.
type basedWriter struct {
	http.ResponseWriter
	base  string
	begun bool
}

func (b *basedWriter) WriteHeader(status int) {
	if to := b.Header().Get("Location"); !b.begun && strings.HasPrefix(to, "/") {
		b.Header().Set("Location", b.base+to)
	}
	b.begun = true
	b.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (b *basedWriter) Unwrap() http.ResponseWriter { return b.ResponseWriter }
