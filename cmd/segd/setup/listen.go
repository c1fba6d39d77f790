package setup

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/config"
	"github.com/segd/segd/internal/files"
)

// address is one that segd listens on.
type address struct{ setting, network, addr string }

// addresses lists those of cfg.
func addresses(cfg *config.Config) []address {
	list := []address{{"http.addr", "tcp", cfg.HTTP.Addr}}
	if cfg.NATS.URL == "" {
		list = append(list, address{"nats.addr", "tcp", cfg.NATS.Addr})
	}
	if cfg.RTSP.Addr != "" {
		list = append(list, address{"rtsp.addr", "tcp", cfg.RTSP.Addr})
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

// running is the segd whose page is at an address, if any.
type running struct {
	there bool
	// other says why it runs by another configuration, unsure that it may; both empty: it does not.
	other, unsure string
}

// taken says what it means that a is taken: a detail where that is as one expects of a configuration that is in
// use, or an error.
func (r running) taken(a address) (detail string, err error) {
	switch {
	case r.other != "":
		return "", fmt.Errorf("%s is taken by another segd, which %s; accepted: another %s, or that one ended", a.addr, r.other, a.setting)
	case r.unsure != "":
		return "taken by a segd that " + r.unsure, nil
	}
	return "taken by the segd that runs", nil
}

// segdAt asks the page at cfg's address which segd that is. One of cfg, or of what it was before, is at its site and
// has one of its cameras or its folder.
func segdAt(ctx context.Context, cfg *config.Config) running {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	scheme, transport := "http://", &http.Transport{DisableKeepAlives: true}
	if file := cfg.HTTP.TLS.Cert; file != "" {
		scheme, transport.TLSClientConfig = "https://", shows(ctx, file)
	}
	client := http.Client{Transport: transport}
	get := func(path, token string) (int, []byte) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+cfg.HTTP.Addr+path, nil)
		if err != nil {
			return 0, nil
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := client.Do(req)
		if err != nil {
			return 0, nil
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		if err != nil {
			return 0, nil
		}
		return resp.StatusCode, body
	}
	if status, body := get("/livez", ""); status != http.StatusOK || strings.TrimSpace(string(body)) != "ok" {
		return running{}
	}
	status, body := get("/api/v1/config", cfg.HTTP.Token)
	var is struct {
		Site string
		NATS struct {
			StoreDir string `json:"store_dir"`
		}
		Cameras []struct{ Name string }
	}
	if status != http.StatusOK || json.Unmarshal(body, &is) != nil {
		return running{there: true, unsure: "does not take this http.token: another one, unless the token has changed"}
	}
	same := is.NATS.StoreDir == cfg.NATS.StoreDir && filepath.IsAbs(is.NATS.StoreDir) || len(is.Cameras) == 0 || len(cfg.Cameras) == 0
	var names []string
	for _, c := range is.Cameras {
		names = append(names, c.Name)
		same = same || slices.ContainsFunc(cfg.Cameras, func(own config.Camera) bool { return own.Name == c.Name })
	}
	switch {
	case is.Site != cfg.Site:
		return running{there: true, other: fmt.Sprintf("is at site %s", cli.Printable(is.Site))}
	case !same:
		return running{there: true, other: "runs other cameras: " + cli.Printable(strings.Join(names, ", "))}
	}
	return running{there: true}
}

// shows trusts a server with the certificate in a file, whatever name that is for: the address has none.
func shows(ctx context.Context, file string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, InsecureSkipVerify: true,
		VerifyPeerCertificate: func(shown [][]byte, _ [][]*x509.Certificate) error {
			text, err := files.Read(ctx, file, files.PEM)
			if err != nil {
				return err
			}
			if own, _ := pem.Decode(text); own == nil || !bytes.Equal(own.Bytes, shown[0]) {
				return errors.New("another certificate")
			}
			return nil
		},
	}
}
