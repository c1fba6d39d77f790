package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
)

// HeaderSequence of an answer has the number of the frame that a picture or mask is of.
const HeaderSequence = "Segd-Sequence"

// ProblemType is the media type of a Problem.
const ProblemType = "application/problem+json"

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

// Pointer is a field such as objects[0].box as a JSON pointer.
func Pointer(field string) string {
	return "/" + strings.NewReplacer("[", "/", "].", "/", "]", "", ".", "/").Replace(field)
}

// A Problem is a problem document of RFC 9457.
type Problem struct {
	// Type tells kinds of a status apart, where a program needs to; about:blank is left out.
	Type   string  `json:"type,omitempty"`
	Title  string  `json:"title"`
	Status int     `json:"status"`
	Detail string  `json:"detail"`
	Errors []Field `json:"errors,omitempty"`
}

// WriteProblem answers with a problem document.
func WriteProblem(w http.ResponseWriter, status int, detail string, fields ...Field) {
	WriteJSON(w, status, ProblemType, Problem{Title: http.StatusText(status), Status: status, Detail: detail, Errors: fields})
}

// WriteJSON answers with v, whose encoding cannot fail.
func WriteJSON(w http.ResponseWriter, status int, contentType string, v any) {
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
