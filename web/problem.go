package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/segd/segd/internal/limit"
)

// Field is what is wrong with one field of a request.
type Field struct {
	// Pointer is where in the body, as a JSON pointer (RFC 6901), such as
	// /objects/0/box; empty when Field says where.
	Pointer string `json:"pointer,omitempty"`
	// Field is the parameter of the path or query; empty when Pointer says where.
	Field string `json:"field,omitempty"`
	// Detail is what was found and what would be accepted.
	Detail string `json:"detail"`
}

// Refusal is an error that a command answers with.
type Refusal struct {
	Status int // as HTTP has them, 400 to 599
	Detail string
	Fields []Field
}

func (r *Refusal) Error() string { return r.Detail }

// Code is Status, for callers that know the meaning of HTTP's codes but not this
// package.
func (r *Refusal) Code() int { return r.Status }

// document is an RFC 9457 problem document.
type document struct {
	Title  string  `json:"title"`
	Status int     `json:"status"`
	Detail string  `json:"detail"`
	Errors []Field `json:"errors,omitempty"`
}

// problem answers with a problem document.
func problem(w http.ResponseWriter, status int, detail string, fields ...Field) {
	writeJSON(w, status, "application/problem+json", document{http.StatusText(status), status, detail, fields})
}

// refuse answers with err, a command's.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var refusal *Refusal
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &refusal):
		problem(w, refusal.Status, refusal.Detail, refusal.Fields...)
	case errors.As(err, &tooLarge):
		problem(w, http.StatusRequestEntityTooLarge, "the body is larger than the "+limit.Text(tooLarge.Limit)+" accepted")
	case errors.Is(err, context.DeadlineExceeded):
		problem(w, http.StatusGatewayTimeout, err.Error())
	case r.Context().Err() != nil:
		problem(w, http.StatusServiceUnavailable, "the request was cut short") // nobody may be there to read it
	default:
		s.cfg.Logger.Error("API", "method", r.Method, "path", r.URL.Path, "error", err)
		problem(w, http.StatusInternalServerError, err.Error())
	}
}

// writeJSON answers with v, whose encoding cannot fail.
func writeJSON(w http.ResponseWriter, status int, contentType string, v any) {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // only a programming error can bring this about
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = body.WriteTo(w) // the client may be gone
}
