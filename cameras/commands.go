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
	"github.com/segd/segd/pipeline/set"
	"github.com/segd/segd/privacy"
	"github.com/segd/segd/web"
	"github.com/segd/segd/zones"
)

// Commands answers the API and the bus: it takes requests to their camera, and the
// errors back as both understand them.
type Commands struct{ set *set.Set[*pipeline.Camera] }

// Commands answers for the cameras that run.
func (m *Manager) Commands() Commands { return Commands{m.set} }

// ask has do done with a camera.
func ask[T any](c Commands, camera string, do func(*pipeline.Camera) (T, error)) (T, error) {
	cam, err := c.set.Camera(camera)
	if err != nil {
		var none T
		return none, refusal(err)
	}
	answer, err := do(cam)
	return answer, refusal(err)
}

// tell is ask of what has no answer.
func tell(c Commands, camera string, do func(*pipeline.Camera) error) error {
	_, err := ask(c, camera, func(cam *pipeline.Camera) (struct{}, error) { return struct{}{}, do(cam) })
	return err
}

func (c Commands) Objects(camera string) (seq uint64, objects []*segdv1.Object, err error) {
	objects, err = ask(c, camera, func(cam *pipeline.Camera) (all []*segdv1.Object, _ error) {
		seq, all = cam.Objects()
		return all, nil
	})
	return seq, objects, err
}

func (c Commands) Rename(ctx context.Context, camera string, id uint32, label string) (*segdv1.Object, error) {
	return ask(c, camera, func(cam *pipeline.Camera) (*segdv1.Object, error) { return cam.Rename(ctx, id, label) })
}

func (c Commands) Keep(ctx context.Context, camera string, id uint32) (*segdv1.Object, error) {
	return ask(c, camera, func(cam *pipeline.Camera) (*segdv1.Object, error) { return cam.Keep(ctx, id) })
}

func (c Commands) Clear(ctx context.Context, camera string, id uint32) error {
	return tell(c, camera, func(cam *pipeline.Camera) error { return cam.Clear(ctx, id) })
}

// parseFor reads what somebody marked on frames of cam.
func parseFor(cam *pipeline.Camera, body []byte) (*annotation.Annotation, error) {
	width, height := cam.FrameSize()
	return annotation.ParseFor(body, width, height)
}

func (c Commands) Annotate(ctx context.Context, camera string, body []byte) (*segdv1.Annotated, error) {
	return ask(c, camera, func(cam *pipeline.Camera) (*segdv1.Annotated, error) {
		a, err := parseFor(cam, body)
		if err != nil {
			return nil, err
		}
		return cam.Annotate(ctx, a)
	})
}

func (c Commands) Preview(ctx context.Context, camera string, body []byte) (*segdv1.MaskFrame, error) {
	return ask(c, camera, func(cam *pipeline.Camera) (*segdv1.MaskFrame, error) {
		a, err := parseFor(cam, body)
		if err != nil {
			return nil, err
		}
		return cam.Preview(ctx, a)
	})
}

func (c Commands) Hold(ctx context.Context, camera string, seq uint64, holder string) (time.Time, error) {
	return ask(c, camera, func(cam *pipeline.Camera) (time.Time, error) {
		until, err := cam.Hold(ctx, seq, holder)
		if errors.Is(err, annotation.ErrFrame) { // the frame is what the request is about
			err = &web.Refusal{Status: http.StatusNotFound, Detail: err.Error()}
		}
		return until, err
	})
}

func (c Commands) LetGo(ctx context.Context, camera string, seq uint64, holder string) error {
	return tell(c, camera, func(cam *pipeline.Camera) error { return cam.LetGo(ctx, seq, holder) })
}

func (c Commands) Masks(camera string, seq uint64) (*segdv1.MaskFrame, error) {
	return ask(c, camera, func(cam *pipeline.Camera) (*segdv1.MaskFrame, error) { return cam.Masks(seq) })
}

func (c Commands) Picture(camera string, use func(*segdv1.MaskFrame, *privacy.Picture) error) error {
	return tell(c, camera, func(cam *pipeline.Camera) error { return cam.Picture(use) })
}

func (c Commands) Zones(camera string) zones.Layout {
	layout, _ := ask(c, camera, func(cam *pipeline.Camera) (zones.Layout, error) { return cam.Zones(), nil })
	return layout // of none, that is about to come or to go, none
}

func (c Commands) SetZones(ctx context.Context, camera string, l zones.Layout) (zones.Layout, error) {
	return ask(c, camera, func(cam *pipeline.Camera) (zones.Layout, error) { return cam.SetZones(ctx, l) })
}

// State is what a camera tells of itself once a second.
func (c Commands) State(camera string) (*segdv1.Status, error) {
	return ask(c, camera, func(cam *pipeline.Camera) (*segdv1.Status, error) { return cam.State(), nil })
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
		{set.ErrUnknown, http.StatusNotFound},
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
