package web

import (
	"encoding/json"
	"net/http"
)

// writeJSON answers with v, whose encoding cannot fail.
func writeJSON(w http.ResponseWriter, status int, contentType string, v any) {
	body, err := json.Marshal(v)
	if err != nil { // only a programming error can bring this about
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the client may be gone
}

// problem answers with an RFC 9457 problem document.
func problem(w http.ResponseWriter, status int, detail string) {
	writeJSON(w, status, "application/problem+json", struct {
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{http.StatusText(status), status, detail})
}

// cameraInfo is one camera in the answer of /api/v1/cameras.
type cameraInfo struct {
	Name    string          `json:"name"`
	Width   int             `json:"width,omitempty"` // pixels, once a frame was published
	Height  int             `json:"height,omitempty"`
	Viewers int             `json:"viewers"`
	Status  json.RawMessage `json:"status"` // segd.v1.Status in protobuf's JSON mapping, null before the first
}

func (s *Server) listCameras(w http.ResponseWriter, _ *http.Request) {
	cameras := []cameraInfo{} // never null
	for _, c := range s.list() {
		cameras = append(cameras, c.info())
	}
	writeJSON(w, http.StatusOK, "application/json", struct {
		Version string       `json:"version"`
		Cameras []cameraInfo `json:"cameras"`
	}{s.cfg.Version, cameras})
}

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
