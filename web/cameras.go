package web

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/segd/segd/api"
	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/internal/limit"
)

// Manager changes cameras while segd runs, and knows of all. It is called from several goroutines. Its errors are as
// those of Commands.
type Manager interface {
	api.Changer
	// Declared are all cameras, those that do not run too, in the order of the list.
	Declared() ([]api.Declared, api.Adding)
	// Try waits for a picture of a camera that need not be one of these.
	Try(ctx context.Context, body []byte) (*api.Tried, error)
	// Discover finds cameras on the network, and returns a JSON object.
	Discover(ctx context.Context, body []byte) (json.RawMessage, error)
}

const (
	tryTimeout      = 15 * time.Second
	discoverTimeout = 25 * time.Second
	retryTrying     = 5 // seconds
	// tryingAtOnce bounds connections that a client has segd make, and the pictures it decodes for them.
	tryingAtOnce = 2
	// testWidth is that of a test picture at most.
	testWidth = 1280

	typePatch = "application/merge-patch+json"
)

// declared are the cameras by name, and their order; nil without a Manager.
func (s *Server) declared() (byName map[string]*api.Declared, order []string, adding *api.Adding) {
	if s.cfg.Cameras == nil {
		return nil, nil, nil
	}
	all, about := s.cfg.Cameras.Declared()
	byName = make(map[string]*api.Declared, len(all))
	for i := range all {
		byName[all[i].Name] = &all[i]
		order = append(order, all[i].Name)
	}
	return byName, order, &about
}

// infos are those of all cameras: those that run in their order, each other one after the one before it.
func (s *Server) infos() ([]cameraInfo, *api.Adding) {
	byName, order, adding := s.declared()
	list := []cameraInfo{} // never null
	running := map[string]*camera{}
	for _, c := range s.list() {
		running[c.name] = c
		if byName[c.name] == nil { // it comes or goes at this moment
			order = append(order, c.name)
		}
	}
	for _, name := range order {
		list = append(list, s.infoOf(name, running[name], byName[name]))
	}
	return list, adding
}

// infoOf is what is known of a camera; c is nil if it does not run, d if it is not declared.
func (s *Server) infoOf(name string, c *camera, d *api.Declared) cameraInfo {
	info := cameraInfo{Name: name, layoutInfo: layoutInfo{[]zoneInfo{}, []lineInfo{}}}
	if c != nil {
		info = s.info(c)
	}
	info.Declared = d
	return info
}

func (s *Server) showCamera(w http.ResponseWriter, r *http.Request) error {
	return s.answerCamera(w, r, http.StatusOK, r.PathValue("camera"))
}

func (s *Server) answerCamera(w http.ResponseWriter, r *http.Request, status int, name string) error {
	byName, _, _ := s.declared()
	c, d := s.camera(name), byName[name]
	if c == nil && d == nil {
		return s.noCamera(r)
	}
	api.WriteJSON(w, status, typeJSON, s.infoOf(name, c, d))
	return nil
}

// ListJSON is what GET /api/v1/cameras answers, but for who asks.
func (s *Server) ListJSON() ([]byte, error) {
	cameras, adding := s.infos()
	return json.Marshal(struct {
		Cameras []cameraInfo `json:"cameras"`
		Adding  *api.Adding  `json:"adding,omitempty"`
	}{cameras, adding})
}

// CameraJSON is what GET answers of one of them.
func (s *Server) CameraJSON(name string) ([]byte, error) {
	byName, _, _ := s.declared()
	return json.Marshal(s.infoOf(name, s.camera(name), byName[name]))
}

// noCamera refuses what is asked of a camera that does not run.
func (s *Server) noCamera(r *http.Request) error {
	name := r.PathValue("camera")
	byName, _, _ := s.declared()
	d := byName[name]
	var detail string
	switch {
	case d == nil:
		detail = fmt.Sprintf("no camera %q; accepts those in %s/cameras", name, apiRoot)
	case d.Paused:
		detail = fmt.Sprintf("camera %q is paused; accepts one that runs", name)
	default:
		detail = fmt.Sprintf("camera %q does not run: %s", name, d.Fault)
	}
	return &api.Refusal{Status: http.StatusNotFound, Detail: detail}
}

func (s *Server) addCamera(w http.ResponseWriter, r *http.Request) error {
	return command(w, r, commandTimeout, []string{typeJSON}, func(ctx context.Context, body []byte) error {
		name, err := s.cfg.Cameras.Add(ctx, body)
		if err != nil {
			return err
		}
		w.Header().Set("Location", apiRoot+"/cameras/"+name)
		return s.answerCamera(w, r, http.StatusCreated, name)
	})
}

func (s *Server) setCamera(w http.ResponseWriter, r *http.Request) error {
	return command(w, r, commandTimeout, []string{typePatch, typeJSON}, func(ctx context.Context, body []byte) error {
		if _, err := s.cfg.Cameras.Set(ctx, r.PathValue("camera"), body); err != nil {
			return err
		}
		return s.answerCamera(w, r, http.StatusOK, r.PathValue("camera"))
	})
}

func (s *Server) removeCamera(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), commandTimeout)
	defer cancel()
	return done(w, s.cfg.Cameras.Remove(ctx, r.PathValue("camera")))
}

// tried is a test picture.
type tried struct {
	Width   int    `json:"width"`
	Height  int    `json:"height"`
	Codec   string `json:"codec"`
	Picture []byte `json:"picture"` // JPEG
	Hidden  bool   `json:"hidden"`
}

func (s *Server) tryCamera(w http.ResponseWriter, r *http.Request) error {
	return command(w, r, tryTimeout, []string{typeJSON}, func(ctx context.Context, body []byte) (err error) {
		var t *api.Tried
		if err := s.asTrying(func() error { t, err = s.cfg.Cameras.Try(ctx, body); return err }); err != nil {
			return err
		}
		// As it is meant to be seen: nothing is marked on it.
		width, height := float64(t.Width), float64(t.Height)
		if t.PixelAspect >= 1 {
			width *= t.PixelAspect
		} else {
			height /= t.PixelAspect
		}
		if width > testWidth {
			width, height = testWidth, height*testWidth/width
		}
		encoder, err := codec.NewJPEGEncoder(t.Width, t.Height, max(1, int(math.Round(width))), max(1, int(math.Round(height))), s.cfg.JPEGQuality)
		if err != nil {
			return err
		}
		defer encoder.Close()
		picture, err := encoder.Encode(t.BGR)
		return reply(w, tried{t.Width, t.Height, t.Codec, picture, t.Hidden}, err)
	})
}

func (s *Server) discoverCameras(w http.ResponseWriter, r *http.Request) error {
	return command(w, r, discoverTimeout, []string{typeJSON}, func(ctx context.Context, body []byte) (err error) {
		var found json.RawMessage
		err = s.asTrying(func() error { found, err = s.cfg.Cameras.Discover(ctx, body); return err })
		return reply(w, found, err)
	})
}

// asTrying does something as one of those who try or look for cameras, and
// refuses it where as many do as may. It is over before its answer is written.
func (s *Server) asTrying(do func() error) error {
	select {
	case s.trying <- struct{}{}:
		defer func() { <-s.trying }()
		return do()
	default:
		return &api.Refusal{
			Status: http.StatusTooManyRequests, Retry: retryTrying,
			Detail: fmt.Sprintf("%d cameras are tried or looked for already; try again in %d s", tryingAtOnce, retryTrying),
		}
	}
}

// command does something with a body of one of these types.
func command(w http.ResponseWriter, r *http.Request, most time.Duration, types []string, do func(ctx context.Context, body []byte) error) error {
	if err := checkType(r, types...); err != nil {
		return err
	}
	body, err := readBody(w, r, limit.MaxLayout)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), most)
	defer cancel()
	return do(ctx, body)
}
