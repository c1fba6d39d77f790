//go:build e2e

package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/bus/bustest"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/e2e/harness"
	"github.com/segd/segd/fleet"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/internal/netfault"
)

const (
	site    = "fleettest"
	cameras = 8
	servers = 3
)

// world is a fleet with its cameras and NATS servers.
type world struct {
	t       *testing.T
	cluster *harness.NATSCluster
	boxes   []*box
	names   []string // of cameras
	yaml    string   // what the configurations of all boxes share
	conn    *nats.Conn
	js      jetstream.JetStream
	record  *record
	killed  map[string]bool // runs of segd
}

// box is a segd, with a proxy between it and each NATS server.
type box struct {
	name  string
	segd  *harness.Segd
	links []*netfault.Proxy
}

// begin starts the cameras, which play their clip once a box has come, the NATS servers and a subscriber.
func begin(t *testing.T) *world {
	t.Helper()
	clip, err := newClip(*fps)
	require.NoError(t, err)
	w := &world{t: t, record: newRecord(), killed: map[string]bool{}, cluster: harness.StartNATSCluster(t, servers, "")}
	w.yaml = fmt.Sprintf("site: %s\nsuperpixels: 96\nmodel: {short_side: 64}\nlog: {level: debug}\ncameras:\n", site)
	for i := range cameras {
		name := fmt.Sprintf("cam%d", i+1)
		server, err := demo.NewServer(clip, demo.Config{})
		require.NoError(t, err)
		require.NoError(t, server.Start())
		t.Cleanup(server.Close)
		file := filepath.Join(t.TempDir(), name+".json")
		require.NoError(t, os.WriteFile(file, []byte(marks(name)), 0o600))
		w.names = append(w.names, name)
		w.yaml += fmt.Sprintf("  - {name: %s, url: '%s', transport: tcp, annotation: '%s', detect: {off: true}}\n", name, server.URL(), file)
	}
	// One connection to each server, so that nothing is missed when one is killed.
	for _, node := range w.cluster.Nodes {
		w.subscribe(harness.Connect(t, node.URL, nats.ReconnectWait(20*time.Millisecond), nats.ReconnectJitter(0, 0)))
	}
	w.conn = harness.Connect(t, w.cluster.URL(), nats.ReconnectWait(20*time.Millisecond), nats.ReconnectJitter(0, 0))
	w.js, err = jetstream.New(w.conn)
	require.NoError(t, err)
	return w
}

// subscribe has what comes by a connection go to the record.
func (w *world) subscribe(conn *nats.Conn) {
	w.t.Helper()
	for kind, take := range map[bus.Kind]func(*nats.Msg){
		bus.KindMask: func(msg *nats.Msg) {
			m := &segdv1.MaskFrame{}
			if w.decode(msg, m) {
				w.record.mask(msg.Header.Get(nats.MsgIdHdr), m)
			}
		},
		bus.KindEvent: func(msg *nats.Msg) {
			e := &segdv1.Event{}
			if w.decode(msg, e) {
				w.record.event(msg.Header.Get(nats.MsgIdHdr), e)
			}
		},
		bus.KindStatus: func(msg *nats.Msg) {
			s := &segdv1.Status{}
			if w.decode(msg, s) {
				w.record.status(s)
			}
		},
	} {
		if _, err := conn.Subscribe("segd.v1."+site+".*."+string(kind), take); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := conn.Flush(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) decode(msg *nats.Msg, m proto.Message) bool {
	err := bustest.Unmarshal(msg.Header.Get("Content-Type"), msg.Data, m)
	if err != nil {
		w.t.Errorf("%s: %v", msg.Subject, err)
	}
	return err == nil
}

// start starts another box.
func (w *world) start(name string) *box {
	w.t.Helper()
	b := &box{name: name}
	var urls []string
	for _, node := range w.cluster.Nodes {
		link, err := netfault.New(strings.TrimPrefix(node.URL, "nats://"))
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(link.Close)
		b.links, urls = append(b.links, link), append(urls, "nats://"+link.Addr())
	}
	b.segd = harness.RunAs(w.t, name, fmt.Sprintf("nats: {url: '%s', replicas: 3}\nfleet: {box: %s}\n%s", strings.Join(urls, ","), name, w.yaml))
	w.boxes = append(w.boxes, b)
	return b
}

// end ends a box for good.
func (w *world) end(b *box) {
	b.segd.End()
	w.boxes = slices.DeleteFunc(w.boxes, func(one *box) bool { return one == b })
}

// target is where the fleet is asked.
func (w *world) target() bus.Target { return bus.Target{URL: w.cluster.URL(), Site: site} }

// holds are the cameras that a box publishes, with their leases.
func (w *world) holds(b *box) map[string]uint64 {
	held := map[string]uint64{}
	for _, name := range w.names {
		if holder, lease := w.record.holder(name); holder == b.name {
			held[name] = lease
		}
	}
	return held
}

// settleLimit is how long a fleet may take until nothing moves any more.
const settleLimit = 2 * time.Minute

// settle waits until the cluster is whole, all boxes are there, and every camera has been published by its box, with
// its object in sight, for as many frames as are compared.
func (w *world) settle() {
	w.t.Helper()
	harness.Until(w.t, settleLimit, "a fleet that is as it should be", func(ctx context.Context) error {
		if err := w.cluster.Ready(ctx); err != nil {
			return err
		}
		s, err := w.status(ctx)
		if err != nil {
			return err
		}
		alive := 0
		for _, one := range s.Boxes {
			if one.Alive {
				alive++
			}
		}
		if alive != len(w.boxes) {
			return fmt.Errorf("%d boxes are there, %d should be", alive, len(w.boxes))
		}
		for _, c := range s.Cameras {
			box, lease := w.record.holder(c.Name)
			if c.Box == "" || c.Box != box || c.Token != lease {
				return fmt.Errorf("camera %s is box %q's with lease %d, and published by %q with %d", c.Name, c.Box, c.Token, box, lease)
			}
			if m := w.record.newest(c.Name); w.record.now()-m.at > time.Second || !m.seen() {
				return fmt.Errorf("camera %s: nothing is in sight", c.Name)
			}
			all := w.record.of(c.Name)
			i := slices.IndexFunc(all, func(m *maskFrame) bool { return m.lease == lease })
			if since := w.record.now() - all[i].at; since < time.Duration(window+*fps)*time.Second/time.Duration(*fps) {
				return fmt.Errorf("camera %s moved %v ago", c.Name, since.Round(time.Millisecond))
			}
		}
		return harness.Pause(ctx, 100*time.Millisecond)
	})
}

func (w *world) status(ctx context.Context) (s fleet.Status, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	text, err := w.target().ShowFleet(ctx)
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(text, &s)
}

// leader is the server that leads the fleet's bucket.
func (w *world) leader() *harness.NATS {
	w.t.Helper()
	var leader string
	harness.Until(w.t, harness.StartLimit, "a leader of the fleet's bucket", func(ctx context.Context) error {
		s, err := w.js.Stream(ctx, "KV_"+fleet.Bucket(site))
		if err != nil {
			return err
		}
		info := s.CachedInfo()
		if info.Cluster == nil || info.Cluster.Leader == "" {
			return errors.New("it has none")
		}
		leader = info.Cluster.Leader
		return nil
	})
	return w.cluster.Nodes[slices.Index(w.cluster.Names, leader)]
}

// stored are the events in their stream.
func (w *world) stored() map[string]event {
	w.t.Helper()
	var all map[string]event
	harness.Until(w.t, time.Minute, "the stream of events", func(ctx context.Context) error {
		all = map[string]event{}
		c, err := w.js.OrderedConsumer(ctx, bus.StreamName(site, bus.KindEvent), jetstream.OrderedConsumerConfig{})
		if err != nil {
			return err
		}
		for { // by many: an ordered consumer is made anew for each batch
			batch, err := c.Fetch(1000, jetstream.FetchMaxWait(2*time.Second))
			if err != nil {
				return err
			}
			n := len(all)
			for msg := range batch.Messages() {
				e := &segdv1.Event{}
				if err := bustest.Unmarshal(msg.Headers().Get("Content-Type"), msg.Data(), e); err != nil {
					return err
				}
				id := msg.Headers().Get(nats.MsgIdHdr)
				if _, twice := all[id]; twice {
					w.t.Errorf("event %s is in the stream twice", id)
				}
				if all[id], err = parseEvent(id, e); err != nil {
					return err
				}
			}
			if err := batch.Error(); err != nil || len(all) == n {
				return err
			}
		}
	})
	return all
}

// loads says how full the boxes are, for people.
func (w *world) loads() string {
	s, err := w.status(w.t.Context())
	if err != nil {
		return err.Error()
	}
	text := "plan " + s.Plan
	for _, b := range s.Boxes {
		text += fmt.Sprintf(", %s %.0f of %.0f frames/s", b.Name, b.Load, b.Capacity)
	}
	return text
}
