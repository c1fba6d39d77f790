package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/segd/segd/api"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/internal/limit"
	"github.com/segd/segd/objects/privacy"
	"github.com/segd/segd/objects/zones"
)

// Commands takes requests to their camera. It is called from several goroutines, with names that Server.Cameras listed.
type Commands interface {
	// Camera is that of a name. The error is as those of Camera's methods.
	Camera(name string) (Camera, error)
	// Refuse gives such an error, if it is one, the status that it answers with. An error that is a *api.Refusal becomes the answer;
	// any other is logged and answered with 500, or 504 if it is the end of a context.
	Refuse(err error) error
}

// Camera is what the API asks of a camera, by several goroutines. Contexts end after 10 s or with the request. What
// is returned is not changed, nor what use is called with.
type Camera interface {
	// Objects returns the objects of the newest frame and its number.
	Objects() (seq uint64, objects []*segdv1.Object)
	// Rename gives an object another label and returns it.
	Rename(ctx context.Context, id uint32, label string) (*segdv1.Object, error)
	// Keep makes an object that was marked automatically people's and returns it.
	Keep(ctx context.Context, id uint32) (*segdv1.Object, error)
	// Clear removes an object; all when id is 0.
	Clear(ctx context.Context, id uint32) error
	// Annotate uses an annotation, JSON or PNG, and returns what became of it.
	Annotate(ctx context.Context, body []byte) (*segdv1.Annotated, error)
	// Preview returns the masks that an annotation would give.
	Preview(ctx context.Context, body []byte) (*segdv1.MaskFrame, error)
	// Things returns what the feature model finds in a kept frame, of which nothing is an object yet, numbered from 1.
	Things(ctx context.Context, seq uint64) (*segdv1.MaskFrame, error)
	// Hold keeps a frame, for a client that is going to annotate it, until the time it
	// returns; asked again by the same holder, for longer.
	Hold(ctx context.Context, seq uint64, holder string) (time.Time, error)
	// LetGo ends a Hold; one that there is not is no fault.
	LetGo(ctx context.Context, seq uint64, holder string) error
	// Judge compares the masks of a kept frame with the pixels that the objects truly cover, stores the comparisons and returns them.
	Judge(seq uint64, truths []api.Truth) ([]api.Accuracy, error)
	// Accuracy returns the comparisons that Judge has stored, the oldest first. ForgetAccuracy deletes them.
	Accuracy() []api.Accuracy
	ForgetAccuracy()
	// Masks returns those of a recent frame.
	Masks(seq uint64) (*segdv1.MaskFrame, error)
	// Picture calls use with the newest picture, valid during the call, and its masks.
	Picture(use func(*segdv1.MaskFrame, *privacy.Picture) error) error
	// Zones returns the camera's zones and lines.
	Zones() zones.Layout
	// SetZones puts others in their place, which have no Faults, and returns them with
	// their defaults.
	SetZones(ctx context.Context, l zones.Layout) (zones.Layout, error)
}

const (
	commandTimeout = 10 * time.Second
	maxObjectID    = math.MaxUint32
)

type objectBox struct {
	X      int32 `json:"x"`
	Y      int32 `json:"y"`
	Width  int32 `json:"width"`
	Height int32 `json:"height"`
}

type objectInfo struct {
	ID     uint32     `json:"id"`
	Label  string     `json:"label"`
	State  string     `json:"state"` // segd.v1.State
	Box    objectBox  `json:"box"`
	Extent *objectBox `json:"extent,omitempty"` // absent without a track
	Area   int32      `json:"area"`
	Score  float64    `json:"score"`

	Class     string `json:"class"` // empty: people marked it
	Automatic bool   `json:"automatic"`
}

// maskInfo is an object with its mask as COCO has it.
type maskInfo struct {
	objectInfo
	Size   [2]int32 `json:"size"` // height, width
	Counts string   `json:"counts"`
}

type frameInfo struct {
	Sequence uint64     `json:"sequence"`
	Width    int32      `json:"width"`
	Height   int32      `json:"height"`
	Objects  []maskInfo `json:"objects"`
}

type objectList struct {
	Sequence uint64       `json:"sequence"`
	Objects  []objectInfo `json:"objects"`
}

// accepted is what became of an annotation.
type accepted struct {
	Sequence      uint64       `json:"sequence"`
	MasksSequence uint64       `json:"masks_sequence"`
	Pending       bool         `json:"pending"`
	Objects       []objectInfo `json:"objects"`
	Warnings      []warning    `json:"warnings"`
}

// warning is about an object that was marked and has no mask.
type warning struct {
	ID      uint32 `json:"id"`
	Message string `json:"message"`
}

func newAccepted(a *segdv1.Annotated) accepted {
	out := accepted{a.GetSequence(), a.GetMasksSequence(), a.GetPending(), []objectInfo{}, []warning{}} // never null
	for _, o := range a.GetObjects() {
		out.Objects = append(out.Objects, newObjectInfo(o))
	}
	for _, w := range a.GetWarnings() {
		out.Warnings = append(out.Warnings, warning{w.GetObjectId(), w.GetMessage()})
	}
	return out
}

func newObjectInfo(o *segdv1.Object) objectInfo {
	info := objectInfo{
		ID: o.GetId(), Label: o.GetLabel(), State: o.GetState().String(), Area: o.GetArea(), Score: o.GetScore(),
		Box: newObjectBox(o.GetBox()), Class: o.GetClass(), Automatic: o.GetAutomatic(),
	}
	if o.GetExtent() != nil {
		extent := newObjectBox(o.GetExtent())
		info.Extent = &extent
	}
	return info
}

func newObjectBox(b *segdv1.Box) objectBox {
	return objectBox{b.GetX(), b.GetY(), b.GetWidth(), b.GetHeight()}
}

func newFrameInfo(m *segdv1.MaskFrame) frameInfo {
	f := frameInfo{m.GetSequence(), m.GetWidth(), m.GetHeight(), []maskInfo{}}
	for _, o := range m.GetObjects() {
		f.Objects = append(f.Objects, maskInfo{newObjectInfo(o), [2]int32{m.GetHeight(), m.GetWidth()}, o.GetCounts()})
	}
	return f
}

func listObjects(w http.ResponseWriter, _ *http.Request, c Camera) error {
	seq, objects := c.Objects()
	list := objectList{Sequence: seq, Objects: []objectInfo{}} // never null
	for _, o := range objects {
		list.Objects = append(list.Objects, newObjectInfo(o))
	}
	return reply(w, list, nil)
}

func renameObject(w http.ResponseWriter, r *http.Request, c Camera) error {
	id, err := objectID(r)
	if err != nil {
		return err
	}
	var change struct {
		Label *string `json:"label"`
		Kept  *bool   `json:"kept"`
	}
	if err := readJSON(w, r, limit.MaxBody, &change); err != nil {
		return err
	}
	switch {
	case change.Label == nil && change.Kept == nil:
		return badField(api.Field{Pointer: "/label", Detail: "it is missing; accepts the object's new name, or kept beside or instead of it"})
	case change.Kept != nil && !*change.Kept:
		return badField(api.Field{Pointer: "/kept", Detail: "false; accepts true: what is kept is removed by DELETE"})
	}
	ctx, cancel := context.WithTimeout(r.Context(), commandTimeout)
	defer cancel()
	var o *segdv1.Object
	if change.Label != nil {
		o, err = c.Rename(ctx, id, *change.Label)
	}
	if err == nil && change.Kept != nil {
		o, err = c.Keep(ctx, id)
	}
	return reply(w, newObjectInfo(o), err)
}

func clearObject(w http.ResponseWriter, r *http.Request, c Camera) error {
	id, err := objectID(r)
	if err != nil {
		return err
	}
	return clearID(w, r, c, id)
}

func clearObjects(w http.ResponseWriter, r *http.Request, c Camera) error {
	return clearID(w, r, c, 0)
}

func clearID(w http.ResponseWriter, r *http.Request, c Camera, id uint32) error {
	ctx, cancel := context.WithTimeout(r.Context(), commandTimeout)
	defer cancel()
	return done(w, c.Clear(ctx, id))
}

func annotate(w http.ResponseWriter, r *http.Request, c Camera) error {
	preview, err := queryBool(r, "preview")
	if err != nil {
		return err
	}
	if err := checkType(r, typeJSON, typePNG); err != nil {
		w.Header().Set("Accept-Post", typeJSON+", "+typePNG)
		return err
	}
	body, err := readBody(w, r, limit.MaxAnnotation)
	if err != nil {
		return err
	}
	if err := checkContent(r, body); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), commandTimeout)
	defer cancel()
	if preview {
		masks, err := c.Preview(ctx, body)
		return reply(w, newFrameInfo(masks), err)
	}
	annotated, err := c.Annotate(ctx, body)
	if err == nil && annotated.GetPending() {
		api.WriteJSON(w, http.StatusAccepted, typeJSON, newAccepted(annotated))
		return nil
	}
	return reply(w, newAccepted(annotated), err)
}

// findThings lists what is found in a frame, for a user to choose what to mark.
func findThings(w http.ResponseWriter, r *http.Request, c Camera) error {
	seq, err := frameNumber(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), commandTimeout)
	defer cancel()
	things, err := c.Things(ctx, seq)
	return reply(w, newFrameInfo(things), err)
}

// badField is the refusal of a request for one field.
func badField(f api.Field) *api.Refusal {
	where := cmp.Or(f.Field, f.Pointer)
	return &api.Refusal{Status: http.StatusBadRequest, Detail: where + ": " + f.Detail, Fields: []api.Field{f}}
}

func objectID(r *http.Request) (uint32, error) {
	text := r.PathValue("id")
	id, err := strconv.ParseUint(text, 10, 32)
	if err != nil || id < 1 || id > maxObjectID {
		return 0, badField(api.Field{Field: "id", Detail: fmt.Sprintf("%q; accepts an object's number, 1 to %d", text, maxObjectID)})
	}
	return uint32(id), nil
}

// queryBool reads a parameter of the query that is true or false; absent, it is
// false.
func queryBool(r *http.Request, name string) (bool, error) {
	values := r.URL.Query()[name]
	switch {
	case len(values) == 0:
		return false, nil
	case len(values) == 1 && values[0] == "true":
		return true, nil
	case len(values) == 1 && values[0] == "false":
		return false, nil
	}
	return false, badField(api.Field{Field: name, Detail: fmt.Sprintf("%q; accepts true or false", values)})
}

// checkType refuses a body of another media type.
func checkType(r *http.Request, accepted ...string) error {
	given := r.Header.Get("Content-Type")
	media, _, err := mime.ParseMediaType(given)
	if err == nil && slices.Contains(accepted, media) {
		return nil
	}
	return &api.Refusal{
		Status: http.StatusUnsupportedMediaType,
		Detail: fmt.Sprintf("Content-Type %q; accepts %q", given, accepted),
	}
}

// checkContent refuses an annotation that is not what its media type says.
func checkContent(r *http.Request, body []byte) error {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // checkType has parsed it
	looks := typeJSON
	if http.DetectContentType(body) == typePNG {
		looks = typePNG
	}
	if looks == media {
		return nil
	}
	return &api.Refusal{
		Status: http.StatusUnsupportedMediaType,
		Detail: fmt.Sprintf("Content-Type is %s and the body looks like %s; accepts one that is what it says", media, looks),
	}
}

// readBody returns a body of 1 to most bytes.
func readBody(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, err
	case err != nil:
		return nil, &api.Refusal{Status: http.StatusBadRequest, Detail: "the body was cut short: " + err.Error()}
	case len(body) == 0:
		return nil, &api.Refusal{Status: http.StatusBadRequest, Detail: "the body is empty"}
	}
	return body, nil
}

// readJSON reads one JSON object of most bytes without unknown fields into v.
func readJSON(w http.ResponseWriter, r *http.Request, most int64, v any) error {
	if err := checkType(r, typeJSON); err != nil {
		return err
	}
	body, err := readBody(w, r, most)
	if err != nil {
		return err
	}
	return decode("the body", body, v)
}

// decode reads body, called what, which must be one JSON object with the fields of v.
func decode(what string, body []byte, v any) error {
	if pointer, why := limit.LongJSON(body); why != "" {
		return badField(api.Field{Pointer: pointer, Detail: why})
	}
	return decodeLong(what, body, v)
}

// decodeLong is decode of JSON whose text may be as long as body.
func decodeLong(what string, body []byte, v any) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil || members == nil {
		return &api.Refusal{Status: http.StatusBadRequest, Detail: fmt.Sprintf("%s is not a JSON object: %s", what, reason(err))}
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	err := dec.Decode(v)
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind):
		return badField(api.Field{Pointer: "/" + kind.Field, Detail: fmt.Sprintf("a JSON %s; accepts a %s", kind.Value, jsonName(kind.Type))})
	case err != nil:
		return &api.Refusal{Status: http.StatusBadRequest, Detail: err.Error()}
	}
	return nil
}

// jsonName is what a Go type is called in JSON.
func jsonName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "list"
	case reflect.Float64:
		return "number"
	case reflect.Uint32:
		return "whole number from 0 to 4294967295"
	case reflect.Uint64:
		return "whole number from 0 on"
	case reflect.Bool:
		return "boolean"
	}
	return "string"
}

func reason(err error) string {
	if err == nil {
		return "it is null"
	}
	return err.Error()
}
