package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/segd/segd/api"
	"github.com/segd/segd/bus/segdv1"
)

const (
	// keptTimeout bounds a request for kept events, with its wait for others.
	keptTimeout = 10 * time.Second
	// keptAtOnce are answered at a time: one takes up to a tenth of a second of a core.
	keptAtOnce = 2
	// keptBatch is how many messages are on the way from the server at a time, and batchTimeout how long they may take.
	keptBatch    = 512
	batchTimeout = 2 * time.Second
	// storedLate is how long after it happened an event may have been stored to be found by a time: it waits while the server is
	// away. clocksApart is how far the clock of who published it may be ahead of the server's.
	storedLate  = time.Hour
	clocksApart = time.Minute
)

// keptSpans are how many of the stream's messages are looked at, from the newest on, until there are enough. The first
// serves who asks for all; together they bound the work of one request.
var keptSpans = []uint64{256, 1024, 4096, 16384}

// Kept returns the events that q wants and JetStream keeps, the one stored last first. A request looks at 21,760 messages
// at most, so there may be fewer than q.Limit, or none, and yet more before: next is the Before of the request for those, 0 if there are none.
// The error wraps api.ErrNoHistory where events are not kept, api.ErrBusy where others take too long, and ErrNotConnected.
func (b *Bus) Kept(ctx context.Context, q api.Kept) (events []*segdv1.Event, next uint64, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("bus: kept events: %w", err)
		}
	}()
	if !b.conn.IsConnected() {
		return nil, 0, ErrNotConnected
	}
	ctx, cancel := context.WithTimeout(ctx, keptTimeout)
	defer cancel()
	if err := b.reading.Acquire(ctx, 1); err != nil {
		return nil, 0, fmt.Errorf("%w: %d other requests are answered", api.ErrBusy, keptAtOnce)
	}
	defer b.reading.Release(1)
	subject := ""
	if q.Camera != "" {
		if subject, err = Subject(b.cfg.Site, q.Camera, KindEvent); err != nil {
			return nil, 0, err
		}
	}
	stream, err := b.events.js.Stream(ctx, StreamName(b.cfg.Site, KindEvent))
	if err != nil {
		if errors.Is(err, jetstream.ErrStreamNotFound) || noJetStream(err) {
			err = fmt.Errorf("%w: %w", api.ErrNoHistory, err)
		}
		return nil, 0, err
	}
	first, end, err := between(ctx, stream, q)
	for i := 0; err == nil && i < len(keptSpans) && end > first; i++ {
		from := max(first, end-min(end, keptSpans[i]))
		var found []stored
		if found, err = read(ctx, stream, subject, from, end); err != nil {
			break
		}
		end = from
		for _, s := range slices.Backward(found) {
			if !wants(q, s.event) {
				continue
			}
			events = append(events, s.event)
			if len(events) == q.Limit {
				end = s.sequence
				i = len(keptSpans)
				break
			}
		}
	}
	if err != nil {
		return nil, 0, err
	}
	if end > first {
		next = end
	}
	return events, next, nil
}

// wants tells whether e is one that q wants.
func wants(q api.Kept, e *segdv1.Event) bool {
	is := func(want string, names ...string) bool { return want == "" || slices.Contains(names, want) }
	at := e.GetTime().AsTime()
	object := q.Object == "" || e.ObjectId != 0 && (strconv.FormatUint(uint64(e.ObjectId), 10) == q.Object ||
		strings.Contains(strings.ToLower(e.ObjectLabel), strings.ToLower(q.Object)))
	return object && is(q.Kind, segdv1.KindName(e.Kind)) && is(q.Class, e.ObjectClass) && is(q.Zone, e.Zone, e.Line) &&
		(q.From.IsZero() || !at.Before(q.From)) && (q.To.IsZero() || at.Before(q.To))
}

// between are the sequence numbers of the stream that q is about: from first on, and before end.
func between(ctx context.Context, stream jetstream.Stream, q api.Kept) (first, end uint64, err error) {
	state := stream.CachedInfo().State
	if state.Msgs == 0 {
		return 0, 0, nil
	}
	first, end = state.FirstSeq, state.LastSeq+1
	if q.Before > 0 {
		end = min(end, q.Before)
	}
	from, to := q.From.Add(-clocksApart), q.To.Add(storedLate)
	if !q.To.IsZero() && to.Before(state.FirstTime) || !q.From.IsZero() && from.After(state.LastTime) {
		return first, first, nil
	}
	if !q.To.IsZero() && to.Before(state.LastTime) {
		at, err := sequenceAt(ctx, stream, to, end)
		if err != nil {
			return 0, 0, err
		}
		end = min(end, at)
	}
	if !q.From.IsZero() && from.After(state.FirstTime) {
		at, err := sequenceAt(ctx, stream, from, end)
		if err != nil {
			return 0, 0, err
		}
		first = max(first, at)
	}
	return first, end, nil
}

// sequenceAt is the number of the first message that was stored then or later; end if there is none.
func sequenceAt(ctx context.Context, stream jetstream.Stream, then time.Time, end uint64) (sequence uint64, err error) {
	sequence = end
	err = each(ctx, stream, jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverByStartTimePolicy, OptStartTime: &then}, 1, func(_ jetstream.Msg, n uint64) bool {
		sequence = n
		return false
	})
	return sequence, err
}

// stored is an event and its number in the stream.
type stored struct {
	event    *segdv1.Event
	sequence uint64
}

// read returns the events on a subject, empty for all, with numbers from first on and before end. What is none is left out.
func read(ctx context.Context, stream jetstream.Stream, subject string, first, end uint64) (all []stored, err error) {
	cfg := jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: first, FilterSubject: subject}
	err = each(ctx, stream, cfg, keptBatch, func(msg jetstream.Msg, n uint64) bool {
		if n >= end {
			return false
		}
		e := new(segdv1.Event)
		if Unmarshal(msg.Headers().Get(headerContentType), msg.Data(), e) == nil {
			all = append(all, stored{e, n})
		}
		return true
	})
	return all, err
}

// each calls do with the messages of a consumer that lasts as long, and with their numbers in the stream, until it returns
// false or there are no more.
func each(ctx context.Context, stream jetstream.Stream, cfg jetstream.ConsumerConfig, batch int, do func(msg jetstream.Msg, sequence uint64) bool) error {
	cfg.AckPolicy, cfg.MemoryStorage, cfg.Replicas, cfg.InactiveThreshold = jetstream.AckNonePolicy, true, 1, keptTimeout
	c, err := stream.CreateConsumer(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), batchTimeout)
		defer cancel()
		_ = stream.DeleteConsumer(ctx, c.CachedInfo().Name) // else the server does, after InactiveThreshold
	}()
	for left := c.CachedInfo().NumPending; left > 0; {
		got, last, err := fetch(ctx, c, min(batch, int(min(left, keptBatch))), &left, do)
		switch {
		case err != nil:
			return err
		case last:
			return nil
		case got == 0:
			return fmt.Errorf("the NATS server has not sent its messages within %v: %w", batchTimeout, context.DeadlineExceeded)
		}
	}
	return nil
}

// fetch is each of one batch. left becomes how many messages the consumer has after it.
func fetch(ctx context.Context, c jetstream.Consumer, n int, left *uint64, do func(jetstream.Msg, uint64) bool) (got int, last bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel() // ends the batch, too
	batch, err := c.Fetch(n, jetstream.FetchContext(ctx))
	if err != nil {
		return 0, false, err
	}
	for msg := range batch.Messages() {
		about, err := msg.Metadata()
		if err != nil {
			return got, false, err
		}
		got++
		*left = about.NumPending
		if !do(msg, about.Sequence.Stream) {
			return got, true, nil
		}
	}
	if err := batch.Error(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return got, false, err
	}
	return got, false, nil
}
