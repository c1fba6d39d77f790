package restream

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bluenviron/gortsplib/v5/pkg/format/rtph264"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"
	"github.com/pion/rtp"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/outputs/draw"
)

const (
	// keyEvery is the most time between two key frames, and keyLeast the least, however many ask for one.
	keyEvery = 2 * time.Second
	keyLeast = 500 * time.Millisecond

	// quality is x264's CRF.
	quality = 23
	// maxRatePerPixel bounds the bit rate, in bits a second for each pixel: 1080p has at most 12 Mbit/s.
	maxRatePerPixel = 6

	clockRate   = 90_000 // of RTP, as of all video
	payloadType = 96
	// payloadSize leaves room in 1200 bytes, which all networks pass, for the headers of RTP and SRTP.
	payloadSize = 1200 - 12 - 16
)

// stream is one camera's, as one kind.
type stream struct {
	of      *Streams
	path    string
	overlay bool
	started atomic.Int32 // how many viewers, readable without mu

	mu        sync.Mutex // guards what follows
	viewers   map[*Viewer]struct{}
	closed    error          // why it is; nil: it is not
	encoder   *codec.Encoder // nil: no viewers
	shape     shape          // of what it encodes
	packetise rtph264.Encoder
	canvas    []byte
	wanted    bool          // a viewer waits for a key frame
	keyed     time.Duration // stream time of the last one
	last      time.Duration // stream time of the last frame
	shift     time.Duration // added to the camera's, whose time begins anew with each of its starts
}

// shape is what an encoder is made for.
type shape struct {
	width, height int
	aspect        float64 // of a pixel
}

func newStream(of *Streams, path string, overlay bool) *stream {
	return &stream{of: of, path: path, overlay: overlay, viewers: map[*Viewer]struct{}{}}
}

func (st *stream) add(v *Viewer, most int) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	switch {
	case st.closed != nil:
		return st.closed
	case len(st.viewers) >= most:
		st.of.refused.Add(1)
		return fmt.Errorf("%w: %s has its limit of %d, half of http.viewers", ErrFull, st.path, most)
	}
	st.viewers[v] = struct{}{}
	return nil
}

// publish encodes a frame, if anybody watches, and sends it to all who do.
func (st *stream) publish(m *segdv1.MaskFrame, bgr func() []byte) {
	if st.started.Load() == 0 {
		return
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.started.Load() == 0 {
		return
	}
	packets, key, err := st.encode(m, bgr())
	if err != nil {
		st.endAll(err) // there will be others, who are told too
		return
	}
	st.of.encoded.Add(1)
	captured := m.GetCaptureTime().AsTime()
	for v := range st.viewers {
		if !v.send(packets, key, captured) {
			st.of.dropped.Add(1)
		}
	}
}

// encode returns the packets of a frame, and whether it is a key frame.
func (st *stream) encode(m *segdv1.MaskFrame, bgr []byte) (packets []*rtp.Packet, key bool, err error) {
	width, height := int(m.GetWidth()), int(m.GetHeight())
	if width < 2 || height < 2 || len(bgr) != 3*width*height {
		return nil, false, fmt.Errorf("restream: picture of %d bytes for %d×%d; accepts tight BGR, 3 bytes a pixel", len(bgr), width, height)
	}
	if st.overlay {
		st.canvas = append(st.canvas[:0], bgr...)
		bgr = st.canvas
		if err := draw.BGR(bgr, width, height).Masks(m); errors.Is(err, draw.ErrMask) {
			st.of.cfg.Logger.Debug("an object is left out of a stream", "stream", st.path, "error", err)
		} else if err != nil {
			return nil, false, err
		}
	}
	now := time.Duration(m.GetPtsNs()) + st.shift
	if st.encoder != nil && now <= st.last {
		const frame = time.Second / 25
		st.shift += st.last + frame - now
		now = st.last + frame
	}
	is := shape{width, height, m.GetPixelAspect()}
	fresh := st.encoder == nil || st.shape != is
	if fresh {
		if err := st.open(is); err != nil {
			return nil, false, err
		}
	}
	st.last = now
	if key = fresh || now-st.keyed >= keyEvery || st.wanted && now-st.keyed >= keyLeast; key {
		st.wanted, st.keyed = false, now
	}
	coded, err := st.encoder.BGR(st.even(bgr, width, height), key)
	if err != nil {
		return nil, false, err
	}
	for _, c := range coded { // one: the encoder has no delay
		var units h264.AnnexB
		if err := units.Unmarshal(c.Data); err != nil {
			return nil, false, fmt.Errorf("restream: %w", err)
		}
		if packets, err = st.packetise.Encode(units); err != nil {
			return nil, false, fmt.Errorf("restream: %w", err)
		}
	}
	for _, p := range packets {
		p.Timestamp = rtpTime(now)
	}
	return packets, key, nil
}

// rtpTime is the camera's stream time on the clock of RTP, by which a picture is found to be that of a MaskFrame.
func rtpTime(at time.Duration) uint32 {
	return uint32(uint64(at/time.Second)*clockRate + uint64(at%time.Second)*clockRate/uint64(time.Second))
}

// open makes an encoder for pictures of another shape. Who watches learns of it by the key frame it begins with.
func (st *stream) open(is shape) (err error) {
	st.stop()
	width, height := is.width&^1, is.height&^1
	if st.encoder, err = codec.NewEncoder(codec.EncoderConfig{
		Width: width, Height: height, PixelAspect: is.aspect, BT709: height >= 720,
		CRF: quality, MaxRate: maxRatePerPixel * width * height, GOP: 1 << 20, // key frames are asked for
	}); err != nil {
		return err
	}
	st.shape = is
	st.packetise = rtph264.Encoder{PayloadType: payloadType, PayloadMaxSize: payloadSize, PacketizationMode: 1}
	return st.packetise.Init()
}

// even cuts off the last row and the last column of a picture where they make its sides odd, which H.264 cannot have.
func (st *stream) even(bgr []byte, width, height int) []byte {
	bgr = bgr[:3*width*(height&^1)]
	if width%2 == 0 {
		return bgr
	}
	if !st.overlay { // else it is our own already
		st.canvas = append(st.canvas[:0], bgr...)
		bgr = st.canvas
	}
	row := 3 * (width - 1)
	for y := range height &^ 1 {
		copy(bgr[y*row:(y+1)*row], bgr[3*width*y:])
	}
	return bgr[:row*(height&^1)]
}

// stop gives back what encoding takes.
func (st *stream) stop() {
	if st.encoder != nil {
		st.encoder.Close()
		st.encoder, st.canvas = nil, nil
	}
}

// close ends the viewers and lets no other in.
func (st *stream) close(why error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.closed = why
	st.endAll(why)
}

// endAll tells the viewers that the stream ends. Each leaves by itself.
func (st *stream) endAll(why error) {
	for v := range st.viewers {
		if !v.ended {
			v.ended = true
			st.halt(v)
			v.end(why)
		}
	}
}

// halt sends v nothing more.
func (st *stream) halt(v *Viewer) {
	if !v.started {
		return
	}
	v.started = false
	if st.started.Add(-1) == 0 {
		st.stop()
		st.shift = 0
	}
}

// Viewer is one who watches a stream. Leave must be called.
type Viewer struct {
	stream   *stream
	protocol string
	write    func(*rtp.Packet, time.Time) error
	end      func(error)

	// Guarded by the stream's mu.
	started, ended, left bool
	began                bool // it has had a key frame
	whole                bool // and all frames since the last one
	sequence             uint16
}

// Start has packets come, from a key frame on.
func (v *Viewer) Start() {
	st := v.stream
	st.mu.Lock()
	defer st.mu.Unlock()
	if v.ended || v.left || v.started {
		return
	}
	v.started = true
	st.wanted = true
	st.started.Add(1)
	st.of.cfg.Logger.Info("a viewer watches", "stream", st.path, "protocol", v.protocol)
}

// KeyFrame asks for a key frame, which comes with one of the next frames.
func (v *Viewer) KeyFrame() {
	v.stream.mu.Lock()
	defer v.stream.mu.Unlock()
	v.stream.wanted = true
}

// Leave ends it: write is not called any more. It may be called more than once.
func (v *Viewer) Leave() {
	st := v.stream
	st.mu.Lock()
	left, watched := v.left, v.began
	v.left, v.ended = true, true
	delete(st.viewers, v)
	st.halt(v)
	st.mu.Unlock()
	if left {
		return
	}
	st.of.leave(v.protocol)
	st.of.cfg.Logger.Info("a viewer left", "stream", st.path, "protocol", v.protocol, "watched", watched)
}

// send returns false if v was too slow for the frame. What it has of it is of no use then, nor is what comes before the
// next key frame.
func (v *Viewer) send(packets []*rtp.Packet, key bool, captured time.Time) bool {
	if !v.started {
		return true
	}
	if !v.whole && !key {
		return !v.began
	}
	v.began, v.whole = true, true
	for _, p := range packets {
		p.SequenceNumber = v.sequence
		v.sequence++ // of one that is lost, too: it is to show
		if v.write(p, captured) != nil {
			v.whole = false
			return false
		}
	}
	return true
}
