package web

import (
	"context"
	"encoding/json"
	"net/http"
)

// Reloaded is what reading the configuration again came to.
type Reloaded struct {
	Added   []string // names of cameras
	Changed []string
	Removed []string
	Restart []string // settings that have changed and are heeded after a restart, by path such as http.addr
}

// MarshalJSON writes a list for each, none of them null.
func (r Reloaded) MarshalJSON() ([]byte, error) {
	list := func(names []string) []string { return append([]string{}, names...) }
	return json.Marshal(struct {
		Added   []string `json:"added"`
		Changed []string `json:"changed"`
		Removed []string `json:"removed"`
		Restart []string `json:"restart"`
	}{list(r.Added), list(r.Changed), list(r.Removed), list(r.Restart)})
}

func (s *Server) reload(w http.ResponseWriter, r *http.Request) error {
	if s.cfg.Reload == nil {
		return &Refusal{Status: http.StatusNotFound, Detail: "segd was started without a configuration file, so there is none to read again; accepts this of one that was started with a file"}
	}
	ctx, cancel := context.WithTimeout(r.Context(), commandTimeout)
	defer cancel()
	out, err := s.cfg.Reload(ctx)
	return reply(w, out, err)
}
