package web

import (
	"encoding/json"
	"net/http"

	"github.com/segd/segd/api"
)

func (s *Server) showAlerts(w http.ResponseWriter, r *http.Request) error {
	if s.cfg.Alerts == nil {
		return &api.Refusal{Status: http.StatusNotFound, Detail: "this segd knows of no alerts; accepts this with http.alertmanager in its configuration"}
	}
	firing, err := s.cfg.Alerts(r.Context())
	if err != nil {
		return &api.Refusal{Status: http.StatusBadGateway, Detail: err.Error()}
	}
	return reply(w, json.RawMessage(firing), nil)
}
