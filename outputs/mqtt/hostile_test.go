package mqtt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	pahopackets "github.com/eclipse/paho.golang/packets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/internal/freeport"
	"github.com/segd/segd/internal/netfault"
	"github.com/segd/segd/internal/waitfor"
)

// Of what a broker sends, only topics count that it was asked for and that a segd may have put there.
func TestHeld(t *testing.T) {
	s := &site{}
	s.set(gate)
	p, err := New(s.config(freeport.Addr(t)))
	require.NoError(t, err)
	p.Sync()
	p.listening = map[string]bool{p.cfg.states(): true}
	for _, f := range p.cfg.filters("gate") {
		p.listening[f] = true
	}
	long := strings.Repeat("a", 65_000)
	const entity = "homeassistant/sensor/segd_home_gate/"
	for topic, want := range map[string]bool{
		gateAt + "/class/dog": true, gateAt + "/class/traffic%20light": true, gateAt + "/zone/yard": true, gateAt + "/class/" + level(long): true,
		entity + "count_class_dog/config": true, "segd/home/camera/gate/class/person": false, // which is ours
		gateAt + "/" + long: false, gateAt + "/class/" + long: false, gateAt + "/class/a/b": false, gateAt + "/class/a b": false, gateAt + "/class/%61": false, gateAt + "/class/": false,
		gateAt + "/event": false, gateAt + "/other": false, gateAt: false, "segd/other/camera/gate/class/dog": false, "segd/home/camera/yard/class/dog": false,
		entity + long + "/config": false, "homeassistant/sensor/segd_home_yard/count/config": false, "other": false, "": false,
	} {
		p.learn(topic)
		if e := p.table[topic]; (e != nil && e.old) != want {
			t.Errorf("%.60s is to be deleted: %v; want %v", topic, !want, want)
		}
	}
	for _, name := range []string{"attic", long, "a b"} {
		p.learn("segd/home/camera/" + name + "/state")
	}
	if _, there := p.strangers["attic"]; len(p.strangers) != 1 || !there {
		t.Errorf("%d cameras are taken for gone; want attic", len(p.strangers))
	}

	// As many as there is room for. What is configured, or gone, makes room.
	for i := range 2 * maxOld / 200 {
		p.learn(fmt.Sprintf("%s/class/%d", gateAt, i))
		p.learn(fmt.Sprintf("segd/home/camera/c%d/state", i))
	}
	if p.oldBytes > maxOld || len(p.old) > maxOld/200 || len(p.strangers) > maxStrangers {
		t.Errorf("%d bytes of %d topics, %d cameras", p.oldBytes, len(p.old), len(p.strangers))
	}
	p.set(gateAt+"/class/1", []byte("3"))
	if e := p.table[gateAt+"/class/1"]; e.old || p.dirty[len(p.dirty)-1] != e {
		t.Error("a topic that is published again waits for those that are to be deleted")
	}
	for topic, e := range p.table {
		if e.old {
			p.unset(topic)
		}
	}
	assert.Equal(t, 0, p.oldBytes, "bytes of no topic")
	p.listening = nil
	if p.learn(gateAt + "/class/dog"); p.table[gateAt+"/class/dog"] != nil {
		t.Error("what was not asked for is taken in")
	}
}

// A broker that does not let segd delete what it holds keeps it from nothing else.
func TestOldHoldsNothingUp(t *testing.T) {
	s := &site{}
	s.set(gate)
	d := &door{}
	d.keeps.Store(true)
	b := newBroker(t, freeport.Addr(t), options{door: d})
	const old = 5 * senders
	for i := range old {
		b.publish(fmt.Sprintf("%s/class/old%d", gateAt, i), "1", true)
	}
	proxy, err := netfault.New(b.addr)
	require.NoError(t, err)
	defer proxy.Close()
	p, end := start(t, s.config(proxy.Addr()), func(times *times) { times.answer, times.last = time.Hour, 0 })
	defer end() // before the proxy does
	learnt := func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.oldBytes >= old*200
	}
	waitfor.True(t, "the old topics", learnt)
	p.Mask(masks("gate", visible, "person"))
	b.holds(gateAt+"/class/person", "1")

	proxy.Cut()
	waitfor.True(t, "it is there again", func() bool { return len(b.messages("segd/home/status")) == 3 }) // online, offline, online
	waitfor.True(t, "the old topics", learnt)
	p.Mask(masks("gate", visible, "person", "person"))
	b.holds(gateAt+"/class/person", "2")
}

// A packet that is larger than the broker was told ends the connection with its head, however the bytes come.
func TestPacketLimit(t *testing.T) {
	packet := func(payload int) []byte {
		var out bytes.Buffer
		_, err := (&pahopackets.Publish{Topic: "a", Payload: make([]byte, payload), Properties: &pahopackets.Properties{}}).WriteTo(&out)
		require.NoError(t, err)
		return out.Bytes()
	}
	const besides = 4 // the topic, and the properties' length
	good := bytes.Join([][]byte{packet(0), packet(127), {0xd0, 0}, packet(maxReceived - besides), packet(1)}, nil)
	for name, tt := range map[string]struct {
		sent []byte
		pass int
		ends bool
	}{
		"as they are":          {good, len(good), false},
		"a byte too large":     {bytes.Join([][]byte{good, packet(maxReceived - besides + 1)}, nil), len(good) + 3, true},
		"250 MB":               {[]byte{0x31, 0x80, 0xe5, 0x9a, 0x77, 'a'}, 3, true},
		"a length without end": {append([]byte{0x31}, bytes.Repeat([]byte{0x80}, 1000)...), 4, true},
	} {
		for how, read := range map[string]func(io.Reader) io.Reader{"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader, "halves": iotest.HalfReader} {
			got, err := io.ReadAll(&packetLimit{Conn: readConn{Reader: read(bytes.NewReader(tt.sent))}})
			if len(got) != tt.pass || (err != nil) != tt.ends || !bytes.HasPrefix(tt.sent, got) {
				t.Errorf("%s, %s: %d bytes pass, %v; want %d", name, how, len(got), err, tt.pass)
			}
		}
	}
}

type readConn struct {
	net.Conn
	io.Reader
}

func (c readConn) Read(b []byte) (int, error) { return c.Reader.Read(b) }

// The connection to a broker that sends such a packet is ended, and the log says why.
func TestOversizedPacket(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	ended := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			_ = l.Close()
			defer func() { _ = conn.Close() }()
			_ = conn.SetDeadline(time.Now().Add(waitfor.Limit))
			if _, err = pahopackets.ReadPacket(conn); err == nil {
				_, err = conn.Write([]byte{0x20, 3, 0, 0, 0, 0x31, 0x80, 0xe5, 0x9a, 0x77}) // 250 MB are to come
			}
			for err == nil {
				_, err = pahopackets.ReadPacket(conn)
			}
		}
		ended <- err
	}()
	s := &site{}
	s.set(gate)
	p, _ := start(t, s.config(l.Addr().String()))
	if err := <-ended; errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
	waitfor.True(t, "the reason", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.why != nil && strings.Contains(p.why.Error(), "more than 131072 bytes")
	})
}
