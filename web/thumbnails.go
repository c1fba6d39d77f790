package web

import (
	"fmt"
	"net/http"
	"path"

	"github.com/segd/segd/api"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/objects/privacy"
	"github.com/segd/segd/web/internal/thumbnail"
)

const thumbnailsPath = cameraPath + "/thumbnails"

// Thumbnail keeps a small picture of an object in a frame, as a viewer may see it, and returns the path at which it is
// served, empty if there is none, and how many it made and removed for it.
func (s *Server) Thumbnail(m *segdv1.MaskFrame, p *privacy.Picture, object uint32) (at string, made, removed int) {
	c := s.known(m.GetCamera())
	if c == nil {
		return "", 0, 0
	}
	name := thumbnail.Name(m, object)
	if c.thumbnails.Get(name) == nil { // the object may have several events in one frame
		picture, err := thumbnail.Make(m, p.BGR(false), object, s.cfg.JPEGQuality)
		if err != nil {
			c.faults.Add(1, err)
			return "", 0, 0
		}
		made, removed = 1, c.thumbnails.Add(name, picture)
	}
	return fmt.Sprintf("%s/cameras/%s/thumbnails/%s", apiRoot, c.name, name), made, removed
}

// ForgetPictures removes those of a camera that begins anew, its thumbnails and what waits for viewers: they may show what
// it is to hide now.
func (s *Server) ForgetPictures(name string) {
	c := s.camera(name)
	if c == nil {
		return
	}
	c.thumbnails.Clear()
	c.mu.Lock()
	defer c.mu.Unlock()
	for v := range c.viewers {
		v.forget()
	}
}

// ThumbnailOf is the thumbnail of an event; nil if it has none, or none that is still kept.
func (s *Server) ThumbnailOf(ev *segdv1.Event) []byte {
	c := s.camera(ev.GetCamera())
	if c == nil {
		return nil
	}
	return c.thumbnails.Get(path.Base(ev.GetThumbnail()))
}

func (s *Server) showThumbnail(w http.ResponseWriter, r *http.Request, c *camera) error {
	name := r.PathValue("name")
	picture, err := s.thumbnail(r.Context(), c.name, name)
	if err != nil {
		return err
	}
	if picture == nil {
		return &api.Refusal{Status: http.StatusNotFound, Detail: fmt.Sprintf(
			"camera %s has no thumbnail %q; accepts those that events name, the newest %d of them since segd was started, and those that nats.pictures keeps and "+
				"that show nothing that is hidden now", c.name, name, thumbnail.MaxKept)}
	}
	w.Header().Set("Content-Type", typeJPEG)
	_, _ = w.Write(picture) // the client may be gone
	return nil
}
