package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"path"
	"strings"

	"github.com/segd/segd/api"
	"github.com/segd/segd/bus"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/config"
	"github.com/segd/segd/internal/plain"
)

// history has the events and pictures that JetStream keeps, for the page.
type history struct{ d *daemon }

func (h history) Kept(ctx context.Context, q api.Kept) ([]*segdv1.Event, uint64, error) {
	events, next, err := h.d.bus.Kept(ctx, q)
	return events, next, refuseKept(err)
}

// Picture returns none that was made while less, or something else, was hidden than is now.
func (h history) Picture(ctx context.Context, camera, name string) ([]byte, error) {
	key, ok := strings.CutSuffix(name, pictureSuffix)
	if !ok {
		return nil, nil
	}
	p, err := h.d.bus.Picture(ctx, camera, key)
	if err != nil || p == nil {
		return nil, refuseKept(err)
	}
	if hides, known := h.d.hidesNow(camera); !known || hides != "" && hides != p.Hides {
		return nil, nil
	}
	return p.JPEG, nil
}

const (
	pictureSuffix = ".jpg"
	retryKept     = 5 // seconds
)

// refuseKept is err of the bus as one that a request is answered with.
func refuseKept(err error) error {
	if err == nil {
		return nil
	}
	r := &api.Refusal{Detail: plain.OneLine(err), Status: api.StatusOf(err, http.StatusServiceUnavailable,
		api.Status{Is: api.ErrNoHistory, Code: http.StatusNotFound}, api.Status{Is: api.ErrBusy, Code: http.StatusTooManyRequests})}
	if r.Status == http.StatusTooManyRequests {
		r.Retry = retryKept
	}
	return r
}

// keep has the thumbnail at that path kept.
func (s shown) keep(camera, at string) {
	picture := s.ThumbnailOf(&segdv1.Event{Camera: camera, Thumbnail: at})
	if picture == nil {
		return // newer ones have taken its place
	}
	name := strings.TrimSuffix(path.Base(at), pictureSuffix)
	_ = s.bus.KeepPicture(bus.Picture{Camera: camera, Name: name, JPEG: picture, Hides: s.hides}) // the names are good
}

// hidesSum is hides as short as a header of a message may be.
func hidesSum(cam config.Camera, p config.Privacy) string {
	text := hides(cam, p)
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// hidesNow is hidesSum of a camera; known is false if there is none of that name.
func (d *daemon) hidesNow(name string) (sum string, known bool) {
	settings := d.cameras.Settings()
	for _, cam := range settings.Cameras {
		if cam.Name == name {
			return hidesSum(cam, settings.PrivacyOf(cam)), true
		}
	}
	declared, _ := d.cameras.Declared() // those that do not run, too
	for _, one := range declared {
		if one.Name == name {
			cam := config.Camera{Name: name}
			if json.Unmarshal(one.Given, &cam) != nil {
				return "", false
			}
			return hidesSum(cam, settings.PrivacyOf(cam)), true
		}
	}
	return "", false
}
