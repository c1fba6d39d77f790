package daemon

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/api"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/internal/plain"
	"github.com/segd/segd/pipeline"
	"github.com/segd/segd/pipeline/set"
	"github.com/segd/segd/web"
)

// commands take the requests of the API and the bus to their camera.
type commands struct{ set *set.Set[*pipeline.Camera] }

func (c commands) Camera(name string) (web.Camera, error) { return c.camera(name) }

func (c commands) camera(name string) (verbs, error) {
	cam, err := c.set.Camera(name)
	return verbs{cam}, err
}

// verbs are what a camera is asked, with annotations as clients send them.
type verbs struct{ *pipeline.Camera }

// parse reads what a client marked on frames of the camera.
func (v verbs) parse(body []byte) (*annotation.Annotation, error) {
	width, height := v.FrameSize()
	return annotation.ParseFor(body, width, height)
}

func (v verbs) Annotate(ctx context.Context, body []byte) (*segdv1.Annotated, error) {
	a, err := v.parse(body)
	if err != nil {
		return nil, err
	}
	return v.Camera.Annotate(ctx, a)
}

func (v verbs) Preview(ctx context.Context, body []byte) (*segdv1.MaskFrame, error) {
	a, err := v.parse(body)
	if err != nil {
		return nil, err
	}
	return v.Camera.Preview(ctx, a)
}

func (v verbs) Hold(ctx context.Context, seq uint64, holder string) (time.Time, error) {
	until, err := v.Camera.Hold(ctx, seq, holder)
	return until, noFrame(err)
}

func (v verbs) Things(ctx context.Context, seq uint64) (*segdv1.MaskFrame, error) {
	things, err := v.Camera.Things(ctx, seq)
	return things, noFrame(err)
}

// noFrame is err of a request about a frame, which refuses one that is not kept by 404.
func noFrame(err error) error {
	if errors.Is(err, annotation.ErrFrame) {
		return &api.Refusal{Status: http.StatusNotFound, Detail: err.Error()}
	}
	return err
}

// Refuse gives an error of a camera the status it answers with. One that has none is a fault of segd's own and stays
// as it is.
func (commands) Refuse(err error) error {
	status := api.StatusOf(err, 0,
		api.Status{Is: set.ErrUnknown, Code: http.StatusNotFound},
		api.Status{Is: api.ErrUnknownObject, Code: http.StatusNotFound},
		api.Status{Is: api.ErrFrame, Code: http.StatusNotFound},
		api.Status{Is: annotation.ErrFrame, Code: http.StatusConflict},
		api.Status{Is: api.ErrBusy, Code: http.StatusConflict},
		api.Status{Is: annotation.ErrInvalid, Code: http.StatusBadRequest},
		api.Status{Is: api.ErrDown, Code: http.StatusServiceUnavailable},
	)
	if status == 0 {
		return err
	}
	r := &api.Refusal{Status: status, Detail: plain.OneLine(err)}
	for _, f := range plain.All[*annotation.Fault](err) {
		if f.Field != "" {
			r.Fields = append(r.Fields, api.Field{Pointer: api.Pointer(f.Field), Detail: f.Detail})
		}
	}
	return r
}
