package natsconn

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	// MaxData is the most bytes of data in a message. A server with a smaller limit of
	// payloads gets smaller ones.
	MaxData = 32 << 10
	// messageCost is what a data message costs besides its bytes, so that many small ones
	// do not take more memory than few large ones.
	messageCost = 64
	// minWindow is the least a peer may take. It must be a few times messageCost.
	minWindow = 4 << 10
	// maxWindow keeps sums of windows far from what a uint32 holds.
	maxWindow = 64 << 20
	// closeWait is how long Close waits for a NATS connection that hangs.
	closeWait = time.Second
)

// Config says how connections behave. The zero value is usable.
type Config struct {
	// Window is how many bytes may be under way to this side, and so the memory that a
	// connection may take. 256 KiB if 0; otherwise 4 KiB to 64 MiB.
	Window int
	// Connections is the most connections of a Listener, those not accepted yet among
	// them; further ones are refused. 64 if 0.
	Connections int
	// KeepAlive is the time between pings. 5 s if 0. Both sides should have the same.
	KeepAlive time.Duration
	// Silence is the time after which a peer from which nothing came is gone, and how long
	// Dial waits for an answer. Three times KeepAlive if 0.
	Silence time.Duration
}

func (c Config) withDefaults() (Config, error) {
	c.Window = cmp.Or(c.Window, 256<<10)
	c.Connections = cmp.Or(c.Connections, 64)
	c.KeepAlive = cmp.Or(c.KeepAlive, 5*time.Second)
	c.Silence = cmp.Or(c.Silence, 3*c.KeepAlive)
	var faults []error
	if c.Window < minWindow || c.Window > maxWindow {
		faults = append(faults, fmt.Errorf("natsconn: a window of %d bytes; want %d to %d", c.Window, minWindow, maxWindow))
	}
	if c.Connections < 0 {
		faults = append(faults, fmt.Errorf("natsconn: %d connections; want 1 or more", c.Connections))
	}
	if c.KeepAlive < 0 {
		faults = append(faults, fmt.Errorf("natsconn: a ping every %v; want more than 0", c.KeepAlive))
	}
	if c.Silence <= c.KeepAlive {
		faults = append(faults, fmt.Errorf("natsconn: gone after a silence of %v; want more than the %v between pings", c.Silence, c.KeepAlive))
	}
	return c, errors.Join(faults...)
}

// Addr is one end of a connection: a subject.
type Addr string

// Network returns "nats".
func (Addr) Network() string { return "nats" }

func (a Addr) String() string { return string(a) }

// inboxAddr is the address of an inbox, without the part that makes it a secret: addresses
// are logged.
func inboxAddr(inbox string) Addr { return Addr(inbox[:strings.LastIndexByte(inbox, '.')]) }
