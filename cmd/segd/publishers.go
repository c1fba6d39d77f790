package main

import (
	"log/slog"
	"net/http"
	"sync"

	"github.com/segd/segd/config"
	"github.com/segd/segd/ingest/whip"
	"github.com/segd/segd/internal/boxlink"
	"github.com/segd/segd/internal/problem"
)

// publishers is where media of publishers comes in. The address is taken with the first camera
// that waits for some, and kept.
type publishers struct {
	log *slog.Logger

	mu     sync.Mutex   // guards server
	server *whip.Server // nil: there has been no such camera
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

// open takes the address for publishers' media, if there are cameras for them and nobody has yet.
func (p *publishers) open(c *config.Config) (opened bool, err error) {
	cfg := whip.Config{
		Addr: c.WHIP.Addr, PublicIPs: c.WHIP.PublicIPs, Replace: c.WHIP.SecondPublisher == "replace", Logger: p.log,
		Cameras: published(c.Cameras),
	}
	for _, s := range c.WHIP.ICEServers {
		cfg.ICEServers = append(cfg.ICEServers, whip.ICEServer(s))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(cfg.Cameras) == 0 || p.server != nil {
		return false, nil
	}
	if isLoopback(cfg.Addr) && !isLoopback(c.HTTP.Addr) && len(cfg.PublicIPs) == 0 {
		p.log.Warn("publishers of other machines reach http.addr, but not whip.addr, where their pictures would come in; "+
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
	problem.Write(w, http.StatusNotFound, "no camera takes publishers; those whose url is whip: do")
}

// close sends all publishers away and gives the address back.
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
func isLoopback(addr string) bool { return boxlink.Loopback("//" + addr) }
