package mqtt

import "encoding/json"

// Templates (Jinja) by which Home Assistant reads payloads. It complains of a value_json that is not there, as when the
// state of a camera is deleted that is no more.
const (
	some      = "{{ 'ON' if value | int(0) > 0 else 'OFF' }}"
	isUp      = "{{ 'ON' if value_json is defined and value_json.up else 'OFF' }}"
	isPaused  = "{{ 'ON' if value_json is defined and value_json.paused else 'OFF' }}"
	isDetect  = "{{ 'ON' if value_json is defined and value_json.detect else 'OFF' }}"
	available = "{{ 'online' if value_json is defined and value_json.up else 'offline' }}"
)

// entity is a payload of Home Assistant's MQTT discovery:
// https://www.home-assistant.io/integrations/mqtt/#mqtt-discovery and the page of each component.
type entity struct {
	component string
	object    []string // its identifier among the camera's

	Name             string         `json:"name"`
	UniqueID         string         `json:"unique_id"`
	StateTopic       string         `json:"state_topic,omitempty"`
	ValueTemplate    string         `json:"value_template,omitempty"`
	DeviceClass      string         `json:"device_class,omitempty"`
	StateClass       string         `json:"state_class,omitempty"`
	EntityCategory   string         `json:"entity_category,omitempty"`
	Icon             string         `json:"icon,omitempty"`
	ImageTopic       string         `json:"image_topic,omitempty"`
	ContentType      string         `json:"content_type,omitempty"`
	CommandTopic     string         `json:"command_topic,omitempty"`
	Availability     []availability `json:"availability"`
	AvailabilityMode string         `json:"availability_mode,omitempty"`
	Device           device         `json:"device"`
	Origin           origin         `json:"origin"`
}

type availability struct {
	Topic         string `json:"topic"`
	ValueTemplate string `json:"value_template,omitempty"`
}

type device struct {
	Identifiers  []string `json:"identifiers"`
	Name         string   `json:"name"`
	Manufacturer string   `json:"manufacturer"`
	Model        string   `json:"model"`
	SWVersion    string   `json:"sw_version,omitempty"`
}

type origin struct {
	Name       string `json:"name"`
	SWVersion  string `json:"sw_version,omitempty"`
	SupportURL string `json:"support_url"`
}

// entities are those of a camera.
func (c *Config) entities(cam Camera) []entity {
	at := c.camera(cam.Name)
	all := []entity{{
		component: "binary_sensor", object: []string{"connectivity"}, Name: "connected",
		StateTopic: at + topicState, ValueTemplate: isUp, DeviceClass: "connectivity", EntityCategory: "diagnostic",
	}}
	counted := func(topic, what string, object ...string) {
		name := func(s string) string {
			if what == "" {
				return s
			}
			return shown(what) + " " + s
		}
		all = append(all,
			entity{component: "binary_sensor", object: append([]string{"occupancy"}, object...), Name: name("occupancy"), StateTopic: topic, ValueTemplate: some, DeviceClass: "occupancy"},
			entity{component: "sensor", object: append([]string{"count"}, object...), Name: name("count"), StateTopic: topic, StateClass: "measurement", Icon: "mdi:counter"})
	}
	counted(at+topicObjects, "")
	for _, class := range cam.Classes {
		counted(at+topicClass+level(class), class, "class", class)
	}
	for _, zone := range cam.Zones {
		counted(at+topicZone+level(zone), "zone "+zone, "zone", zone)
	}
	if c.Thumbnail != nil {
		all = append(all, entity{component: "image", object: []string{"snapshot"}, Name: "last object", ImageTopic: at + topicSnapshot, ContentType: "image/jpeg"})
	}
	if cam.Switches && c.Set != nil {
		all = append(all, entity{component: "switch", object: []string{"pause"}, Name: "pause", StateTopic: at + topicState, ValueTemplate: isPaused, CommandTopic: at + commandPause, Icon: "mdi:pause", EntityCategory: "config"})
		if len(cam.Classes) > 0 {
			all = append(all, entity{component: "switch", object: []string{"detect"}, Name: "detect", StateTopic: at + topicState, ValueTemplate: isDetect, CommandTopic: at + commandDetect, Icon: "mdi:motion-sensor", EntityCategory: "config"})
		}
	}
	node := c.node(cam.Name)
	for i := range all {
		e := &all[i]
		e.UniqueID = node + "_" + join(e.object...)
		e.Availability = []availability{{Topic: c.status()}}
		if e.StateTopic != at+topicState && e.ImageTopic == "" { // counts say nothing while the camera is down
			e.Availability = append(e.Availability, availability{at + topicState, available})
			e.AvailabilityMode = "all"
		}
		e.Device = device{Identifiers: []string{node}, Name: shown(cam.Name), Manufacturer: "segd", Model: "camera", SWVersion: c.Version}
		e.Origin = origin{Name: "segd", SWVersion: c.Version, SupportURL: "https://github.com/segd/segd"}
	}
	return all
}

// discovery are the payloads of a camera's entities by topic.
func (c *Config) discovery(cam Camera) map[string][]byte {
	out := map[string][]byte{}
	if c.Discovery == "" {
		return out
	}
	for _, e := range c.entities(cam) {
		payload, err := json.Marshal(e)
		if err != nil {
			continue // of texts there is none that has no JSON
		}
		out[c.Discovery+"/"+e.component+"/"+c.node(cam.Name)+"/"+join(e.object...)+"/config"] = payload
	}
	return out
}
