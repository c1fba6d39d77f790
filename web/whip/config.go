package whip

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/segd/segd/internal/listen"
	"github.com/segd/segd/internal/redact"
	"github.com/segd/segd/outputs/restream"
)

// Defaults of Config.
const (
	DefaultAddr           = "127.0.0.1:8189"
	DefaultConnectTimeout = 15 * time.Second
	DefaultSilenceTimeout = 10 * time.Second
)

// Config says where media comes in and who may publish what. Zero fields mean the
// default.
type Config struct {
	// Addr is the host:port that media comes in at, over UDP and TCP. An empty or
	// unspecified host means every interface there is at the start. Empty:
	// DefaultAddr.
	Addr string
	// PublicIPs are addresses by which publishers elsewhere reach Addr's port, when
	// this machine is behind a router that forwards it. They are offered beside the
	// machine's own.
	PublicIPs []string
	// Cameras are the names that can be published to, until Server.Cameras names others.
	Cameras []string
	// Replace lets a publisher take the place of the one that is there. Otherwise it
	// is refused with 409.
	Replace bool
	// ICEServers are told to publishers and viewers, in Link headers.
	ICEServers []ICEServer
	// Streams are what viewers watch. Nil: none can.
	Streams *restream.Streams
	// ConnectTimeout is how long the first packet of video, or a viewer's connection, may take after the offer.
	// 0: DefaultConnectTimeout.
	ConnectTimeout time.Duration
	// SilenceTimeout is how long nothing at all may come from a publisher or a viewer before it
	// is taken for gone. 0: DefaultSilenceTimeout.
	SilenceTimeout time.Duration
	// Logger takes what happens. Nil discards.
	Logger *slog.Logger
}

// ICEServer is a STUN or TURN server that publishers and viewers may use.
type ICEServer struct {
	// URL is stun:HOST:PORT, turn:HOST:PORT?transport=udp, or turns:….
	URL string
	// Username and Credential are a TURN server's.
	Username, Credential string
}

func (c Config) withDefaults() Config {
	c.Addr = cmp.Or(c.Addr, DefaultAddr)
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, DefaultConnectTimeout)
	c.SilenceTimeout = cmp.Or(c.SilenceTimeout, DefaultSilenceTimeout)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

// validate reports every fault of c, which has its defaults.
func (c Config) validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf("whip: "+format, args...)) }
	if _, _, err := splitAddr(c.Addr); err != nil {
		faults = append(faults, err)
	}
	for _, ip := range c.PublicIPs {
		if _, err := netip.ParseAddr(ip); err != nil {
			fault("public IP %q; accepts an address such as 192.0.2.10", ip)
		}
	}
	for _, s := range c.ICEServers {
		if err := s.validate(); err != nil {
			faults = append(faults, err)
		}
	}
	for i, name := range c.Cameras {
		if name == "" || strings.ContainsRune(name, '/') || slices.Contains(c.Cameras[:i], name) {
			fault("camera %q is empty, has a slash or is named twice; accepts other names", name)
		}
	}
	if c.ConnectTimeout < 0 || c.SilenceTimeout < 0 {
		fault("connect timeout %v, silence timeout %v; accepts positive durations", c.ConnectTimeout, c.SilenceTimeout)
	}
	return errors.Join(faults...)
}

func (s ICEServer) validate() error {
	scheme, rest, _ := strings.Cut(s.URL, ":")
	bad := func(r rune) bool { return r <= ' ' || r > '~' || r == '>' || r == '<' || r == '"' || r == '\\' }
	if !slices.Contains([]string{"stun", "stuns", "turn", "turns"}, scheme) || rest == "" || strings.ContainsFunc(rest, bad) {
		return fmt.Errorf("whip: ICE server %q; accepts such as stun:stun.example.net:3478 or turn:turn.example.net:3478?transport=udp", redact.URL(s.URL))
	}
	if strings.ContainsFunc(s.Username+s.Credential, func(r rune) bool { return r != ' ' && bad(r) }) {
		return fmt.Errorf("whip: ICE server %q: user name and credential; accept printable ASCII without quotes, < and >", redact.URL(s.URL))
	}
	return nil
}

// splitAddr returns an IP, unspecified for every interface, and a port.
func splitAddr(addr string) (netip.Addr, uint16, error) {
	const accepts = "accepts host:port with an IP address or localhost as host, such as 127.0.0.1:8189 or :8189"
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return netip.Addr{}, 0, fmt.Errorf("whip: address %q: %w; %s", addr, err, accepts)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return netip.Addr{}, 0, fmt.Errorf("whip: address %q: port %q; %s", addr, text, accepts)
	}
	ip, err := netip.ParseAddr(cmp.Or(host, "::"))
	switch {
	case err != nil && listen.Loopback(host): // by its name
		ip = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	case err != nil:
		return netip.Addr{}, 0, fmt.Errorf("whip: address %q: host %q is no IP address; %s", addr, host, accepts)
	}
	if ip.IsUnspecified() && port == 0 {
		return netip.Addr{}, 0, fmt.Errorf("whip: address %q: every interface needs the same port; accepts a port above 0", addr)
	}
	return ip, uint16(port), nil
}
