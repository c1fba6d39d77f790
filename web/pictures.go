package web

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/png"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/segd/segd/api"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/objects/privacy"
	"github.com/segd/segd/outputs/draw"
)

func (s *Server) snapshot(w http.ResponseWriter, r *http.Request, c *camera) error {
	overlay, err := queryBool(r, "overlay")
	if err != nil {
		return err
	}
	seq, picture, err := s.picture(c, overlay, s.gate.role(r) == mayOperate)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", typeJPEG)
	w.Header().Set(api.HeaderSequence, strconv.FormatUint(seq, 10))
	_, _ = w.Write(picture) // the client may be gone
	return nil
}

// Snapshot returns a camera's newest picture as JPEG, as a viewer may see it, with its masks drawn on if
// overlay is set, and its sequence number. The error is Camera.Picture's. It needs
// Config.Commands.
func (s *Server) Snapshot(name string, overlay bool) (seq uint64, picture []byte, err error) {
	c := s.camera(name)
	if c == nil {
		return 0, nil, &api.Refusal{Status: http.StatusNotFound, Detail: fmt.Sprintf("no camera %q", name)}
	}
	return s.picture(c, overlay, false)
}

// picture is Snapshot for an operator of the page or anybody else.
func (s *Server) picture(c *camera, overlay, operator bool) (seq uint64, picture []byte, err error) {
	from, err := s.cfg.Commands.Camera(c.name)
	if err != nil {
		return 0, nil, s.cfg.Commands.Refuse(err)
	}
	err = from.Picture(func(m *segdv1.MaskFrame, p *privacy.Picture) (err error) {
		seq = m.GetSequence()
		bgr := p.BGR(operator)
		if overlay {
			bgr = bytes.Clone(bgr)
			err := draw.BGR(bgr, int(m.GetWidth()), int(m.GetHeight())).Masks(m)
			if err := s.allBut(c.name, err); err != nil {
				return err
			}
		}
		width := int(m.GetWidth())
		picture, err = c.encoders.encode(bgr, width, int(m.GetHeight()), width)
		return err
	})
	return seq, picture, s.cfg.Commands.Refuse(err)
}

func (s *Server) showMask(w http.ResponseWriter, r *http.Request, c Camera) error {
	seq, err := frameNumber(r)
	if err != nil {
		return err
	}
	format, err := maskFormat(r)
	if err != nil {
		return err
	}
	m, err := c.Masks(seq)
	if err != nil {
		return err
	}
	w.Header().Set("Vary", "Accept")
	w.Header().Set(api.HeaderSequence, strconv.FormatUint(m.GetSequence(), 10))
	if format == typeJSON {
		return reply(w, newFrameInfo(m), nil)
	}
	picture, err := s.maskPNG(m)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", typePNG)
	_, _ = w.Write(picture) // the client may be gone
	return nil
}

// maskPNG is m as a PNG: grey, the object's id where it is. It has 8 bits a pixel, as annotations
// accept, or 16 if there are objects with larger ids.
func (s *Server) maskPNG(m *segdv1.MaskFrame) ([]byte, error) {
	img, err := draw.Labels(m)
	err = s.allBut(m.GetCamera(), err)
	if errors.Is(err, draw.ErrID) {
		return nil, &api.Refusal{Status: http.StatusNotAcceptable, Detail: fmt.Sprintf("%v; ask for %s", err, typeJSON)}
	}
	if err != nil {
		return nil, err
	}
	if labels, ok := img.(*image.Paletted); ok {
		img = &image.Gray{Pix: labels.Pix, Stride: labels.Stride, Rect: labels.Rect}
	}
	var out bytes.Buffer
	enc := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := enc.Encode(&out, img); err != nil {
		return nil, fmt.Errorf("web: encoding PNG: %w", err)
	}
	return out.Bytes(), nil
}

// allBut logs that a faulty object was not drawn, and lets the others be shown; other errors it returns.
func (s *Server) allBut(camera string, err error) error {
	if errors.Is(err, draw.ErrMask) {
		s.cfg.Logger.Error("an object is left out of a picture", "camera", camera, "error", err)
		return nil
	}
	return err
}

// maskFormat chooses the media type of a mask by ?format=, or by Accept; PNG when
// both are as welcome.
func maskFormat(r *http.Request) (string, error) {
	if values, ok := r.URL.Query()["format"]; ok {
		switch {
		case len(values) == 1 && values[0] == "png":
			return typePNG, nil
		case len(values) == 1 && values[0] == "json":
			return typeJSON, nil
		}
		return "", badField(api.Field{Field: "format", Detail: fmt.Sprintf("%q; accepts png or json", values)})
	}
	accept := strings.Join(r.Header.Values("Accept"), ",")
	asPNG, asJSON := quality(accept, typePNG), quality(accept, typeJSON)
	switch {
	case asPNG == 0 && asJSON == 0:
		return "", &api.Refusal{Status: http.StatusNotAcceptable, Detail: fmt.Sprintf("Accept %q; there is %s and %s", accept, typePNG, typeJSON)}
	case asJSON > asPNG:
		return typeJSON, nil
	}
	return typePNG, nil
}

// quality is how welcome a media type is by an Accept header (RFC 9110, 12.5.1): the
// most precise of its ranges that holds the type decides. Without a header all are.
func quality(accept, media string) float64 {
	if accept == "" {
		return 1
	}
	major, _, _ := strings.Cut(media, "/")
	best, precision := 0., -1
	for part := range strings.SplitSeq(accept, ",") {
		given, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		p := map[string]int{"*/*": 0, major + "/*": 1, media: 2}
		at, ok := p[given]
		if !ok || at <= precision {
			continue
		}
		precision, best = at, 1
		if q, err := strconv.ParseFloat(params["q"], 64); err == nil {
			best = q
		}
	}
	return best
}
