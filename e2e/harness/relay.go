package harness

import (
	"sync"
	"testing"

	"github.com/bluenviron/gortsplib/v5"
	"github.com/bluenviron/gortsplib/v5/pkg/base"
	"github.com/bluenviron/gortsplib/v5/pkg/description"
	"github.com/bluenviron/gortsplib/v5/pkg/format"
	"github.com/bluenviron/gortsplib/v5/pkg/liberrors"
	"github.com/pion/rtp"
)

// Relay is an RTSP server over TCP to which programs publish and from which others
// read, packet by packet as they came. Its methods may be called from any goroutine.
type Relay struct {
	server *gortsplib.Server
	addr   string

	mu      sync.Mutex
	muted   bool   // no video passes
	user    string // that readers must be; empty: anybody
	pass    string
	streams map[string]*gortsplib.ServerStream // by path
	owners  map[*gortsplib.ServerSession]string
}

// StartRelay starts one that listens on a free port until the test ends.
func StartRelay(tb testing.TB) *Relay {
	tb.Helper()
	r := &Relay{addr: FreeAddrs(tb, 1)[0], streams: map[string]*gortsplib.ServerStream{}, owners: map[*gortsplib.ServerSession]string{}}
	r.server = &gortsplib.Server{Handler: r, RTSPAddress: r.addr}
	if err := r.server.Start(); err != nil {
		tb.Fatalf("harness: relay: %v", err)
	}
	tb.Cleanup(func() {
		r.server.Close()
		_ = r.server.Wait()
	})
	return r
}

// Addr is its host and port.
func (r *Relay) Addr() string { return r.addr }

// OnAnnounce implements gortsplib.ServerHandlerOnAnnounce.
func (r *Relay) OnAnnounce(ctx *gortsplib.ServerHandlerOnAnnounceCtx) (*base.Response, error) {
	stream := &gortsplib.ServerStream{Server: r.server, Desc: ctx.Description}
	if err := stream.Initialize(); err != nil {
		return &base.Response{StatusCode: base.StatusBadRequest}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.streams[ctx.Path], r.owners[ctx.Session] = stream, ctx.Path
	return &base.Response{StatusCode: base.StatusOK}, nil
}

// Lock lets in only readers of that name and password.
func (r *Relay) Lock(user, password string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.user, r.pass = user, password
}

// Mute lets no video pass, or lets it again. Sound passes.
func (r *Relay) Mute(muted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.muted = muted
}

// Has tells whether there is a publisher at path, such as /cam.
func (r *Relay) Has(path string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.streams[path] != nil
}

func (r *Relay) find(path string) (*base.Response, *gortsplib.ServerStream, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.streams[path]; s != nil {
		return &base.Response{StatusCode: base.StatusOK}, s, nil
	}
	return &base.Response{StatusCode: base.StatusNotFound}, nil, nil
}

// OnDescribe implements gortsplib.ServerHandlerOnDescribe.
func (r *Relay) OnDescribe(ctx *gortsplib.ServerHandlerOnDescribeCtx) (*base.Response, *gortsplib.ServerStream, error) {
	r.mu.Lock()
	user, pass := r.user, r.pass
	r.mu.Unlock()
	if user != "" && !ctx.Conn.VerifyCredentials(ctx.Request, user, pass) {
		return &base.Response{StatusCode: base.StatusUnauthorized}, nil, liberrors.ErrServerAuth{}
	}
	return r.find(ctx.Path)
}

// OnSetup implements gortsplib.ServerHandlerOnSetup.
func (r *Relay) OnSetup(ctx *gortsplib.ServerHandlerOnSetupCtx) (*base.Response, *gortsplib.ServerStream, error) {
	if ctx.Session.State() == gortsplib.ServerSessionStatePreRecord {
		return &base.Response{StatusCode: base.StatusOK}, nil, nil
	}
	return r.find(ctx.Path)
}

// OnPlay implements gortsplib.ServerHandlerOnPlay.
func (r *Relay) OnPlay(*gortsplib.ServerHandlerOnPlayCtx) (*base.Response, error) {
	return &base.Response{StatusCode: base.StatusOK}, nil
}

// OnRecord implements gortsplib.ServerHandlerOnRecord.
func (r *Relay) OnRecord(ctx *gortsplib.ServerHandlerOnRecordCtx) (*base.Response, error) {
	resp, stream, err := r.find(ctx.Path)
	if stream != nil {
		ctx.Session.OnPacketRTPAny(func(m *description.Media, _ format.Format, p *rtp.Packet) {
			r.mu.Lock()
			stop := r.muted && m.Type == description.MediaTypeVideo
			r.mu.Unlock()
			if !stop {
				_ = stream.WritePacketRTP(m, p) // it is closing
			}
		})
	}
	return resp, err
}

// OnStreamWriteError implements gortsplib.ServerHandlerOnStreamWriteError: a reader
// that reads nothing is part of some faults.
func (r *Relay) OnStreamWriteError(*gortsplib.ServerHandlerOnStreamWriteErrorCtx) {}

// OnSessionClose implements gortsplib.ServerHandlerOnSessionClose.
func (r *Relay) OnSessionClose(ctx *gortsplib.ServerHandlerOnSessionCloseCtx) {
	r.mu.Lock()
	path, published := r.owners[ctx.Session]
	stream := r.streams[path]
	delete(r.owners, ctx.Session)
	if published {
		delete(r.streams, path)
	}
	r.mu.Unlock()
	if published {
		stream.Close()
	}
}
