package configured

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"

	"github.com/segd/segd/config"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/ingest/codec"
)

// Picture is what a camera showed when it was tried.
type Picture struct {
	Width, Height int
	PixelAspect   float64  // how many times as wide as high a pixel is meant to be seen
	Codec         codec.ID // 0: the source does not tell
	BGR           []byte   // tight rows
}

// Try waits for a picture of a camera.
func Try(ctx context.Context, cam config.Camera) (*Picture, error) {
	var p *Picture
	err := ingest.First(ctx, Source(cam, nil), func(f *ingest.Frame, of codec.ID) {
		p = &Picture{f.Width, f.Height, f.PixelAspect, of, append([]byte{}, f.Pix...)}
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// SelfSigned returns the fingerprint of the certificate that err is about, if a camera showed one that no
// authority signed; else "".
func SelfSigned(err error) string {
	var verify *tls.CertificateVerificationError
	if !errors.As(err, &verify) || len(verify.UnverifiedCertificates) == 0 {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(verify.UnverifiedCertificates[0].Raw))
}

// WithUser returns a camera's URL with another user, whose name and password are encoded as a URL wants
// them; with none if it is empty. An error does not show the URL.
func WithUser(text, user, password string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "", errors.New("the url names no host that a user could be of; accepted: with rtsp://, rtsps://, mjpeg+http://, mjpeg+https://, snapshot+http:// or snapshot+https://")
	}
	u.User = nil
	if user != "" {
		u.User = url.UserPassword(user, password)
	}
	return u.String(), nil
}
