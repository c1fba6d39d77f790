package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/bus/segdv1"
)

// Target is a camera of a segd, and the NATS server that leads to it.
//
// Its methods send one request each and return once segd has answered. Their errors
// wrap ErrUnknownCamera when no segd serves the camera, and ErrRejected with segd's
// reason when it refuses. A context without a deadline gets one of 15 s.
type Target struct {
	URL, Site, Camera string
	// Access is what the server wants to be shown.
	Access Access
}

// Annotate sends an annotation, JSON or a mask as PNG, and returns what became of it
// once it is taken.
func (t Target) Annotate(ctx context.Context, payload []byte) (*segdv1.Annotated, error) {
	a := new(segdv1.Annotated)
	return a, t.ask(ctx, KindAnnotate, payload, a)
}

// Clear removes an object; all of them when id is 0.
func (t Target) Clear(ctx context.Context, id uint32) error {
	var payload []byte
	if id != 0 {
		payload = fmt.Appendf(nil, `{"id":%d}`, id)
	}
	_, err := t.request(ctx, KindClear, payload)
	return err
}

// Rename gives an object another label and returns the object.
func (t Target) Rename(ctx context.Context, id uint32, label string) (*segdv1.Object, error) {
	return t.change(ctx, renameRequest{ID: id, Label: label})
}

// Keep makes an object that was marked automatically people's: it is not forgotten when it is not
// detected any more. It returns the object.
func (t Target) Keep(ctx context.Context, id uint32) (*segdv1.Object, error) {
	return t.change(ctx, renameRequest{ID: id, Kept: true})
}

func (t Target) change(ctx context.Context, r renameRequest) (*segdv1.Object, error) {
	o := new(segdv1.Object)
	return o, t.ask(ctx, KindRename, asPayload(r), o)
}

// Objects lists the camera's objects.
func (t Target) Objects(ctx context.Context) (*segdv1.ObjectList, error) {
	list := new(segdv1.ObjectList)
	return list, t.ask(ctx, KindObjects, nil, list)
}

// Snapshot returns the newest picture as JPEG, with the masks drawn on or not.
func (t Target) Snapshot(ctx context.Context, overlay bool) ([]byte, error) {
	return t.data(ctx, KindSnapshot, asPayload(snapshotRequest{overlay}))
}

// State tells how the camera does.
func (t Target) State(ctx context.Context) (*segdv1.Status, error) {
	st := new(segdv1.Status)
	return st, t.ask(ctx, KindState, nil, st)
}

// Reload has the segd of the site read its configuration again, whatever the camera, and returns what that
// came to as JSON: {"added": [], "changed": [], "removed": [], "restart": []}.
func (t Target) Reload(ctx context.Context) ([]byte, error) { return t.data(ctx, KindReload, nil) }

// AddCamera has the segd of the site add the camera that camera describes as JSON, and returns it as it is
// listed. This and the following are about the cameras of the site; Camera may be empty.
func (t Target) AddCamera(ctx context.Context, camera []byte) ([]byte, error) {
	return t.data(ctx, KindAdd, camera)
}

// SetCamera changes the camera of the name in patch, a JSON merge patch, and returns it as it is listed.
func (t Target) SetCamera(ctx context.Context, patch []byte) ([]byte, error) {
	return t.data(ctx, KindSet, patch)
}

// RemoveCamera removes the camera of that name.
func (t Target) RemoveCamera(ctx context.Context, name string) error {
	_, err := t.request(ctx, KindRemove, asPayload(removeRequest{name}))
	return err
}

// ListCameras returns the cameras as JSON: {"cameras": [{"name": …}], …}.
func (t Target) ListCameras(ctx context.Context) ([]byte, error) {
	return t.data(ctx, KindList, nil)
}

// ShowFleet returns the boxes of the site's fleet and their cameras as JSON. This and the following are about the
// fleet; Camera may be empty.
func (t Target) ShowFleet(ctx context.Context) ([]byte, error) { return t.data(ctx, KindShow, nil) }

// OrderBox has a box take no more cameras (KindCordon), give away those it has, too (KindDrain), or take cameras again
// (KindUncordon).
func (t Target) OrderBox(ctx context.Context, box string, order Kind) error {
	_, err := t.request(ctx, order, asPayload(boxRequest{Box: box}))
	return err
}

// MoveCamera has a camera run by that box.
func (t Target) MoveCamera(ctx context.Context, camera, box string) error {
	_, err := t.request(ctx, KindMove, asPayload(boxRequest{camera, box}))
	return err
}

// asPayload is one of the requests, of numbers and texts, as JSON.
func asPayload(request any) []byte {
	payload, _ := json.Marshal(request) // which cannot fail
	return payload
}

// data returns what the reply holds.
func (t Target) data(ctx context.Context, kind Kind, payload []byte) ([]byte, error) {
	reply, err := t.request(ctx, kind, payload)
	if err != nil {
		return nil, err
	}
	return reply.Data, nil
}

// ask decodes the reply into m.
func (t Target) ask(ctx context.Context, kind Kind, payload []byte, m proto.Message) error {
	reply, err := t.request(ctx, kind, payload)
	if err != nil {
		return err
	}
	return Unmarshal(reply.Header.Get(headerContentType), reply.Data, m)
}

func (t Target) subject(kind Kind) (string, error) {
	if slices.Contains(siteRequests, kind) {
		return siteSubject(t.Site, kind), CheckName(t.Site)
	}
	return Subject(t.Site, t.Camera, kind)
}

func (t Target) request(ctx context.Context, kind Kind, payload []byte) (*nats.Msg, error) {
	subject, err := t.subject(kind)
	if err != nil {
		return nil, fmt.Errorf("bus: %s: %w", kind, err)
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, requestTimeout)
		defer cancel()
	}
	// The server says that it does not permit something beside the requests.
	ctx, deny := context.WithCancelCause(ctx)
	defer deny(nil)
	nc, err := dial(t.URL, "segd "+string(kind), []Access{t.Access}, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		if errors.Is(err, nats.ErrPermissionViolation) {
			deny(err)
		}
	}))
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	header := nats.Header{headerContentType: {TypeJSON}}
	if kind == KindAnnotate {
		header.Set(headerContentType, annotationType(payload))
		header.Set(headerAccept, TypeProtobuf) // else the reply is a word
	}
	site := slices.Contains(siteRequests, kind)
	reply, err := nc.RequestMsgWithContext(ctx, &nats.Msg{Subject: subject, Header: header, Data: payload})
	switch denied := context.Cause(ctx); {
	case err != nil && errors.Is(denied, nats.ErrPermissionViolation):
		return nil, fmt.Errorf("bus: %s %s: this NATS user may not; want one who may ask segd, such as one with the role operator: %w", kind, t.Camera, denied)
	case errors.Is(err, nats.ErrNoResponders) && kind == KindReload:
		return nil, fmt.Errorf("bus: no segd of site %q reads its configuration again; %s: %w", t.Site, served(ctx, nc), err)
	case errors.Is(err, nats.ErrNoResponders) && slices.Contains(fleetRequests, kind):
		return nil, fmt.Errorf("bus: no segd of site %q is a box of a fleet; %s: %w", t.Site, served(ctx, nc), err)
	case errors.Is(err, nats.ErrNoResponders) && site:
		return nil, fmt.Errorf("bus: no segd of site %q has its cameras changed; %s: %w", t.Site, served(ctx, nc), err)
	case errors.Is(err, nats.ErrNoResponders):
		return nil, fmt.Errorf("%w %q at site %q: %s", ErrUnknownCamera, t.Camera, t.Site, served(ctx, nc))
	case errors.Is(err, nats.ErrMaxPayload):
		return nil, fmt.Errorf("bus: %s %s: %d bytes, the server takes %d: %w", kind, t.Camera, len(payload), nc.MaxPayload(), err)
	case errors.Is(err, context.DeadlineExceeded) && !site:
		// There is a subscriber, with a wildcard perhaps, but no segd.
		return nil, fmt.Errorf("%w %q at site %q, or it did not answer: %w; %s", ErrUnknownCamera, t.Camera, t.Site, err, served(context.WithoutCancel(ctx), nc))
	case err != nil:
		return nil, fmt.Errorf("bus: %s %s: %w", kind, t.Camera, err)
	}
	code := reply.Header.Get(micro.ErrorCodeHeader)
	if code == "" {
		return reply, nil
	}
	reason := string(reply.Data)
	if reason == "" {
		reason = reply.Header.Get(micro.ErrorHeader)
	}
	is := ErrRejected
	if code == strconv.Itoa(http.StatusNotFound) && kind != KindClear && kind != KindRename { // those can miss an object too
		is = ErrUnknownCamera
	}
	if site {
		return nil, fmt.Errorf("%w: %s", ErrRejected, reason)
	}
	return nil, fmt.Errorf("%w: %s %s: %s", is, kind, t.Camera, reason)
}
