package cameras

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/segd/segd/api"
	"github.com/segd/segd/config"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/ingest/onvif"
	"github.com/segd/segd/internal/plain"
	"github.com/segd/segd/objects/privacy"
)

// Try waits for a picture of a camera, which is described as one that is added; "camera" names one whose
// secrets are meant by a url as it is listed.
func (m *Manager[C]) Try(ctx context.Context, body []byte) (*api.Tried, error) {
	given, err := readObject(body)
	if err != nil {
		return nil, err
	}
	of, named, err := take[string](given, "camera")
	if err != nil {
		return nil, err
	}
	want := storedCamera{Camera: map[string]any{"name": "test", "privacy": map[string]any{"off": true}}} // it has no objects
	hide := m.current.Load().Privacy
	if named && of != "" {
		if m.known.Load().declared(of) {
			return nil, refuseField("/camera", "%q is declared in the configuration; accepts one that was added, or a url with its secrets", of)
		}
		known, err := m.find(of)
		if err != nil {
			return nil, err
		}
		if given["url"] != nil { // else it is missing: what is tried is said
			want.Camera["url"] = known.Camera["url"]
		}
		want.Camera["ignore"] = known.Camera["ignore"]
		if hide, err = m.hides(ctx, known.storedCamera); err != nil {
			return nil, cameraRefusal(err)
		}
	}
	if given["privacy"] != nil {
		delete(want.Camera, "privacy")
	}
	if name, ok := given["name"].(string); ok && !named {
		if err := m.nameTaken(name); err != nil {
			return nil, err
		}
	}
	if err := want.merge(given); err != nil {
		return nil, err
	}
	whole, err := m.complete(ctx, want)
	if err != nil {
		return nil, cameraRefusal(err)
	}
	if whole.cam.Published() {
		return nil, refuseField("/url", "whip: waits for publishers, who come once the camera is there; accepts a camera that can be asked")
	}
	var tried *api.Tried
	if err := ingest.First(ctx, Source(whole.cam, nil), func(f *ingest.Frame, of codec.ID) {
		tried = &api.Tried{Width: f.Width, Height: f.Height, PixelAspect: f.PixelAspect, BGR: bytes.Clone(f.Pix)}
		if of != 0 {
			tried.Codec = of.String()
		}
	}); err != nil {
		return nil, tryRefusal(ctx, err)
	}
	if own := m.current.Load().PrivacyOf(whole.cam); given["privacy"] != nil && Privacy(own).On() {
		hide = own
	}
	if hide := Privacy(hide); hide.On() { // what is in the picture is not known
		picture := privacy.NewPicture(tried.BGR, hide.Cover(tried.Width, tried.Height), nil)
		tried.BGR, tried.Hidden = picture.BGR(true), !picture.Plain(true)
	}
	return tried, nil
}

// hides is what an added camera hides, which need not run.
func (m *Manager[C]) hides(ctx context.Context, c storedCamera) (config.Privacy, error) {
	only := storedCamera{Camera: map[string]any{"name": c.Name, "url": "whip:", "detect": c.Camera["detect"], "privacy": c.Camera["privacy"]}}
	if only.Camera["privacy"] == nil { // whatever it detects
		return m.current.Load().Privacy, nil
	}
	one, err := m.complete(ctx, only)
	if err != nil {
		return config.Privacy{}, err
	}
	return m.current.Load().PrivacyOf(one.cam), nil
}

// tryRefusal names the field that has to be another for a camera to show a picture.
func tryRefusal(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &api.Refusal{Type: api.NoPicture, Status: http.StatusGatewayTimeout, Detail: plain.OneLine(err), Fields: []api.Field{{Pointer: "/url", Detail: "no picture in time"}}}
	}
	pointer := "/url"
	switch {
	case errors.Is(err, ingest.ErrUnauthorized):
		pointer = "/user"
	case errors.Is(err, ingest.ErrCertificate):
		pointer = "/fingerprint"
	case errors.Is(err, ingest.ErrTransport):
		pointer = "/transport"
	}
	detail := plain.OneLine(err)
	if sum := ingest.SelfSigned(err); sum != "" {
		detail += "; fingerprint " + sum + " trusts it"
	}
	return &api.Refusal{
		Type: api.NoPicture, Status: http.StatusUnprocessableEntity, Detail: pointer + ": " + detail,
		Fields: []api.Field{{Pointer: pointer, Detail: detail}},
	}
}

// userOf is the user in a URL; nil: none.
func userOf(text string) *url.Userinfo {
	u, err := url.Parse(text)
	if err != nil {
		return nil
	}
	return u.User
}

// maxDiscover bounds how long answers of the network are waited for.
const maxDiscover = 10 * time.Second

// foundCamera is one that was found, as the API tells of it.
type foundCamera struct {
	Address      string         `json:"address"`
	Name         string         `json:"name"`
	Hardware     string         `json:"hardware"`
	URL          string         `json:"url"` // of the profile that is picked, without user and password
	Unauthorized bool           `json:"unauthorized"`
	Error        string         `json:"error"`
	Profiles     []foundProfile `json:"profiles"`
}

type foundProfile struct {
	Name     string  `json:"name"`
	Encoding string  `json:"encoding"`
	Width    int     `json:"width"`
	Height   int     `json:"height"`
	FPS      float64 `json:"fps"`
	URL      string  `json:"url"`
	Picked   bool    `json:"picked"`
}

// Discover finds cameras by ONVIF.
func (m *Manager[C]) Discover(ctx context.Context, body []byte) (json.RawMessage, error) {
	given, err := readObject(body)
	if err != nil {
		return nil, err
	}
	cfg := onvif.Config{ShortSide: m.Settings().Model.ShortSide}
	var host, timeout string
	for name, to := range map[string]*string{"user": &cfg.User, "password": &cfg.Password, "host": &host, "timeout": &timeout} {
		if *to, _, err = take[string](given, name); err != nil {
			return nil, err
		}
	}
	for name := range given {
		return nil, refuseField("/"+name, "unknown; accepts user, password, host and timeout")
	}
	if host != "" {
		cfg.Hosts = []string{host}
	}
	if cfg.User == "" && cfg.Password != "" {
		return nil, refuseField("/user", "missing; accepts one beside a password")
	}
	if timeout != "" {
		if cfg.Timeout, err = time.ParseDuration(timeout); err != nil || cfg.Timeout <= 0 || cfg.Timeout > maxDiscover {
			return nil, refuseField("/timeout", "%.40q; accepts a duration of more than 0 up to %v, such as 3s", timeout, maxDiscover)
		}
	}
	found, err := onvif.Find(ctx, cfg)
	if err != nil && len(found) == 0 {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if host != "" {
			return nil, refuseField("/host", "%s", strings.TrimPrefix(plain.OneLine(err), "onvif: "))
		}
		return nil, &api.Refusal{Status: http.StatusServiceUnavailable, Detail: plain.OneLine(err)}
	}
	list := []foundCamera{} // never null
	for _, c := range found {
		list = append(list, newFoundCamera(c))
	}
	return json.Marshal(map[string]any{"cameras": list})
}

func newFoundCamera(c onvif.Camera) foundCamera {
	out := foundCamera{
		Address: c.Address, Name: c.Name, Hardware: c.Hardware, Unauthorized: c.Unauthorized,
		Error: strings.TrimPrefix(c.Error, "onvif: "), Profiles: []foundProfile{},
	}
	if p := c.Picked(); p != nil {
		out.URL = p.URL
	}
	if c.Device != nil {
		for _, p := range c.Device.Profiles {
			out.Profiles = append(out.Profiles, foundProfile{cmp.Or(p.Name, p.Token), p.Encoding, p.Width, p.Height, p.FPS, p.URL, p.Picked})
		}
	}
	return out
}
