package demo

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"

	"github.com/bluenviron/gortsplib/v5"
	"github.com/bluenviron/gortsplib/v5/pkg/base"
	"github.com/bluenviron/gortsplib/v5/pkg/format"
	"github.com/bluenviron/gortsplib/v5/pkg/liberrors"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/internal/waitfor"
)

var testClip = codec.EncoderConfig{Width: 64, Height: 48, FPS: 50, GOP: 4}

func newServer(t *testing.T, cfg Config, start, frames int) *Server {
	t.Helper()
	c, err := NewClip(testClip, smallPackets(t, testClip, frames))
	require.NoError(t, err)
	c.Start = start
	s, err := NewServer(c, cfg)
	require.NoError(t, err)
	require.NoError(t, s.Start())
	t.Cleanup(s.Close)
	return s
}

type sample struct {
	au    [][]byte
	ticks uint32
}

// client plays the server's stream into channels until the test ends.
func client(t *testing.T, address string, proto gortsplib.Protocol) (<-chan sample, <-chan *rtcp.SenderReport, error) {
	t.Helper()
	u, err := base.ParseURL(address)
	require.NoError(t, err)
	c := &gortsplib.Client{Scheme: u.Scheme, Host: u.Host, Protocol: &proto}
	require.NoError(t, c.Start())
	t.Cleanup(c.Close)
	desc, _, err := c.Describe(u)
	if err != nil {
		return nil, nil, err
	}
	var f *format.H264
	media := desc.FindFormat(&f)
	if media == nil || len(f.SPS) == 0 || len(f.PPS) == 0 {
		t.Fatalf("description has no H.264 with parameter sets: %+v", desc)
	}
	dec, err := f.CreateDecoder()
	require.NoError(t, err)
	if _, err := c.Setup(desc.BaseURL, media, 0, 0); err != nil {
		return nil, nil, err
	}
	samples := make(chan sample, 1000)
	reports := make(chan *rtcp.SenderReport, 10)
	c.OnPacketRTP(media, f, func(p *rtp.Packet) {
		if au, err := dec.Decode(p); err == nil {
			samples <- sample{au, p.Timestamp}
		}
	})
	c.OnPacketRTCP(media, func(p rtcp.Packet) {
		if sr, ok := p.(*rtcp.SenderReport); ok {
			reports <- sr
		}
	})
	_, err = c.Play(nil)
	return samples, reports, err
}

func receive[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	return waitfor.Next(t, "something to come", c)
}

// The first client gets every frame from the start frame on, over the loop,
// with RTP time rising by a frame each time; a sender report comes.
func TestServe(t *testing.T) {
	const frames, start = 10, 4
	for name, proto := range map[string]gortsplib.Protocol{"tcp": gortsplib.ProtocolTCP, "udp": gortsplib.ProtocolUDP} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, Config{}, start, frames)
			samples, reports, err := client(t, s.URL(), proto)
			require.NoError(t, err)
			var first uint32
			for i := range 2*frames + 3 {
				got := receive(t, samples)
				want := s.clip.units[(start+i)%frames]
				if !equal(got.au, want) {
					t.Fatalf("frame %d is not frame %d of the clip", i, (start+i)%frames)
				}
				if i == 0 {
					first = got.ticks
				}
				if d := got.ticks - first; d != uint32(i)*clockRate/50 {
					t.Errorf("frame %d is %d ticks after the first", i, d)
				}
			}
			if sr := receive(t, reports); sr.NTPTime == 0 {
				t.Errorf("sender report %v", sr)
			}
			// A second client joins the running stream.
			second, _, err := client(t, s.URL(), proto)
			require.NoError(t, err)
			if got := receive(t, second); got.ticks-first < 2*frames*clockRate/50 {
				t.Errorf("second client's first frame is %d ticks after the first client's", got.ticks-first)
			}
		})
	}
}

// A frame of more packets than gortsplib holds by itself arrives whole.
func TestServeLargeFrames(t *testing.T) {
	cfg := codec.EncoderConfig{Width: 1280, Height: 720, FPS: 50, GOP: 1, CRF: 1}
	noise := rand.New(rand.NewPCG(1, 2))
	pix := make([]byte, 3*cfg.Width*cfg.Height)
	for i := range pix {
		pix[i] = byte(noise.Uint32())
	}
	clip, err := Draw(cfg, 1, func(int) []byte { return pix })
	require.NoError(t, err)
	if n := len(clip.units[0][len(clip.units[0])-1]); n < 256*1460 || n > writeQueue*1400 {
		t.Fatalf("the frame has %d bytes; want more than 256 packets and less than %d", n, writeQueue)
	}
	s, err := NewServer(clip, Config{})
	require.NoError(t, err)
	require.NoError(t, s.Start())
	t.Cleanup(s.Close)
	samples, _, err := client(t, s.URL(), gortsplib.ProtocolTCP)
	require.NoError(t, err)
	if got := receive(t, samples); !equal(got.au, clip.units[0]) {
		t.Error("the frame is not what was sent")
	}
}

func equal(a, b [][]byte) bool {
	return bytes.Equal(bytes.Join(a, []byte{0, 0, 1}), bytes.Join(b, []byte{0, 0, 1}))
}

// address is the host and port that s listens on.
func address(s *Server) string {
	return strings.TrimSuffix(strings.TrimPrefix(s.URL(), "rtsp://"), Path)
}

func TestCredentials(t *testing.T) {
	s := newServer(t, Config{User: "u", Password: "p"}, 0, 4)
	for address, want := range map[string]base.StatusCode{
		"rtsp://u:p@" + address(s) + Path:    0,
		"rtsp://" + address(s) + Path:        base.StatusUnauthorized,
		"rtsp://u:q@" + address(s) + Path:    base.StatusUnauthorized,
		"rtsp://u:p@" + address(s) + "/else": base.StatusNotFound,
	} {
		_, _, err := client(t, address, gortsplib.ProtocolTCP)
		var status liberrors.ErrClientBadStatusCode
		if errors.As(err, &status); status.Code != want || want == 0 && err != nil {
			t.Errorf("%s: %v, want status %d", address, err, want)
		}
	}
}

// A server that was closed can be followed by another on its port, at once.
func TestReturnOnSamePort(t *testing.T) {
	first := newServer(t, Config{}, 0, 4)
	samples, _, err := client(t, first.URL(), gortsplib.ProtocolTCP)
	require.NoError(t, err)
	receive(t, samples)
	first.Close()
	first.Close()
	second := newServer(t, Config{Addr: address(first)}, 0, 4)
	if second.URL() != first.URL() {
		t.Errorf("URL %s, then %s", first.URL(), second.URL())
	}
	samples, _, err = client(t, second.URL(), gortsplib.ProtocolTCP)
	require.NoError(t, err)
	receive(t, samples)
}

func TestServerErrors(t *testing.T) {
	clip, err := NewClip(testClip, smallPackets(t, testClip, 2))
	require.NoError(t, err)
	_, err = NewServer(nil, Config{})
	assert.Error(t, err, "a server of no clip")
	_, err = NewServer(clip, Config{Addr: "nonsense"})
	assert.Error(t, err, "address nonsense was accepted")
	_, err = NewClip(testClip, smallPackets(t, testClip, 2)[1:])
	assert.Error(t, err, "a clip without a key frame at its start was accepted")
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer busy.Close()
	s, err := NewServer(clip, Config{Addr: busy.Addr().String()})
	require.NoError(t, err)
	defer s.Close()
	assert.Error(t, s.Start(), "two servers on one port")
	unstarted, err := NewServer(clip, Config{})
	require.NoError(t, err)
	unstarted.Close()
	assert.Error(t, unstarted.Start(), "started after Close")
}

// After Stop nothing more comes, all that was sent has come, and the client is
// still there.
func TestStop(t *testing.T) {
	s := newServer(t, Config{}, 0, 10)
	samples, _, err := client(t, s.URL(), gortsplib.ProtocolTCP)
	require.NoError(t, err)
	receive(t, samples)
	sent := s.Stop()
	for range sent - 1 {
		receive(t, samples)
	}
	if again := s.Stop(); again != sent || len(samples) > 0 {
		t.Errorf("%d sent, later %d; %d too many came", sent, again, len(samples))
	}
}

// What is not RTSP does not come to gortsplib, which would panic on a byte too many after a handshake.
func TestNoTunnels(t *testing.T) {
	s := newServer(t, Config{}, 0, 4)
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(s.URL(), "rtsp://"), Path))
	require.NoError(t, err)
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Protocol: rtsp.onvif.org\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\nX"); err != nil {
		t.Fatal(err)
	}
	if answer, _ := io.ReadAll(conn); len(answer) > 0 {
		t.Errorf("it is answered %q", answer)
	}
}
