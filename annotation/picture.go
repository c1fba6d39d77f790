package annotation

import (
	"bytes"
	"image"
	"image/draw"
	"image/jpeg"
	"image/png"
	"slices"
)

// jpegMagic and pngMagic begin pictures.
const (
	jpegMagic = "\xff\xd8\xff"
	pngMagic  = "\x89PNG\r\n\x1a\n"
)

// checkPicture names what the head of the picture tells to be wrong with it.
func (a *Annotation) checkPicture() error {
	var head image.Config
	var err error
	switch {
	case bytes.HasPrefix(a.Picture, []byte(jpegMagic)):
		head, err = jpeg.DecodeConfig(bytes.NewReader(a.Picture))
	case bytes.HasPrefix(a.Picture, []byte(pngMagic)):
		head, err = png.DecodeConfig(bytes.NewReader(a.Picture))
	default:
		return Faultf("picture", "%d bytes that are neither; want a JPEG or a PNG, in base64", len(a.Picture))
	}
	switch {
	case err != nil:
		return Faultf("picture", "%v; want a JPEG or a PNG, in base64", err)
	case head.Width != a.Width || head.Height != a.Height:
		return Faultf("picture", "it is %d×%d; want the %d×%d that the annotation is made for", head.Width, head.Height, a.Width, a.Height)
	}
	return nil
}

// BGR decodes the picture, which there must be, to blue, green and red bytes, row after
// row without padding. Errors wrap ErrInvalid.
func (a *Annotation) BGR() ([]byte, error) {
	if err := a.checkPicture(); err != nil { // also before anything as large as it says is made
		return nil, err
	}
	img, _, err := image.Decode(bytes.NewReader(a.Picture))
	if err != nil {
		return nil, Faultf("picture", "%v; want a whole JPEG or PNG", err)
	}
	rgba := image.NewRGBA(image.Rect(0, 0, a.Width, a.Height))
	draw.Draw(rgba, rgba.Bounds(), img, img.Bounds().Min, draw.Src)
	bgr := make([]byte, 0, 3*a.Width*a.Height)
	for p := range slices.Chunk(rgba.Pix, 4) {
		bgr = append(bgr, p[2], p[1], p[0])
	}
	return bgr, nil
}
