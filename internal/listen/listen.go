// Package listen says why an address cannot be listened on, and what would do.
package listen

import (
	"errors"
	"fmt"
	"syscall"
)

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
