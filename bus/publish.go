package bus

import (
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/segd/segd/bus/segdv1"
)

// A draft is a message while it is published: nats.go copies what it is given.
type draft struct {
	nats.Msg
	contentType, id [1]string // what its header has
}

var drafts = sync.Pool{New: func() any { return &draft{Msg: nats.Msg{Header: nats.Header{}}} }}

// address says what d is, for whom, and by which id, "" for none.
func (d *draft) address(subject, contentType, id string) {
	d.Subject, d.Reply, d.contentType[0], d.id[0] = subject, "", contentType, id
	d.Header[headerContentType] = d.contentType[:]
	delete(d.Header, nats.MsgIdHdr)
	if id != "" {
		d.Header[nats.MsgIdHdr] = d.id[:]
	}
}

// PublishMask publishes mf. It sets mf.Site, and mf.PublishTime when that is
// nil, and keeps nothing of mf.
//
// It does not wait for the server. An error means that mf went nowhere: a bad
// name (ErrName), a foreign site, a message beyond the server's limit, a full
// reconnect buffer (nats.ErrReconnectBufExceeded), no connection so far
// (ErrNotConnected), or a closed Bus (ErrClosed). So does PublishStatus's.
//
// Its Nats-Msg-Id names the run of segd, the camera, the lease and the frame, so that a
// JetStream stream keeps it once.
func (b *Bus) PublishMask(mf *segdv1.MaskFrame) error {
	if mf.PublishTime == nil {
		mf.PublishTime = timestamppb.Now()
	}
	id := append(append(append(make([]byte, 0, 128), b.run...), '.'), mf.Camera...)
	id = strconv.AppendUint(append(append(id, '.'), leased(mf.Lease)...), mf.Sequence, 10)
	return b.publish(KindMask, mf, &mf.Site, mf.Camera, string(id))
}

// PublishEvent publishes e, which subscribers get and the site's JetStream stream
// keeps. It sets e.Site, and e.Time when that is nil.
//
// It does not wait for the server: e waits in a queue, with or without a
// connection, until the stream has acknowledged it. So the error is ErrFull where
// PublishMask's is about the connection; e then goes out live if there is one and
// it is e's turn, and is not kept. The others are PublishMask's.
func (b *Bus) PublishEvent(e *segdv1.Event) error {
	if e.Time == nil {
		e.Time = timestamppb.Now()
	}
	return b.publish(KindEvent, e, &e.Site, e.Camera, b.run+".event."+leased(e.Lease)+strconv.FormatUint(b.count.Add(1), 10))
}

// leased is a lease as a part of a message's id.
func leased(token uint64) string {
	if token == 0 {
		return ""
	}
	return "lease" + strconv.FormatUint(token, 10) + "."
}

// PublishStatus publishes st. It sets st.Site, and st.Time when that is nil.
func (b *Bus) PublishStatus(st *segdv1.Status) error {
	if st.Time == nil {
		st.Time = timestamppb.Now()
	}
	return b.publish(KindStatus, st, &st.Site, st.Camera, "")
}

func (b *Bus) publish(kind Kind, m proto.Message, site *string, camera, id string) (err error) {
	defer func() {
		if err != nil {
			b.losses.add(kind, reasonOf(err), 1)
		}
	}()
	if *site != "" && *site != b.cfg.Site {
		return fmt.Errorf("bus: publish %s: site %q, want %q or none", kind, *site, b.cfg.Site)
	}
	*site = b.cfg.Site
	subject, err := Subject(b.cfg.Site, camera, kind)
	if err != nil {
		return fmt.Errorf("bus: publish %s: %w", kind, err)
	}
	if kind == KindEvent { // which waits in a queue
		d := &draft{Msg: nats.Msg{Header: nats.Header{}}}
		d.address(subject, contentType(m, b.cfg.JSON), id)
		err = b.publishEvent(&d.Msg, m)
	} else {
		d := drafts.Get().(*draft)
		d.address(subject, contentType(m, b.cfg.JSON), id)
		err = b.publishLive(kind, &d.Msg, m)
		drafts.Put(d)
	}
	if err != nil {
		return fmt.Errorf("bus: publish %s: %w", subject, err)
	}
	return nil
}

// publishLive hands msg to nats.go, which sends it once, with m in msg's memory.
func (b *Bus) publishLive(kind Kind, msg *nats.Msg, m proto.Message) (err error) {
	if msg.Data, err = marshal(msg.Data[:0], m, b.cfg.JSON); err != nil {
		return err
	}
	acks := b.acks.Load()
	tracked := acks != nil && kind == KindMask
	var n uint64
	if tracked {
		n, msg.Reply = acks.expect()
	}
	err = b.conn.PublishMsg(msg)
	if tracked && err != nil {
		acks.forget(n)
	}
	switch {
	case err == nil:
		if !tracked {
			b.flight.add(kind)
		}
		if !b.conn.IsConnected() {
			b.unsent.add(b.conn.Stats().Reconnects)
		}
	case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrConnectionDraining):
		err = ErrClosed
	case errors.Is(err, nats.ErrHeadersNotSupported) && !b.conn.IsConnected():
		err = ErrNotConnected // nats.go knows nothing of the server yet, headers included
	case errors.Is(err, nats.ErrMaxPayload):
		err = tooLarge(len(msg.Data), b.conn.MaxPayload(), err)
	}
	return err
}

// publishEvent queues msg until it is stored.
func (b *Bus) publishEvent(msg *nats.Msg, m proto.Message) (err error) {
	if msg.Data, err = marshal(nil, m, b.cfg.JSON); err != nil {
		return err
	}
	// One that the server never takes would hold up those behind it.
	if most := b.conn.MaxPayload(); most > 0 && int64(msg.Size()) > most {
		return tooLarge(len(msg.Data), most, nats.ErrMaxPayload)
	}
	return b.events.put(msg)
}

func tooLarge(size int, most int64, err error) error {
	return fmt.Errorf("%d bytes, the server takes %d: %w", size, most, err)
}
