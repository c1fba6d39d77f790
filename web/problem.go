package web

import (
	"context"
	"errors"
	"net/http"

	"github.com/segd/segd/internal/limit"
	"github.com/segd/segd/internal/problem"
)

// Field is what is wrong with one field of a request.
type Field = problem.Field

// NoPicture is the Type of the Refusal of a camera that could be added and shows no picture now.
const NoPicture = "no-picture"

// Refusal is an error that a command answers with.
type Refusal struct {
	Type   string // as problem.Document has it
	Status int    // as HTTP has them, 400 to 599
	Detail string
	Fields []Field
}

func (r *Refusal) Error() string { return r.Detail }

// Code is Status, for callers that know the meaning of HTTP's codes but not this
// package.
func (r *Refusal) Code() int { return r.Status }

// refuse answers with err, a command's.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var refusal *Refusal
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &refusal):
		problem.WriteJSON(w, refusal.Status, problem.MediaType, problem.Document{
			Type: refusal.Type, Title: http.StatusText(refusal.Status), Status: refusal.Status, Detail: refusal.Detail, Errors: refusal.Fields,
		})
	case errors.As(err, &tooLarge):
		problem.Write(w, http.StatusRequestEntityTooLarge, "the body is larger than the "+limit.Text(tooLarge.Limit)+" accepted")
	case errors.Is(err, context.DeadlineExceeded):
		problem.Write(w, http.StatusGatewayTimeout, err.Error())
	case r.Context().Err() != nil:
		problem.Write(w, http.StatusServiceUnavailable, "the request was cut short") // nobody may be there to read it
	default:
		s.cfg.Logger.Error("API", "method", r.Method, "path", r.URL.Path, "error", err)
		problem.Write(w, http.StatusInternalServerError, err.Error())
	}
}
