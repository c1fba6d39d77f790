package ingest

import (
	"bufio"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bluenviron/gortsplib/v5/pkg/base"
	"github.com/bluenviron/gortsplib/v5/pkg/conn"
	"github.com/bluenviron/gortsplib/v5/pkg/format"
	"github.com/bluenviron/gortsplib/v5/pkg/headers"
	"github.com/pion/rtp"
	"github.com/stretchr/testify/require"
)

// oddCamera is an RTSP server that gets wrong what gortsplib's does not: it plays its
// pictures again and again to each client.
type oddCamera struct {
	t        testing.TB
	listener net.Listener
	packets  [][]*rtp.Packet // of each picture; nil: the clip's
	sdp      string          // of DESCRIBE; "": oddVideo alone
	// answer answers in place of the usual answer, nil: as usual; with the status 0 the
	// connection is closed. It may change res, the usual one.
	answer func(req *base.Request, res *base.Response) *base.Response
	silent bool // nothing is sent over UDP

	mu          sync.Mutex
	open        map[net.Conn]bool
	connections int
	requests    []*base.Request
}

const (
	oddSession = "v=0\r\no=- 0 0 IN IP4 0.0.0.0\r\ns=x\r\nc=IN IP4 0.0.0.0\r\nt=0 0\r\na=control:*\r\n"
	oddVideo   = "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=fmtp:96 packetization-mode=1\r\na=control:trackID=7\r\n"
)

func serveOdd(t testing.TB, c *oddCamera) *oddCamera {
	t.Helper()
	enc, err := (&format.H264{PayloadTyp: 96, PacketizationMode: 1}).CreateEncoder()
	require.NoError(t, err)
	if c.packets == nil {
		for _, p := range packets(t, clipConfig, clipFrames) {
			pkts, err := enc.Encode(splitNALUs(p.Data))
			require.NoError(t, err)
			c.packets = append(c.packets, pkts)
		}
	}
	c.listener, err = net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c.t, c.open = t, map[net.Conn]bool{}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			nc, err := c.listener.Accept()
			if err != nil {
				return
			}
			c.mu.Lock()
			c.connections++
			c.open[nc] = true
			c.mu.Unlock()
			running.Go(func() { c.serve(nc) })
		}
	})
	t.Cleanup(func() {
		c.listener.Close()
		c.cut()
		running.Wait()
	})
	return c
}

func (c *oddCamera) url(user string) string {
	return "rtsp://" + user + c.listener.Addr().String() + "/cam"
}

// cut closes every connection.
func (c *oddCamera) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for nc := range c.open {
		nc.Close()
	}
}

// asked returns the requests of a method so far.
func (c *oddCamera) asked(m base.Method) (all []*base.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.requests {
		if r.Method == m {
			all = append(all, r)
		}
	}
	return all
}

// forget drops the requests so far.
func (c *oddCamera) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = nil
}

// overUDP is how many SETUP asked for UDP.
func (c *oddCamera) overUDP() (n int) {
	for _, r := range c.asked(base.Setup) {
		if !strings.Contains(r.Header["Transport"][0], "TCP") {
			n++
		}
	}
	return n
}

// oddClient is a client of an oddCamera.
type oddClient struct {
	camera *oddCamera
	rw     *conn.Conn
	udp    net.PacketConn // nil over TCP
	to     net.Addr       // of udp
}

func (c *oddCamera) serve(nc net.Conn) {
	client := &oddClient{camera: c, rw: conn.NewConn(bufio.NewReader(nc), nc)}
	stop := make(chan struct{})
	var playing sync.WaitGroup
	defer func() {
		close(stop)
		nc.Close()
		playing.Wait()
		if client.udp != nil {
			client.udp.Close()
		}
		c.mu.Lock()
		delete(c.open, nc)
		c.mu.Unlock()
	}()
	for {
		in, err := client.rw.Read()
		if err != nil {
			return
		}
		req, ok := in.(*base.Request)
		if !ok {
			continue
		}
		c.mu.Lock()
		c.requests = append(c.requests, req)
		c.mu.Unlock()
		res := client.usual(req)
		if c.answer != nil {
			if r := c.answer(req, res); r != nil {
				res = r
			}
		}
		if res.StatusCode == 0 {
			return
		}
		if res.Header == nil {
			res.Header = base.Header{}
		}
		res.Header["CSeq"] = req.Header["CSeq"]
		if err := client.rw.WriteResponse(res); err != nil {
			return
		}
		if req.Method == base.Play && res.StatusCode == base.StatusOK {
			playing.Go(func() { c.play(client.send, stop) })
		}
	}
}

// usual is how a sound camera answers.
func (o *oddClient) usual(req *base.Request) *base.Response {
	c, res := o.camera, &base.Response{StatusCode: base.StatusOK, Header: base.Header{}}
	switch req.Method {
	case base.Describe:
		res.Header["Content-Type"], res.Header["Content-Base"] = base.HeaderValue{"application/sdp"}, base.HeaderValue{req.URL.String() + "/"}
		if res.Body = []byte(c.sdp); c.sdp == "" {
			res.Body = []byte(oddSession + oddVideo)
		}
	case base.Setup:
		var th headers.Transport
		if err := th.Unmarshal(req.Header["Transport"]); err != nil {
			c.t.Error(err)
		}
		switch {
		case th.Protocol == headers.TransportProtocolTCP:
		case th.ClientPorts == nil: // multicast
			res.StatusCode = base.StatusUnsupportedTransport
		default:
			var err error
			if o.udp, err = net.ListenPacket("udp", "127.0.0.1:0"); err != nil {
				c.t.Error(err)
				return status(base.StatusInternalServerError)
			}
			o.to = &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: th.ClientPorts[0]}
			port := o.udp.LocalAddr().(*net.UDPAddr).Port
			th.ServerPorts = &[2]int{port, port + 1}
		}
		res.Header["Session"], res.Header["Transport"] = base.HeaderValue{"12345678"}, th.Marshal()
	}
	return res
}

func (o *oddClient) send(p *rtp.Packet) error {
	buf, err := p.Marshal()
	switch {
	case err != nil:
	case o.udp == nil:
		err = o.rw.WriteInterleavedFrame(&base.InterleavedFrame{Channel: 0, Payload: buf}, make([]byte, len(buf)+4))
	case !o.camera.silent:
		_, err = o.udp.WriteTo(buf, o.to)
	}
	return err
}

// play sends pictures, 20 ms apart.
func (c *oddCamera) play(send func(*rtp.Packet) error, stop <-chan struct{}) {
	sequence := uint16(0)
	for n := uint32(0); ; n++ {
		for _, p := range c.packets[int(n)%len(c.packets)] {
			p := *p
			p.SequenceNumber, p.Timestamp = sequence, n*ticksPerSecond/50
			sequence++
			if send(&p) != nil {
				return
			}
		}
		select {
		case <-stop:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func status(code base.StatusCode) *base.Response { return &base.Response{StatusCode: code} }
