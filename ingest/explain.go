package ingest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"

	"github.com/bluenviron/gortsplib/v5/pkg/base"
	"github.com/bluenviron/gortsplib/v5/pkg/liberrors"

	"github.com/segd/segd/ingest/cameraurl"
	"github.com/segd/segd/internal/redact"
)

// What can be wrong with a camera. The errors of Run's Observer and of First
// wrap one of these where the cause is known.
var (
	// ErrRefused: the host is there, nothing listens on the port.
	ErrRefused = errors.New("connection refused")
	// ErrUnreachable: no way to the host, or no such host.
	ErrUnreachable = errors.New("host cannot be reached")
	// ErrUnauthorized: credentials are missing or wrong.
	ErrUnauthorized = errors.New("not authorised")
	// ErrRedirected: the camera sends segd to another server.
	ErrRedirected = errors.New("sent elsewhere")
	// ErrNotFound: the camera has no stream at that path.
	ErrNotFound = errors.New("no such stream")
	// ErrNoVideo: the stream has no video track.
	ErrNoVideo = errors.New("no video track")
	// ErrCodec: the video is in a codec that is not accepted.
	ErrCodec = errors.New("codec not supported")
	// ErrStalled: connected, but no picture came in time.
	ErrStalled = errors.New("stalled")
	// ErrTransport: the camera does not offer the transport that was asked for.
	ErrTransport = errors.New("transport not offered")
	// ErrCertificate: an rtsps:// camera's certificate is not one to trust.
	ErrCertificate = errors.New("the camera's TLS certificate is not trusted")
	// ErrClosed: the camera ended the connection.
	ErrClosed = errors.New("connection closed by the camera")
)

// explain puts err into words for the user who typed the URL, which is in them with
// its secrets hidden.
func (s *Source) explain(err error) error {
	if s.url.Kind == cameraurl.V4L2 {
		return fmt.Errorf("ingest: %s: %w", s.Name(), err)
	}
	return fmt.Errorf("ingest: %s: %w", s.Name(), s.cause(err))
}

func (s *Source) cause(err error) error {
	err = redact.Error(err) // libraries quote URLs
	var status liberrors.ErrClientBadStatusCode
	var setup liberrors.ErrClientAuthSetup
	var web *httpError
	var dns *net.DNSError
	var pinned *fingerprintError
	var verify *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.Is(err, ErrStalled), errors.Is(err, ErrCodec), errors.Is(err, ErrNoVideo), errors.Is(err, ErrRedirected), errors.Is(err, ErrUnauthorized):
		return err
	case errors.As(err, &status):
		return s.statusCause(int(status.Code), status.Message, err)
	case errors.As(err, &web):
		return s.statusCause(web.code, http.StatusText(web.code), err)
	case errors.As(err, &setup):
		return fmt.Errorf("%w: %w (%w)", ErrUnauthorized, errOtherLogin, err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%w: nothing listens at %s; is the camera on, and is %s its port?", ErrRefused, s.url.HostPort(), s.url.Port())
	case errors.As(err, &dns):
		return fmt.Errorf("%w: no address is known for %q (%s)", ErrUnreachable, s.url.Network.Hostname(), dns.Err)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return fmt.Errorf("%w: there is no route to %s", ErrUnreachable, s.url.Network.Hostname())
	case errors.As(err, &pinned):
		return fmt.Errorf("%w: the camera shows another TLS certificate than the one expected: is it the same camera? (%w)", ErrCertificate, pinned)
	case errors.As(err, &verify) && len(verify.UnverifiedCertificates) > 0:
		return fmt.Errorf("%w: %w; if this is the camera, set its fingerprint: %x", ErrCertificate, err, sha256.Sum256(verify.UnverifiedCertificates[0].Raw))
	case errors.As(err, &record):
		return fmt.Errorf("%s does not speak TLS; is it rtsp:// instead of rtsps://, or http:// instead of https://? (%w)", s.url.HostPort(), err)
	case errors.Is(err, errHTTP):
		return fmt.Errorf("%s answers with HTTP, and segd does not speak RTSP over HTTP; accepted: the port that the camera has for RTSP itself, usually 554 (rtsps:// 322)", s.url.HostPort())
	case isUnsupportedTransport(err):
		return fmt.Errorf("%w: the camera does not stream that way (%w)", ErrTransport, err)
	case isSilence(err):
		return fmt.Errorf("%w: %s gives no answer (%w)", ErrStalled, s.url.HostPort(), err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return fmt.Errorf("%w (%w)", ErrClosed, err)
	}
	return fmt.Errorf("%s: %w", s.url.HostPort(), err)
}

// statusCause explains the status of a camera's answer. RTSP has HTTP's, and more.
func (s *Source) statusCause(code int, message string, err error) error {
	switch base.StatusCode(code) {
	case base.StatusUnauthorized, base.StatusForbidden:
		if s.url.Network.User == nil {
			return fmt.Errorf("%w: the camera wants a user name and a password (%d): write %s://USER:PASSWORD@%s", ErrUnauthorized, code, s.url.Scheme, s.url.Network.Host)
		}
		return fmt.Errorf("%w: wrong credentials, the camera does not accept this user name and password (%d)", ErrUnauthorized, code)
	case base.StatusNotFound:
		return fmt.Errorf("%w: the camera knows no path %q (404); its manual says which it has", ErrNotFound, redact.URL(s.url.Network.RequestURI()))
	case base.StatusUnsupportedTransport:
		return fmt.Errorf("%w: the camera does not stream that way (461)", ErrTransport)
	}
	return fmt.Errorf("the camera answers %d (%s): %w", code, message, err)
}

// advise adds to said, which is err in words, the transports that can be tried besides the one
// that is set, if one of them may help.
func (s *Source) advise(said, err error) error {
	others := map[string]string{"tcp": "auto, udp or multicast", "udp": "auto, tcp or multicast", "multicast": "auto, tcp or udp"}
	set := s.cfg.Transport
	if errors.Is(said, ErrTransport) || errors.As(err, new(*transportError)) && (set == "udp" || set == "multicast") {
		return fmt.Errorf("%w; other transports that can be tried: %s", said, cmp.Or(others[set], "multicast")) // auto has tried the rest
	}
	return said
}

func isUnsupportedTransport(err error) bool {
	return errors.As(err, new(liberrors.ErrClientTransportHeaderInvalidDelivery)) ||
		errors.As(err, new(liberrors.ErrClientServerRequestedTCP)) || errors.As(err, new(liberrors.ErrClientServerRequestedUDP)) ||
		errors.As(err, new(liberrors.ErrClientServerPortsNotProvided)) || errors.As(err, new(liberrors.ErrClientH264PacketizationMode0))
}

func isSilence(err error) bool {
	var timeout net.Error
	return errors.As(err, new(liberrors.ErrClientRequestTimedOut)) ||
		errors.As(err, new(liberrors.ErrClientTCPTimeout)) || errors.As(err, new(liberrors.ErrClientUDPTimeout)) ||
		errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
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
