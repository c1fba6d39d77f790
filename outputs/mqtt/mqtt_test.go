package mqtt

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/paho"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/internal/freeport"
	"github.com/segd/segd/internal/keypair/keypairtest"
	"github.com/segd/segd/internal/netfault"
	"github.com/segd/segd/internal/waitfor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const gateAt = "segd/home/camera/gate"

var gate = Camera{Name: "gate", Here: true, Classes: []string{"person", "car"}, Zones: []string{"door"}, Detect: true, Switches: true}

// masks are a frame's with objects of these classes, as they are in sight.
func masks(camera string, state segdv1.State, classes ...string) *segdv1.MaskFrame {
	m := &segdv1.MaskFrame{Site: "home", Camera: camera}
	for i, class := range classes {
		m.Objects = append(m.Objects, &segdv1.Object{Id: uint32(256 + i), Class: class, State: state})
	}
	return m
}

func event(camera string, kind segdv1.EventKind, message string) *segdv1.Event {
	return &segdv1.Event{Site: "home", Camera: camera, Kind: kind, ObjectId: 256, Zone: "door", Message: message, Thumbnail: "a"}
}

var lastTime atomic.Int64

func status(camera string) *segdv1.Status {
	return &segdv1.Status{Site: "home", Camera: camera, Up: true, Time: timestamppb.New(time.Unix(lastTime.Add(1), 0))}
}

const (
	visible  = segdv1.State_STATE_VISIBLE
	occluded = segdv1.State_STATE_OCCLUDED
	lost     = segdv1.State_STATE_LOST

	appeared = segdv1.EventKind_EVENT_KIND_OBJECT_APPEARED
	entered  = segdv1.EventKind_EVENT_KIND_OBJECT_ENTERED
	gone     = segdv1.EventKind_EVENT_KIND_OBJECT_LOST
)

func TestCounts(t *testing.T) {
	s := &site{zones: map[string]int32{"door": 2, "unknown": 1}}
	s.set(gate)
	p, b := run(t, s)
	for _, topic := range []string{"/objects", "/class/person", "/class/car", "/zone/door"} {
		b.holds(gateAt+topic, "0")
	}
	b.holds(gateAt+"/state", `{"up":false,"paused":false,"detect":true,"error":"no word of it yet"}`)

	m := masks("gate", visible, "person", "person", "dog", "")
	m.Objects[1].State = occluded
	p.Mask(m)
	p.Mask(masks("attic", visible, "person")) // which is not known
	p.Status(status("gate"))
	b.holds(gateAt+"/objects", "4")
	b.holds(gateAt+"/class/person", "2")
	b.holds(gateAt+"/class/car", "0")
	b.holds(gateAt+"/state", `{"up":true,"paused":false,"detect":true,"error":""}`)

	// What an event says of a zone is asked for with the frame after it.
	p.Event(event("gate", entered, "zone door"))
	p.Mask(masks("gate", lost, "person"))
	b.holds(gateAt+"/zone/door", "2")
	b.holds(gateAt+"/objects", "0")

	down := status("gate")
	down.Up, down.Error, down.DownSince = false, "no route to host", timestamppb.New(time.Unix(0, 0))
	p.Status(down)
	b.holds(gateAt+"/state", `{"up":false,"paused":false,"detect":true,"error":"no route to host","since":"1970-01-01T00:00:00Z"}`)
	old := status("gate")
	old.Time = timestamppb.New(time.Unix(0, 0))
	p.Status(old) // it was on its way for long
	p.Mask(masks("gate", visible, "car"))
	b.holds(gateAt+"/class/car", "1")
	assert.Contains(t, b.retained()[gateAt+"/state"], "no route", "an old status counts")
	if topics := b.retained(); topics["segd/home/camera/attic/objects"] != "" {
		t.Error("a camera that is none of ours is published")
	}
}

func TestEvents(t *testing.T) {
	s := &site{}
	s.set(gate)
	p, b := run(t, s)
	const events = 3000
	for i := range events {
		p.Event(event("gate", entered, fmt.Sprint(i)))
		waitfor.True(t, "room", func() bool { return p.Stats().Waiting < maxEvents/2 })
	}
	waitfor.True(t, "all events", func() bool { return len(b.messages(gateAt+"/event")) == events })
	for i, text := range b.messages(gateAt + "/event") {
		var got map[string]any
		require.NoError(t, json.Unmarshal([]byte(text), &got))
		if got["message"] != fmt.Sprint(i) || got["kind"] != "EVENT_KIND_OBJECT_ENTERED" || got["camera"] != "gate" || got["zone"] != "door" || got["sequence"] != "0" {
			t.Fatalf("event %d is %s", i, text)
		}
	}
	if _, kept := b.retained()[gateAt+"/event"]; kept {
		t.Error("an event is retained")
	}
	if now := p.Stats(); now.Overflowed != 0 || now.Published < events || now.Connections != 1 {
		t.Errorf("%+v", now)
	}
}

// Events that wait take so many bytes at most.
func TestEventsAreLimited(t *testing.T) {
	s := &site{}
	s.set(gate)
	p, err := New(s.config(freeport.Addr(t)))
	require.NoError(t, err)
	p.Sync()
	for range 6 {
		p.Event(event("gate", appeared, strings.Repeat("x", 1<<20)))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stats.Overflowed != 3 || p.events.Len() != 3 || p.events.Bytes() > maxEventBytes {
		t.Errorf("%d overflowed, %d of %d bytes wait; want 3 and 3", p.stats.Overflowed, p.events.Len(), p.events.Bytes())
	}
}

// The broker goes away, forgets everything and comes back: it is told again, and of events as many as there is room for.
func TestBrokerGone(t *testing.T) {
	s := &site{picture: []byte("jpeg")}
	s.set(gate)
	p, b := run(t, s)
	p.Event(event("gate", appeared, "before"))
	p.Mask(masks("gate", visible, "person"))
	b.holds(gateAt+"/snapshot", "jpega")
	waitfor.True(t, "rest", func() bool { return p.Stats().Waiting == 0 })
	before := b.retained()
	b.close()
	waitfor.True(t, "the loss is noticed", func() bool { return !p.Stats().Connected })

	const events = 2*maxEvents + 5
	for i := range events {
		p.Event(event("gate", gone, fmt.Sprint(i)))
		p.Mask(masks("gate", visible, "person", "car"))
	}
	p.Mask(masks("gate", visible, "person"))
	if got := p.Stats(); got.Overflowed != events-maxEvents || got.Waiting < maxEvents {
		t.Errorf("%d overflowed and %d wait, want %d and %d", got.Overflowed, got.Waiting, events-maxEvents, maxEvents)
	}

	b = newBroker(t, b.addr, options{})
	b.holds("segd/home/status", online)
	for topic, payload := range before {
		b.holds(topic, payload)
	}
	waitfor.True(t, "the events", func() bool { return len(b.messages(gateAt+"/event")) == maxEvents })
	assert.Contains(t, b.messages(gateAt + "/event")[0], fmt.Sprintf("%q", fmt.Sprint(events-maxEvents)), "the first event that is left is")
	for topic, payload := range before {
		if topic != "segd/home/status" && b.order(topic, payload) > b.order("segd/home/status", online) {
			t.Errorf("%s came after segd was said to be there", topic)
		}
	}
}

// A broker that takes connections and then says nothing is left.
func TestBrokerHangs(t *testing.T) {
	s := &site{}
	s.set(gate)
	b := newBroker(t, freeport.Addr(t), options{})
	proxy, err := netfault.New(b.addr)
	require.NoError(t, err)
	defer proxy.Close()
	p, end := start(t, s.config(proxy.Addr()), func(times *times) { times.answer = time.Second })
	defer end() // before the proxy does
	b.holds("segd/home/status", online)
	proxy.Freeze(true)
	p.Mask(masks("gate", visible, "person"))
	p.Event(event("gate", entered, "while it hangs"))
	waitfor.True(t, "it is left", func() bool { return !p.Stats().Connected })
	p.Mask(masks("gate", visible, "person", "person"))
	proxy.Cut()
	proxy.Mend()
	b.holds(gateAt+"/class/person", "2")
	waitfor.True(t, "the event", func() bool { return len(b.messages(gateAt+"/event")) > 0 })
}

// One that does not answer pictures for a while does not say by that that they are too large.
func TestBrokerHangsOverPictures(t *testing.T) {
	s := &site{picture: make([]byte, 2*large)}
	s.set(gate)
	d := new(door)
	d.lostMessages.Store(maxLosses)
	b := newBroker(t, freeport.Addr(t), options{door: d})
	p, _ := start(t, s.config(b.addr), func(times *times) { times.answer = time.Second })
	b.holds("segd/home/status", online)
	p.Event(event("gate", appeared, ""))
	p.Mask(masks("gate", visible, "person"))
	waitfor.True(t, "the picture", func() bool { return len(b.messages(gateAt+"/snapshot")) > 0 })
	if now := p.Stats(); now.Refused != 0 || now.Connections <= maxLosses {
		t.Errorf("%+v; want %d connections, and nothing given up", now, maxLosses+1)
	}
}

// Nor does one that does not answer a subscription refuse it.
func TestBrokerHangsOverSubscriptions(t *testing.T) {
	s := &site{}
	s.set(gate)
	d := new(door)
	d.lostSubscriptions.Store(1)
	b := newBroker(t, freeport.Addr(t), options{door: d})
	p, _ := start(t, s.config(b.addr), func(times *times) { times.answer = time.Second })
	waitfor.True(t, "another connection", func() bool { return p.Stats().Connections > 1 })
	waitfor.True(t, "a command", func() bool {
		b.publish(gateAt+"/pause/set", on, false)
		return p.Stats().Commands > 0
	})
}

func TestWillAndEnd(t *testing.T) {
	s := &site{}
	s.set(gate)
	b := newBroker(t, freeport.Addr(t), options{})
	proxy, err := netfault.New(b.addr)
	require.NoError(t, err)
	defer proxy.Close()
	p, end := start(t, s.config(proxy.Addr()))
	defer end()
	b.holds("segd/home/status", online)
	proxy.Freeze(true) // so that it does not come back
	proxy.Cut()
	b.holds("segd/home/status", offline)
	proxy.Thaw()
	b.holds("segd/home/status", online)
	p.Event(event("gate", gone, "the last"))
	p.Mask(masks("gate", visible, "car"))
	end()
	b.holds("segd/home/status", offline)
	b.holds(gateAt+"/class/car", "1")
	if got := b.messages(gateAt + "/event"); len(got) != 1 {
		t.Errorf("events %q, want the last", got)
	}
}

func TestEndWithoutBroker(t *testing.T) {
	s := &site{}
	s.set(gate)
	p, end := start(t, s.config(freeport.Addr(t)))
	p.Event(event("gate", gone, ""))
	end()
	if got := p.Stats(); p.events.Len() != 1 || got.Connected {
		t.Errorf("%d events are left, %+v", p.events.Len(), got)
	}
}

// What is not configured any more is deleted, and nothing else is.
func TestRemovedWhileRunning(t *testing.T) {
	s := &site{picture: []byte("jpeg")}
	yard := Camera{Name: "yard", Here: true, Classes: []string{"person"}}
	s.set(gate, yard)
	p, b := run(t, s)
	b.publish("homeassistant/sensor/others/gate/config", "{}", true)
	b.publish("segd/other/camera/attic/state", "{}", true)
	p.Event(event("yard", appeared, ""))
	p.Mask(masks("yard", visible, "person"))
	b.holds("segd/home/camera/yard/snapshot", "jpega")

	less := gate
	less.Classes, less.Zones, less.Switches = []string{"car"}, nil, false
	s.set(less)
	b.lacks("yard")
	b.lacks("person")
	b.lacks("door")
	b.lacks("pause")
	all := b.retained()
	for _, topic := range []string{
		"homeassistant/sensor/others/gate/config", "segd/other/camera/attic/state", gateAt + "/class/car", gateAt + "/state",
		"homeassistant/sensor/segd_home_gate/count_class_car/config",
	} {
		if _, ok := all[topic]; !ok {
			t.Errorf("%s is gone", topic)
		}
	}
	// One of that name that comes again begins anew.
	s.set(less, yard)
	b.holds("segd/home/camera/yard/objects", "0")
}

// What changed while segd was down is found out by what the broker holds.
func TestRemovedMeanwhile(t *testing.T) {
	s := &site{picture: []byte("jpeg")}
	s.set(gate, Camera{Name: "yard", Here: true, Classes: []string{"a/b"}})
	b := newBroker(t, freeport.Addr(t), options{})
	p, end := start(t, s.config(b.addr))
	b.holds("segd/home/status", online)
	p.Event(event("gate", appeared, ""))
	p.Mask(masks("gate", visible, "person"))
	b.holds(gateAt+"/snapshot", "jpega")
	end()
	if len(b.retained()) < 20 {
		t.Fatalf("the broker holds %d topics only", len(b.retained()))
	}
	b.publish("homeassistant/sensor/others/yard/config", "{}", true)

	s.unknown = true
	less := gate
	less.Classes = nil
	s.set(less)
	start(t, s.config(b.addr))
	b.lacks("person")
	if _, ok := b.retained()["segd/home/camera/yard/state"]; !ok {
		t.Error("a camera is deleted that may not be known yet")
	}
	s.mu.Lock()
	s.unknown = false
	s.mu.Unlock()
	b.lacks("camera/yard")
	b.lacks("segd_home_yard")
	all := b.retained()
	if all[gateAt+"/snapshot"] != "jpega" || all["homeassistant/sensor/others/yard/config"] != "{}" {
		t.Errorf("too much is deleted: %q", all)
	}
}

// The newest thumbnail that an event names is there, as long as segd keeps it.
func TestSnapshots(t *testing.T) {
	s := &site{picture: []byte("jpeg")}
	s.set(gate)
	p, b := run(t, s)
	told := func(kind segdv1.EventKind, thumbnail string) {
		ev := event("gate", kind, "")
		ev.Thumbnail = thumbnail
		p.Event(ev)
	}
	told(appeared, "a")
	b.holds(gateAt+"/snapshot", "jpega")
	told(gone, "") // there is nothing to see
	told(entered, "gone")
	told(entered, "b")
	b.holds(gateAt+"/snapshot", "jpegb")
	assert.Equal(t, []string{"jpega", "jpegb"}, b.messages(gateAt+"/snapshot"))
}

// A snapshot from before something of it was hidden, or hidden otherwise, is deleted: also one that a run before left.
func TestSnapshotsHide(t *testing.T) {
	const snapshot = gateAt + "/snapshot"
	s := &site{picture: []byte("jpeg")}
	s.set(gate)
	p, b := run(t, s)
	p.Event(event("gate", appeared, ""))
	b.holds(snapshot, "jpega")
	calm := gate
	calm.Zones = nil
	s.set(calm) // which changes nothing of pictures
	b.lacks(gateAt + "/zone")
	b.holds(snapshot, "jpega")
	hidden := calm
	hidden.Hides = "persons"
	s.set(hidden)
	b.lacks(snapshot)
	p.Event(event("gate", entered, ""))
	b.holds(snapshot, "jpega")

	yard := Camera{Name: "yard", Here: true, Hides: "persons"}
	b.publish("segd/home/camera/yard/snapshot", "of a run before", true)
	b.holds("segd/home/camera/yard/snapshot", "of a run before")
	s.set(hidden, yard)
	b.lacks("camera/yard/snapshot")
	b.holds(snapshot, "jpega")
}

func TestCommands(t *testing.T) {
	s := &site{}
	s.set(gate)
	b := newBroker(t, freeport.Addr(t), options{})
	b.publish(gateAt+"/pause/set", on, true) // it would pause with each connection
	start(t, s.config(b.addr))
	waitfor.True(t, "it subscribes", func() bool { return len(b.server.Topics.Subscribers(gateAt+"/detect/set").Subscriptions) > 0 })
	for _, c := range []struct {
		camera, topic, payload string
		refuse                 error
		patch, err             string
	}{
		{"gate", "/pause/set", on, nil, `gate {"paused": true}`, ""},
		{"gate", "/pause/set", off, nil, `gate {"paused": false}`, ""},
		{"gate", "/detect/set", on, nil, `gate {"detect": {"off": null}}`, ""},
		{"gate", "/detect/set", off, nil, `gate {"detect": {"off": true}}`, ""},
		{"gate", "/detect/set", "maybe", nil, "", `"maybe"; accepted: ON or OFF`},
		{"gate", "/pause/set", off, errors.New(`camera "gate" is declared`), "", `camera "gate" is declared`},
		{"a%2Fb", "/pause/set", on, nil, `a/b {"paused": true}`, ""},
	} {
		s.mu.Lock()
		s.refuse, s.patches = c.refuse, nil
		s.mu.Unlock()
		at := "segd/home/camera/" + c.camera
		before := len(b.messages(at + topicAnswer))
		b.publish(at+c.topic, c.payload, false)
		waitfor.True(t, "an answer", func() bool { return len(b.messages(at+topicAnswer)) > before })
		var got answer
		if err := json.Unmarshal([]byte(b.messages(at + topicAnswer)[before]), &got); err != nil || got.Error != c.err || got.Payload != c.payload || "/"+got.Command+"/set" != c.topic {
			t.Errorf("%s %s: answer %+v, %v", c.topic, c.payload, got, err)
		}
		s.mu.Lock()
		assert.Equal(t, c.patch, strings.Join(s.patches, "; "), "%s %s", c.topic, c.payload)
		s.mu.Unlock()
	}
}

// Commands without a waiting client do not pile up, and those who send them are told.
func TestTooManyCommands(t *testing.T) {
	s := &site{}
	s.set(gate)
	b := newBroker(t, freeport.Addr(t), options{})
	cfg := s.config(b.addr)
	busy := make(chan struct{})
	cfg.Set = func(ctx context.Context, _ string, _ []byte) error {
		select {
		case <-busy:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	p, _ := start(t, cfg)
	waitfor.True(t, "it subscribes", func() bool { return len(b.server.Topics.Subscribers(gateAt+"/pause/set").Subscriptions) > 0 })
	const commands = 3 * maxCommands
	b.flood(gateAt+"/pause/set", on, commands)
	waitfor.True(t, "answers that there are too many", func() bool { return len(b.messages(gateAt+topicAnswer)) >= commands-maxCommands-1 })
	assert.Contains(t, b.messages(gateAt + topicAnswer)[0], "commands wait already")
	close(busy)
	waitfor.True(t, "the others", func() bool { return len(b.messages(gateAt+topicAnswer)) == commands })
	if now := p.Stats(); now.Commands+now.Faulty != commands {
		t.Errorf("%+v", now)
	}
}

func TestNoCommands(t *testing.T) {
	s := &site{}
	s.set(gate)
	b := newBroker(t, freeport.Addr(t), options{})
	cfg := s.config(b.addr)
	cfg.Set = nil
	p, _ := start(t, cfg)
	b.holds("segd/home/status", online)
	b.lacks("switch")
	p.command(gateAt+"/pause/set", []byte(on))
	if n := len(b.server.Topics.Subscribers(gateAt + "/pause/set").Subscriptions); n != 0 || len(p.commands) != 0 {
		t.Errorf("%d subscriptions, %d commands", n, len(p.commands))
	}
}

func TestDenied(t *testing.T) {
	s := &site{}
	s.set(gate)
	b := newBroker(t, freeport.Addr(t), options{door: &door{denied: "homeassistant/"}})
	p, _ := start(t, s.config(b.addr))
	b.holds("segd/home/status", online)
	p.Mask(masks("gate", visible, "car"))
	b.holds(gateAt+"/class/car", "1")
	if now := p.Stats(); now.Refused != uint64(len(p.cfg.discovery(gate))) || now.Connections != 1 {
		t.Errorf("%+v", now)
	}
}

// A broker that ends the connection over a picture, and says no word of how much it takes, gets no other as large.
func TestTooLarge(t *testing.T) {
	s := &site{picture: make([]byte, 2*large)}
	s.set(gate)
	b := newBroker(t, freeport.Addr(t), options{maxPacket: large})
	p, _ := start(t, s.config(b.addr))
	b.holds("segd/home/status", online)
	shoot := func(name string) {
		ev := event("gate", appeared, "")
		ev.Thumbnail = name
		p.Event(ev)
	}
	shoot("a")
	waitfor.True(t, "it is left out", func() bool { return p.Stats().Refused == 1 })
	assert.EqualValues(t, maxLosses+1, p.Stats().Connections, "connections")
	shoot("b")
	waitfor.True(t, "the next one is", func() bool { return p.Stats().Refused == 2 })
	p.Mask(masks("gate", visible, "car"))
	b.holds(gateAt+"/class/car", "1")
	assert.EqualValues(t, maxLosses+1, p.Stats().Connections, "connections")
}

// One that says it is asked for no more.
func TestMaximumPacketSize(t *testing.T) {
	assert.ErrorIs(t, publish(link{maxPacket: 1000}, message{"a", make([]byte, 1000)}, true), errTooLarge)
	s := &site{}
	p, err := New(s.config(freeport.Addr(t)))
	require.NoError(t, err)
	p.sending = t.Context()
	most := uint32(1000)
	p.begin(nil, &paho.Connack{Properties: &paho.ConnackProperties{MaximumPacketSize: &most}})
	if via, _ := p.link(); via.maxPacket != 1000 {
		t.Errorf("the broker takes %d bytes; want 1000", via.maxPacket)
	}
	p.cut()
}

func TestTLSAndPassword(t *testing.T) {
	dir := t.TempDir()
	cert, key := keypairtest.Write(t, dir, 1)
	pair, err := tls.LoadX509KeyPair(cert, key)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(pair.Leaf)
	secret := filepath.Join(dir, "password")
	write := func(text string) {
		require.NoError(t, os.WriteFile(secret, []byte(text), 0o600))
	}
	write("wrong")
	b := newBroker(t, freeport.Addr(t), options{
		door: &door{user: "segd", password: "sesame"},
		tls:  &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MinVersion: tls.VersionTLS12},
	})
	s := &site{}
	cfg := s.config(b.addr)
	cfg.URL = "mqtts://" + b.addr
	cfg.Username, cfg.PasswordFile, cfg.CA, cfg.Cert, cfg.Key = "segd", secret, cert, cert, key
	p, _ := start(t, cfg)
	waitfor.True(t, "it is refused", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return strings.Contains(p.said, "no connection")
	})
	assert.ErrorContains(t, Try(t.Context(), cfg), "mqtt: ", "tried with a wrong password")
	write("sesame\n") // which is read with the next attempt
	b.holds("segd/home/status", online)
	assert.NoError(t, Try(t.Context(), cfg))
	assert.EqualValues(t, 1, p.Stats().Connections, "connections")
}

// A box of a fleet leaves what another one publishes from now on.
func TestFleet(t *testing.T) {
	s := &site{}
	s.set(gate)
	b := newBroker(t, freeport.Addr(t), options{})
	cfg := s.config(b.addr)
	cfg.Box = "a"
	p, _ := start(t, cfg)
	b.holds("segd/home/boxes/a/status", online)
	p.Mask(masks("gate", visible, "person"))
	b.holds(gateAt+"/class/person", "1")
	away := gate
	away.Here = false
	s.set(away)
	waitfor.True(t, "it is the other's", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.cameras["gate"] == nil
	})
	p.Mask(masks("gate", visible, "person", "person"))

	other := &site{}
	other.set(gate)
	cfg = other.config(b.addr)
	cfg.Box = "b"
	start(t, cfg)
	b.holds("segd/home/boxes/b/status", online)
	b.holds(gateAt+"/class/person", "0")
	var found entity
	topic := "homeassistant/sensor/segd_home_gate/count_class_person/config"
	if err := json.Unmarshal([]byte(b.retained()[topic]), &found); err != nil || found.Availability[0].Topic != "segd/home/boxes/b/status" {
		t.Errorf("%+v, %v", found, err)
	}
	if ids := b.messages(topic); len(ids) < 2 || !strings.Contains(ids[0], `"identifiers":["segd_home_gate"]`) || !strings.Contains(ids[len(ids)-1], `"identifiers":["segd_home_gate"]`) {
		t.Errorf("the device is not the same: %q", ids)
	}
}

func TestPausedAndFaulty(t *testing.T) {
	s := &site{}
	s.set(gate)
	p, b := run(t, s)
	p.Mask(masks("gate", visible, "person"))
	p.Status(status("gate"))
	b.holds(gateAt+"/class/person", "1")
	paused := gate
	paused.Paused = true
	s.set(paused)
	b.holds(gateAt+"/state", `{"up":false,"paused":true,"detect":true,"error":"the camera is paused"}`)
	b.holds(gateAt+"/class/person", "0")
	p.Status(status("gate")) // its last one comes late
	faulty := gate
	faulty.Fault = "no such file"
	s.set(faulty)
	b.holds(gateAt+"/state", `{"up":false,"paused":false,"detect":true,"error":"no such file"}`)
}

func TestMaskAllocatesNothing(t *testing.T) {
	s := &site{}
	s.set(gate)
	p, err := New(s.config("127.0.0.1:1"))
	require.NoError(t, err)
	p.Sync()
	m := masks("gate", visible, "person", "car", "dog", "person")
	p.Mask(m)
	assert.EqualValues(t, 0, testing.AllocsPerRun(100, func() { p.Mask(m) }), "allocations a frame")
}

// A frame with twelve objects, of which one comes and goes.
func BenchmarkMask(b *testing.B) {
	s := &site{}
	s.set(gate)
	p, err := New(s.config("127.0.0.1:1"))
	require.NoError(b, err)
	p.Sync()
	classes := slices.Repeat([]string{"person", "car", "dog"}, 4)
	frames := []*segdv1.MaskFrame{masks("gate", visible, classes...), masks("gate", visible, classes[1:]...)}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		p.Mask(frames[i%2])
	}
}

func TestBadConfig(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	require.NoError(t, os.WriteFile(empty, []byte("\n"), 0o600))
	_, err := New(Config{URL: "http://a", PasswordFile: empty})
	for _, want := range []string{"mqtt: the URL is none of a broker", "Config.Prefix", "is empty; accepted: a file with the broker's password"} {
		assert.ErrorContains(t, err, want)
	}
	s := &site{}
	for _, c := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.CA = filepath.Join(dir, "none.pem") }, "none.pem"},
		{func(c *Config) { c.CA = empty }, "no certificate in it"},
		{func(c *Config) { c.Cert, c.Key = empty, empty }, "accepted: PEM files"},
		{func(c *Config) { c.PasswordFile = dir }, dir},
		{func(c *Config) { c.URL = "mqtts://u:sesame@a" }, "names a user"},
	} {
		cfg := s.config("")
		cfg.URL = "mqtts://127.0.0.1"
		c.change(&cfg)
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	cfg := s.config("broker.example")
	if p, err := New(cfg); err != nil || p.broker.Host != "broker.example:1883" || p.cfg.ClientID != "segd-home" {
		t.Errorf("%v, %v", p, err)
	}
}

// Names are told apart whatever is in them, and nothing of them is taken for a part of a topic.
func TestNames(t *testing.T) {
	long := strings.Repeat("x", 200)
	names := []string{"person", "traffic light", "a/b", "a+b", "a#", "a", "b", "🚗", "🚙", "%2F", "a%2Fb", "a_b", "a-b", "a--b", "a-_b", "", "~", long + "a", long + "b", strings.Repeat("🚗", 200), strings.Repeat("🚗", 199) + "🚙", "\x00", "\xff", "\xfe", "$SYS"}
	levels, parts, both := map[string]string{}, map[string]string{}, map[string]string{}
	for _, n := range names {
		l, i := level(n), part(n)
		if strings.ContainsAny(l, "/+#$\x00") || len(l) > maxLevel+20 {
			t.Errorf("%q is the level %q", n, l)
		}
		if strings.ContainsFunc(i, func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", r)
		}) || len(i) > maxPart+20 {
			t.Errorf("%q is the part %q", n, i)
		}
		if other, ok := levels[l]; ok {
			t.Errorf("%q and %q are both %q", n, other, l)
		}
		if other, ok := parts[i]; ok {
			t.Errorf("%q and %q are both %q", n, other, i)
		}
		levels[l], parts[i] = n, n
		for _, m := range names {
			id := join(n, m)
			if other, ok := both[id]; ok {
				t.Errorf("%q and %q are both %q", n+"|"+m, other, id)
			}
			both[id] = n + "|" + m
		}
	}
	for name, want := range map[string]string{"person": "person", "traffic light": "traffic%20light", "a/b": "a%2Fb"} {
		assert.Equal(t, want, level(name), "%q is", name)
	}
	c := Config{Prefix: "segd", Site: "home", Discovery: "homeassistant"}
	cam := Camera{Name: "gate", Classes: names, Zones: []string{"class_x", "x"}, Switches: true}
	ids := map[string]bool{}
	for _, e := range c.entities(cam) {
		if ids[e.UniqueID] {
			t.Errorf("two entities are %s", e.UniqueID)
		}
		ids[e.UniqueID] = true
	}
	if got, want := len(c.discovery(cam)), len(ids); got != want {
		t.Errorf("%d topics of %d entities", got, want)
	}
}

func TestDiscoveryOff(t *testing.T) {
	s := &site{}
	s.set(gate)
	b := newBroker(t, freeport.Addr(t), options{})
	cfg := s.config(b.addr)
	cfg.Discovery, cfg.Set, cfg.Thumbnail = "", nil, nil
	start(t, cfg)
	b.holds("segd/home/status", online)
	topics := slices.Sorted(func(yield func(string) bool) {
		for topic := range b.retained() {
			if !yield(topic) {
				return
			}
		}
	})
	want := []string{gateAt + "/class/car", gateAt + "/class/person", gateAt + "/objects", gateAt + "/state", gateAt + "/zone/door", "segd/home/status"}
	assert.Equal(t, want, topics, "topics")
}
