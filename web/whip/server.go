package whip

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/pion/ice/v2"
	"github.com/pion/webrtc/v3"

	"github.com/segd/segd/internal/limit"
	"github.com/segd/segd/internal/listen"
	"github.com/segd/segd/outputs/restream"
)

const (
	// readBuffer holds a large key frame, which arrives in one burst. The kernel caps
	// it at net.core.rmem_max.
	readBuffer = 2 << 20
	// tcpQueue is how many packets wait to be read of one TCP connection.
	tcpQueue = 64
	// tcpWriteBuffer keeps a publisher that reads nothing from holding us up.
	tcpWriteBuffer = 256 << 10
	// maxTCP bounds the TCP connections, of which a publisher or a viewer needs one, and maxClientTCP those of one client;
	// those that say nothing are closed after firstWord.
	maxTCP       = 256
	maxClientTCP = 64
	firstWord    = 5 * time.Second
	// keepAlive is how often the connection is probed when nothing else is sent.
	keepAlive = 2 * time.Second
)

// Server takes publishers in, and sends to viewers. Make it with New.
type Server struct {
	cfg     Config
	api     *webrtc.API // of publishers
	viewing *webrtc.API // of viewers
	udp     ice.UDPMux
	tcp     *ice.TCPMuxDefault
	port    int

	mu      sync.Mutex // guards what follows
	doors   map[string]*Door
	viewers map[string]*viewer // by id
	closed  bool
	joined  sync.WaitGroup // the connections' keepers
}

// New takes the address and returns a server whose Handler is to be served. The
// error names every fault of cfg. Close must follow.
func New(cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, viewers: map[string]*viewer{}}
	s.Cameras(cfg.Cameras)
	ip, port, err := splitAddr(cfg.Addr)
	if err != nil {
		return nil, err
	}
	log := pionLog{cfg.Logger}
	if err := s.listen(ip, port, log); err != nil {
		s.Close()
		return nil, err
	}
	if err := s.build(ip, log); err != nil {
		s.Close()
		return nil, fmt.Errorf("whip: %w", err)
	}
	return s, nil
}

// listen takes the port.
func (s *Server) listen(ip netip.Addr, port uint16, log pionLog) error {
	listener, conn, err := listenBoth(netip.AddrPortFrom(ip, port), net.ListenUDP)
	if err != nil {
		return listen.Explain("whip", "whip.addr", s.cfg.Addr, err)
	}
	s.port = listener.Addr().(*net.TCPAddr).Port
	s.tcp = ice.NewTCPMuxDefault(ice.TCPMuxParams{
		Listener: limit.Listen(listener, limit.Conns{Setting: "whip.addr", All: maxTCP, Strangers: maxClientTCP, Logger: s.cfg.Logger}),
		Logger:   log.NewLogger("tcp"), ReadBufferSize: tcpQueue,
		WriteBufferSize: tcpWriteBuffer, FirstStunBindTimeout: firstWord, AliveDurationForConnFromStun: firstWord,
	})
	if conn == nil {
		networks := []ice.NetworkType{ice.NetworkTypeUDP4}
		if ip.Is6() {
			networks = append(networks, ice.NetworkTypeUDP6)
		}
		s.udp, err = ice.NewMultiUDPMuxFromPort(s.port, ice.UDPMuxFromPortWithLoopback(), ice.UDPMuxFromPortWithNetworks(networks...),
			ice.UDPMuxFromPortWithReadBufferSize(readBuffer), ice.UDPMuxFromPortWithLogger(log.NewLogger("udp")))
		if err != nil {
			return listen.Explain("whip", "whip.addr", s.cfg.Addr, err)
		}
		return nil
	}
	_ = conn.SetReadBuffer(readBuffer) // a smaller one works too
	s.udp = ice.NewUDPMuxDefault(ice.UDPMuxParams{UDPConn: conn, Logger: log.NewLogger("udp")})
	return nil
}

// anyPortTries bounds the ports that are tried for port 0.
const anyPortTries = 8

// listenBoth takes the port, of TCP first: for port 0 that says which it is. Another program may have that one over UDP; then
// another is tried. On every interface, UDP is left to the caller: conn is nil.
func listenBoth(
	addr netip.AddrPort, listenUDP func(network string, addr *net.UDPAddr) (*net.UDPConn, error),
) (listener *net.TCPListener, conn *net.UDPConn, err error) {
	for range anyPortTries {
		listener, err = net.ListenTCP("tcp", net.TCPAddrFromAddrPort(addr))
		if err != nil || addr.Addr().IsUnspecified() {
			return listener, nil, err
		}
		port := listener.Addr().(*net.TCPAddr).AddrPort().Port()
		conn, err = listenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(addr.Addr(), port)))
		if err == nil {
			return listener, conn, nil
		}
		err = errors.Join(err, listener.Close())
		if addr.Port() != 0 || !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return nil, nil, err
}

// build makes what connections are made of.
func (s *Server) build(ip netip.Addr, log pionLog) error {
	media, err := mediaEngine()
	if err != nil {
		return err
	}
	registry, err := interceptors(media)
	if err != nil {
		return err
	}
	sent, err := videoEngine(sentCodecs)
	if err != nil {
		return err
	}
	sending, err := senders()
	if err != nil {
		return err
	}
	var set webrtc.SettingEngine
	set.LoggerFactory = log
	set.SetLite(true)
	set.SetICEUDPMux(s.udp)
	set.SetICETCPMux(s.tcp)
	set.SetNetworkTypes([]webrtc.NetworkType{
		webrtc.NetworkTypeUDP4, webrtc.NetworkTypeUDP6, webrtc.NetworkTypeTCP4, webrtc.NetworkTypeTCP6,
	})
	set.SetIncludeLoopbackCandidate(true)
	set.SetICEMulticastDNSMode(ice.MulticastDNSModeDisabled)
	if !ip.IsUnspecified() {
		only := net.IP(ip.AsSlice())
		set.SetIPFilter(only.Equal)
	}
	// Half the silence until "disconnected", which may pass, half until "failed".
	set.SetICETimeouts(s.cfg.SilenceTimeout/2, s.cfg.SilenceTimeout/2, min(keepAlive, s.cfg.SilenceTimeout/4))
	set.SetSRTPReplayProtectionWindow(replayWindow)
	s.api = webrtc.NewAPI(webrtc.WithMediaEngine(media), webrtc.WithInterceptorRegistry(registry), webrtc.WithSettingEngine(set))
	s.viewing = webrtc.NewAPI(webrtc.WithMediaEngine(sent), webrtc.WithInterceptorRegistry(sending), webrtc.WithSettingEngine(set))
	return nil
}

// Cameras sets which names can be published to. Who publishes to one that is gone is sent away; one
// that stays keeps its publisher.
func (s *Server) Cameras(names []string) {
	s.mu.Lock()
	kept, gone := make(map[string]*Door, len(names)), s.doors
	for _, name := range names {
		if kept[name] = cmp.Or(kept[name], gone[name]); kept[name] == nil {
			kept[name] = newDoor(name)
		}
	}
	s.doors = kept
	s.mu.Unlock()
	for name, d := range gone {
		if kept[name] == nil {
			d.close()
		}
	}
}

// Door returns where publishers of camera come in; nil: there is none of that name.
func (s *Server) Door(camera string) *Door {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.doors[camera]
}

// Port returns the UDP and TCP port that media comes in at.
func (s *Server) Port() int { return s.port }

// Handler serves /whip/CAMERA and /whip/CAMERA/ID to those who may publish, and the same below /whep/ to those who may
// watch.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/whip/{camera}", s.endpoint)
	mux.HandleFunc("/whip/{camera}/{id}", s.resource)
	if s.cfg.Streams != nil {
		mux.HandleFunc("/whep/{camera}", s.watchEndpoint(""))
		mux.HandleFunc("/whep/{camera}/"+restream.Overlay, s.watchEndpoint("/"+restream.Overlay))
		mux.HandleFunc("/whep/{camera}/{id}", s.watchResource)
	}
	return mux
}

// keep runs the connection's keeper, unless the server is closed.
func (s *Server) keep(c *connection) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.joined.Go(func() { c.keep(s.cfg.ConnectTimeout) })
	return nil
}

// Close ends every publisher and viewer, gives the address back and waits until nothing is
// left of either. It may be called more than once.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	doors, viewers := slices.Collect(maps.Values(s.doors)), slices.Collect(maps.Values(s.viewers))
	s.mu.Unlock()
	for _, v := range viewers {
		v.fail(ErrClosed)
	}
	for _, d := range doors {
		d.close()
	}
	s.joined.Wait()
	if s.udp != nil {
		_ = s.udp.Close() // nothing can be done about it
	}
	if s.tcp != nil {
		_ = s.tcp.Close()
	}
}
