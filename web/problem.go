package web

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/segd/segd/api"
	"github.com/segd/segd/internal/limit"
)

// refuse answers with err, a command's.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var refusal *api.Refusal
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &refusal):
		if refusal.Retry > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(refusal.Retry))
		}
		api.WriteJSON(w, refusal.Status, api.ProblemType, api.Problem{
			Type: refusal.Type, Title: http.StatusText(refusal.Status), Status: refusal.Status, Detail: refusal.Detail, Errors: refusal.Fields,
		})
	case errors.As(err, &tooLarge):
		api.WriteProblem(w, http.StatusRequestEntityTooLarge, "the body is larger than the "+limit.Text(tooLarge.Limit)+" accepted")
	case errors.Is(err, context.DeadlineExceeded):
		api.WriteProblem(w, http.StatusGatewayTimeout, err.Error())
	case r.Context().Err() != nil:
		api.WriteProblem(w, http.StatusServiceUnavailable, "the request was cut short") // the client may be gone
	default:
		s.cfg.Logger.Error("API", "method", r.Method, "path", r.URL.Path, "error", err)
		api.WriteProblem(w, http.StatusInternalServerError, err.Error())
	}
}
