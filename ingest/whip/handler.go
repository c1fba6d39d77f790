package whip

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/segd/segd/internal/problem"
)

const (
	typeSDP      = "application/sdp"
	typeFragment = "application/trickle-ice-sdpfrag"

	endpointMethods = "POST, OPTIONS"
	resourceMethods = "PATCH, DELETE, OPTIONS"
)

// endpoint answers for a camera.
func (s *Server) endpoint(w http.ResponseWriter, r *http.Request) {
	d := s.door(w, r)
	if d == nil {
		return
	}
	w.Header().Set("Accept-Post", typeSDP)
	switch r.Method {
	case http.MethodPost:
		s.publish(w, r, d)
	case http.MethodOptions:
		w.Header().Set("Allow", endpointMethods)
		s.linkServers(w.Header())
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Allow", endpointMethods)
		problem.Write(w, http.StatusMethodNotAllowed, fmt.Sprintf("%s; accepts %s", r.Method, endpointMethods))
	}
}

// door finds the camera of a request, or answers 404.
func (s *Server) door(w http.ResponseWriter, r *http.Request) *Door {
	name := r.PathValue("camera")
	s.mu.Lock()
	d, names := s.doors[name], slices.Sorted(maps.Keys(s.doors))
	s.mu.Unlock()
	if d == nil {
		problem.Write(w, http.StatusNotFound, fmt.Sprintf("no camera %q takes publishers; those whose url is whip: do, and are %q", clip(name), names))
	}
	return d
}

// linkServers names the ICE servers (RFC 9725, section 4.6).
func (s *Server) linkServers(h http.Header) {
	for _, server := range s.cfg.ICEServers {
		link := "<" + server.URL + `>; rel="ice-server"`
		if server.Username != "" {
			link += fmt.Sprintf(`; username="%s"; credential="%s"; credential-type="password"`, server.Username, server.Credential)
		}
		h.Add("Link", link)
	}
}

// publish answers an offer.
func (s *Server) publish(w http.ResponseWriter, r *http.Request, d *Door) {
	body, ok := readBody(w, r, typeSDP, "Accept-Post", maxOffer)
	if !ok {
		return
	}
	offer, err := parseOffer(body)
	if err != nil {
		refuse(w, err)
		return
	}
	session := newSession(d, s.cfg.Logger)
	if err := d.claim(session, s.cfg.Replace); err != nil {
		refuse(w, err)
		return
	}
	answer, err := session.answer(r.Context(), s.api, offer)
	if err == nil {
		answer, err = addPublic(answer, s.cfg.PublicIPs, s.port)
	}
	if err != nil {
		session.fail(err)
	}
	if closed := s.keep(session); closed != nil {
		session.fail(closed)
		session.keep(0)
		err = closed
	}
	if err != nil {
		<-session.gone
		s.cfg.Logger.Info("offer refused", "camera", d.camera, "error", err)
		refuse(w, err)
		return
	}
	session.log.Info("publisher's offer accepted", "from", r.RemoteAddr, "agent", clip(r.UserAgent()))
	h := w.Header()
	h.Set("Content-Type", typeSDP)
	h.Set("Location", "/whip/"+d.camera+"/"+session.id)
	h.Set("ETag", session.etag)
	h.Set("Accept-Patch", typeFragment)
	s.linkServers(h)
	w.WriteHeader(http.StatusCreated)
	if _, err := io.WriteString(w, answer); err != nil {
		session.fail(fmt.Errorf("whip: the answer was not delivered: %w", err))
	}
}

// readBody returns the request's body, or answers what is wrong with it.
func readBody(w http.ResponseWriter, r *http.Request, mediaType, accept string, limit int64) ([]byte, bool) {
	got, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || got != mediaType {
		w.Header().Set(accept, mediaType)
		problem.Write(w, http.StatusUnsupportedMediaType, fmt.Sprintf("Content-Type %q; accepts %s", clip(r.Header.Get("Content-Type")), mediaType))
		return nil, false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		problem.Write(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than the %d bytes that are accepted", limit))
	case err != nil:
		problem.Write(w, http.StatusBadRequest, fmt.Sprintf("the body could not be read: %v", err))
	default:
		return body, true
	}
	return nil, false
}

// refuse answers with what err means to the client.
func refuse(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	switch {
	case errors.Is(err, errSyntax):
		status = http.StatusBadRequest
	case errors.Is(err, errUnfit):
		status = http.StatusUnprocessableEntity
	case errors.Is(err, ErrBusy), errors.Is(err, ErrReplaced):
		status = http.StatusConflict
	case errors.Is(err, ErrClosed):
		status = http.StatusServiceUnavailable
	}
	problem.Write(w, status, err.Error())
}

// resource answers for a session.
func (s *Server) resource(w http.ResponseWriter, r *http.Request) {
	d := s.door(w, r)
	if d == nil {
		return
	}
	if r.Method == http.MethodOptions {
		w.Header().Set("Allow", resourceMethods)
		w.Header().Set("Accept-Patch", typeFragment)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	session, replaced := d.find(r.PathValue("id"))
	switch {
	case replaced:
		refuse(w, ErrReplaced)
		return
	case session == nil:
		problem.Write(w, http.StatusNotFound, "no such session; it may have ended")
		return
	}
	switch r.Method {
	case http.MethodDelete:
		session.Close(ErrEnded)
		w.WriteHeader(http.StatusOK)
	case http.MethodPatch:
		session.patch(w, r)
	default:
		w.Header().Set("Allow", resourceMethods)
		problem.Write(w, http.StatusMethodNotAllowed, fmt.Sprintf("%s; accepts %s", r.Method, resourceMethods))
	}
}

// patch takes trickled candidates, which it only checks (see the package's
// comment), and refuses to restart ICE.
func (s *session) patch(w http.ResponseWriter, r *http.Request) {
	body, ok := readBody(w, r, typeFragment, "Accept-Patch", maxFragment)
	if !ok {
		return
	}
	ufrag, err := parseFragment(body)
	match := strings.TrimSpace(r.Header.Get("If-Match"))
	switch {
	case err != nil:
		problem.Write(w, http.StatusBadRequest, err.Error())
	case match == "*" || ufrag != "" && ufrag != s.ufrag:
		problem.Write(w, http.StatusUnprocessableEntity, "ICE cannot be restarted; accepts candidates of the offer's a=ice-ufrag, or a new session")
	case match == "":
		problem.Write(w, http.StatusPreconditionRequired, "no If-Match; accepts the ETag of the session")
	case match != s.etag:
		problem.Write(w, http.StatusPreconditionFailed, "If-Match is not the ETag of the session")
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}
