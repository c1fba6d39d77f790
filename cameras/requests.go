package cameras

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/segd/segd/api"
	"github.com/segd/segd/config"
	"github.com/segd/segd/ingest/cameraurl"
	"github.com/segd/segd/internal/limit"
	"github.com/segd/segd/internal/plain"
	"github.com/segd/segd/internal/redact"
)

// Declared are all cameras, those that do not run too, and how it is about adding others.
func (m *Manager[C]) Declared() (list []api.Declared, about api.Adding) {
	k := m.known.Load()
	about.Kept, about.Detect = k.kept, config.DefaultDetectClasses()
	if k.unread != nil {
		about.Kept, about.Fault = false, k.unread.Error()
	}
	for _, cam := range k.file {
		list = append(list, api.Declared{Name: cam.Name, URL: cam.ShownURL(), Source: api.SourceFile, Kept: true})
	}
	for _, name := range k.names() {
		if k.declared(name) {
			continue
		}
		c := k.added[name]
		one := api.Declared{Name: name, Source: api.SourceAdded, Paused: c.Paused, Kept: k.kept}
		if c.Camera != nil {
			one.URL, one.Given = shownURL(c.Camera), shownSettings(c.Camera)
		}
		if c.fault != nil && !c.Paused {
			one.Fault = plain.OneLine(c.fault)
		}
		list = append(list, one)
	}
	return list, about
}

// Add adds a camera of the names of the configuration.
func (m *Manager[C]) Add(ctx context.Context, body []byte) (string, error) {
	given, err := readObject(body)
	if err != nil {
		return "", err
	}
	want := storedCamera{Camera: map[string]any{}}
	if err := want.merge(given); err != nil {
		return "", err
	}
	want.Name, _ = want.Camera["name"].(string) // any other is found to be wrong
	return want.Name, m.inTurn(ctx, func() error {
		if err := m.nameTaken(want.Name); err != nil {
			return err
		}
		if n := len(m.known.Load().added); n >= m.mostAdded() {
			return &api.Refusal{Status: http.StatusConflict, Detail: fmt.Sprintf("%d cameras were added, and more are not; accepts those in the configuration, or one in place of another", n)}
		}
		return m.change(ctx, want.Name, &want)
	})
}

// nameTaken refuses the name of a camera that there is.
func (m *Manager[C]) nameTaken(name string) error {
	k := m.known.Load()
	var detail, field string
	switch {
	case k.declared(name):
		detail, field = declaredText(name), "there is a camera of that name in the configuration; accepts another name"
	case k.added[name] != nil:
		detail, field = fmt.Sprintf("there is a camera %q; accepts another name, or changes of that one", name), "there is a camera of that name; accepts another name"
	default:
		return nil
	}
	return &api.Refusal{Status: http.StatusConflict, Detail: detail, Fields: []api.Field{{Pointer: "/name", Detail: field}}}
}

// Set changes one by a JSON merge patch, which names it where name is empty, and returns its name.
func (m *Manager[C]) Set(ctx context.Context, name string, patch []byte) (string, error) {
	given, err := readObject(patch)
	if err != nil {
		return "", err
	}
	if name == "" {
		if name, _ = given["name"].(string); name == "" {
			return "", refuseField("/name", `missing; accepts that of the camera to change, such as {"name": "yard", "paused": true}`)
		}
	}
	return name, m.inTurn(ctx, func() error {
		old, err := m.find(name)
		if err != nil {
			return err
		}
		if old.Camera == nil {
			return &api.Refusal{Status: http.StatusConflict, Detail: fmt.Sprintf("camera %q cannot be read: %s; accepts its removal", name, plain.OneLine(old.fault))}
		}
		want := old.storedCamera
		want.Camera = maps.Clone(want.Camera)
		if err := want.merge(given); err != nil {
			return err
		}
		if want.Camera["name"] != name {
			return refuseField("/name", "another name; accepts %q: a camera keeps its name", name)
		}
		return m.change(ctx, name, &want)
	})
}

// Remove removes one.
func (m *Manager[C]) Remove(ctx context.Context, name string) error {
	return m.inTurn(ctx, func() error {
		if _, err := m.find(name); err != nil {
			return err
		}
		return m.change(ctx, name, nil)
	})
}

// inTurn does what changes the cameras, one after another.
func (m *Manager[C]) inTurn(ctx context.Context, do func() error) error {
	if err := m.takeTurn(ctx); err != nil {
		return reloadRefusal(err)
	}
	defer m.turn.Release(1)
	if err := m.known.Load().unread; errors.Is(err, errNoKeyPath) {
		return &api.Refusal{Status: http.StatusConflict, Detail: err.Error()}
	} else if err != nil {
		return &api.Refusal{Status: http.StatusServiceUnavailable, Detail: "the cameras that are kept are not known yet: " + plain.OneLine(err)}
	}
	return do()
}

// find is an added camera.
func (m *Manager[C]) find(name string) (*addedCamera, error) {
	k := m.known.Load()
	if k.declared(name) {
		return nil, &api.Refusal{Status: http.StatusConflict, Detail: declaredText(name)}
	}
	c := k.added[name]
	if c == nil {
		return nil, &api.Refusal{Status: http.StatusNotFound, Detail: fmt.Sprintf("no camera %q was added", name)}
	}
	return c, nil
}

func declaredText(name string) string {
	return fmt.Sprintf("camera %q is declared in the configuration; change it there, and have segd reload it", name)
}

// change makes the camera of that name what want says; nil: there is none any more. It is tried, kept, and
// then done, so that nothing has changed where it cannot be kept.
func (m *Manager[C]) change(ctx context.Context, name string, want *storedCamera) error {
	before := m.known.Load()
	next, old := before.without(name), before.added[name]
	var whole *addedCamera
	if want != nil {
		var err error
		if whole, err = m.complete(ctx, *want); err != nil {
			return cameraRefusal(err)
		}
		next = next.with(whole)
	}
	c, err := m.prepare(m.current.Load(), next)
	if err != nil {
		return cameraRefusal(err)
	}
	if err := m.keep(ctx, name, want); err != nil {
		m.log.Error("a change of the cameras is not made: it cannot be kept", "camera", name, "error", err, "then", c.abandon())
		return &api.Refusal{Status: http.StatusServiceUnavailable, Detail: "nothing was changed, since it cannot be kept: " + plain.OneLine(err)}
	}
	m.set.Stay()
	err = m.apply(ctx, c)
	if whole != nil && !want.Paused && !m.runs(whole.cam) {
		m.known.Store(before)
		var was *storedCamera
		if old != nil {
			was = &old.storedCamera
		}
		err = errors.Join(err, m.keep(ctx, name, was))
		if old != nil && !old.Paused && !m.runs(old.cam) {
			m.known.Store(before.with(m.leaveOut(old.storedCamera, err)))
		}
		return cameraRefusal(fmt.Errorf("camera %s was tried and does not run: %w", name, err))
	}
	if err != nil { // of a camera that has ended
		m.log.Warn("the cameras were changed", "camera", name, "error", err)
	}
	if want == nil {
		m.forget(ctx, name)
	}
	m.log.Info("the cameras were changed", "camera", name, "added", c.diff.Added, "changed", want != nil && old != nil, "removed", c.diff.Removed)
	return nil
}

// keep has the store hold what want says of a camera, also where the client does not wait any more.
func (m *Manager[C]) keep(ctx context.Context, name string, want *storedCamera) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	switch {
	case m.store == nil:
		return nil
	case want != nil:
		return m.store.keep(ctx, *want)
	}
	if err := m.store.ForgetCamera(ctx, name); err != nil {
		return err
	}
	if c := m.known.Load().added[name]; c != nil && c.Camera == nil && m.store.strange > 0 {
		m.store.strange--
	}
	return nil
}

// forget removes what was known of a camera that has been removed and has ended, so that another one of that
// name does not begin with it.
func (m *Manager[C]) forget(ctx context.Context, name string) {
	if m.store == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	if err := m.store.Checkpoints.Delete(ctx, name); err != nil {
		m.log.Warn("the checkpoints of a camera that was removed stay: another one of that name would take them up", "camera", name, "error", err)
	}
}

// merge changes c by a JSON merge patch of a camera, in which user and password may stand beside a url.
func (c *storedCamera) merge(patch map[string]any) error {
	listed, _ := c.Camera["url"].(string)
	user, hasUser, err := take[string](patch, "user")
	if err != nil {
		return err
	}
	password, hasPassword, err := take[string](patch, "password")
	if err != nil {
		return err
	}
	paused, hasPaused, err := take[bool](patch, "paused")
	if err != nil {
		return err
	}
	if hasPaused {
		c.Paused = paused
	}
	given, isText := patch["url"].(string)
	if isText {
		patch["url"] = unhidden(given, listed)
	}
	c.Camera, _ = mergePatch(c.Camera, patch).(map[string]any)
	now, _ := c.Camera["url"].(string)
	if hasUser || hasPassword {
		was := userOf(now) // of the url that is meant: another host is not told what this one was
		if !hasUser {
			user = was.Username()
		}
		if !hasPassword {
			password, _ = was.Password()
		}
		if user == "" && password != "" {
			return refuseField("/user", "missing; accepts one beside a password")
		}
		nobody := user == "" && was == nil // as it is; a url without a host has no user to take away either
		if !nobody && now != "" {          // without a url that is what is wrong
			switch u, err := cameraurl.Parse(now); {
			case err != nil:
				return refuseField("/url", "%v", err)
			case u.Kind == cameraurl.File && u.Scheme == "":
				return refuseField("/url", "neither a scheme nor a host that a user could be of; accepted: such as rtsp://host/path")
			}
			if now, err = cameraurl.WithUser(now, user, password); err != nil {
				return refuseField("/user", "%v", err)
			}
			c.Camera["url"] = now
		}
	}
	if strings.Contains(now, redact.Hidden) {
		return refuseField("/url", "%s stands where something secret is hidden; accepts the url as it is listed, or a whole one", redact.Hidden)
	}
	return nil
}

// unhidden is the url that a client means by given: listed, if that is how it is shown.
func unhidden(given, listed string) string {
	if listed != "" && given == redact.URL(listed) {
		return listed
	}
	return given
}

// take takes a member of that type out of an object; null is its zero value.
func take[T any](object map[string]any, name string) (value T, there bool, err error) {
	v, there := object[name]
	delete(object, name)
	if v == nil {
		return value, there, nil
	}
	value, ok := v.(T)
	if !ok {
		return value, there, refuseField("/"+name, "another kind of value; accepts a %T", value)
	}
	return value, there, nil
}

// mergePatch is the MergePatch of RFC 7396; target is not changed.
func mergePatch(target, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	old, _ := target.(map[string]any)
	merged := map[string]any{}
	maps.Copy(merged, old)
	for name, value := range changes {
		if value == nil {
			delete(merged, name)
		} else {
			merged[name] = mergePatch(merged[name], value)
		}
	}
	return merged
}

// readObject reads a body that is one JSON object, its numbers as they are written.
func readObject(body []byte) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var object map[string]any
	err := dec.Decode(&object)
	if err == nil {
		if _, more := dec.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows it")
		}
	}
	if err == nil && object == nil {
		err = errors.New("it is null")
	}
	if err != nil {
		return nil, &api.Refusal{Status: http.StatusBadRequest, Detail: "the body is not a JSON object: " + err.Error()}
	}
	if pointer, why := limit.LongText("", object); why != "" {
		return nil, refuseField(pointer, "%s", why)
	}
	return object, nil
}

func refuseField(pointer, format string, args ...any) error {
	detail := fmt.Sprintf(format, args...)
	return &api.Refusal{Status: http.StatusUnprocessableEntity, Detail: pointer + ": " + detail, Fields: []api.Field{{Pointer: pointer, Detail: detail}}}
}

// inList is where a camera stands in a configuration.
var inList = regexp.MustCompile(`^/cameras/\d+`)

// cameraRefusal is reloadRefusal of a request that is about one camera.
func cameraRefusal(err error) error {
	err = reloadRefusal(err)
	var r *api.Refusal
	if errors.As(err, &r) {
		for i := range r.Fields {
			r.Fields[i].Pointer = inList.ReplaceAllString(r.Fields[i].Pointer, "")
		}
		r.Fields = slices.DeleteFunc(r.Fields, func(f api.Field) bool { return f.Pointer == "" })
	}
	return err
}

// shownURL is the url of a camera as it was given, without secrets.
func shownURL(camera map[string]any) string {
	text, _ := camera["url"].(string)
	return redact.URL(text)
}

// shownSettings is a camera as it was given, without secrets.
func shownSettings(camera map[string]any) json.RawMessage {
	shown := maps.Clone(camera)
	shown["url"] = shownURL(camera)
	text, err := json.Marshal(shown)
	if err != nil {
		return nil // it came of JSON
	}
	return text
}
