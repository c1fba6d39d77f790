package web

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/segd/segd/api"
	"github.com/segd/segd/internal/limit"
)

// Fleet is that of which this segd is a box. It is called from several goroutines. Its errors are as those of Commands.
type Fleet interface {
	api.Fleet
	// Box is the name of this box.
	Box() string
	// Elsewhere returns the box that runs a camera, if that is another one, and who answers requests about it there;
	// empty and nil: this one does.
	Elsewhere(camera string) (box string, there http.Handler)
	// Connect takes a connection of another box, by which it hands requests on (ServeHandedOn).
	Connect(w http.ResponseWriter, r *http.Request)
}

const fleetPath = apiRoot + "/fleet"

// headerBox tells, with the list of cameras, which box of a fleet answers; there is none without one. So the page need
// not ask whether there is a fleet.
const headerBox = "Segd-Box"

// fleetRoutes are those of a box of a fleet; of a segd that is none they say so.
func (s *Server) fleetRoutes() []route {
	routes := []route{
		{http.MethodGet, fleetPath, limit.CostRead, s.ofBox(s.showFleet)},
		{http.MethodPost, fleetPath + "/cameras/{camera}/move", limit.CostWork, s.ofBox(s.moveCamera)},
	}
	for _, order := range []string{"cordon", "drain", "uncordon"} {
		routes = append(routes, route{http.MethodPost, fleetPath + "/boxes/{box}/" + order, limit.CostWork, s.ofBox(s.orderBox(order))})
	}
	return routes
}

// ofBox is h of a box of a fleet.
func (s *Server) ofBox(h handler) handler {
	if s.cfg.Fleet != nil {
		return h
	}
	return func(http.ResponseWriter, *http.Request) error {
		return &api.Refusal{Status: http.StatusNotFound, Detail: "this segd is no box of a fleet; accepts this of one with fleet.box in its configuration"}
	}
}

// connect takes a connection of another box. The peer proves in the connection that it is one.
func (s *Server) connect(w http.ResponseWriter, r *http.Request) error {
	s.cfg.Fleet.Connect(w, r)
	return nil
}

func (s *Server) showFleet(w http.ResponseWriter, r *http.Request) error {
	data, err := s.cfg.Fleet.ShowFleet(r.Context())
	return reply(w, json.RawMessage(data), err)
}

func (s *Server) orderBox(order string) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), commandTimeout)
		defer cancel()
		return done(w, s.cfg.Fleet.OrderBox(ctx, r.PathValue("box"), order))
	}
}

func (s *Server) moveCamera(w http.ResponseWriter, r *http.Request) error {
	var to struct {
		Box string `json:"box"`
	}
	err := readJSON(w, r, limit.MaxBody, &to)
	if err == nil && to.Box == "" {
		err = badField(api.Field{Pointer: "/box", Detail: "it is missing; accepts the name of a box"})
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), commandTimeout)
	defer cancel()
	return done(w, s.cfg.Fleet.MoveCamera(ctx, r.PathValue("camera"), to.Box))
}

// orElsewhere has the box answer that runs the camera, if that is another one, for those who may ask this one. Changes of the
// camera itself are made here: each box knows all cameras.
func (s *Server) orElsewhere(r route, here http.Handler) http.Handler {
	of := strings.HasPrefix(r.path, cameraPath+"/") || r.path == cameraPath && r.method == http.MethodGet
	if s.cfg.Fleet == nil || !of {
		return here
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		camera := req.PathValue("camera")
		box, there := s.cfg.Fleet.Elsewhere(camera)
		switch {
		case there == nil:
			here.ServeHTTP(w, req)
		case r.path == livePath:
			leave, ok := s.enter(w, req) // they are this box's, too
			if !ok {
				return
			}
			defer leave()
			moved, end := s.whenMoved(req.Context(), camera, box)
			defer end()
			there.ServeHTTP(w, req.WithContext(moved))
		default:
			there.ServeHTTP(w, req)
		}
	})
}

// lookMoved is how often it is looked whether a camera with viewers has moved.
const lookMoved = 100 * time.Millisecond

// whenMoved returns a context that ends once a camera is not run by that box any more (empty: this one, or none). Live
// connections end with it, so that who watches comes again and is sent to where the camera is: a box that died does not
// end them. If it is another box the context ends with the server, too. end must be called.
func (s *Server) whenMoved(ctx context.Context, camera, box string) (moved context.Context, end func()) {
	moved, cancel := context.WithCancel(ctx)
	if s.cfg.Fleet == nil {
		return moved, cancel
	}
	quit := s.quit
	if box == "" {
		quit = nil // who watches is told so
	}
	var watch sync.WaitGroup
	watch.Go(func() {
		tick := time.NewTicker(lookMoved)
		defer tick.Stop()
		for {
			select {
			case <-moved.Done():
				return
			case <-quit:
				cancel()
				return
			case <-tick.C:
			}
			if now, _ := s.cfg.Fleet.Elsewhere(camera); now != box {
				cancel()
			}
		}
	})
	return moved, func() {
		cancel()
		watch.Wait()
	}
}
