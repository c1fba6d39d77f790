package mqtt

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"sync"
	"time"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/internal/files"
	"github.com/segd/segd/internal/keypair"
	"github.com/segd/segd/internal/outbox"
)

// Schemes of a broker's URL.
const (
	schemePlain = "mqtt"
	schemeTLS   = "mqtts"
)

// Config says which broker is told what. URL, Prefix, Site and Cameras are required.
type Config struct {
	// URL of the broker, mqtt://HOST[:1883] or, by TLS, mqtts://HOST[:8883].
	URL string
	// ClientID is this client's, which no other of the broker's has. Empty: segd-SITE, or segd-SITE-BOX.
	ClientID string
	// Username and the file with its password; both empty: none. The file is read at each connection.
	Username, PasswordFile string
	// CA is a file with the certificates of whom to trust with the broker's, empty: the machine's own. Cert
	// and Key are what the broker is shown, both or neither. All are PEM, and read at each connection.
	CA, Cert, Key string
	// Prefix is what all topics but those of discovery begin with, and Site the level after it.
	Prefix, Site string
	// Box is this segd's of a fleet; empty: there is none.
	Box string
	// Discovery is what the topics of Home Assistant's discovery begin with. Empty: it is told nothing.
	Discovery string
	// Version is segd's, for Home Assistant.
	Version string

	// Cameras are all of the site's; complete is false while some of them may not be known yet. It is called
	// by one goroutine at a time.
	Cameras func() (list []Camera, complete bool)
	// State is a camera's status as of now; nil: there is none but what Status is told.
	State func(camera string) (*segdv1.Status, error)
	// Thumbnail is the picture that an event names, JPEG; nil where it is kept no longer. Nil: no pictures are published.
	Thumbnail func(*segdv1.Event) []byte
	// Set changes a camera by a JSON merge patch. Nil: no commands are taken.
	Set func(ctx context.Context, camera string, patch []byte) error

	Logger *slog.Logger // nil discards
}

// Camera is one as it is configured.
type Camera struct {
	Name string
	// Here says that this segd publishes it.
	Here bool
	// Classes are what is detected, and Zones what its objects are counted in.
	Classes, Zones []string
	// Detect says that something is detected now, and Paused that the camera does not run.
	Detect, Paused bool
	// Fault is why it does not run though it is not paused.
	Fault string
	// Switches says that Config.Set can change it.
	Switches bool
	// Hides tells one way to hide something of its pictures from another; empty: nothing is hidden.
	Hides string
}

// New returns a Publisher for Run. It reports every fault of cfg at once; nothing is dialled.
func New(cfg Config) (*Publisher, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.ClientID == "" {
		cfg.ClientID = "segd-" + cfg.Site
		if cfg.Box != "" {
			cfg.ClientID += "-" + cfg.Box
		}
	}
	broker, err := cfg.check()
	if err != nil {
		return nil, err
	}
	p := &Publisher{
		cfg: cfg, broker: broker, log: cfg.Logger, times: defaults,
		cameras: map[string]*camera{}, nodes: map[string]*camera{}, table: map[string]*entry{}, strangers: map[string]time.Time{},
		looks: make(chan string, maxLooks), commands: make(chan command, maxCommands), up: make(chan struct{}, 1),
		events: outbox.New(maxEvents, maxEventBytes, func(m message) int { return len(m.payload) }),
	}
	p.cond = sync.NewCond(&p.mu)
	p.status = &entry{topic: cfg.status(), payload: []byte(online)}
	return p, nil
}

// check tells of every fault, and returns the broker's URL.
func (c *Config) check() (*url.URL, error) {
	var faults []error
	broker, err := brokerURL(c.URL)
	if err != nil {
		faults = append(faults, err)
	}
	if c.Prefix == "" || c.Site == "" || c.Cameras == nil {
		faults = append(faults, errors.New("mqtt: Config.Prefix, Site or Cameras is missing"))
	}
	if _, err := c.password(); err != nil {
		faults = append(faults, err)
	}
	if broker != nil && broker.Scheme == schemeTLS {
		if _, err := c.tls(broker); err != nil {
			faults = append(faults, err)
		}
	}
	return broker, errors.Join(faults...)
}

// brokerURL reads a broker's URL, and completes its port.
func brokerURL(text string) (*url.URL, error) {
	const accepted = "accepted: mqtt://HOST or mqtts://HOST, with a port or without"
	u, err := url.Parse(text)
	port := ""
	if err == nil {
		port = map[string]string{schemePlain: "1883", schemeTLS: "8883"}[u.Scheme]
	}
	if port == "" || u.Hostname() == "" || u.User != nil {
		return nil, fmt.Errorf("mqtt: the URL is none of a broker, or names a user; %s", accepted) // it may hold a password
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), port)
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}, nil
}

// password is the one in the file; nil: there is none.
func (c *Config) password() ([]byte, error) {
	if c.PasswordFile == "" {
		return nil, nil
	}
	text, err := files.Read(context.Background(), c.PasswordFile, files.Password)
	if err != nil {
		return nil, fmt.Errorf("mqtt: %w", err)
	}
	if text = bytes.TrimRight(text, "\r\n"); len(text) == 0 {
		return nil, fmt.Errorf("mqtt: %s is empty; accepted: a file with the broker's password", c.PasswordFile)
	}
	return text, nil
}

// tls is how the broker is spoken to by TLS.
func (c *Config) tls(broker *url.URL) (*tls.Config, error) {
	secured := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: broker.Hostname()}
	if c.CA != "" {
		pool, err := keypair.Certificates(c.CA)
		if err != nil {
			return nil, fmt.Errorf("mqtt: %s: %w; accepted: certificates, PEM", c.CA, err)
		}
		secured.RootCAs = pool
	}
	if c.Cert != "" || c.Key != "" {
		pair, err := keypair.Read(c.Cert, c.Key)
		if err != nil {
			return nil, fmt.Errorf("mqtt: %s and %s: %w; accepted: PEM files of a certificate and its key", c.Cert, c.Key, err)
		}
		secured.Certificates = []tls.Certificate{pair}
	}
	return secured, nil
}
