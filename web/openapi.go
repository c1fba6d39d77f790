package web

import (
	_ "embed" // the description
	"net/http"
)

//go:embed openapi.json
var openAPI []byte

// serveOpenAPI serves the description of the API.
func serveOpenAPI(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", typeJSON)
	_, _ = w.Write(openAPI) // the client may be gone
	return nil
}
