package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/segd/segd/internal/limit"
	"github.com/segd/segd/internal/problem"
)

// Fleet is several segd that share cameras, of which this one is a box. It is called from several goroutines. Its
// errors are as those of Commands.
type Fleet interface {
	// ShowFleet returns as JSON what this box knows of the boxes and their cameras.
	ShowFleet(ctx context.Context) ([]byte, error)
	// Order has a box take no more cameras (OrderCordon), give away those that it has, too (OrderDrain), or take
	// cameras again (OrderUncordon).
	Order(ctx context.Context, box, order string) error
	// MoveCamera has a camera run by that box, and returns once it is.
	MoveCamera(ctx context.Context, camera, box string) error
	// Elsewhere returns who answers the requests about a camera that another box runs; nil: this one does.
	Elsewhere(camera string) http.Handler
}

// What a box may be ordered.
const (
	OrderCordon   = "cordon"
	OrderDrain    = "drain"
	OrderUncordon = "uncordon"
)

const fleetPath = apiRoot + "/fleet"

// fleetRoutes are those of a box of a fleet.
func (s *Server) fleetRoutes() []route {
	if s.cfg.Fleet == nil {
		return nil
	}
	routes := []route{
		{http.MethodGet, fleetPath, limit.CostRead, s.showFleet},
		{http.MethodPost, fleetPath + "/cameras/{camera}/move", limit.CostWork, s.moveCamera},
	}
	for _, order := range []string{OrderCordon, OrderDrain, OrderUncordon} {
		routes = append(routes, route{http.MethodPost, fleetPath + "/boxes/{box}/" + order, limit.CostWork, s.orderBox(order)})
	}
	return routes
}

func (s *Server) showFleet(w http.ResponseWriter, r *http.Request) {
	data, err := s.cfg.Fleet.ShowFleet(r.Context())
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	problem.WriteJSON(w, http.StatusOK, typeJSON, json.RawMessage(data))
}

func (s *Server) orderBox(order string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), commandTimeout)
		defer cancel()
		if err := s.cfg.Fleet.Order(ctx, r.PathValue("box"), order); err != nil {
			s.refuse(w, r, err)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

func (s *Server) moveCamera(w http.ResponseWriter, r *http.Request) {
	var to struct {
		Box string `json:"box"`
	}
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, limit.MaxBody))
	dec.DisallowUnknownFields()
	err := dec.Decode(&to)
	if err == nil && to.Box == "" {
		err = errors.New("box is missing")
	}
	if err != nil {
		problem.Write(w, http.StatusBadRequest, fmt.Sprintf(`%v; accepts {"box": "NAME"}`, err))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), commandTimeout)
	defer cancel()
	if err := s.cfg.Fleet.MoveCamera(ctx, r.PathValue("camera"), to.Box); err != nil {
		s.refuse(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// orElsewhere has the box answer that runs the camera, if that is another one, whoever may ask this one.
func (s *Server) orElsewhere(path string, here http.Handler) http.Handler {
	if s.cfg.Fleet == nil || !strings.HasPrefix(path, cameraPath+"/") {
		return here
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if there := s.cfg.Fleet.Elsewhere(r.PathValue("camera")); there != nil {
			there.ServeHTTP(w, r)
			return
		}
		here.ServeHTTP(w, r)
	})
}
