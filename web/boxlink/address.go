package boxlink

import (
	"net"
	"net/netip"
	"net/url"

	"github.com/segd/segd/internal/listen"
)

// Address is the URL at which others reach the page of this machine that is served at page: at its own host or, where
// that is every interface's, at that of local, this machine's end of a connection to the NATS server that all boxes
// reach; if this machine is the server's, at the address by which it reaches others. It is empty if there is none.
func Address(page, local string) string {
	at, err := url.Parse(page)
	if err != nil {
		return ""
	}
	if host, err := netip.ParseAddr(at.Hostname()); err == nil && host.IsUnspecified() {
		own, err := netip.ParseAddrPort(local)
		if err != nil || own.Addr().IsLoopback() {
			if own, err = outward(); err != nil {
				return ""
			}
		}
		at.Host = net.JoinHostPort(own.Addr().Unmap().WithZone("").String(), at.Port())
	}
	return at.String()
}

// outward is the address that this machine's route to others has.
func outward() (netip.AddrPort, error) {
	conn, err := net.Dial("udp", "192.0.2.1:9") // of no host (RFC 5737), and nothing is sent
	if err != nil {
		return netip.AddrPort{}, err
	}
	defer func() { _ = conn.Close() }()
	return netip.ParseAddrPort(conn.LocalAddr().String())
}

// Loopback tells whether the page at that URL is reached from its own machine only.
func Loopback(page string) bool {
	at, err := url.Parse(page)
	return err == nil && listen.Loopback(at.Hostname())
}
