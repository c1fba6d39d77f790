package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Status is what this box knows of the fleet.
type Status struct {
	// Box is the one that tells, and Plan the one that evens out; empty: none for now.
	Box  string `json:"box"`
	Plan string `json:"plan,omitempty"`
	// Publishing tells whether this box may publish what it runs.
	Publishing bool           `json:"publishing"`
	Boxes      []BoxStatus    `json:"boxes"`
	Cameras    []CameraStatus `json:"cameras"`
}

// BoxStatus is a box of the fleet. Those that are over stay for some minutes.
type BoxStatus struct {
	Name    string            `json:"name"`
	Page    string            `json:"page,omitempty"`
	Address string            `json:"address,omitempty"`
	Host    string            `json:"host,omitempty"`
	Version string            `json:"version,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
	// Alive is false of a box that has left or fell silent; By is who noticed that.
	Alive bool   `json:"alive"`
	By    string `json:"by,omitempty"`
	// Capacity is how many frames a second it can label, Load what its cameras send.
	Capacity float64 `json:"capacity_fps"`
	Load     float64 `json:"load_fps"`
	Cameras  int     `json:"cameras"`
	Most     int     `json:"max_cameras,omitempty"`
	Cordoned bool    `json:"cordoned,omitempty"`
	Drained  bool    `json:"drained,omitempty"`
}

// CameraStatus is a camera of the fleet.
type CameraStatus struct {
	Name string `json:"name"`
	// Box runs it; empty: none does, and Fault says why if that is known.
	Box   string `json:"box,omitempty"`
	Fault string `json:"fault,omitempty"`
	// Token is its lease's, From the box that ran it before, and Why it does not any more.
	Token uint64            `json:"token,omitempty"`
	From  string            `json:"from,omitempty"`
	Why   Why               `json:"why,omitempty"`
	Rate  float64           `json:"fps,omitempty"`
	Wants map[string]string `json:"requires,omitempty"`
}

// Status tells what this box knows of the fleet.
func (m *Member) Status() Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := Status{Box: m.cfg.Box, Publishing: m.mayAct(m.now())}
	if b := m.view.holder(m.view.plan); b != nil {
		s.Plan = m.view.plan.Box
	}
	for _, name := range slices.Sorted(maps.Keys(m.view.boxes)) {
		b, o := m.view.boxes[name], m.view.orders[name]
		if b.Session == "" { // it was removed
			continue
		}
		one := BoxStatus{
			Name: name, Page: b.Page, Address: b.Address, Host: b.Host, Version: b.Version, Labels: b.Labels, Alive: !b.Over, By: b.By,
			Capacity: b.Capacity, Most: b.Most, Cordoned: o.Cordoned, Drained: o.Drained,
		}
		if !b.Over {
			one.Load, one.Cameras = b.load, len(b.cameras)
		}
		s.Boxes = append(s.Boxes, one)
	}
	names := maps.Clone(m.cameras)
	for camera, l := range m.view.leases {
		if _, ok := names[camera]; !ok && m.view.holder(l) != nil {
			names[camera] = Camera{Name: camera}
		}
	}
	for _, camera := range slices.Sorted(maps.Keys(names)) {
		s.Cameras = append(s.Cameras, m.cameraStatus(names[camera]))
	}
	return s
}

func (m *Member) cameraStatus(c Camera) CameraStatus {
	l := m.view.leases[c.Name]
	one := CameraStatus{Name: c.Name, From: l.From, Why: l.Why, Rate: l.Rate, Wants: c.Wants}
	if m.view.holder(l) != nil {
		one.Box, one.Token = l.Box, l.token()
		return one
	}
	one.From = l.Box
	if l.Box == "" {
		one.From = l.From
	}
	switch boxes := m.view.candidates(c.Wants, ""); {
	case len(boxes) == 0 && len(c.Wants) > 0:
		one.Fault = "no box that takes cameras has the labels " + labelText(c.Wants)
	case len(boxes) == 0:
		one.Fault = "no box takes cameras"
	case !slices.ContainsFunc(boxes, func(b candidate) bool { return !b.full }):
		one.Fault = "every box that might has as many cameras as it takes"
	default:
		one.Fault = "a box is about to take it"
	}
	return one
}

// labelText is labels as the configuration has them.
func labelText(labels map[string]string) string {
	if len(labels) == 0 {
		return "none"
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		list = append(list, name+"="+labels[name])
	}
	return strings.Join(list, ", ")
}

// Holder returns the box that runs a camera and the URL of its page; empty: none does.
func (m *Member) Holder(camera string) (box, page string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b := m.view.holder(m.view.leases[camera]); b != nil {
		return m.view.leases[camera].Box, b.Page
	}
	return "", ""
}

// Box returns what a box says of itself; false: it does not run.
func (m *Member) Box(name string) (Box, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.view.runs(name) {
		return Box{}, false
	}
	return m.view.boxes[name].Box, true
}

// orders are what may be said of a box.
var orders = map[string]order{"cordon": {Cordoned: true}, "drain": {Cordoned: true, Drained: true}, "uncordon": {}}

// Order has a box take no more cameras ("cordon"), give those that it has to others, too ("drain"), or take cameras again
// ("uncordon"). It need not run.
func (m *Member) Order(ctx context.Context, box, what string) error {
	o, known := orders[what]
	if !known {
		return fmt.Errorf("fleet: order %q; want cordon, drain or uncordon", what)
	}
	m.mu.Lock()
	b, names := m.view.boxes[box], m.view.running()
	synced := m.synced
	m.mu.Unlock()
	switch {
	case !synced:
		return errNotThere
	case b == nil || b.Session == "":
		return unknownBox(box, names)
	}
	if err := m.store.put(ctx, orderKey+box, encode(o)); err != nil {
		return fmt.Errorf("fleet: box %s: %w", box, err)
	}
	return nil
}

var errNotThere = errors.New("fleet: this box has not joined the fleet yet")

// Move has a box run a camera that another one runs, and returns once it does.
func (m *Member) Move(ctx context.Context, camera, to string) error {
	m.mu.Lock()
	l, known := m.view.leases[camera]
	holder := m.view.holder(l)
	err := m.fits(camera, to)
	m.mu.Unlock()
	switch {
	case err != nil:
		return err
	case !known:
		return fmt.Errorf("%w camera %q", ErrUnknown, camera)
	case holder == nil:
		return fmt.Errorf("fleet: no box runs camera %s now", camera)
	case l.Box == to:
		return nil
	}
	if err := m.ask(ctx, l.Box, moveRequest{camera, to, WhyMove}); err != nil {
		return err
	}
	tick := time.NewTicker(m.cfg.Timing.Beat)
	defer tick.Stop()
	for {
		switch box, _ := m.Holder(camera); box {
		case to:
			return nil
		case l.Box, "":
		default:
			return fmt.Errorf("fleet: box %s has taken camera %s first", box, camera)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("fleet: camera %s is on its way to box %s: %w", camera, to, ctx.Err())
		case <-tick.C:
		}
	}
}

// JSON is s as the API and the bus tell it.
func (s Status) JSON() []byte {
	data, err := json.Marshal(s)
	if err != nil {
		return nil // of numbers and texts
	}
	return data
}
