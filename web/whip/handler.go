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

	"github.com/pion/webrtc/v3"

	"github.com/segd/segd/api"
	"github.com/segd/segd/outputs/restream"
)

const (
	typeSDP      = "application/sdp"
	typeFragment = "application/trickle-ice-sdpfrag"

	endpointMethods = "POST, OPTIONS"
	resourceMethods = "PATCH, DELETE, OPTIONS"
)

// errNoSession: there is no session of that id.
var errNoSession = errors.New("no such session; it may have ended")

// retryFull is when a viewer may come again that was one too many, in seconds.
const retryFull = "10"

// endpoint answers for a camera.
func (s *Server) endpoint(w http.ResponseWriter, r *http.Request) {
	d := s.door(w, r)
	if d == nil {
		return
	}
	s.toEndpoint(w, r, func() { s.publish(w, r, d) })
}

// toEndpoint has an offer be answered by post.
func (s *Server) toEndpoint(w http.ResponseWriter, r *http.Request, post func()) {
	w.Header().Set("Accept-Post", typeSDP)
	switch r.Method {
	case http.MethodPost:
		post()
	case http.MethodOptions:
		w.Header().Set("Allow", endpointMethods)
		s.linkServers(w.Header())
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Allow", endpointMethods)
		api.WriteProblem(w, http.StatusMethodNotAllowed, fmt.Sprintf("%s; accepts %s", r.Method, endpointMethods))
	}
}

// door finds the camera of a request, or answers 404.
func (s *Server) door(w http.ResponseWriter, r *http.Request) *Door {
	name := r.PathValue("camera")
	s.mu.Lock()
	d, names := s.doors[name], slices.Sorted(maps.Keys(s.doors))
	s.mu.Unlock()
	if d == nil {
		api.WriteProblem(w, http.StatusNotFound, fmt.Sprintf("no camera %q takes publishers; those whose url is whip: do, and are %q", clip(name), names))
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
	offer, err := parseOffer(body, sendsVideo)
	if err != nil {
		refuse(w, err)
		return
	}
	session := newSession(d, s.cfg.Logger)
	if err := d.claim(session, s.cfg.Replace); err != nil {
		refuse(w, err)
		return
	}
	s.connect(w, r, s.api, &session.connection, offer, "/whip/"+d.camera)
}

// connect answers an offer, and has the connection be kept.
func (s *Server) connect(w http.ResponseWriter, r *http.Request, api *webrtc.API, c *connection, offer *offer, endpoint string) {
	answer, err := c.answer(r.Context(), api, offer)
	if err == nil {
		answer, err = addPublic(answer, s.cfg.PublicIPs, s.port)
	}
	if err != nil {
		c.fail(err)
	}
	if closed := s.keep(c); closed != nil {
		c.fail(closed)
		c.keep(0)
		err = closed
	}
	if err != nil {
		<-c.gone
		c.log.Info("offer refused", "error", err)
		refuse(w, err)
		return
	}
	c.log.Info("offer accepted", "to", endpoint, "from", r.RemoteAddr, "agent", clip(r.UserAgent()))
	h := w.Header()
	h.Set("Content-Type", typeSDP)
	h.Set("Location", endpoint+"/"+c.id)
	h.Set("ETag", c.etag)
	h.Set("Accept-Patch", typeFragment)
	s.linkServers(h)
	w.WriteHeader(http.StatusCreated)
	if _, err := io.WriteString(w, answer); err != nil {
		c.fail(fmt.Errorf("whip: the answer was not delivered: %w", err))
	}
}

// readBody returns the request's body, or answers what is wrong with it.
func readBody(w http.ResponseWriter, r *http.Request, mediaType, accept string, limit int64) ([]byte, bool) {
	got, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || got != mediaType {
		w.Header().Set(accept, mediaType)
		api.WriteProblem(w, http.StatusUnsupportedMediaType, fmt.Sprintf("Content-Type %q; accepts %s", clip(r.Header.Get("Content-Type")), mediaType))
		return nil, false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		api.WriteProblem(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than the %d bytes that are accepted", limit))
	case err != nil:
		api.WriteProblem(w, http.StatusBadRequest, fmt.Sprintf("the body could not be read: %v", err))
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
	case errors.Is(err, errNoSession), errors.Is(err, restream.ErrNoStream), errors.Is(err, restream.ErrRemoved):
		status = http.StatusNotFound
	case errors.Is(err, restream.ErrFull):
		w.Header().Set("Retry-After", retryFull)
		fallthrough
	case errors.Is(err, ErrClosed), errors.Is(err, restream.ErrClosed):
		status = http.StatusServiceUnavailable
	}
	api.WriteProblem(w, status, err.Error())
}

// resource answers for a session.
func (s *Server) resource(w http.ResponseWriter, r *http.Request) {
	d := s.door(w, r)
	if d == nil {
		return
	}
	s.toResource(w, r, func() (*connection, error) {
		session, replaced := d.find(r.PathValue("id"))
		switch {
		case replaced:
			return nil, ErrReplaced
		case session == nil:
			return nil, errNoSession
		}
		return &session.connection, nil
	})
}

// toResource answers for the connection that find returns.
func (s *Server) toResource(w http.ResponseWriter, r *http.Request, find func() (*connection, error)) {
	if r.Method == http.MethodOptions {
		w.Header().Set("Allow", resourceMethods)
		w.Header().Set("Accept-Patch", typeFragment)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	c, err := find()
	if err != nil {
		refuse(w, err)
		return
	}
	switch r.Method {
	case http.MethodDelete:
		c.Close(ErrEnded)
		w.WriteHeader(http.StatusOK)
	case http.MethodPatch:
		c.patch(w, r)
	default:
		w.Header().Set("Allow", resourceMethods)
		api.WriteProblem(w, http.StatusMethodNotAllowed, fmt.Sprintf("%s; accepts %s", r.Method, resourceMethods))
	}
}

// patch takes trickled candidates, which it only checks (see the package's
// comment), and refuses to restart ICE.
func (c *connection) patch(w http.ResponseWriter, r *http.Request) {
	body, ok := readBody(w, r, typeFragment, "Accept-Patch", maxFragment)
	if !ok {
		return
	}
	ufrag, err := parseFragment(body)
	match := strings.TrimSpace(r.Header.Get("If-Match"))
	switch {
	case err != nil:
		api.WriteProblem(w, http.StatusBadRequest, err.Error())
	case match == "*" || ufrag != "" && ufrag != c.ufrag:
		api.WriteProblem(w, http.StatusUnprocessableEntity, "ICE cannot be restarted; accepts candidates of the offer's a=ice-ufrag, or a new session")
	case match == "":
		api.WriteProblem(w, http.StatusPreconditionRequired, "no If-Match; accepts the ETag of the session")
	case match != c.etag:
		api.WriteProblem(w, http.StatusPreconditionFailed, "If-Match is not the ETag of the session")
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}
