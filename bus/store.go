package bus

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	// storeCheck is how often the embedded server's JetStream is looked at.
	storeCheck = time.Second
	// reopenEvery is how long JetStream is left to itself after it was opened anew.
	reopenEvery = 5 * time.Second
	// storeRoom must be free on the disk for that: masks of a minute.
	storeRoom = 1 << 20
)

// tend opens JetStream anew when it has failed, as by a full disk, until stop: its
// files take no more after one write that failed. reopened is called then.
func (e *embedded) tend(reopened func()) {
	ctx, cancel := context.WithCancel(context.Background())
	e.stopTending = cancel
	e.tending.Go(func() {
		tick := time.NewTicker(storeCheck)
		defer tick.Stop()
		var last time.Time
		told := false
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			fault := e.storeFault()
			if fault == nil {
				told = false
				continue
			}
			if time.Since(last) >= reopenEvery {
				err := e.reopen()
				if err == nil {
					last = time.Now()
					e.log.Info("JetStream of the embedded NATS server was opened anew", "after", fault)
					reopened()
					continue
				}
				fault = fmt.Errorf("%w; %w", fault, err)
			}
			if !told {
				told = true
				e.log.Error("JetStream of the embedded NATS server has failed, trying to open it anew", "err", fault)
			}
		}
	})
}

// storeFault tells why JetStream stores nothing of segd's now; nil when it does.
func (e *embedded) storeFault() error {
	for _, f := range e.server.Healthz(&server.HealthzOptions{Details: true}).Errors {
		switch {
		case f.Type == server.HealthzErrorJetStream:
			return errors.New(f.Error)
		case f.Type == server.HealthzErrorStream && e.streams[f.Stream] && strings.Contains(f.Error, "write error"):
			return errors.New(f.Error)
		}
	}
	return nil
}

// reopen closes JetStream, if there is room on its disk, and opens it on the files
// that it has. Without room it would only fail again.
func (e *embedded) reopen() error {
	if e.temp != nil && e.server.JetStreamEnabled() {
		return errors.New("bus: what JetStream has in memory would be lost")
	}
	if err := checkRoom(e.jetStream.StoreDir); err != nil {
		return err
	}
	e.answer()
	if err := e.server.ShutdownJetStream(); err != nil {
		return fmt.Errorf("bus: close JetStream: %w", err)
	}
	cfg := e.jetStream
	if err := e.server.EnableJetStream(&cfg); err != nil {
		return fmt.Errorf("bus: open JetStream: %w", err)
	}
	return nil
}

// checkRoom writes storeRoom to dir and takes it back.
func checkRoom(dir string) error {
	f, err := os.CreateTemp(dir, "room-")
	if err != nil {
		return fmt.Errorf("bus: %w", err)
	}
	defer func() { _ = f.Close() }()
	if err := os.Remove(f.Name()); err != nil { // so that nothing is left, whatever happens
		return fmt.Errorf("bus: %w", err)
	}
	if _, err := f.Write(make([]byte, storeRoom)); err != nil {
		return fmt.Errorf("bus: %w", err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("bus: %w", err)
	}
	return nil
}
