package bus

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/bus/segdv1"
)

// ErrRejected is in the chain of the error when segd answered a request and did not
// do what it asked for.
var ErrRejected = errors.New("bus: rejected")

const (
	requestTimeout = 15 * time.Second // above the service's own commandTimeout
	// watchQueue is how many messages wait for Watch's handlers before further
	// ones are lost: some minutes of one camera.
	watchQueue      = 4096
	discoverTimeout = 300 * time.Millisecond // for every segd to tell its cameras
	// hearTimeout is for every segd to publish a status of each of its cameras, which it does once a second.
	hearTimeout = 1800 * time.Millisecond
)

// Handlers are what Watch calls, all from the goroutine that called Watch, one
// at a time. Each may be nil: messages of its kind are then skipped.
type Handlers struct {
	Mask   func(*segdv1.MaskFrame)
	Event  func(*segdv1.Event)
	Status func(*segdv1.Status)

	// Ready is called once, when the subscription is in place.
	Ready func()
	// Unserved is called once, within 2 s of that, if nothing of what is watched has come and no segd publishes the status
	// of a camera that is watched. It gets the cameras whose status is published. It is not called where the NATS server
	// does not let this user hear statuses. Nil: it is logged, by slog's default where Logger is nil.
	Unserved func(served []Served)
	// Bad is called with the subject and the error of a message that cannot be
	// decoded (ErrMessage) and was skipped, with that of a frame whose objects were not all
	// handed to Mask (ErrObjects), and with nats.ErrSlowConsumer when
	// messages were lost because the handlers do not keep up.
	Bad func(subject string, err error)

	// Logger hears when the connection is lost and comes back; nil discards.
	Logger *slog.Logger
}

// Watch subscribes at the NATS server url to target, a camera's name or a
// subject as Pattern has it, and calls h with each message until ctx ends, whose
// error it returns. The server must be there at the start; later Watch connects
// again for ever. access is what the server wants to see, at most one.
func Watch(ctx context.Context, url, target string, h Handlers, access ...Access) error {
	subject, err := Pattern(target)
	if err != nil {
		return err
	}
	log := cmp.Or(h.Logger, slog.New(slog.DiscardHandler))
	nc, err := dial(url, "segd watch", access,
		nats.MaxReconnects(-1),
		nats.IgnoreAuthErrorAbort(),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectJitter, reconnectJitter),
		nats.PingInterval(pingInterval),
		nats.PermissionErrOnSubscribe(true),
		nats.SyncQueueLen(watchQueue),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("nats connection lost, trying again", "err", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			log.Info("nats connected", "url", Redact(nc.ConnectedUrl()))
		}),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {
			// NextMsg returns the same; this keeps nats.go from printing it.
		}),
	)
	if err != nil {
		return err
	}
	defer nc.Close()
	sub, err := nc.SubscribeSync(subject)
	if err != nil {
		return fmt.Errorf("bus: watch %s: %w", subject, err)
	}
	if err := nc.FlushTimeout(dialTimeout); err != nil {
		return fmt.Errorf("bus: watch %s: %w", subject, err)
	}
	if h.Ready != nil {
		h.Ready()
	}
	if h.Unserved == nil {
		log := cmp.Or(h.Logger, slog.Default())
		h.Unserved = func(served []Served) {
			log.Warn("no segd serves what is watched; it is waited for", "watched", target, "served", Named(served))
		}
	}
	looking, looked := context.WithCancel(ctx)
	var list []Served
	var unserved bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer looked()
		list, unserved = published(looking, nc, subject)
	}()
	defer func() {
		looked()
		<-done
	}()
	heard := false
	for wait := looking; ; {
		msg, err := sub.NextMsgWithContext(wait)
		switch {
		case err == nil:
			heard = true
			h.take(msg)
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, context.Canceled):
			<-done
			if wait = ctx; unserved && !heard {
				h.Unserved(list)
			}
		case errors.Is(err, nats.ErrSlowConsumer):
			if h.Bad != nil {
				h.Bad(subject, err)
			}
		default:
			return fmt.Errorf("bus: watch %s: %w", subject, err)
		}
	}
}

// published lists the cameras of which a status comes within hearTimeout. unserved says that subject is of none of them;
// it is false where the NATS server does not let this user hear statuses.
func published(ctx context.Context, nc *nats.Conn, subject string) (list []Served, unserved bool) {
	ctx, cancel := context.WithTimeout(ctx, hearTimeout)
	defer cancel()
	sub, err := nc.SubscribeSync(prefix + ".*.*." + string(KindStatus))
	if err != nil {
		return nil, false
	}
	defer func() { _ = sub.Unsubscribe() }() // of a connection that is lost it is gone
	if nc.FlushWithContext(ctx) != nil {     // after it, a denial is known
		return nil, false
	}
	for {
		msg, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			slices.SortFunc(list, func(a, b Served) int { return strings.Compare(a.String(), b.String()) })
			return list, errors.Is(err, context.DeadlineExceeded)
		}
		tokens := strings.Split(msg.Subject, ".")
		s := Served{tokens[2], tokens[3]}
		if s.matches(subject) {
			return nil, false
		}
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
}

// Hear calls h with the events and statuses of the site's cameras, those of other segd too, until stop is called. It
// uses the connection of the Bus, and h is not to block.
func (b *Bus) Hear(h Handlers) (stop func(), err error) {
	var subs []*nats.Subscription
	stop = func() {
		for _, sub := range subs {
			_ = sub.Unsubscribe() // a connection that is lost has none
		}
	}
	for _, kind := range []Kind{KindEvent, KindStatus} {
		sub, err := b.conn.Subscribe(prefix+"."+b.cfg.Site+".*."+string(kind), h.take)
		if err != nil {
			stop()
			return nil, fmt.Errorf("bus: hear %s: %w", kind, err)
		}
		subs = append(subs, sub)
	}
	return stop, nil
}

// take hands msg to whom it is for.
func (h *Handlers) take(msg *nats.Msg) {
	if err := h.dispatch(msg); err != nil && h.Bad != nil {
		h.Bad(msg.Subject, err)
	}
}

// dispatch decodes msg and calls the handler of its kind.
func (h *Handlers) dispatch(msg *nats.Msg) error {
	switch kind := kindOf(msg.Subject); {
	case kind == KindMask:
		return handle(msg, h.Mask, new(segdv1.MaskFrame))
	case kind == KindEvent:
		return handle(msg, h.Event, new(segdv1.Event))
	case kind == KindStatus:
		return handle(msg, h.Status, new(segdv1.Status))
	case kind.isRequest(), kind == kindClaim, kind == kindForgotten: // to segd, and a wildcard let it through
		return nil
	default:
		return fmt.Errorf("%w: subject %s, want one that ends in %s, %s or %s",
			ErrMessage, msg.Subject, KindMask, KindEvent, KindStatus)
	}
}

func handle[M proto.Message](msg *nats.Msg, f func(M), m M) error {
	if f == nil {
		return nil
	}
	err := Unmarshal(msg.Header.Get(headerContentType), msg.Data, m)
	if err == nil || errors.Is(err, ErrObjects) {
		f(m)
	}
	return err
}

// Dial tries whether the NATS server url is there and lets us in; access is as
// Watch has it. small says what the server is set to be too small for; "": nothing.
func Dial(ctx context.Context, url string, access ...Access) (small string, err error) {
	nc, err := dial(url, "segd check", access)
	if err != nil {
		return "", err
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if err := nc.FlushWithContext(ctx); err != nil {
		return "", fmt.Errorf("bus: NATS server %s: %w", Redact(url), err)
	}
	return smallPayload(nc), nil
}

// usualPayload is what a NATS server takes in one message unless it is told otherwise. Few of segd's messages are larger.
const usualPayload = 1 << 20

// smallPayload says what a server does not take that is set to take less than usual; "": it is not.
func smallPayload(nc *nats.Conn) string {
	most := nc.MaxPayload()
	if most <= 0 || most >= usualPayload {
		return ""
	}
	return fmt.Sprintf("its max_payload is %d bytes: it refuses masks, events, status, annotations and answers that are larger; want %d or more", most, usualPayload)
}

// dial connects to url once.
func dial(url, name string, access []Access, opts ...nats.Option) (*nats.Conn, error) {
	if err := checkURL(url); err != nil {
		return nil, err
	}
	for _, a := range access {
		shown, err := a.options()
		if err != nil {
			return nil, err
		}
		opts = append(opts, shown...)
	}
	nc, err := nats.Connect(url, append(opts, nats.Name(name), nats.Timeout(dialTimeout))...)
	if err != nil {
		return nil, fmt.Errorf("bus: connect to NATS server %s: %w", Redact(url), err)
	}
	return nc, nil
}

// Served is a camera that a segd serves.
type Served struct{ Site, Camera string }

func (s Served) String() string { return s.Site + "/" + s.Camera }

// Named lists cameras for people.
func Named(list []Served) string {
	if len(list) == 0 {
		return "none"
	}
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = s.String()
	}
	return strings.Join(names, ", ") + " (site/camera)"
}

// matches tells whether a subject, maybe with wildcards, is one of the camera's.
func (s Served) matches(subject string) bool {
	of := strings.Split(prefix+"."+s.Site+"."+s.Camera, ".")
	for i, token := range strings.Split(subject, ".") {
		if i == len(of) || token == ">" {
			break
		}
		if token != "*" && token != of[i] {
			return false
		}
	}
	return true
}

// Cameras lists the cameras of all segd that answer at the NATS server url; access is as Watch has it.
func Cameras(ctx context.Context, url string, access ...Access) ([]Served, error) {
	nc, err := dial(url, "segd cameras", access, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	return cameras(ctx, nc), nil
}

// cameras asks all segd for the cameras that they serve, until the time is up.
func cameras(ctx context.Context, nc *nats.Conn) (list []Served) {
	ctx, cancel := context.WithTimeout(ctx, discoverTimeout)
	defer cancel()
	subject, err := micro.ControlSubject(micro.InfoVerb, ServiceName, "")
	if err != nil {
		return nil
	}
	inbox := nc.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		return nil
	}
	defer func() { _ = sub.Unsubscribe() }() // of a connection that is lost it is gone
	if err := nc.PublishRequest(subject, inbox, nil); err != nil {
		return nil
	}
	for {
		msg, err := sub.NextMsgWithContext(ctx)
		if err != nil { // the time is up, or no segd answers
			break
		}
		var info micro.Info
		if json.Unmarshal(msg.Data, &info) != nil {
			continue // another program's service of our name
		}
		for _, e := range info.Endpoints {
			s := Served{e.Metadata[metadataSite], e.Metadata[metadataCamera]}
			if CheckName(s.Site) != nil || CheckName(s.Camera) != nil || slices.Contains(list, s) {
				continue
			}
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b Served) int { return strings.Compare(a.String(), b.String()) })
	return list
}

// served says, for people, which cameras take annotations.
func served(ctx context.Context, nc *nats.Conn) string {
	list := cameras(ctx, nc)
	if len(list) == 0 {
		return "no segd serves any camera through this NATS server"
	}
	return "want one of " + Named(list)
}
