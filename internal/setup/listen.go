package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/segd/segd/config"
)

// address is one that segd listens on.
type address struct{ setting, network, addr string }

// addresses lists those of cfg.
func addresses(cfg *config.Config) []address {
	list := []address{{"http.addr", "tcp", cfg.HTTP.Addr}}
	if cfg.NATS.URL == "" {
		list = append(list, address{"nats.addr", "tcp", cfg.NATS.Addr})
	}
	for _, cam := range cfg.Cameras {
		if cam.Published() {
			return append(list, address{"whip.addr", "udp", cfg.WHIP.Addr}, address{"whip.addr", "tcp", cfg.WHIP.Addr})
		}
	}
	return list
}

// free says why a cannot be listened on.
func (a address) free(ctx context.Context) error {
	var listen net.ListenConfig
	var l io.Closer
	var err error
	if a.network == "udp" {
		l, err = listen.ListenPacket(ctx, a.network, a.addr)
	} else {
		l, err = listen.Listen(ctx, a.network, a.addr)
	}
	switch {
	case err == nil:
		return l.Close()
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s is taken: %s", a.addr, a.who())
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%s: %s is no address of this machine; `ip -brief address` lists those", a.setting, a.addr)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%s: a port below 1024 is for root only; choose a higher one", a.addr)
	}
	return fmt.Errorf("%s: %w", a.setting, err)
}

// who is the command that tells who listens there.
func (a address) who() string {
	flags := "-ltnp"
	if a.network == "udp" {
		flags = "-lunp"
	}
	return fmt.Sprintf("`ss %s 'sport = :%s'` tells by whom; %s can be another port", flags, a.addr[strings.LastIndexByte(a.addr, ':')+1:], a.setting)
}

// segdAnswers tells whether a segd runs with its page at addr.
func segdAnswers(ctx context.Context, addr string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/livez", nil)
	if err != nil {
		return false
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 16))
	return err == nil && resp.StatusCode == http.StatusOK && strings.TrimSpace(string(body)) == "ok"
}
