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
	"github.com/segd/segd/objects/privacy"
	"github.com/segd/segd/objects/zones"
	"github.com/segd/segd/pipeline"
	"github.com/segd/segd/pipeline/set"
)

// commands answer the API and the bus: they take requests to their camera, and give errors the statuses that both
// answer with.
type commands struct{ set *set.Set[*pipeline.Camera] }

// askCamera has do done with a camera.
func askCamera[T any](c commands, camera string, do func(*pipeline.Camera) (T, error)) (T, error) {
	cam, err := c.set.Camera(camera)
	if err != nil {
		var none T
		return none, cameraRefusal(err)
	}
	answer, err := do(cam)
	return answer, cameraRefusal(err)
}

// tellCamera is askCamera of what has no answer.
func tellCamera(c commands, camera string, do func(*pipeline.Camera) error) error {
	_, err := askCamera(c, camera, func(cam *pipeline.Camera) (struct{}, error) { return struct{}{}, do(cam) })
	return err
}

func (c commands) Objects(camera string) (seq uint64, objects []*segdv1.Object, err error) {
	objects, err = askCamera(c, camera, func(cam *pipeline.Camera) (all []*segdv1.Object, _ error) {
		seq, all = cam.Objects()
		return all, nil
	})
	return seq, objects, err
}

func (c commands) Rename(ctx context.Context, camera string, id uint32, label string) (*segdv1.Object, error) {
	return askCamera(c, camera, func(cam *pipeline.Camera) (*segdv1.Object, error) { return cam.Rename(ctx, id, label) })
}

func (c commands) Keep(ctx context.Context, camera string, id uint32) (*segdv1.Object, error) {
	return askCamera(c, camera, func(cam *pipeline.Camera) (*segdv1.Object, error) { return cam.Keep(ctx, id) })
}

func (c commands) Clear(ctx context.Context, camera string, id uint32) error {
	return tellCamera(c, camera, func(cam *pipeline.Camera) error { return cam.Clear(ctx, id) })
}

// parseFor reads what a client marked on frames of cam.
func parseFor(cam *pipeline.Camera, body []byte) (*annotation.Annotation, error) {
	width, height := cam.FrameSize()
	return annotation.ParseFor(body, width, height)
}

func (c commands) Annotate(ctx context.Context, camera string, body []byte) (*segdv1.Annotated, error) {
	return askCamera(c, camera, func(cam *pipeline.Camera) (*segdv1.Annotated, error) {
		a, err := parseFor(cam, body)
		if err != nil {
			return nil, err
		}
		return cam.Annotate(ctx, a)
	})
}

func (c commands) Preview(ctx context.Context, camera string, body []byte) (*segdv1.MaskFrame, error) {
	return askCamera(c, camera, func(cam *pipeline.Camera) (*segdv1.MaskFrame, error) {
		a, err := parseFor(cam, body)
		if err != nil {
			return nil, err
		}
		return cam.Preview(ctx, a)
	})
}

func (c commands) Hold(ctx context.Context, camera string, seq uint64, holder string) (time.Time, error) {
	return askCamera(c, camera, func(cam *pipeline.Camera) (time.Time, error) {
		until, err := cam.Hold(ctx, seq, holder)
		if errors.Is(err, annotation.ErrFrame) { // the frame is what the request is about
			err = &api.Refusal{Status: http.StatusNotFound, Detail: err.Error()}
		}
		return until, err
	})
}

func (c commands) LetGo(ctx context.Context, camera string, seq uint64, holder string) error {
	return tellCamera(c, camera, func(cam *pipeline.Camera) error { return cam.LetGo(ctx, seq, holder) })
}

func (c commands) Masks(camera string, seq uint64) (*segdv1.MaskFrame, error) {
	return askCamera(c, camera, func(cam *pipeline.Camera) (*segdv1.MaskFrame, error) { return cam.Masks(seq) })
}

func (c commands) Picture(camera string, use func(*segdv1.MaskFrame, *privacy.Picture) error) error {
	return tellCamera(c, camera, func(cam *pipeline.Camera) error { return cam.Picture(use) })
}

func (c commands) Zones(camera string) zones.Layout {
	layout, _ := askCamera(c, camera, func(cam *pipeline.Camera) (zones.Layout, error) { return cam.Zones(), nil })
	return layout // of none, that is about to come or to go, none
}

func (c commands) SetZones(ctx context.Context, camera string, l zones.Layout) (zones.Layout, error) {
	return askCamera(c, camera, func(cam *pipeline.Camera) (zones.Layout, error) { return cam.SetZones(ctx, l) })
}

// State is what a camera tells of itself once a second.
func (c commands) State(camera string) (*segdv1.Status, error) {
	return askCamera(c, camera, func(cam *pipeline.Camera) (*segdv1.Status, error) { return cam.State(), nil })
}

// cameraRefusal gives an error of a camera the status it answers with. One that has none
// is a fault of segd's own and stays as it is.
func cameraRefusal(err error) error {
	if err == nil {
		return nil
	}
	status := 0
	for _, kind := range []struct {
		is     error
		status int
	}{
		{set.ErrUnknown, http.StatusNotFound},
		{api.ErrUnknownObject, http.StatusNotFound},
		{api.ErrFrame, http.StatusNotFound},
		{annotation.ErrFrame, http.StatusConflict},
		{api.ErrBusy, http.StatusConflict},
		{annotation.ErrInvalid, http.StatusBadRequest},
		{api.ErrDown, http.StatusServiceUnavailable},
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
	r := &api.Refusal{Status: status, Detail: plain.OneLine(err)}
	for _, f := range plain.All[*annotation.Fault](err) {
		if f.Field != "" {
			r.Fields = append(r.Fields, api.Field{Pointer: api.Pointer(f.Field), Detail: f.Detail})
		}
	}
	return r
}
