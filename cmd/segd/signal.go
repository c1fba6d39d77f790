package main

import (
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// ignoreHangup has a daemon outlive SIGHUP, by which others are told to read their
// configuration again, until stop is called.
func ignoreHangup(log *slog.Logger) (stop func()) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	var listening sync.WaitGroup
	listening.Go(func() {
		for range hangups {
			log.Warn("SIGHUP is ignored: a change of the configuration takes a restart; SIGTERM ends segd")
		}
	})
	return func() {
		signal.Stop(hangups)
		close(hangups)
		listening.Wait()
	}
}
