package web

import "net/http"

func (s *Server) livez(w http.ResponseWriter, _ *http.Request) {
	plain(w, http.StatusOK, "ok")
}

// readyz tells the reason only to those who may see the rest, since it can name
// cameras.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	err := s.ready()
	switch {
	case err == nil:
		plain(w, http.StatusOK, "ok")
	case s.gate.allows(r):
		plain(w, http.StatusServiceUnavailable, "not ready: "+err.Error())
	default:
		plain(w, http.StatusServiceUnavailable, "not ready")
	}
}

func (s *Server) ready() error {
	if s.cfg.Ready == nil {
		return nil
	}
	return s.cfg.Ready()
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n")) // the client may be gone
}
