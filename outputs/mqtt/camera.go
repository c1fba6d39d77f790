package mqtt

import (
	"encoding/json"
	"maps"
	"reflect"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/segd/segd/bus/segdv1"
)

// wire is events as JSON, as those on NATS are.
var wire = protojson.MarshalOptions{EmitDefaultValues: true}

// camera is one that this segd publishes, or whose topics it deletes.
type camera struct {
	Camera
	at       string          // what its topics begin with
	retained map[string]bool // topics that are to be there
	learnt   bool            // what the broker has of it was asked for, since there is a connection
	gone     time.Time       // since when there is no such camera any more; zero: there is

	objects counter
	classes []counter
	class   map[string]int // their places
	zones   map[string]*counter

	status      *segdv1.Status // the newest; nil before the first
	zonesChange bool           // an event says so, the newest status may not yet
}

// counter is a topic with a number.
type counter struct {
	topic string
	shown int // -1: nothing yet
	now   int
}

func (c *counter) publish(p *Publisher) {
	if c.now != c.shown {
		c.shown = c.now
		p.set(c.topic, strconv.AppendInt(nil, int64(c.now), 10))
	}
}

// state is the payload of a camera's topic of that name.
type state struct {
	Up     bool   `json:"up"`
	Paused bool   `json:"paused"`
	Detect bool   `json:"detect"`
	Error  string `json:"error"`
	Since  string `json:"since,omitempty"` // that it is not up
	Box    string `json:"box,omitempty"`
}

// Sync takes over what cameras there are now, and what they hide. Run does so by and by.
func (p *Publisher) Sync() {
	p.syncing.Lock()
	defer p.syncing.Unlock()
	list, complete := p.cfg.Cameras()
	p.mu.Lock()
	defer p.mu.Unlock()
	known := make(map[string]bool, len(list))
	for _, now := range list {
		known[now.Name] = true
		delete(p.strangers, now.Name)
		switch c := p.cameras[now.Name]; {
		case !now.Here && c != nil:
			p.forget(c)
		case now.Here && (c == nil || !c.gone.IsZero() || !reflect.DeepEqual(c.Camera, now)):
			p.describe(now)
		}
	}
	for name, since := range p.strangers {
		if complete && time.Since(since) >= p.times.grace { // what there is of it is learnt, and deleted
			delete(p.strangers, name)
			c := &camera{Camera: Camera{Name: name}, at: p.cfg.camera(name), gone: time.Now()}
			p.cameras[name], p.nodes[p.cfg.node(name)] = c, c
		}
	}
	var gone []*camera
	for _, c := range p.cameras {
		switch {
		case c.gone.IsZero() && complete && !known[c.Name]:
			p.remove(c)
		case !c.gone.IsZero() && c.learnt && time.Since(c.gone) >= p.times.grace:
			gone = append(gone, c)
		}
	}
	if len(gone) == 0 {
		return
	}
	deleting := p.deleting()
	for _, c := range gone {
		if !deleting[c] {
			p.forget(c)
		}
	}
}

// describe has the topics of a camera be those of what is configured now. It needs mu, as all that follow do.
func (p *Publisher) describe(now Camera) *camera {
	c := &camera{Camera: now, at: p.cfg.camera(now.Name), retained: map[string]bool{}, class: map[string]int{}, zones: map[string]*counter{}}
	before := p.cameras[now.Name]
	if before != nil {
		c.learnt, c.status = before.learnt, before.status
	}
	runs := !now.Paused && now.Fault == ""
	was := func(topic string) counter {
		n := counter{topic: topic, shown: -1}
		if e := p.table[topic]; e != nil && runs {
			n.now, _ = strconv.Atoi(string(e.payload))
		}
		return n
	}
	c.objects = was(c.at + topicObjects)
	for i, class := range now.Classes {
		c.class[class] = i
		c.classes = append(c.classes, was(c.at+topicClass+level(class)))
	}
	for _, zone := range now.Zones {
		n := was(c.at + topicZone + level(zone))
		c.zones[zone] = &n
	}
	if !runs {
		c.status = nil
	}
	p.cameras[now.Name], p.nodes[p.cfg.node(now.Name)] = c, c

	for topic, payload := range p.cfg.discovery(now) {
		c.retained[topic] = true
		p.set(topic, payload)
	}
	if p.cfg.Thumbnail != nil {
		c.retained[c.at+topicSnapshot] = true
	}
	hid := "" // a camera that is new may have hidden nothing in the run before
	if before != nil {
		hid = before.Hides
	}
	if hid != now.Hides {
		p.set(c.at+topicSnapshot, nil) // it may show what is hidden now
	}
	c.retained[c.at+topicState] = true
	p.showState(c)
	for n := range c.counters() {
		c.retained[n.topic] = true
		n.publish(p)
	}
	if before != nil {
		maps.DeleteFunc(before.retained, func(topic string, _ bool) bool { return c.retained[topic] })
		p.drop(before.retained)
	}
	return c
}

// drop deletes topics, entities before what they read.
func (p *Publisher) drop(topics map[string]bool) {
	for _, entities := range []bool{true, false} {
		for topic := range topics {
			if _, is := p.cfg.nodeOf(topic); is == entities {
				p.set(topic, nil)
			}
		}
	}
}

// counters are all of c's.
func (c *camera) counters() func(yield func(*counter) bool) {
	return func(yield func(*counter) bool) {
		if !yield(&c.objects) {
			return
		}
		for i := range c.classes {
			if !yield(&c.classes[i]) {
				return
			}
		}
		for _, n := range c.zones {
			if !yield(n) {
				return
			}
		}
	}
}

// remove deletes what the broker has of a camera.
func (p *Publisher) remove(c *camera) {
	p.drop(c.retained)
	clear(c.retained)
	c.gone = time.Now()
}

// deleting are the cameras that have topics here, which are to be deleted if the camera is gone.
func (p *Publisher) deleting() map[*camera]bool {
	all := map[*camera]bool{}
	for topic := range p.table {
		if node, ok := p.cfg.nodeOf(topic); ok {
			all[p.nodes[node]] = true
		} else if name, _, ok := p.cfg.own(topic); ok {
			all[p.cameras[name]] = true
		}
	}
	return all
}

// forget leaves the camera's topics as they are: another box publishes it, or they are deleted.
func (p *Publisher) forget(c *camera) {
	for topic := range c.retained {
		p.unset(topic)
	}
	delete(p.cameras, c.Name)
	delete(p.nodes, p.cfg.node(c.Name))
}

// known is the camera of that name if this segd publishes it.
func (p *Publisher) known(name string) *camera {
	if c := p.cameras[name]; c != nil && c.gone.IsZero() {
		return c
	}
	return nil
}

// showState publishes how a camera does.
func (p *Publisher) showState(c *camera) {
	s := state{Paused: c.Paused, Detect: c.Detect, Error: c.Fault, Box: p.cfg.Box}
	switch st := c.status; {
	case st != nil:
		s.Up, s.Error = st.Up, st.Error
		if st.DownSince != nil {
			s.Since = st.DownSince.AsTime().Format(time.RFC3339)
		}
	case c.Paused:
		s.Error = "the camera is paused"
	case c.Fault == "":
		s.Error = "no word of it yet"
	}
	payload, err := json.Marshal(s)
	if err == nil { // there is no text that has no JSON
		p.set(c.at+topicState, payload)
	}
}

// Mask counts the objects of a frame. It keeps nothing of m.
func (p *Publisher) Mask(m *segdv1.MaskFrame) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.known(m.GetCamera())
	if c == nil {
		return
	}
	c.objects.now = 0
	for i := range c.classes {
		c.classes[i].now = 0
	}
	for _, o := range m.GetObjects() {
		if o.GetState() == segdv1.State_STATE_LOST {
			continue
		}
		c.objects.now++
		if i, ok := c.class[o.GetClass()]; ok {
			c.classes[i].now++
		}
	}
	c.objects.publish(p)
	for i := range c.classes {
		c.classes[i].publish(p)
	}
	if c.zonesChange {
		select {
		case p.looks <- c.Name:
			c.zonesChange = false
		default: // with the next frame
		}
	}
}

// Event publishes ev. It keeps nothing of it.
func (p *Publisher) Event(ev *segdv1.Event) {
	payload, err := wire.Marshal(ev)
	var picture []byte
	if ev.GetThumbnail() != "" && p.cfg.Thumbnail != nil {
		picture = p.cfg.Thumbnail(ev)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.say("an event is not published", "error", err)
		return
	}
	p.tell(message{p.cfg.camera(ev.GetCamera()) + topicEvent, payload})
	c := p.known(ev.GetCamera())
	if c == nil {
		return
	}
	if picture != nil {
		p.set(c.at+topicSnapshot, picture)
	}
	switch ev.GetKind() {
	case segdv1.EventKind_EVENT_KIND_OBJECT_ENTERED, segdv1.EventKind_EVENT_KIND_OBJECT_LEFT:
		c.zonesChange = true
	}
}

// Status publishes how a camera does, and what is in its zones. It keeps st, which must not be changed.
func (p *Publisher) Status(st *segdv1.Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.known(st.GetCamera())
	if c == nil || c.Paused || c.status != nil && st.GetTime().AsTime().Before(c.status.GetTime().AsTime()) {
		return
	}
	c.status = st
	p.showState(c)
	for _, z := range st.GetZones() {
		if n := c.zones[z.GetName()]; n != nil {
			n.now = int(z.GetObjects())
			n.publish(p)
		}
	}
}

// learn takes in what the broker holds at a topic, if it was asked for that and a segd may have put it there.
func (p *Publisher) learn(topic string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name, node, filter := p.cfg.held(topic)
	asked := p.listening[filter]
	state := p.listening[p.cfg.states()] && name != "" && topic == p.cfg.camera(name)+topicState
	if !asked && !state {
		return
	}
	p.learntAt = time.Now()
	c := p.cameras[name]
	if node != "" {
		c = p.nodes[node]
	}
	switch {
	case c != nil && asked && !c.retained[topic]:
		p.purge(topic)
	case c == nil && state && len(p.strangers) < maxStrangers:
		if _, there := p.strangers[name]; !there {
			p.strangers[name] = p.learntAt
		}
	}
}

// unlearnt are cameras of which the broker has not been asked yet what it holds, at most so many: those that there are
// before those that are gone.
func (p *Publisher) unlearnt(most int) (list []*camera) {
	for _, gone := range []bool{false, true} {
		for _, c := range p.cameras {
			if !c.learnt && !c.gone.IsZero() == gone && len(list) < most {
				list = append(list, c)
			}
		}
	}
	return list
}
