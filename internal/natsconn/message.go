package natsconn

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/nats-io/nats.go"
)

// Kinds of messages.
const (
	kindData  = 'd'
	kindGrant = 'g'
	kindPing  = 'p'
	kindClose = 'c'
	kindReset = 'r'
)

const (
	headerSize = 9
	// maxReason bounds the text of a reset or a refusal.
	maxReason = 200
	// version is that of the protocol; peers of another are refused.
	version = 1
	// maxHello bounds a request to open, and the answer.
	maxHello = 4 << 10
	// maxInbox bounds the name of an inbox.
	maxInbox = 512
)

// header appends the header of a message.
func header(b []byte, kind byte, number uint64) []byte {
	return binary.BigEndian.AppendUint64(append(b, kind), number)
}

// hello is a request to open a connection and its answer.
type hello struct {
	Version int `json:"version"`
	// Window is how many bytes the sender of this takes before it grants more.
	Window int `json:"window,omitempty"`
	// Inbox is where the sender of this takes messages.
	Inbox string `json:"inbox,omitempty"`
	// Refused says, in an answer, why there is no connection.
	Refused string `json:"refused,omitempty"`
	// Full says that there are as many connections as may be, which is why.
	Full bool `json:"full,omitempty"`
}

func (h hello) marshal() []byte {
	h.Version = version
	b, err := json.Marshal(h)
	if err != nil {
		panic(err) // numbers and texts
	}
	return b
}

// errRefused is what a listener said.
var errRefused = errors.New("refused")

// ErrFull is why Dial fails when the listener has as many connections as it may have (Config.Connections).
var ErrFull = errors.New("there are as many connections as may be")

// parseHello returns a hello that is fit to open a connection with.
func parseHello(data []byte) (hello, error) {
	var h hello
	if len(data) > maxHello {
		return h, fmt.Errorf("%d bytes; want at most %d", len(data), maxHello)
	}
	if err := json.Unmarshal(data, &h); err != nil {
		return h, err
	}
	if h.Full {
		return h, fmt.Errorf("%w: %w", errRefused, ErrFull)
	}
	if h.Refused != "" {
		return h, fmt.Errorf("%w: %s", errRefused, reason(h.Refused))
	}
	if h.Version != version {
		return h, fmt.Errorf("version %d; want %d", h.Version, version)
	}
	if h.Window < minWindow || h.Window > maxWindow {
		return h, fmt.Errorf("a window of %d bytes; want %d to %d", h.Window, minWindow, maxWindow)
	}
	if !validInbox(h.Inbox) {
		return h, errors.New("an inbox that is none; want PREFIX." + inboxToken + ".TOKEN")
	}
	return h, nil
}

// inboxToken marks subjects that take the messages of connections.
const inboxToken = "natsconn"

// newInbox returns a subject that nobody can guess. What nc.NewInbox returns is not that:
// the next one follows from the last.
func newInbox(nc *nats.Conn) string { return nc.NewInbox() + "." + inboxToken + "." + rand.Text() }

// validInbox tells whether a peer may have us publish there.
func validInbox(subject string) bool {
	tokens := strings.Split(subject, ".")
	n := len(tokens)
	if n < 3 || tokens[n-2] != inboxToken || len(subject) > maxInbox {
		return false
	}
	for _, token := range tokens {
		if token == "" || token == "*" || token == ">" {
			return false
		}
	}
	return !strings.ContainsFunc(subject, func(r rune) bool { return r <= ' ' || r >= unicode.MaxASCII })
}

// reason makes a text of a peer's fit for a log.
func reason(text string) string {
	text = text[:min(len(text), maxReason)]
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}
