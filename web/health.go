package web

import "net/http"

// livez is whether segd works, for who starts it anew if it does not.
func (s *Server) livez(w http.ResponseWriter, r *http.Request) {
	s.health(w, r, "not alive", s.cfg.Alive)
}

// readyz is whether segd has what it needs, for who sends it requests.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	s.health(w, r, "not ready", s.cfg.Ready)
}

// health tells the reason only to those who may see the rest, since it can name
// cameras.
func (s *Server) health(w http.ResponseWriter, r *http.Request, no string, ask func() error) {
	var err error
	if ask != nil {
		err = ask()
	}
	switch {
	case err == nil:
		plain(w, http.StatusOK, "ok")
	case s.gate.role(r) != nobody:
		plain(w, http.StatusServiceUnavailable, no+": "+err.Error())
	default:
		plain(w, http.StatusServiceUnavailable, no)
	}
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n")) // the client may be gone
}
