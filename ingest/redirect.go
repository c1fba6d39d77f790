package ingest

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/bluenviron/gortsplib/v5/pkg/base"

	"github.com/segd/segd/ingest/cameraurl"
	"github.com/segd/segd/internal/redact"
)

// maxRedirects is how often a camera may send segd on, within itself.
const maxRedirects = 3

// redirects looks after where an RTSP camera sends segd. gortsplib takes the password
// along wherever that is, so it is let go within the camera only: by its own scheme
// and host, whose port may be another. No other host is dialled at all: without the
// password it would be of no use, and a user who means that one can write its URL.
type redirects struct {
	followed int
	refused  error
	to       string // where segd was sent last, on another port; it is empty otherwise
}

// answered looks at an answer before gortsplib does, and takes from it what must not
// be followed.
func (r *redirects) answered(from *cameraurl.URL, res *base.Response) {
	if res.StatusCode < base.StatusMovedPermanently || res.StatusCode > base.StatusUseProxy || len(res.Header["Location"]) == 0 {
		return
	}
	where := res.Header["Location"][0]
	delete(res.Header, "Location")
	to, err := cameraurl.Parse(where)
	switch {
	case err != nil || to.Scheme != from.Scheme || !strings.EqualFold(to.Network.Hostname(), from.Network.Hostname()):
		r.refused = redirected(int(res.StatusCode), where)
	case r.followed == maxRedirects:
		r.refused = fmt.Errorf("%w: the camera sends segd in circles (%d)", ErrRedirected, res.StatusCode)
	default:
		r.followed++
		host := from.Network.Host // in the user's own words, lest gortsplib reads another host than was looked at
		if r.to = ""; to.Port() != from.Port() {
			r.to = net.JoinHostPort(from.Network.Hostname(), to.Port())
			host = r.to
		}
		u := url.URL{Scheme: from.Scheme, Host: host, Path: to.Network.Path, RawPath: to.Network.RawPath, RawQuery: to.Network.RawQuery}
		res.Header["Location"] = base.HeaderValue{u.String()}
	}
}

// lost says that nothing listens where the camera has sent segd; nil: err is another.
func (r *redirects) lost(err error) error {
	if r.to == "" || !errors.Is(err, syscall.ECONNREFUSED) {
		return nil
	}
	return fmt.Errorf("%w: the camera sends segd to %s, where nothing listens", ErrRedirected, r.to)
}

// redirected says that the camera sends segd to another server.
func redirected(code int, where string) error {
	return fmt.Errorf("%w: the camera sends segd to %s (%d %s); if pictures come from there, write that URL in place of this one",
		ErrRedirected, redact.URL(where), code, http.StatusText(code))
}
