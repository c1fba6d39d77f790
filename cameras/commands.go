package cameras

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/internal/plain"
	"github.com/segd/segd/internal/problem"
	"github.com/segd/segd/pipeline"
	"github.com/segd/segd/web"
	"github.com/segd/segd/zones"
)

// Commands answers the API and the bus: it takes requests to their camera, and the
// errors back as both understand them.
type Commands struct{ set *pipeline.Set }

// Commands answers for the cameras that run.
func (m *Manager) Commands() Commands { return Commands{m.set} }

func (c Commands) Objects(camera string) (seq uint64, objects []*segdv1.Object, err error) {
	cam, err := c.set.Camera(camera)
	if err != nil {
		return 0, nil, refusal(err)
	}
	seq, objects = cam.Objects()
	return seq, objects, nil
}

func (c Commands) Rename(ctx context.Context, camera string, id uint32, label string) (*segdv1.Object, error) {
	cam, err := c.set.Camera(camera)
	if err != nil {
		return nil, refusal(err)
	}
	o, err := cam.Rename(ctx, id, label)
	return o, refusal(err)
}

func (c Commands) Keep(ctx context.Context, camera string, id uint32) (*segdv1.Object, error) {
	cam, err := c.set.Camera(camera)
	if err != nil {
		return nil, refusal(err)
	}
	o, err := cam.Keep(ctx, id)
	return o, refusal(err)
}

func (c Commands) Clear(ctx context.Context, camera string, id uint32) error {
	cam, err := c.set.Camera(camera)
	if err != nil {
		return refusal(err)
	}
	return refusal(cam.Clear(ctx, id))
}

// parseFor reads what somebody marked on frames of cam.
func parseFor(cam *pipeline.Camera, body []byte) (*annotation.Annotation, error) {
	width, height := cam.FrameSize()
	return annotation.ParseFor(body, width, height)
}

func (c Commands) Annotate(ctx context.Context, camera string, body []byte) (*segdv1.Annotated, error) {
	cam, err := c.set.Camera(camera)
	if err != nil {
		return nil, refusal(err)
	}
	a, err := parseFor(cam, body)
	if err != nil {
		return nil, refusal(err)
	}
	annotated, err := cam.Annotate(ctx, a)
	return annotated, refusal(err)
}

func (c Commands) Preview(ctx context.Context, camera string, body []byte) (*segdv1.MaskFrame, error) {
	cam, err := c.set.Camera(camera)
	if err != nil {
		return nil, refusal(err)
	}
	a, err := parseFor(cam, body)
	if err != nil {
		return nil, refusal(err)
	}
	masks, err := cam.Preview(ctx, a)
	return masks, refusal(err)
}

func (c Commands) Hold(ctx context.Context, camera string, seq uint64, holder string) (time.Time, error) {
	cam, err := c.set.Camera(camera)
	if err != nil {
		return time.Time{}, refusal(err)
	}
	until, err := cam.Hold(ctx, seq, holder)
	if errors.Is(err, annotation.ErrFrame) { // the frame is what the request is about
		return until, &web.Refusal{Status: http.StatusNotFound, Detail: err.Error()}
	}
	return until, refusal(err)
}

func (c Commands) LetGo(ctx context.Context, camera string, seq uint64, holder string) error {
	cam, err := c.set.Camera(camera)
	if err != nil {
		return refusal(err)
	}
	return refusal(cam.LetGo(ctx, seq, holder))
}

func (c Commands) Masks(camera string, seq uint64) (*segdv1.MaskFrame, error) {
	cam, err := c.set.Camera(camera)
	if err != nil {
		return nil, refusal(err)
	}
	masks, err := cam.Masks(seq)
	return masks, refusal(err)
}

func (c Commands) Picture(camera string, use func(*segdv1.MaskFrame, []byte) error) error {
	cam, err := c.set.Camera(camera)
	if err != nil {
		return refusal(err)
	}
	return refusal(cam.Picture(use))
}

func (c Commands) Zones(camera string) zones.Layout {
	cam, err := c.set.Camera(camera)
	if err != nil {
		return zones.Layout{} // it is about to come, or to go
	}
	return cam.Zones()
}

func (c Commands) SetZones(ctx context.Context, camera string, l zones.Layout) (zones.Layout, error) {
	cam, err := c.set.Camera(camera)
	if err != nil {
		return zones.Layout{}, refusal(err)
	}
	l, err = cam.SetZones(ctx, l)
	return l, refusal(err)
}

// State is what a camera tells of itself once a second.
func (c Commands) State(camera string) (*segdv1.Status, error) {
	cam, err := c.set.Camera(camera)
	if err != nil {
		return nil, refusal(err)
	}
	return cam.State(), nil
}

// refusal gives an error of a camera the status it answers with. One that has none
// is a fault of segd's own and stays as it is.
func refusal(err error) error {
	if err == nil {
		return nil
	}
	status := 0
	for _, kind := range []struct {
		is     error
		status int
	}{
		{pipeline.ErrUnknownCamera, http.StatusNotFound},
		{pipeline.ErrUnknownObject, http.StatusNotFound},
		{pipeline.ErrFrame, http.StatusNotFound},
		{annotation.ErrFrame, http.StatusConflict},
		{pipeline.ErrBusy, http.StatusConflict},
		{annotation.ErrInvalid, http.StatusBadRequest},
		{pipeline.ErrDown, http.StatusServiceUnavailable},
		{context.DeadlineExceeded, http.StatusGatewayTimeout},
		{context.Canceled, http.StatusServiceUnavailable},
	} {
		if errors.Is(err, kind.is) {
			status = kind.status
			break
		}
	}
	if status == 0 {
		return err
	}
	r := &web.Refusal{Status: status, Detail: plain.OneLine(err)}
	for _, f := range find[*annotation.Fault](err) {
		if f.Field != "" {
			r.Fields = append(r.Fields, web.Field{Pointer: problem.Pointer(f.Field), Detail: f.Detail})
		}
	}
	return r
}

// find returns the errors of type T in err's tree.
func find[T error](err error) []T {
	if f, ok := err.(T); ok { //nolint:errorlint // this walks the tree itself
		return []T{f}
	}
	var found []T
	switch e := err.(type) { //nolint:errorlint // likewise
	case interface{ Unwrap() error }:
		found = find[T](e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			found = append(found, find[T](part)...)
		}
	}
	return found
}
