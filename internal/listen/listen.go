// Package listen says why an address cannot be listened on, and what would do, and which hosts are this machine alone.
package listen

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"syscall"
)

// Loopback tells whether a host, without port, is this machine and no other. No name is resolved: only localhost is known
// to be, in whatever case.
func Loopback(host string) bool {
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.IsLoopback()
}

// Explain returns err, with which listening on addr failed, as an error of a package. Setting is the configuration's for addr.
func Explain(pkg, setting, addr string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s: %s is already in use: another segd or another program listens there; accepts: another %s (%w)", pkg, addr, setting, err)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%s: %s needs a right segd does not have; accepts: a port above 1023 in %s (%w)", pkg, addr, setting, err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%s: %s is not an address of this machine; accepts: another %s (%w)", pkg, addr, setting, err)
	}
	return fmt.Errorf("%s: listening on %s: %w; accepts: another %s", pkg, addr, err, setting)
}
