package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/segd/segd/api"
	"github.com/segd/segd/internal/listen"
)

// Defaults of Config.
const (
	DefaultAddr         = "127.0.0.1:8080"
	DefaultMaxViewers   = 64
	DefaultJPEGQuality  = 80
	DefaultWriteTimeout = 10 * time.Second

	// MinTokenLength is the shortest token accepted: 16 characters of base64
	// hold 96 bits, beyond guessing over a network.
	MinTokenLength = 16
)

// Config says how a Server is reached and what it serves. The zero value serves
// the page on loopback.
type Config struct {
	// Addr is the TCP host:port to listen on. Empty: DefaultAddr. A host that is
	// not loopback needs Token.
	Addr string
	// Token, when set, must come with every request but the health checks: as
	// "Authorization: Bearer TOKEN", or once as ?token= or through the sign-in
	// page, which leave a cookie. At least MinTokenLength characters. It is the operator's.
	Token string
	// ViewerToken, when set beside Token, lets its bearer see everything and change
	// nothing. At least MinTokenLength characters, and none of the other tokens.
	ViewerToken string
	// TrustedProxies are believed when they say, by X-Forwarded-For and
	// X-Forwarded-Proto, whose request they pass on. None: no proxy is.
	TrustedProxies []netip.Prefix
	// BasePath is the path below which a proxy has all this, such as /segd; it is served at / as well. Where an answer
	// leads to is below it, as is the cookie. Package config says what it may be. Empty: none.
	BasePath string
	// WHIP takes publishers in on /whip/CAMERA, and the page for publishing is served
	// on /publish/CAMERA. Nil: both are 404.
	WHIP http.Handler
	// WHEP lets people watch on /whep/CAMERA. Nil: 404.
	WHEP http.Handler
	// PublishToken, when set, lets its bearer publish and do nothing else; without
	// Token it is then required for that. At least MinTokenLength characters.
	PublishToken string
	// Metrics is served on /metrics. Nil: 404.
	Metrics http.Handler
	// Ready tells why segd is not ready, or nil. It is called for each request
	// to /readyz and must not block. Nil: always ready.
	Ready func() error
	// Alive tells why segd should be started anew, or nil, as Ready does for /livez.
	// Nil: always alive.
	Alive func() error
	// Commands answers the API's requests about objects, annotations and pictures.
	// Nil: those are 404.
	Commands Commands
	// Cameras adds, changes and removes cameras. Nil: those requests are 404, and where a
	// camera comes from is not listed.
	Cameras Manager
	// Fleet is that which segd is a box of. Nil: none, and requests about it are 404.
	Fleet Fleet
	// History has the events and pictures that are kept. Nil: requests about them are 404.
	History History
	// Recordings has recorded video. Nil: requests about it are 404.
	Recordings Recordings
	// Alerts returns which alerts fire as JSON, as openapi.json has them. Nil: they are not known, and that is answered 404.
	Alerts func(ctx context.Context) ([]byte, error)
	// Settings returns the configuration segd runs with, as JSON and without secrets. It is
	// called from several goroutines. Nil: /api/v1/config is 404.
	Settings func() json.RawMessage
	// Reload has segd read its configuration again. Its errors are as those of Commands.
	// Nil: a reload is answered 404, since there is no file to read.
	Reload func(ctx context.Context) (api.Reloaded, error)
	// TLSCert and TLSKey are files with the certificate (and those between it and the
	// root) and its key, as PEM; with them everything is served by HTTPS only. Both or
	// none. They are read again when they change.
	TLSCert, TLSKey string
	// Version is shown on the page.
	Version string
	// MaxViewers bounds the live connections of each role, all cameras together; one page
	// takes one for each camera, those that other boxes run among them. 0: DefaultMaxViewers.
	MaxViewers int
	// JPEGQuality is 1 to 100. 0: DefaultJPEGQuality.
	JPEGQuality int
	// WriteTimeout bounds the sending of one message to a viewer, who is
	// disconnected when it passes. 0: DefaultWriteTimeout.
	WriteTimeout time.Duration
	// Panicked hears of a request that panicked, from any goroutine. Nil: it is not told.
	Panicked func()
	// Logger takes what happens. Nil discards.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Addr = cmp.Or(c.Addr, DefaultAddr)
	c.MaxViewers = cmp.Or(c.MaxViewers, DefaultMaxViewers)
	c.JPEGQuality = cmp.Or(c.JPEGQuality, DefaultJPEGQuality)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, DefaultWriteTimeout)
	if c.Panicked == nil {
		c.Panicked = func() {}
	}
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

// validate reports every fault of c at once. c has its defaults.
func (c Config) validate() error {
	faults := []error{
		c.validateAddr(),
		validateToken("token", c.Token),
		validateToken("publish token", c.PublishToken),
		validateToken("viewer token", c.ViewerToken),
	}
	bad := func(is bool, format string, args ...any) {
		if is {
			faults = append(faults, fmt.Errorf("web: "+format, args...))
		}
	}
	viewer := c.ViewerToken != ""
	bad(viewer && c.Token == "", "a viewer token and no token; accepts it beside a token only: without one everybody may do everything")
	bad(viewer && c.Token != "" && (c.ViewerToken == c.Token || c.ViewerToken == c.PublishToken), "the viewer token is another token too; accepts one of its own")
	bad(c.MaxViewers < 1 || c.MaxViewers > 10000, "max viewers %d; accepts 1 to 10000", c.MaxViewers)
	bad(c.JPEGQuality < 1 || c.JPEGQuality > 100, "JPEG quality %d; accepts 1 to 100", c.JPEGQuality)
	bad(c.WriteTimeout < 0, "write timeout %v; accepts a positive duration", c.WriteTimeout)
	bad((c.TLSCert == "") != (c.TLSKey == ""), "TLS certificate %q and key %q; accepts both or neither", c.TLSCert, c.TLSKey)
	return errors.Join(faults...)
}

func (c Config) validateAddr() error {
	const accepts = "accepts host:port, as 127.0.0.1:8080 or :8080"
	host, port, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return fmt.Errorf("web: address %q: %w; %s", c.Addr, err, accepts)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("web: address %q: port %q; %s, with a port from 0 to 65535", c.Addr, port, accepts)
	}
	if c.Token == "" && !listen.Loopback(host) {
		return fmt.Errorf("web: address %q is reachable from other machines and there is no token; "+
			"accepts a loopback address such as %s, or a token of at least %d characters", c.Addr, DefaultAddr, MinTokenLength)
	}
	return nil
}

func validateToken(what, token string) error {
	if token == "" {
		return nil
	}
	if len(token) < MinTokenLength {
		return fmt.Errorf("web: the %s has %d characters; accepts at least %d", what, len(token), MinTokenLength)
	}
	if i := strings.IndexFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }); i >= 0 {
		return fmt.Errorf("web: character %d of the %s is not printable ASCII; accepts letters, digits and signs without spaces", i+1, what)
	}
	return nil
}
