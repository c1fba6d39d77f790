package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"

	"github.com/segd/segd/api"
	"github.com/segd/segd/internal/limit"
	"github.com/segd/segd/objects/zones"
)

const (
	typeJSON = "application/json"
	typePNG  = "image/png"
	typeJPEG = "image/jpeg"

	apiRoot    = "/api/v1"
	cameraPath = apiRoot + "/cameras/{camera}"
	livePath   = cameraPath + "/live"
)

// route is one operation of the API; openapi.json describes it.
type route struct {
	method, path string
	cost         int // of the client's allowance, see limit.Limiter
	handler      handler
}

// handler answers a request; its error is one of a command, and the answer where there is none yet.
type handler func(w http.ResponseWriter, r *http.Request) error

func (s *Server) answering(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			s.refuse(w, r, err)
		}
	}
}

// reply answers with v, unless there is an error.
func reply(w http.ResponseWriter, v any, err error) error {
	if err == nil {
		api.WriteJSON(w, http.StatusOK, typeJSON, v)
	}
	return err
}

// done answers that what was asked for is done, unless there is an error.
func done(w http.ResponseWriter, err error) error {
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// api lists what is served under apiRoot.
func (s *Server) api() []route {
	routes := []route{
		{http.MethodGet, apiRoot + "/openapi.json", limit.CostRead, serveOpenAPI},
		{http.MethodGet, apiRoot + "/cameras", limit.CostRead, s.listCameras},
		{http.MethodGet, cameraPath, limit.CostRead, s.showCamera},
		{http.MethodGet, livePath, limit.CostRead, s.withCamera(s.live)},
		{http.MethodGet, thumbnailsPath + "/{name}", limit.CostRead, s.withCamera(s.showThumbnail)},
		{http.MethodGet, recordingsPath, limit.CostWork, s.withCamera(s.listRecordings)},
		{http.MethodGet, recordingsPath + "/{name}", limit.CostRead, s.withCamera(s.showRecording)},
		{http.MethodGet, recordingsPath + "/{name}/masks", limit.CostWork, s.withCamera(s.showRecordedMasks)},
		{http.MethodGet, apiRoot + "/events", limit.CostRead, s.events},
		{http.MethodGet, apiRoot + "/history", limit.CostWork, s.listKept},
		{http.MethodGet, apiRoot + "/history/export", limit.CostLarge, s.exportKept},
		{http.MethodGet, apiRoot + "/alerts", limit.CostRead, s.showAlerts},
		{http.MethodPost, apiRoot + "/config/reload", limit.CostLarge, s.reload},
	}
	if s.cfg.Settings != nil {
		routes = append(routes, route{http.MethodGet, apiRoot + "/config", limit.CostRead, s.showSettings})
	}
	if s.cfg.Cameras != nil {
		routes = append(routes,
			route{http.MethodPost, apiRoot + "/cameras", limit.CostLarge, s.addCamera},
			route{http.MethodPatch, cameraPath, limit.CostLarge, s.setCamera},
			route{http.MethodDelete, cameraPath, limit.CostLarge, s.removeCamera},
			route{http.MethodPost, apiRoot + "/cameras/test", limit.CostLarge, s.tryCamera},
			route{http.MethodPost, apiRoot + "/cameras/discover", limit.CostLarge, s.discoverCameras},
		)
	}
	if s.cfg.Commands != nil {
		routes = append(routes,
			route{http.MethodGet, cameraPath + "/objects", limit.CostRead, s.asking(listObjects)},
			route{http.MethodDelete, cameraPath + "/objects", limit.CostWork, s.asking(clearObjects)},
			route{http.MethodPatch, cameraPath + "/objects/{id}", limit.CostWork, s.asking(renameObject)},
			route{http.MethodDelete, cameraPath + "/objects/{id}", limit.CostWork, s.asking(clearObject)},
			route{http.MethodPost, cameraPath + "/annotations", limit.CostLarge, s.asking(annotate)},
			route{http.MethodPost, cameraPath + "/frames/{sequence}/things", limit.CostLarge, s.asking(findThings)},
			route{http.MethodGet, cameraPath + "/accuracy", limit.CostRead, s.asking(listAccuracy)},
			route{http.MethodPost, cameraPath + "/accuracy", limit.CostWork, s.asking(judge)},
			route{http.MethodDelete, cameraPath + "/accuracy", limit.CostWork, s.asking(forgetAccuracy)},
			route{http.MethodPut, cameraPath + "/zones", limit.CostWork, s.asking(setZones)},
			route{http.MethodPut, holdPath, limit.CostWork, s.asking(holdFrame)},
			route{http.MethodDelete, holdPath, limit.CostWork, s.asking(letGoFrame)},
			route{http.MethodGet, cameraPath + "/snapshot", limit.CostWork, s.withCamera(s.snapshot)},
			route{http.MethodGet, cameraPath + "/frames/{sequence}/mask", limit.CostWork, s.asking(s.showMask)},
		)
	}
	return append(routes, s.fleetRoutes()...)
}

// mountAPI serves the routes to those who may ask, and answers everything else under
// apiRoot with a problem document.
func (s *Server) mountAPI(mux *mux, routes []route) {
	methods := map[string][]string{}
	for _, r := range routes {
		methods[r.path] = append(methods[r.path], r.method)
		if r.method == http.MethodGet {
			methods[r.path] = append(methods[r.path], http.MethodHead)
		}
	}
	// accepted are the methods of what a request to a path asks for. A path that a camera could have, such as
	// /cameras/test, has those of cameraPath beside its own while there is a camera of that name.
	accepted := func(path string, r *http.Request) []string {
		own := methods[r.URL.Path]
		if path != cameraPath || !named(r.URL.Path) || own == nil {
			return methods[path]
		}
		if s.knows(r.PathValue("camera")) {
			return slices.Concat(own, methods[path])
		}
		return own
	}
	for _, r := range routes {
		least := mayOperate
		if r.method == http.MethodGet {
			least = mayView
		}
		here := s.answering(func(w http.ResponseWriter, req *http.Request) error {
			if list := accepted(r.path, req); !slices.Contains(list, r.method) {
				refuseMethod(w, req, list)
				return nil
			}
			return r.handler(w, req)
		})
		mux.Handle(r.method+" "+r.path, s.gate.require(least, r.cost, s.gate.sameSite(s.orElsewhere(r, here))))
	}
	fallback := func(pattern string, h http.HandlerFunc) {
		mux.Handle(pattern, s.gate.require(mayView, limit.CostRead, h))
	}
	for path := range methods {
		if named(path) {
			continue // that of cameraPath answers: the mux takes no pattern for both
		}
		fallback(path, func(w http.ResponseWriter, r *http.Request) { refuseMethod(w, r, accepted(path, r)) })
	}
	fallback(apiRoot+"/", func(w http.ResponseWriter, r *http.Request) {
		api.WriteProblem(w, http.StatusNotFound, fmt.Sprintf("nothing is at %s; %s/openapi.json lists what there is", r.URL.Path, apiRoot))
	})
}

// refuseMethod answers a request to a path that has other methods.
func refuseMethod(w http.ResponseWriter, r *http.Request, accepted []string) {
	allow := strings.Join(slices.Sorted(slices.Values(accepted)), ", ")
	w.Header().Set("Allow", allow)
	api.WriteProblem(w, http.StatusMethodNotAllowed, fmt.Sprintf("method %s; accepts %s", r.Method, allow))
}

// named tells whether path is one that a camera could have.
func named(path string) bool {
	name, ok := strings.CutPrefix(path, apiRoot+"/cameras/")
	return ok && !strings.ContainsAny(name, "/{")
}

// knows tells whether there is a camera of that name, running or not.
func (s *Server) knows(name string) bool {
	byName, _, _ := s.declared()
	return s.camera(name) != nil || byName[name] != nil
}

// withCamera finds the camera that the path names.
func (s *Server) withCamera(h func(http.ResponseWriter, *http.Request, *camera) error) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if c := s.camera(r.PathValue("camera")); c != nil {
			return h(w, r, c)
		}
		return s.noCamera(r)
	}
}

// asking finds the camera that the path names, to ask something of it.
func (s *Server) asking(h func(http.ResponseWriter, *http.Request, Camera) error) handler {
	return s.withCamera(func(w http.ResponseWriter, r *http.Request, c *camera) error {
		asked, err := s.cfg.Commands.Camera(c.name)
		if err == nil {
			err = h(w, r, asked)
		}
		return s.cfg.Commands.Refuse(err)
	})
}

// cameraInfo is one camera in the answer of /api/v1/cameras.
type cameraInfo struct {
	Name    string          `json:"name"`
	Width   int             `json:"width,omitempty"` // pixels, once a frame was published
	Height  int             `json:"height,omitempty"`
	Viewers int             `json:"viewers"`
	Status  json.RawMessage `json:"status"` // segd.v1.Status in protobuf's JSON mapping, null before the first

	layoutInfo    // empty without Commands
	*api.Declared // absent without Cameras
}

type cameraList struct {
	Version string       `json:"version"`
	Access  string       `json:"access"` // of who asks: operator or viewer
	Cores   int          `json:"cores"`  // of the machine's processor, that segd computes on
	Cameras []cameraInfo `json:"cameras"`
	Adding  *api.Adding  `json:"adding,omitempty"`  // absent without Cameras
	Alerts  bool         `json:"alerts,omitempty"`  // whether segd knows which fire
	Records bool         `json:"records,omitempty"` // whether there may be recordings
}

func (s *Server) listCameras(w http.ResponseWriter, r *http.Request) error {
	if s.cfg.Fleet != nil {
		w.Header().Set(headerBox, s.cfg.Fleet.Box())
	}
	cameras, adding := s.infos()
	return reply(w, cameraList{s.cfg.Version, s.gate.role(r).String(), runtime.GOMAXPROCS(0), cameras, adding, s.cfg.Alerts != nil, s.cfg.Recordings != nil}, nil)
}

// info is what is known of a camera, with its zones and lines.
func (s *Server) info(c *camera) cameraInfo {
	info := c.info()
	var layout zones.Layout
	if s.cfg.Commands != nil {
		if asked, err := s.cfg.Commands.Camera(c.name); err == nil { // else it is about to come or to go
			layout = asked.Zones()
		}
	}
	info.layoutInfo = newLayoutInfo(layout)
	return info
}

func (s *Server) showSettings(w http.ResponseWriter, _ *http.Request) error {
	return reply(w, s.cfg.Settings(), nil)
}
