package restream

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/bluenviron/gortsplib/v5/pkg/format/rtph264"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"
	"github.com/pion/rtp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/mask"
)

const frameTime = 40 * time.Millisecond

// frame is the n-th of a camera, grey as n says, with an object in its left half.
func frame(n, width, height int) (*segdv1.MaskFrame, []byte) {
	bits := make([]uint8, width*height)
	for i := range bits {
		if i%width < width/2 {
			bits[i] = 1
		}
	}
	return &segdv1.MaskFrame{
		Camera: "gate", Sequence: uint64(n), PtsNs: int64(n) * int64(frameTime), CaptureTime: timestamppb.New(time.Unix(int64(n), 0)),
		Width: int32(width), Height: int32(height), PixelAspect: 1,
		Objects: []*segdv1.Object{{Id: 1, Counts: mask.Encode(bits, width, height).String()}},
	}, bytes.Repeat([]byte{byte(40 + n%100)}, 3*width*height)
}

// watcher is a viewer that decodes what it gets.
type watcher struct {
	t        *testing.T
	viewer   *Viewer
	deny     bool // packets are refused
	packets  []rtp.Header
	captured []time.Time
	pictures []picture
	ended    error

	order   rtph264.Decoder
	decoder *codec.Decoder
}

type picture struct {
	width, height int
	key           bool
	aspect        float64
	left, right   [3]byte // in the middles of the halves
}

var errSlow = errors.New("slow")

func watch(t *testing.T, s *Streams, path string) *watcher {
	t.Helper()
	w := &watcher{t: t, order: rtph264.Decoder{PacketizationMode: 1}}
	var err error
	if w.decoder, err = codec.NewDecoder(codec.H264); err == nil {
		err = w.order.Init()
	}
	require.NoError(t, err)
	t.Cleanup(w.decoder.Close)
	w.viewer, err = s.Watch(RTSPProtocol, path, w.write, func(why error) { w.ended = why })
	require.NoError(t, err)
	t.Cleanup(w.viewer.Leave)
	w.viewer.Start()
	return w
}

func (w *watcher) write(p *rtp.Packet, captured time.Time) error {
	if w.deny {
		return errSlow
	}
	w.packets = append(w.packets, p.Header)
	unit, err := w.order.Decode(p)
	if errors.Is(err, rtph264.ErrMorePacketsNeeded) {
		return nil
	}
	if err != nil {
		w.t.Errorf("packet %d: %v", p.SequenceNumber, err)
		return nil
	}
	w.captured = append(w.captured, captured)
	data, err := h264.AnnexB(unit).Marshal()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.decoder.Decode(data, 0, func(p *codec.Picture) {
		bgr := make([]byte, 3*p.Width*p.Height)
		if err := p.BGR(bgr); err != nil {
			w.t.Fatal(err)
		}
		at := func(x int) (c [3]byte) {
			copy(c[:], bgr[3*(p.Height/2*p.Width+x):])
			return c
		}
		w.pictures = append(w.pictures, picture{p.Width, p.Height, p.Key, p.PixelAspect, at(p.Width / 4), at(p.Width * 3 / 4)})
	}); err != nil {
		w.t.Errorf("decoding: %v", err)
	}
	return nil
}

// keys are the indices of w's pictures that are key frames.
func (w *watcher) keys() (keys []int) {
	for i, p := range w.pictures {
		if p.key {
			keys = append(keys, i)
		}
	}
	return keys
}

func streams(t *testing.T, viewers int) *Streams {
	t.Helper()
	s := New(Config{Viewers: viewers})
	t.Cleanup(s.Close)
	s.Cameras([]string{"gate", "yard"})
	return s
}

func publish(s *Streams, from, to, width, height int) {
	for n := from; n < to; n++ {
		show(s)(frame(n, width, height))
	}
}

// A frame is encoded once for all who watch a stream, for each stream with viewers, and not at all when there
// are none. Each viewer begins with a key frame, and has the pictures with their times.
func TestOnce(t *testing.T) {
	s := streams(t, 0)
	publish(s, 0, 5, 64, 48)
	require.EqualValues(t, 0, s.Stats().Encoded, "frames were encoded for nobody")
	a := watch(t, s, "gate")
	publish(s, 5, 30, 64, 48)
	b := watch(t, s, "gate")
	publish(s, 30, 40, 64, 48)
	assert.EqualValues(t, 35, s.Stats().Encoded, "frames were encoded")
	if n := s.Stats().Viewers; n[RTSPProtocol] != 2 || n[WHEPProtocol] != 0 {
		t.Errorf("viewers: %v", n)
	}
	if len(a.pictures) != 35 || len(b.pictures) != 10 || !b.pictures[0].key {
		t.Fatalf("%d and %d pictures, want 35 and, from a key frame on, 10", len(a.pictures), len(b.pictures))
	}
	for i, h := range a.packets { // each picture is one packet or two
		if i > 0 && h.SequenceNumber != a.packets[i-1].SequenceNumber+1 {
			t.Fatalf("packet %d follows %d", h.SequenceNumber, a.packets[i-1].SequenceNumber)
		}
	}
	if first, last := a.packets[0].Timestamp, a.packets[len(a.packets)-1].Timestamp; first != 5*3600 || last != 39*3600 {
		t.Errorf("RTP times %d to %d, want those of the camera's stream, %d to %d", first, last, 5*3600, 39*3600)
	}
	if got := a.captured[34]; !got.Equal(time.Unix(39, 0)) {
		t.Errorf("the last one was captured at %v", got)
	}
	for i, p := range a.pictures {
		if want := 45 + i; math.Abs(float64(int(p.left[1])-want)) > 6 || p.left != p.right {
			t.Fatalf("picture %d is %v and %v, want %d", i, p.left, p.right, want)
		}
	}
	a.viewer.Leave()
	a.viewer.Leave()
	b.viewer.Leave()
	publish(s, 40, 45, 64, 48)
	if now := s.Stats(); now.Encoded != 35 || now.Viewers[RTSPProtocol] != 0 || now.Dropped != 0 {
		t.Errorf("after all have left: %+v", now)
	}
}

// The masks are drawn for who asks for that, and on no other viewer's pictures.
func TestOverlay(t *testing.T) {
	s := streams(t, 0)
	drawn, plain := watch(t, s, "gate/overlay"), watch(t, s, "gate")
	m, bgr := frame(0, 65, 49)
	before := bytes.Clone(bgr)
	show(s)(m, bgr)
	if !bytes.Equal(bgr, before) {
		t.Error("the pixels were changed")
	}
	assert.EqualValues(t, 2, s.Stats().Encoded, "frames were encoded")
	if p := plain.pictures[0]; p.left != p.right || p.width != 64 || p.height != 48 {
		t.Errorf("the plain picture is %+v, want it whole and even", p)
	}
	// The first colour is blue: 19c3ff.
	if p := drawn.pictures[0]; p.left[0] < 120 || p.left[2] > 60 || math.Abs(float64(p.right[0])-40) > 8 {
		t.Errorf("the picture with masks is %+v", p)
	}
	m.Objects[0].Counts = "?"
	show(s)(m, bgr)
	if len(drawn.pictures) != 2 || drawn.ended != nil {
		t.Errorf("a mask that cannot be drawn ended the stream: %v", drawn.ended)
	}
	show(s)(frame(2, 67, 51))
	if len(drawn.pictures) != 3 || len(plain.pictures) != 3 || drawn.pictures[2].width != 66 || drawn.pictures[2].height != 50 {
		t.Errorf("of another odd size: %+v", drawn.pictures[2:])
	}
}

// Who is too slow loses whole frames up to the next key frame, alone, and each is counted.
func TestSlowViewer(t *testing.T) {
	s := streams(t, 0)
	good, slow := watch(t, s, "gate"), watch(t, s, "gate")
	publish(s, 0, 10, 64, 48)
	slow.deny = true
	publish(s, 10, 11, 64, 48)
	slow.deny = false
	publish(s, 11, 60, 64, 48)
	if len(good.pictures) != 60 {
		t.Errorf("the other one has %d pictures of 60", len(good.pictures))
	}
	assert.Equal(t, []int{0, 50}, good.keys(), "key frames at")
	if n := s.Stats().Dropped; n != 40 || len(slow.pictures) != 20 {
		t.Errorf("%d frames dropped, %d seen; want 40 of 60 dropped, up to the key frame", n, len(slow.pictures))
	}
	assert.Len(t, slow.keys(), 2, "key frames at")
	// That something is missing shows in the packets' numbers, once.
	gaps := 0
	for i, h := range slow.packets[1:] {
		gaps += int(h.SequenceNumber - slow.packets[i].SequenceNumber - 1)
	}
	assert.Equal(t, 1, gaps, "packets are missing by their numbers")
}

// Key frames come when a viewer asks, but not more than two a second, however many ask.
func TestKeyFrames(t *testing.T) {
	s := streams(t, 0)
	w := watch(t, s, "gate")
	for n := range 60 {
		if n > 0 && n < 30 {
			w.viewer.KeyFrame()
		}
		show(s)(frame(n, 64, 48))
	}
	assert.Equal(t, []int{0, 13, 26, 39}, w.keys(), "key frames at")
}

// A camera whose pictures change their size, or their shape, goes on with a key frame; one whose time begins anew goes on
// in time.
func TestChanges(t *testing.T) {
	s := streams(t, 0)
	w := watch(t, s, "gate")
	publish(s, 100, 103, 64, 48)
	publish(s, 103, 106, 96, 80)
	m, bgr := frame(106, 96, 80)
	m.PixelAspect = 4. / 3
	show(s)(m, bgr)
	publish(s, 0, 2, 96, 80)
	require.NoError(t, w.ended)
	var got []string
	for _, p := range w.pictures {
		got = append(got, fmt.Sprintf("%dx%d %.2f %v", p.width, p.height, p.aspect, p.key))
	}
	want := "64x48 1.00 true|64x48 1.00 false|64x48 1.00 false|96x80 1.00 true|96x80 1.00 false|96x80 1.00 false|96x80 1.33 true|96x80 1.00 true|96x80 1.00 false"
	assert.Equal(t, want, strings.Join(got, "|"), "%q", got)
	last := uint32(0)
	for i, h := range w.packets {
		if i > 0 && (h.Timestamp < last || h.Timestamp-last > 3600) {
			t.Errorf("packet %d is at %d after %d", i, h.Timestamp, last)
		}
		last = h.Timestamp
	}
}

// There are only so many viewers, of one stream and in all.
func TestLimits(t *testing.T) {
	s := streams(t, 5)
	write := func(*rtp.Packet, time.Time) error { return nil }
	var in []*Viewer
	defer func() {
		for _, v := range in {
			v.Leave()
		}
	}()
	refused := uint64(0)
	come := func(path, want string) {
		t.Helper()
		v, err := s.Watch(WHEPProtocol, path, write, func(error) {})
		switch {
		case want == "" && err != nil:
			t.Fatal(err)
		case want == "":
			in = append(in, v)
		case !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), want):
			t.Fatalf("%s: %v, want %q", path, err, want)
		default:
			refused++
		}
	}
	for range 3 {
		come("gate", "")
	}
	for range 1000 {
		come("gate", "gate has its limit of 3")
	}
	come("gate/overlay", "")
	come("yard", "")
	come("yard/overlay", "limit of 5 (http.viewers)")
	if got := s.Stats(); got.Refused != refused || got.Viewers[WHEPProtocol] != 5 {
		t.Errorf("%+v, want %d refused", got, refused)
	}
	in[0].Leave()
	in = in[1:]
	come("gate", "")
}

// What does not exist is refused, and those who watch what goes away are told.
func TestEnds(t *testing.T) {
	s := streams(t, 0)
	for _, path := range []string{"", "street", "gate/", "gate/masks", "gate/overlay/x", strings.Repeat("x", 1000)} {
		_, err := s.Watch(RTSPProtocol, path, nil, nil)
		if !errors.Is(err, ErrNoStream) || !strings.Contains(err.Error(), `accepts CAMERA and CAMERA/overlay, of the cameras ["gate" "yard"]`) || len(err.Error()) > 300 {
			t.Errorf("%q: %v", path, err)
		}
		assert.ErrorIs(t, s.Check(path), ErrNoStream, "%q", path)
	}
	bad, stays, goes := watch(t, s, "gate"), watch(t, s, "gate/overlay"), watch(t, s, "yard")
	m, bgr := frame(0, 64, 48)
	show(s)(m, bgr)
	bad.deny = true // it is not asked any more
	m.Width = 1
	show(s)(m, bgr)
	assert.ErrorContains(t, bad.ended, "9216 bytes for 1×48", "a picture that cannot be")
	s.Cameras([]string{"gate"})
	assert.ErrorIs(t, goes.ended, ErrRemoved, "the camera is gone")
	again := watch(t, s, "gate/overlay")
	show(s)(frame(1, 64, 48))
	if len(again.pictures) != 1 || stays.ended == nil {
		t.Errorf("%d pictures after the fault", len(again.pictures))
	}
	s.Close()
	if _, err := s.Watch(RTSPProtocol, "gate", nil, nil); !errors.Is(err, ErrClosed) || !errors.Is(again.ended, ErrClosed) {
		t.Errorf("closed: %v, %v", err, again.ended)
	}
	s.Cameras([]string{"gate"})
	assert.ErrorIs(t, s.Check("gate"), ErrClosed, "a camera after the end")
}

// show sends a frame with that picture.
func show(s *Streams) func(*segdv1.MaskFrame, []byte) {
	return func(m *segdv1.MaskFrame, bgr []byte) { s.Publish(m, func() []byte { return bgr }) }
}
