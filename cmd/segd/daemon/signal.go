package daemon

import (
	"os"
	"os/signal"
	"syscall"
)

// hangups are the SIGHUPs that come until stop is called. One waits to be read; none ends the process.
func hangups() (signals <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	return c, func() { signal.Stop(c) }
}
