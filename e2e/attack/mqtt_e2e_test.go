//go:build e2e

package attack

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/e2e/harness"
	"github.com/segd/segd/internal/docs"
)

const (
	flood     = 32 << 20  // bytes of topics
	oversized = 250 << 20 // bytes of a packet
	// mqttMemory is how many bytes more a segd may hold after that.
	mqttMemory = 50 << 20
)

// hostileBroker sends what it likes.
type hostileBroker struct {
	listener net.Listener
	running  sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool
	heard map[string][]string // payloads by topic
	asked func(net.Conn)      // nil: nothing is sent
}

func newHostileBroker(t *testing.T) *hostileBroker {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b := &hostileBroker{listener: listener, conns: map[net.Conn]bool{}, heard: map[string][]string{}}
	b.running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			b.running.Go(func() { b.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		b.cut()
		b.running.Wait()
	})
	return b
}

func (b *hostileBroker) serve(plain net.Conn) {
	conn := &wholeConn{Conn: plain}
	b.mu.Lock()
	b.conns[conn] = true
	b.mu.Unlock()
	defer func() {
		_ = conn.Close()
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.conns, conn)
	}()
	for {
		got, err := packets.ReadPacket(conn)
		if err != nil {
			return
		}
		var answer *packets.ControlPacket
		var send func(net.Conn)
		switch got := got.Content.(type) {
		case *packets.Connect:
			answer = packets.NewControlPacket(packets.CONNACK)
		case *packets.Subscribe:
			answer = packets.NewControlPacket(packets.SUBACK)
			ack := answer.Content.(*packets.Suback)
			ack.PacketID, ack.Reasons = got.PacketID, bytes.Repeat([]byte{1}, len(got.Subscriptions))
			if slices.ContainsFunc(got.Subscriptions, func(o packets.SubOptions) bool { return !strings.HasSuffix(o.Topic, "/set") }) {
				b.mu.Lock()
				send = b.asked
				b.mu.Unlock()
			}
		case *packets.Unsubscribe:
			answer = packets.NewControlPacket(packets.UNSUBACK)
			ack := answer.Content.(*packets.Unsuback)
			ack.PacketID, ack.Reasons = got.PacketID, make([]byte, len(got.Topics))
		case *packets.Publish:
			answer = packets.NewControlPacket(packets.PUBACK)
			answer.Content.(*packets.Puback).PacketID = got.PacketID
			b.mu.Lock()
			b.heard[got.Topic] = append(b.heard[got.Topic], string(got.Payload))
			b.mu.Unlock()
		case *packets.Pingreq:
			answer = packets.NewControlPacket(packets.PINGRESP)
		default:
			return
		}
		if _, err := conn.Write(whole(answer)); err != nil {
			return
		}
		if send != nil {
			b.running.Go(func() { send(conn) }) // what segd sends is read meanwhile
		}
	}
}

// mqtt has the broker send each topic of docs/security.md, as many others as there may be, and packets without end.
func (w *world) mqtt(s *Stage) {
	rows, err := docs.Table(w.file, "Over MQTT")
	if err != nil {
		w.t.Fatal(err)
	}
	fill := strings.NewReplacer("SITE", site, "CAMERA", gate, "CLASS", marker, "ZONE", marker, "COMPONENT", "sensor", "OBJECT", "count_class_"+marker, "OTHER", marker)
	var retained, plain []byte
	wants := map[string]string{} // what becomes of a topic that is retained
	commands := 0
	for _, row := range rows {
		for _, name := range row.Names {
			topic := fill.Replace(name)
			wants[topic], _, _ = strings.Cut(row.Cells["retained"], ",")
			retained, plain = append(retained, sent(topic, marker, true)...), append(plain, sent(topic, marker, false)...)
			if strings.HasPrefix(row.Cells["not retained"], "obeyed") {
				commands++
			}
			s.try(2)
		}
	}
	answer := "segd/" + site + "/camera/" + gate + "/answer"
	w.mqttAgain(s, func(conn net.Conn) { _, _ = conn.Write(retained) })
	if err := harness.Wait(w.t.Context(), answerLimit, "topics deleted", func(context.Context) error {
		for topic, want := range wants {
			if deleted := len(w.broker.of(topic, "")) > 0; deleted != (want == "deleted") {
				return fmt.Errorf("%s is deleted: %v; want that it is %s", topic, deleted, want)
			}
		}
		return nil
	}); err != nil {
		s.fault("%v", err)
	}
	if got := w.broker.of(answer, "accepted"); len(got) > 0 {
		s.fault("%d retained messages are commands: %q", len(got), got)
	}
	for conn := range w.broker.all() {
		_, _ = conn.Write(plain)
	}
	if err := harness.Wait(w.t.Context(), answerLimit, "answers to commands", func(context.Context) error {
		if got := w.broker.of(answer, "accepted: ON or OFF"); len(got) != commands*len(w.boxes) {
			return fmt.Errorf("%d; want %d of each segd", len(got), commands)
		}
		return nil
	}); err != nil {
		s.fault("%v", err)
	}

	before, err := w.measure(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	long := strings.Repeat("a", 60_000)
	forms := []string{"segd/" + site + "/camera/" + gate + "/%d%s", "segd/" + site + "/camera/%d%s/state", "homeassistant/sensor/segd_" + site + "_" + gate + "/%d%s/config", "%d%s"}
	s.try(len(forms))
	w.mqttAgain(s, func(conn net.Conn) {
		for _, form := range forms {
			for i := range flood / len(long) {
				_, _ = conn.Write(sent(fmt.Sprintf(form, i, long), "1", true))
			}
		}
	})
	for name, head := range map[string][]byte{"of 250 MB": {0x31, 0x80, 0xe5, 0x9a, 0x77}, "without an end of its length": {0x31}} {
		s.try(1)
		w.broker.forget(nil)
		chunk := bytes.Repeat([]byte{0x80}, 64<<10)
		for conn := range w.broker.all() {
			_, err := conn.Write(head)
			n := 0
			for ; err == nil && n < oversized/4; n += len(chunk) { // the system holds less
				_, err = conn.Write(chunk)
			}
			if err == nil {
				s.fault("segd takes %d bytes of a packet %s", n, name)
			}
		}
		w.online(s)
	}
	if err := harness.Wait(w.t.Context(), answerLimit, "memory", func(ctx context.Context) error {
		now, err := w.measure(ctx)
		const name = "process_resident_memory_bytes"
		if more := now[name] - before[name]; err == nil && more > float64(mqttMemory*len(w.boxes)) {
			err = fmt.Errorf("%.0f bytes more than before", more)
		}
		return err
	}); err != nil {
		s.fault("%v", err)
	}
}

// mqttAgain has each segd connect to the broker anew, which sends it that each time it asks for what there is, and say that it is there.
func (w *world) mqttAgain(s *Stage, send func(net.Conn)) {
	done := make(chan net.Conn, 100)
	w.broker.forget(func(conn net.Conn) {
		send(conn)
		done <- conn
	})
	w.broker.cut()
	for served := map[net.Conn]bool{}; len(served) < len(w.boxes); {
		select {
		case conn := <-done:
			served[conn] = true
		case <-time.After(2 * answerLimit):
			s.fault("segd does not ask the MQTT broker what there is")
			return
		}
	}
	w.online(s)
}

// online waits until each segd has said that it is there.
func (w *world) online(s *Stage) {
	if err := harness.Wait(w.t.Context(), 2*answerLimit, "MQTT", func(context.Context) error {
		n := 0
		w.broker.mu.Lock()
		defer w.broker.mu.Unlock()
		for topic, payloads := range w.broker.heard {
			if strings.HasSuffix(topic, "/status") && slices.Contains(payloads, "online") {
				n++
			}
		}
		if n < len(w.boxes) {
			return fmt.Errorf("%d of %d are online", n, len(w.boxes))
		}
		return nil
	}); err != nil {
		s.fault("%v", err)
	}
}

// forget forgets what was heard, and has that be called with a connection each time that is asked over it what there is.
func (b *hostileBroker) forget(asked func(net.Conn)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.heard)
	b.asked = asked
}

// of are the payloads that were published at a topic and contain that; without a text, those that are empty.
func (b *hostileBroker) of(topic, text string) (all []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.heard[topic] {
		if p == text || text != "" && strings.Contains(p, text) {
			all = append(all, p)
		}
	}
	return all
}

// all are the connections there are.
func (b *hostileBroker) all() map[net.Conn]bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.conns)
}

// cut ends all connections.
func (b *hostileBroker) cut() {
	for conn := range b.all() {
		_ = conn.Close()
	}
}

// wholeConn is written to by several, one at a time.
type wholeConn struct {
	net.Conn
	mu sync.Mutex
}

func (c *wholeConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Conn.Write(b)
}

// sent is a packet with a message.
func sent(topic, payload string, retain bool) []byte {
	p := packets.NewControlPacket(packets.PUBLISH)
	c := p.Content.(*packets.Publish)
	c.Topic, c.Payload, c.Retain = topic, []byte(payload), retain
	return whole(p)
}

func whole(p *packets.ControlPacket) []byte {
	var out bytes.Buffer
	_, _ = p.WriteTo(&out) // never fails
	return out.Bytes()
}
