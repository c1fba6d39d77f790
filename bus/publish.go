package bus

import (
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/segd/segd/bus/segdv1"
)

// buffers holds encoding buffers: nats.go copies what it is given.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// PublishMask publishes mf. It sets mf.Site, and mf.PublishTime when that is
// nil, and keeps nothing of mf.
//
// It does not wait for the server. An error means that mf went nowhere: a bad
// name (ErrName), a foreign site, a message beyond the server's limit, a full
// reconnect buffer (nats.ErrReconnectBufExceeded), no connection so far
// (ErrNotConnected), or a closed Bus (ErrClosed). So do PublishEvent's and
// PublishStatus's.
func (b *Bus) PublishMask(mf *segdv1.MaskFrame) error {
	if mf.PublishTime == nil {
		mf.PublishTime = timestamppb.Now()
	}
	return b.publish(KindMask, mf, &mf.Site, mf.Camera)
}

// PublishEvent publishes e, which subscribers get at once and the site's
// JetStream stream keeps. It sets e.Site, and e.Time when that is nil.
func (b *Bus) PublishEvent(e *segdv1.Event) error {
	if e.Time == nil {
		e.Time = timestamppb.Now()
	}
	return b.publish(KindEvent, e, &e.Site, e.Camera)
}

// PublishStatus publishes st. It sets st.Site, and st.Time when that is nil.
func (b *Bus) PublishStatus(st *segdv1.Status) error {
	if st.Time == nil {
		st.Time = timestamppb.Now()
	}
	return b.publish(KindStatus, st, &st.Site, st.Camera)
}

func (b *Bus) publish(kind Kind, m proto.Message, site *string, camera string) error {
	if *site != "" && *site != b.cfg.Site {
		return fmt.Errorf("bus: publish %s: site %q, want %q or none", kind, *site, b.cfg.Site)
	}
	*site = b.cfg.Site
	subject, err := Subject(b.cfg.Site, camera, kind)
	if err != nil {
		return fmt.Errorf("bus: publish %s: %w", kind, err)
	}
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	*buf, err = marshal((*buf)[:0], m, b.cfg.JSON)
	if err != nil {
		return fmt.Errorf("bus: publish %s: %w", subject, err)
	}
	err = b.conn.PublishMsg(&nats.Msg{
		Subject: subject,
		Header:  nats.Header{headerContentType: {contentType(m, b.cfg.JSON)}},
		Data:    *buf,
	})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrConnectionDraining):
		err = ErrClosed
	case errors.Is(err, nats.ErrHeadersNotSupported) && !b.conn.IsConnected():
		err = ErrNotConnected // nats.go knows nothing of the server yet, headers included
	case errors.Is(err, nats.ErrMaxPayload):
		err = fmt.Errorf("%d bytes, the server takes %d: %w", len(*buf), b.conn.MaxPayload(), err)
	}
	return fmt.Errorf("bus: publish %s: %w", subject, err)
}
