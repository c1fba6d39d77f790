//go:build e2e

package mqtt

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/jpeg"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/e2e/harness"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/internal/waitfor"
	"github.com/segd/segd/outputs/mqtt"
)

// mosquitto is a broker of the test's, with what it keeps in a folder.
type mosquitto struct {
	*harness.Process
	t            *testing.T
	host, port   string
	folder, conf string
}

const (
	user   = "segd"
	secret = "sesame"
)

// startMosquitto starts one that lets in user; with persistence it knows what is retained after a restart.
func startMosquitto(t *testing.T, persistence bool) *mosquitto {
	t.Helper()
	host, port, err := net.SplitHostPort(harness.FreeAddrs(t, 1)[0])
	require.NoError(t, err)
	m := &mosquitto{t: t, host: host, port: port, folder: t.TempDir()}
	m.conf = filepath.Join(m.folder, "mosquitto.conf")
	passwords := filepath.Join(m.folder, "passwords")
	if out, err := exec.CommandContext(t.Context(), "mosquitto_passwd", "-b", "-c", passwords, user, secret).CombinedOutput(); err != nil {
		t.Fatalf("mosquitto_passwd: %v\n%s", err, out)
	}
	text := fmt.Sprintf("listener %s %s\npassword_file %s\nallow_anonymous false\npersistence %t\npersistence_location %s/\nautosave_interval 1\nuser root\n",
		port, host, passwords, persistence, m.folder)
	require.NoError(t, os.WriteFile(m.conf, []byte(text), 0o600))
	m.start()
	return m
}

// start starts it again after it has ended.
func (m *mosquitto) start() {
	m.t.Helper()
	m.Process = harness.Start(m.t, "mosquitto", "mosquitto", "-v", "-c", m.conf)
	harness.Until(m.t, harness.StartLimit, "mosquitto", func(ctx context.Context) error {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(m.host, m.port))
		if err == nil {
			_ = c.Close()
		}
		return err
	})
}

func (m *mosquitto) client(args ...string) []string {
	return append([]string{"-V", "mqttv5", "-h", m.host, "-p", m.port, "-u", user, "-P", secret}, args...)
}

func (m *mosquitto) publish(topic, payload string) {
	m.t.Helper()
	if out, err := exec.CommandContext(m.t.Context(), "mosquitto_pub", m.client("-q", "1", "-t", topic, "-m", payload)...).CombinedOutput(); err != nil {
		m.t.Fatalf("mosquitto_pub: %v\n%s", err, out)
	}
}

// retained is what it keeps, by topic.
func (m *mosquitto) retained(ctx context.Context) (map[string]string, error) {
	// In hexadecimal: a picture is no line of text.
	out, err := exec.CommandContext(ctx, "mosquitto_sub", m.client("-t", "#", "--retained-only", "-W", "1", "-F", "%t %x")...).Output()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 27) { // it has waited as long as it should
		return nil, err
	}
	all := map[string]string{}
	for line := range strings.Lines(string(out)) {
		topic, hex, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		var payload []byte
		if _, err := fmt.Sscanf(hex, "%x", &payload); err != nil && hex != "" {
			return nil, fmt.Errorf("%s: %w", topic, err)
		}
		all[topic] = string(payload)
	}
	return all, nil
}

// until waits for what it keeps.
func (m *mosquitto) until(what string, is func(retained map[string]string) bool) map[string]string {
	m.t.Helper()
	var all map[string]string
	harness.Until(m.t, harness.StartLimit, what, func(ctx context.Context) (err error) {
		if all, err = m.retained(ctx); err == nil && !is(all) {
			err = fmt.Errorf("it keeps %q", slices.Sorted(maps.Keys(all)))
		}
		return err
	})
	return all
}

// message is one that a subscriber got.
type message struct {
	topic, payload string
	at             time.Time
}

// subscribe is mosquitto_sub of topics, for as long as the test runs.
func (m *mosquitto) subscribe(topics ...string) <-chan message {
	m.t.Helper()
	args := []string{"-q", "1", "-v", "-R"}
	for _, topic := range topics {
		args = append(args, "-t", topic)
	}
	cmd := exec.CommandContext(m.t.Context(), "mosquitto_sub", m.client(args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	messages := make(chan message, 1<<14)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(messages)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			topic, payload, _ := strings.Cut(lines.Text(), " ")
			messages <- message{topic, payload, time.Now()}
		}
	})
	m.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		reading.Wait()
		_ = cmd.Wait()
	})
	return messages
}

// next is the next message that is the one.
func next(t *testing.T, what string, messages <-chan message, is func(message) bool) message {
	t.Helper()
	late := time.After(harness.DemoLimit)
	for {
		select {
		case m, ok := <-messages:
			if !ok {
				t.Fatalf("the subscriber has ended before: %s", what)
			}
			if is(m) {
				return m
			}
		case <-late:
			t.Fatalf("waited in vain for: %s", what)
		}
	}
}

// configuration is the four lines of the README for m.
func (m *mosquitto) configuration(more string) string {
	file := filepath.Join(m.folder, "password")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		m.t.Fatal(err)
	}
	return fmt.Sprintf("mqtt:\n  url: mqtt://%s:%s\n  username: %s\n  password_file: %s\n%s\n", m.host, m.port, user, file, more)
}

const (
	at    = "segd/home/camera/demo"
	quick = "superpixels: 500\n"
	zones = ", zones: [{name: door, polygon: [[0, 0], [1, 0], [1, 1], [0, 1]]}]"
)

// demoCamera is the demo's clip as a file, which plays at its own pace.
func demoCamera(more string) string {
	return "cameras: [{name: demo, loop: true, url: 'file:" + demo.FindClip() + "', detect: {classes: [person, car]}" + more + "}]\n"
}

// A person who enters is seen by mosquitto_sub within frames of the masks on NATS, in the demo.
func TestDemo(t *testing.T) {
	m := startMosquitto(t, true)
	seen := m.subscribe(at+"/class/#", at+"/event")
	file := filepath.Join(m.folder, "password")
	m.configuration("")
	t.Setenv("SEGD_MQTT_URL", "mqtt://"+net.JoinHostPort(m.host, m.port))
	t.Setenv("SEGD_MQTT_USERNAME", user)
	t.Setenv("SEGD_MQTT_PASSWORD_FILE", file)
	segd := harness.Demo(t, "--superpixels", "500")
	conn := harness.Connect(t, segd.NATS)
	type counted struct {
		n  string
		at time.Time
	}
	masks := make(chan counted, 1<<14)
	if _, err := conn.Subscribe("segd.v1.home.demo.mask", func(msg *nats.Msg) {
		f := new(segdv1.MaskFrame)
		if err := bus.Unmarshal(msg.Header.Get("Content-Type"), msg.Data, f); err != nil {
			t.Error(err)
			return
		}
		masks <- counted{fmt.Sprint(persons(f)), time.Now()}
	}); err != nil {
		t.Fatal(err)
	}

	next(t, "a person", seen, func(m message) bool { return m.topic == at+"/class/person" && m.payload != "0" })
	found := next(t, "the event", seen, func(m message) bool {
		return m.topic == at+"/event" && strings.Contains(m.payload, "EVENT_KIND_OBJECT_APPEARED")
	})
	var ev struct {
		Camera, Kind, ObjectLabel, Sequence, Time string
		ObjectID                                  int `json:"objectId"`
		Extent                                    map[string]int
	}
	if err := json.Unmarshal([]byte(found.payload), &ev); err != nil || ev.Camera != "demo" || ev.ObjectLabel != "person" || ev.ObjectID < 256 || ev.Extent["width"] == 0 {
		t.Errorf("%+v of %s, %v", ev, found.payload, err)
	}
	// A count that came is that of a frame that NATS has had few frames before, or has at once after it.
	var frames []counted
	for changes := 0; changes < 5; {
		change := next(t, "another count", seen, func(m message) bool { return m.topic == at+"/class/person" })
		for len(frames) == 0 || !frames[len(frames)-1].at.After(change.at) {
			frames = append(frames, waitfor.Next(t, "another frame", masks))
		}
		if frames[0].at.After(change.at) {
			continue // it came before the first frame that was heard
		}
		late := 0
		for _, f := range frames {
			if late++; f.n == change.payload {
				late = 0
			}
			if f.at.After(change.at) {
				break
			}
		}
		if late > 10 { // of 10 a second: the newest frames have had another number for a second
			t.Errorf("the count %s came %d frames after the masks", change.payload, late)
		}
		changes++
	}
	kept := m.until("a picture", func(all map[string]string) bool {
		return all[at+"/snapshot"] != "" && all["segd/home/status"] == "online"
	})
	picture, err := jpeg.Decode(strings.NewReader(kept[at+"/snapshot"]))
	require.NoError(t, err)
	if size := picture.Bounds().Size(); max(size.X, size.Y) > 320 {
		t.Errorf("the picture is %v", size)
	}
	require.NoError(t, os.WriteFile(filepath.Join(t.ArtifactDir(), "snapshot.jpg"), []byte(kept[at+"/snapshot"]), 0o644))
}

func persons(f *segdv1.MaskFrame) (n int) {
	for _, o := range f.Objects {
		if o.Class == "person" && o.State != segdv1.State_STATE_LOST {
			n++
		}
	}
	return n
}

// The broker is killed, comes back without what it kept, and so does segd: what is retained is there right after.
func TestRestarts(t *testing.T) {
	m := startMosquitto(t, false)
	segd := harness.Run(t, m.configuration(quick+demoCamera(zones)))
	whole := func(all map[string]string) bool {
		return all["segd/home/status"] == "online" && strings.Contains(all[at+"/state"], `"up":true`) && all[at+"/snapshot"] != "" &&
			all["homeassistant/binary_sensor/segd_home_demo/occupancy_zone_door/config"] != ""
	}
	before := m.until("all of it", whole)

	m.Kill()
	lost := func(ctx context.Context) error {
		now, err := segd.Metrics(ctx)
		if err == nil && now.Sum("segd_mqtt_connected") != 0 {
			err = errors.New("it is connected")
		}
		return err
	}
	harness.Until(t, harness.StartLimit, "the loss is noticed", lost)
	frames := func() float64 {
		now, err := segd.Metrics(t.Context())
		require.NoError(t, err)
		return now.Sum("segd_frames_total", "outcome", "published")
	}
	had := frames()
	harness.Until(t, harness.StartLimit, "masks go on", func(context.Context) error {
		if frames() < had+20 {
			return errors.New("not yet")
		}
		return nil
	})
	m.start()
	after := m.until("all of it again", whole)
	for topic := range before {
		if _, ok := after[topic]; !ok {
			t.Errorf("%s is not there any more", topic)
		}
	}

	// segd is killed: the broker says so. It comes back with less to show, and what is left over goes.
	segd.Kill()
	m.until("the will", func(all map[string]string) bool { return all["segd/home/status"] == "offline" })
	text, err := os.ReadFile(segd.Config)
	require.NoError(t, err)
	text = bytes.Replace(text, []byte(zones), nil, 1)
	text = bytes.Replace(text, []byte("[person, car]"), []byte("[person]"), 1)
	require.NoError(t, os.WriteFile(segd.Config, text, 0o600))
	require.NoError(t, segd.Start(t.Context()))
	m.until("what there is now", func(all map[string]string) bool {
		for topic := range all {
			if strings.Contains(topic, "door") || strings.Contains(topic, "car") {
				return false
			}
		}
		return all["segd/home/status"] == "online" && strings.Contains(all[at+"/state"], `"up":true`)
	})

	if out, err := exec.CommandContext(t.Context(), harness.Program(t), "check", "-c", segd.Config).CombinedOutput(); err != nil || !strings.Contains(string(out), "mqtt: ok") {
		t.Errorf("segd check: %v\n%s", err, out)
	}
	segd.End()
	m.until("the goodbye", func(all map[string]string) bool { return all["segd/home/status"] == "offline" })
}

// homeAssistant is its core with nothing but MQTT.
type homeAssistant struct {
	t     *testing.T
	in    io.Writer
	shown chan world
}

// world is what it shows.
type world struct {
	Entities map[string]struct {
		State, Name, Device, Class string
		UniqueID                   string `json:"unique_id"`
	}
	Devices map[string]string
	Faults  []string
}

func startHomeAssistant(t *testing.T, m *mosquitto) *homeAssistant {
	t.Helper()
	python := filepath.Join(harness.Root(t), "bin", "mqtt", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		t.Fatalf("%v; make mqtt-test makes it", err)
	}
	cmd := exec.CommandContext(t.Context(), python, "entities.py", m.host, m.port, t.TempDir(), user, secret)
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	h := &homeAssistant{t, in, make(chan world, 1<<12)}
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(h.shown)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 4<<20)
		for lines.Scan() {
			var w world
			if err := json.Unmarshal(lines.Bytes(), &w); err != nil {
				t.Errorf("Home Assistant says %.200s", lines.Text())
				return
			}
			h.shown <- w
		}
	})
	t.Cleanup(func() {
		_ = in.Close()
		reading.Wait()
		if err := cmd.Wait(); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return h
}

// until waits for what it shows.
func (h *homeAssistant) until(what string, is func(world) bool) world {
	h.t.Helper()
	late := time.After(harness.DemoLimit)
	var last world
	for {
		select {
		case w, ok := <-h.shown:
			if !ok {
				h.t.Fatalf("Home Assistant has ended before: %s", what)
			}
			if len(w.Faults) > 0 {
				h.t.Fatalf("Home Assistant finds: %s", strings.Join(w.Faults, "\n"))
			}
			if last = w; is(w) {
				return w
			}
		case <-late:
			h.t.Fatalf("waited in vain for: %s; it shows %+v", what, last.Entities)
		}
	}
}

func (h *homeAssistant) call(service, entity string) {
	h.t.Helper()
	domain, _, _ := strings.Cut(entity, ".")
	if _, err := fmt.Fprintln(h.in, domain, service, entity); err != nil {
		h.t.Fatal(err)
	}
}

// request asks the API.
func request(t *testing.T, method, url, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %d %s %v", method, url, resp.StatusCode, text, err)
	}
}

// Home Assistant finds the cameras by itself, shows what they show, and its switches do what they say.
func TestHomeAssistant(t *testing.T) {
	m := startMosquitto(t, true)
	ha := startHomeAssistant(t, m)
	text := m.configuration("  commands: true\n" + quick + demoCamera(zones))
	segd := harness.Run(t, text)
	shown := ha.until("a person in the zone", func(w world) bool {
		return w.Entities["binary_sensor.demo_person_occupancy"].State == "on" && w.Entities["binary_sensor.demo_zone_door_occupancy"].State == "on" &&
			w.Entities["image.demo_last_object"].State != "unknown" && w.Entities["image.demo_last_object"].State != ""
	})
	var ids []string
	for id, e := range shown.Entities {
		ids = append(ids, id)
		assert.Equal(t, "demo", e.Device, "%s is of the device", id)
	}
	slices.Sort(ids)
	want := []string{
		"binary_sensor.demo_car_occupancy", "binary_sensor.demo_connected", "binary_sensor.demo_occupancy", "binary_sensor.demo_person_occupancy", "binary_sensor.demo_zone_door_occupancy",
		"image.demo_last_object",
		"sensor.demo_car_count", "sensor.demo_count", "sensor.demo_person_count", "sensor.demo_zone_door_count",
	}
	assert.Equal(t, want, ids, "entities")
	assert.Len(t, shown.Devices, 1, "devices %v", shown.Devices)
	if e := shown.Entities["binary_sensor.demo_connected"]; e.State != "on" || e.Class != "connectivity" {
		t.Errorf("%+v", e)
	}
	if e := shown.Entities["binary_sensor.demo_car_occupancy"]; e.State == "unavailable" || e.Class != "occupancy" {
		t.Errorf("%+v", e)
	}

	// One that is added has switches, too. They work.
	answers := m.subscribe("segd/home/camera/+/answer")
	request(t, http.MethodPost, segd.Page+"api/v1/cameras", `{"name":"yard","url":"file:`+demo.FindClip()+`","loop":true,"detect":{"classes":["person"]}}`)
	ha.until("it is up", func(w world) bool {
		return w.Entities["binary_sensor.yard_connected"].State == "on" && w.Entities["switch.yard_pause"].State == "off" && w.Entities["switch.yard_detect"].State == "on"
	})
	ha.call("turn_off", "switch.yard_detect")
	ha.until("it detects nothing, and has its classes", func(w world) bool {
		_, there := w.Entities["sensor.yard_person_count"]
		return there && w.Entities["switch.yard_detect"].State == "off" && w.Entities["binary_sensor.yard_connected"].State == "on"
	})
	ha.call("turn_on", "switch.yard_detect")
	ha.until("it detects again", func(w world) bool {
		return w.Entities["switch.yard_detect"].State == "on" && w.Entities["binary_sensor.yard_person_occupancy"].State == "on"
	})
	ha.call("turn_on", "switch.yard_pause")
	ha.until("it is paused", func(w world) bool {
		return w.Entities["switch.yard_pause"].State == "on" && w.Entities["binary_sensor.yard_connected"].State == "off" && w.Entities["sensor.yard_person_count"].State == "unavailable"
	})
	ha.call("turn_off", "switch.yard_pause")
	ha.until("it runs", func(w world) bool {
		return w.Entities["switch.yard_pause"].State == "off" && w.Entities["binary_sensor.yard_connected"].State == "on"
	})
	for range 4 {
		if a := next(t, "answers", answers, func(message) bool { return true }); !strings.Contains(a.payload, `"error":""`) {
			t.Error(a)
		}
	}
	m.publish(at+"/pause/set", "ON") // of the configuration's
	if a := next(t, "a refusal", answers, func(message) bool { return true }); a.topic != at+"/answer" || !strings.Contains(a.payload, "is declared in the configuration") {
		t.Error(a)
	}

	request(t, http.MethodDelete, segd.Page+"api/v1/cameras/yard", "")
	ha.until("it is gone", func(w world) bool {
		return !slices.ContainsFunc(slices.Collect(maps.Keys(w.Entities)), func(id string) bool { return strings.Contains(id, "yard") })
	})
	segd.Kill()
	ha.until("all is unavailable", func(w world) bool {
		for _, e := range w.Entities {
			if e.State != "unavailable" {
				return false
			}
		}
		return true
	})
}

// Names of classes that have a meaning in topics, are no letters or too long are as good as others.
func TestOddNames(t *testing.T) {
	m := startMosquitto(t, true)
	ha := startHomeAssistant(t, m)
	long := strings.Repeat("longest ", 25)
	classes := []string{"traffic light", "a/b", "a+b#", "🚗", "🚙", "'\"{{ x }}", long + "1", long + "2", strings.Repeat("🚌", 200), "$SYS"}
	m.configuration("")
	p, err := mqtt.New(mqtt.Config{
		URL: "mqtt://" + net.JoinHostPort(m.host, m.port), Username: user, PasswordFile: filepath.Join(m.folder, "password"),
		Prefix: "segd", Site: "home", Discovery: "homeassistant",
		Cameras: func() ([]mqtt.Camera, bool) {
			return []mqtt.Camera{{Name: "odd", Here: true, Classes: classes, Zones: []string{"a_b", "a-b"}}}, true
		},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		assert.NoError(t, p.Run(ctx))
	})
	defer running.Wait()
	defer cancel()
	m.until("it is there", func(all map[string]string) bool { return all["segd/home/status"] == "online" })
	p.Status(&segdv1.Status{Camera: "odd", Up: true})
	frame := &segdv1.MaskFrame{Camera: "odd"}
	for i, class := range classes {
		for range i {
			frame.Objects = append(frame.Objects, &segdv1.Object{Class: class})
		}
	}
	p.Mask(frame)
	counts := func(w world) (all []string) {
		for id, e := range w.Entities {
			if strings.HasPrefix(id, "sensor.") && strings.Contains(e.UniqueID, "class") {
				all = append(all, e.State)
			}
		}
		slices.Sort(all)
		return all
	}
	shown := ha.until("each class with its count", func(w world) bool {
		return slices.Equal(counts(w), []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"})
	})
	if got, want := len(shown.Entities), 1+2*(1+len(classes)+2); got != want {
		t.Errorf("%d entities, want %d", got, want)
	}
}
