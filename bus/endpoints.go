package bus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/nats-io/nats.go/micro"
	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/api"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/internal/limit"
)

// headerAccept of a request chooses the encoding of its reply. A reply has as many of
// headerWarning as there are things to know though the request was granted.
const (
	headerAccept  = "Accept"
	headerWarning = "Segd-Warning"
	headerRetry   = "Retry-After" // in seconds, of a request that came too early
)

// Payloads of requests, as JSON.
type (
	clearRequest struct {
		ID *uint32 `json:"id"`
	}
	renameRequest struct {
		ID    uint32 `json:"id"`
		Label string `json:"label,omitempty"`
		Kept  bool   `json:"kept,omitempty"`
	}
	removeRequest struct {
		Name string `json:"name"`
	}
	boxRequest struct {
		Camera string `json:"camera,omitempty"`
		Box    string `json:"box"`
	}
	snapshotRequest struct {
		Overlay bool `json:"overlay"`
	}
)

// endpoints are those of a camera.
func (s *service) endpoints() []endpoint {
	return []endpoint{
		{KindAnnotate, limit.CostLarge, limit.MaxAnnotation, s.asking(s.annotate)},
		{KindClear, limit.CostWork, limit.MaxBody, s.asking(s.clear)},
		{KindRename, limit.CostWork, limit.MaxBody, s.asking(s.rename)},
		{KindObjects, limit.CostRead, limit.MaxBody, s.objects},
		{KindSnapshot, limit.CostWork, limit.MaxBody, s.snapshot},
		{KindState, limit.CostRead, limit.MaxBody, s.asking(s.state)},
	}
}

// asking finds the camera to ask something of it.
func (s *service) asking(do func(ctx context.Context, c Camera, req micro.Request) (answer, error)) command {
	return func(ctx context.Context, camera string, req micro.Request) (answer, error) {
		c, err := s.commands.Camera(camera)
		if err != nil {
			return answer{}, err
		}
		return do(ctx, c, req)
	}
}

// siteEndpoints are those of the commands there are that are for no camera that takes commands.
func (s *service) siteEndpoints() (all []endpoint) {
	if s.commands.Reload != nil {
		all = append(all, endpoint{KindReload, limit.CostLarge, limit.MaxBody, withoutPayload(": segd reads its own file", s.commands.Reload)})
	}
	if s.commands.Manage != nil {
		all = append(all,
			endpoint{KindAdd, limit.CostLarge, limit.MaxLayout, withPayload(s.addCamera)},
			endpoint{KindSet, limit.CostLarge, limit.MaxLayout, withPayload(s.setCamera)},
			endpoint{KindRemove, limit.CostLarge, limit.MaxBody, s.removeCamera},
			endpoint{KindList, limit.CostRead, limit.MaxBody, withoutPayload("", func(context.Context) ([]byte, error) { return s.commands.List() })},
		)
	}
	if s.commands.Fleet != nil {
		all = append(all, endpoint{KindShow, limit.CostRead, limit.MaxBody, withoutPayload("", s.commands.Fleet.ShowFleet)}, endpoint{KindMove, limit.CostWork, limit.MaxBody, s.moveCamera})
		for _, kind := range []Kind{KindCordon, KindDrain, KindUncordon} {
			all = append(all, endpoint{kind, limit.CostWork, limit.MaxBody, s.orderBox(kind)})
		}
	}
	return all
}

// withPayload answers with the JSON that do makes of the payload.
func withPayload(do func(ctx context.Context, payload []byte) ([]byte, error)) command {
	return func(ctx context.Context, _ string, req micro.Request) (answer, error) {
		data, err := do(ctx, req.Data())
		return answer{contentType: TypeJSON, data: data}, err
	}
}

// withoutPayload answers with the JSON that do returns, and says why it wants no payload.
func withoutPayload(why string, do func(ctx context.Context) ([]byte, error)) command {
	return withPayload(func(ctx context.Context, payload []byte) ([]byte, error) {
		if len(payload) > 0 {
			return nil, fmt.Errorf("the payload %.100q; want none%s", payload, why)
		}
		return do(ctx)
	})
}

func (s *service) orderBox(order Kind) command {
	return func(ctx context.Context, _ string, req micro.Request) (answer, error) {
		var r boxRequest
		if err := parseRequest(req.Data(), &r); err != nil {
			return answer{}, err
		}
		if r.Box == "" || r.Camera != "" {
			return answer{}, errors.New(`want a box and nothing else, such as {"box": "box-a"}`)
		}
		return done, s.commands.Fleet.OrderBox(ctx, r.Box, string(order))
	}
}

func (s *service) moveCamera(ctx context.Context, _ string, req micro.Request) (answer, error) {
	var r boxRequest
	if err := parseRequest(req.Data(), &r); err != nil {
		return answer{}, err
	}
	if r.Box == "" || r.Camera == "" {
		return answer{}, errors.New(`want a camera and a box, such as {"camera": "gate", "box": "box-a"}`)
	}
	return done, s.commands.Fleet.MoveCamera(ctx, r.Camera, r.Box)
}

func (s *service) annotate(ctx context.Context, c Camera, req micro.Request) (answer, error) {
	if err := checkAnnotation(req.Headers().Get(headerContentType), req.Data()); err != nil {
		return answer{}, &api.Refusal{Status: http.StatusUnsupportedMediaType, Detail: err.Error()}
	}
	annotated, err := c.Annotate(ctx, req.Data())
	if err != nil {
		return answer{}, err
	}
	a := done // what every reply was before there was a message
	if annotated.GetPending() {
		a = pending
	}
	if accept := req.Headers().Get(headerAccept); accept == TypeJSON || accept == TypeProtobuf {
		a, err = s.message(req, &segdv1.Annotated{
			Site: annotated.GetSite(), Camera: annotated.GetCamera(),
			Sequence: annotated.GetSequence(), MasksSequence: annotated.GetMasksSequence(), Pending: annotated.GetPending(),
			Objects: withoutCounts(annotated.GetObjects()), Warnings: annotated.GetWarnings(),
		})
	}
	warnings := annotated.GetWarnings()
	for _, w := range warnings[:min(len(warnings), maxWarnings)] {
		a.warnings = append(a.warnings, headerText(fmt.Sprintf("object %d: %s", w.GetObjectId(), w.GetMessage())))
	}
	if more := len(warnings) - maxWarnings; more > 0 {
		a.warnings = append(a.warnings, fmt.Sprintf("and %d more objects", more))
	}
	return a, err
}

func (s *service) clear(ctx context.Context, c Camera, req micro.Request) (answer, error) {
	var r clearRequest
	if err := parseRequest(req.Data(), &r); err != nil {
		return answer{}, err
	}
	id := uint32(0)
	switch {
	case r.ID != nil && *r.ID == 0:
		return answer{}, errors.New(`id: 0; want an object's id, or an empty payload to remove all`)
	case r.ID != nil:
		id = *r.ID
	case len(req.Data()) > 0: // {} is more likely a mistake than a wish
		return answer{}, errors.New(`id: missing; want {"id": 1}, or an empty payload to remove all`)
	}
	return done, c.Clear(ctx, id)
}

func (s *service) rename(ctx context.Context, c Camera, req micro.Request) (answer, error) {
	var r renameRequest
	if err := parseRequest(req.Data(), &r); err != nil {
		return answer{}, err
	}
	if r.ID == 0 || r.Label == "" && !r.Kept {
		return answer{}, errors.New(`id or label: missing; want such as {"id": 1, "label": "door"}, or {"id": 256, "kept": true}`)
	}
	var o *segdv1.Object
	var err error
	if r.Label != "" {
		if o, err = c.Rename(ctx, r.ID, r.Label); err != nil {
			return answer{}, err
		}
	}
	if r.Kept {
		if o, err = c.Keep(ctx, r.ID); err != nil {
			return answer{}, err
		}
	}
	return s.message(req, withoutCounts([]*segdv1.Object{o})[0])
}

func (s *service) objects(_ context.Context, camera string, req micro.Request) (answer, error) {
	c, err := s.commands.Camera(camera)
	if err != nil {
		return answer{}, err
	}
	seq, objects := c.Objects()
	return s.message(req, &segdv1.ObjectList{Site: s.cfg.Site, Camera: camera, Sequence: seq, Objects: withoutCounts(objects)})
}

func (s *service) snapshot(_ context.Context, camera string, req micro.Request) (answer, error) {
	var r snapshotRequest
	if err := parseRequest(req.Data(), &r); err != nil {
		return answer{}, err
	}
	seq, picture, err := s.commands.Snapshot(camera, r.Overlay)
	return answer{contentType: TypeJPEG, sequence: strconv.FormatUint(seq, 10), data: picture}, err
}

func (s *service) state(_ context.Context, c Camera, req micro.Request) (answer, error) {
	return s.message(req, c.State())
}

func (s *service) addCamera(ctx context.Context, body []byte) ([]byte, error) {
	name, err := s.commands.Manage.Add(ctx, body)
	if err != nil {
		return nil, err
	}
	return s.commands.Show(name)
}

func (s *service) setCamera(ctx context.Context, patch []byte) ([]byte, error) {
	name, err := s.commands.Manage.Set(ctx, "", patch)
	if err != nil {
		return nil, err
	}
	return s.commands.Show(name)
}

func (s *service) removeCamera(ctx context.Context, _ string, req micro.Request) (answer, error) {
	var r removeRequest
	if err := parseRequest(req.Data(), &r); err != nil {
		return answer{}, err
	}
	if r.Name == "" {
		return answer{}, errors.New(`name: missing; want such as {"name": "yard"}`)
	}
	return done, s.commands.Manage.Remove(ctx, r.Name)
}

// message is m as what segd publishes, or as JSON when the request asks for it.
func (s *service) message(req micro.Request, m proto.Message) (answer, error) {
	asJSON := s.cfg.JSON || req.Headers().Get(headerAccept) == TypeJSON
	data, err := marshal(nil, m, asJSON)
	return answer{contentType: contentType(m, asJSON), data: data}, err
}

// parseRequest reads one JSON object, or nothing, into v.
func parseRequest(data []byte, v any) error {
	if len(data) == 0 {
		return nil
	}
	if pointer, why := limit.LongJSON(data); why != "" {
		return fmt.Errorf("the payload: %s: %s", pointer, why)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("the payload %.100q: %w", data, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("the payload %.100q: something follows the JSON object", data)
	}
	return nil
}

// withoutCounts returns objects without their masks, which are most of a message.
func withoutCounts(objects []*segdv1.Object) []*segdv1.Object {
	bare := make([]*segdv1.Object, len(objects))
	for i, o := range objects {
		bare[i] = &segdv1.Object{
			Id: o.GetId(), Label: o.GetLabel(), State: o.GetState(), Box: o.GetBox(), Area: o.GetArea(), Score: o.GetScore(),
			Class: o.GetClass(), Automatic: o.GetAutomatic(), Extent: o.GetExtent(),
		}
	}
	return bare
}
