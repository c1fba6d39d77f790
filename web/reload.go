package web

import (
	"context"
	"net/http"

	"github.com/segd/segd/api"
)

func (s *Server) reload(w http.ResponseWriter, r *http.Request) error {
	if s.cfg.Reload == nil {
		return &api.Refusal{Status: http.StatusNotFound, Detail: "segd was started without a configuration file, so there is none to read again; accepts this of one that was started with a file"}
	}
	ctx, cancel := context.WithTimeout(r.Context(), commandTimeout)
	defer cancel()
	out, err := s.cfg.Reload(ctx)
	return reply(w, out, err)
}
