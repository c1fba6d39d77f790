package daemon

import (
	"log/slog"
	"net"
	"net/http"
	"sync"

	"github.com/segd/segd/api"
	"github.com/segd/segd/config"
	listening "github.com/segd/segd/internal/listen"
	"github.com/segd/segd/outputs/restream"
	"github.com/segd/segd/web/whip"
)

// publishers is where media of publishers comes in, and goes out to those who watch by WHEP. The address is taken with
// the first camera that waits for a publisher, or with the first viewer, and kept.
type publishers struct {
	log     *slog.Logger
	streams *restream.Streams

	mu     sync.Mutex   // guards what follows
	server *whip.Server // nil: there was no camera for them yet
	ended  bool
}

func (p *publishers) get() *whip.Server {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.server
}

// published are the names of the cameras that publishers come to.
func published(cameras []config.Camera) (names []string) {
	for _, cam := range cameras {
		if cam.Published() {
			names = append(names, cam.Name)
		}
	}
	return names
}

// open takes the address for publishers' media, if there are cameras for them and it is not taken yet.
func (p *publishers) open(c *config.Config) (opened bool, err error) {
	if len(published(c.Cameras)) == 0 {
		return false, nil
	}
	return p.take(c)
}

// take takes the address, unless it has it.
func (p *publishers) take(c *config.Config) (taken bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.server != nil:
		return false, nil
	case p.ended:
		return false, whip.ErrClosed
	}
	cfg := whip.Config{
		Streams: p.streams,
		Addr:    c.WHIP.Addr, PublicIPs: c.WHIP.PublicIPs, Replace: c.WHIP.SecondPublisher == "replace", Logger: p.log,
		Cameras: published(c.Cameras),
	}
	for _, s := range c.WHIP.ICEServers {
		cfg.ICEServers = append(cfg.ICEServers, whip.ICEServer(s))
	}
	if isLoopback(cfg.Addr) && !isLoopback(c.HTTP.Addr) && len(cfg.PublicIPs) == 0 {
		p.log.Warn("publishers and viewers on other machines reach http.addr, but not whip.addr, where pictures would come in and go out; "+
			"set whip.addr to an address that they reach, such as \":8189\"", "http.addr", c.HTTP.Addr, "whip.addr", cfg.Addr)
	}
	p.server, err = whip.New(cfg)
	return err == nil, err
}

// cameras sets which cameras publishers come to.
func (p *publishers) cameras(cameras []config.Camera) {
	if s := p.get(); s != nil {
		s.Cameras(published(cameras))
	}
}

// door is where those of a camera come in; nil: it is none that open or cameras has named.
func (p *publishers) door(camera string) *whip.Door {
	if s := p.get(); s != nil {
		return s.Door(camera)
	}
	return nil
}

func (p *publishers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s := p.get(); s != nil {
		s.Handler().ServeHTTP(w, r)
		return
	}
	api.WriteProblem(w, http.StatusNotFound, "no camera takes publishers; those whose url is whip: do")
}

// watch answers who would watch by WHEP, with the address that c names.
func (p *publishers) watch(c *config.Config, w http.ResponseWriter, r *http.Request) {
	if _, err := p.take(c); err != nil {
		api.WriteProblem(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	p.ServeHTTP(w, r)
}

// shut is close, after which no publisher is let in.
func (p *publishers) shut() {
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	p.close()
}

// close sends all away and gives the address back.
func (p *publishers) close() {
	p.mu.Lock()
	s := p.server
	p.server = nil
	p.mu.Unlock()
	if s != nil {
		s.Close()
	}
}

// isLoopback tells whether what listens at addr is reached from this machine only.
func isLoopback(addr string) bool {
	host, _, _ := net.SplitHostPort(addr)
	return listening.Loopback(host)
}
