//go:build e2e

package attack

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/config"
	"github.com/segd/segd/e2e/harness"
	"github.com/segd/segd/fleet"
	"github.com/segd/segd/pipeline/checkpoint"
)

// Secrets, by who has them.
const (
	operatorToken  = "operator-0123456789"
	viewerToken    = "viewer-0123456789"
	publisherToken = "publisher-0123456789"
	password       = "password-0123456789" // with the user's name before it
)

// answerLimit is how long segd may take for an answer: it gives itself 15 s to try a camera, and the machine may be slow.
const answerLimit = 30 * time.Second

// world is a segd, or two boxes of a fleet, with a NATS server inside or beside.
type world struct {
	t     *testing.T
	boxes []*harness.Segd
	dir   string // made pictures, a folder
	file  string // docs/security.md
	may   map[string]rights
	url   string   // of the NATS server
	rtsp  []string // addresses, by box
	relay *relay   // where box-a reaches box-b; nil: there is one segd

	alertmanager *alertmanager
	admin        *nats.Conn
	js           jetstream.JetStream

	broker *hostileBroker // of MQTT

	before state
	levels levels // nil until they are to be held; so is before
	ended  bool   // segd was told to
}

// inside starts a segd with its own NATS server.
func inside(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	yaml := w.yaml("") + fmt.Sprintf("nats:\n  addr: '%s'\n  store_dir: '%s'\n  masks: {max_age: 1h, max_mib: 64}\n  users:\n", harness.FreeAddrs(t, 1)[0], t.TempDir())
	for _, user := range append([]string{"admin"}, roles...) {
		yaml += fmt.Sprintf("    - {name: %s, password: %s, role: %s}\n", user, user+password, user)
	}
	w.run("segd", yaml)
	w.url = w.boxes[0].NATS
	w.settle()
	return w
}

// beside starts two boxes with the NATS server of the compose file.
func beside(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	for _, user := range append([]string{"segd", "admin"}, roles...) {
		t.Setenv("NATS_"+strings.ToUpper(user), `"`+user+password+`"`)
	}
	w.url = harness.StartCompose(t).URL
	key := filepath.Join(t.TempDir(), "cameras.key")
	require.NoError(t, os.WriteFile(key, []byte(strings.Repeat("0123456789abcdef", 4)), 0o600))
	for _, name := range []string{"box-a", "box-b"} {
		yaml := w.yaml(name) + fmt.Sprintf("nats: {url: '%s', cameras_key: '%s', masks: {max_age: 1h, max_mib: 64}}\nfleet: {box: %s, labels: [at=%s]}\n", w.as("segd"), key, name, name)
		if name == "box-b" {
			parsed, err := config.Parse(name, []byte(yaml), nil)
			require.NoError(t, err)
			w.relay = newRelay(t, parsed.HTTP.Addr)
			yaml = strings.Replace(yaml, "fleet: {", "fleet: {address: 'http://"+w.relay.Addr().String()+"', ", 1)
		}
		w.run(name, yaml)
	}
	w.settle()
	return w
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dir: pictures(t), file: filepath.Join(harness.Root(t), "docs", "security.md"), may: map[string]rights{}, alertmanager: newAlertmanager(t), broker: newHostileBroker(t)}
	for _, role := range roles {
		may, err := readRights(w.file, role, site)
		require.NoError(t, err)
		w.may[role] = may
	}
	return w
}

// yaml is the configuration but for nats, with everything on that listens; where there is a fleet, box is this one.
func (w *world) yaml(box string) string {
	addrs := harness.FreeAddrs(w.t, 3)
	text := fmt.Sprintf("http: {addr: '%s', token: %s, viewer_token: %s, alertmanager: '%s'}\nwhip: {addr: '%s', token: %s}\nrtsp: {addr: '%s'}\nmqtt: {url: 'mqtt://%s', commands: true}\nsuperpixels: 100\nmodel: {short_side: 64}\ncameras:\n",
		addrs[0], operatorToken, viewerToken, w.alertmanager.URL, addrs[1], publisherToken, addrs[2], w.broker.listener.Addr())
	for name, at := range map[string]string{gate: "box-a", yard: "box-b"} {
		requires := ""
		if box != "" {
			requires = ", requires: [at=" + at + "]"
		}
		text += fmt.Sprintf("  - {name: %s, url: 'dir:%s', fps: 4, loop: true, detect: {off: true}%s}\n", name, w.dir, requires)
	}
	return text
}

// run starts one more segd, of a configuration in which nothing that could listen is off.
func (w *world) run(name, yaml string) {
	w.t.Helper()
	b := harness.RunAs(w.t, name, yaml)
	w.boxes = append(w.boxes, b)
	parsed, err := config.Parse(b.Config, []byte(yaml), os.Environ())
	if err != nil {
		w.t.Fatal(err)
	}
	w.rtsp = append(w.rtsp, parsed.RTSP.Addr)
	for name, section := range reflect.ValueOf(*parsed).Fields() {
		if section.Kind() != reflect.Struct {
			continue
		}
		if addr := section.FieldByName("Addr"); addr.IsValid() && addr.String() == "" {
			w.t.Fatalf("%s.addr is not set, so nobody attacks what listens there", strings.ToLower(name.Name))
		}
	}
}

// pictures makes a folder with pictures of something bright that moves a little.
func pictures(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(1, 1))
	for i := range 4 {
		picture := image.NewRGBA(image.Rect(0, 0, 160, 120))
		for y := range 120 {
			for x := range 160 {
				grey := uint8(60 + random.IntN(20))
				c := color.RGBA{grey, grey, grey, 255}
				if x >= 50+i && x < 90+i && y >= 40 && y < 80 {
					c = color.RGBA{220, 60, 40, 255}
				}
				picture.SetRGBA(x, y, c)
			}
		}
		var data bytes.Buffer
		require.NoError(t, png.Encode(&data, picture))
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.png", i)), data.Bytes(), 0o644))
	}
	return dir
}

// as is the URL of the NATS server for a user.
func (w *world) as(user string) string {
	return strings.Replace(w.url, "://", "://"+user+":"+user+password+"@", 1)
}

// settle adds a camera, marks an object in each, and makes what an admin has to make.
func (w *world) settle() {
	w.t.Helper()
	ctx := w.t.Context()
	w.admin = harness.Connect(w.t, w.as("admin"))
	var err error
	if w.js, err = jetstream.New(w.admin); err != nil {
		w.t.Fatal(err)
	}
	until := func(what string, ask func(context.Context) error) {
		w.t.Helper()
		if err := w.boxes[0].Wait(ctx, 2*harness.StartLimit, what, ask); err != nil {
			w.t.Fatal(err)
		}
	}
	until("an added camera", func(ctx context.Context) error {
		return w.target("").added(ctx, fmt.Sprintf(`{"name":"%s","url":"dir:%s","fps":4,"loop":true,"detect":{"off":true}}`, porch, w.dir))
	})
	for _, camera := range []string{gate, yard, porch} {
		until("an object marked on "+camera, func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, answerLimit)
			defer cancel()
			list, err := w.target(camera).Objects(ctx)
			if err == nil && len(list.GetObjects()) == 0 {
				if _, err = w.target(camera).Annotate(ctx, []byte(box)); err == nil {
					err = errors.New("none yet")
				}
			}
			return err
		})
	}
	// On a server of its own an admin makes the consumers (docs/nats.md); of its own server segd does.
	for _, stream := range streams[:2] {
		for _, role := range roles {
			until("the consumer of "+stream+" for "+role, func(ctx context.Context) error {
				_, err := w.js.Consumer(ctx, stream, role)
				if errors.Is(err, jetstream.ErrConsumerNotFound) && len(w.boxes) > 1 {
					_, err = w.js.CreateConsumer(ctx, stream, jetstream.ConsumerConfig{Durable: role, AckPolicy: jetstream.AckExplicitPolicy})
				}
				return err
			})
		}
	}
	until("a checkpoint of each camera", func(ctx context.Context) error {
		now, err := w.state(ctx)
		if err != nil {
			return err
		}
		for _, camera := range []string{gate, yard, porch} {
			if now["checkpoint "+camera] == "" {
				return errors.New("none of " + camera)
			}
		}
		return nil
	})
}

// box marks the bright thing.
const box = `{"width":160,"height":120,"objects":[{"id":1,"label":"box","box":[48,38,94,82]}]}`

// target asks segd as an admin.
type target struct{ bus.Target }

func (w *world) target(camera string) target {
	return target{bus.Target{URL: w.as("admin"), Site: site, Camera: camera}}
}

// added adds a camera unless it is there.
func (t target) added(ctx context.Context, body string) error {
	_, err := t.AddCamera(ctx, []byte(body))
	if err != nil && strings.Contains(err.Error(), "already") {
		return nil
	}
	return err
}

// state is what an attack may not change, each thing as text.
type state map[string]string

// state asks an admin's way.
func (w *world) state(ctx context.Context) (state, error) {
	s := state{}
	for _, add := range []func(context.Context, state) error{w.addCameras, w.addFleet, w.addStreams, w.addCheckpoints, w.addSettings} {
		if err := add(ctx, s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (w *world) addCameras(ctx context.Context, s state) error {
	data, err := w.target("").ListCameras(ctx)
	if err != nil {
		return err
	}
	var list struct {
		Cameras []struct {
			Name, URL, Source string
			Paused, Kept      bool
			Zones, Lines      []json.RawMessage
			Settings          json.RawMessage
		}
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	for _, c := range list.Cameras {
		s["camera "+c.Name] = fmt.Sprintf("%+v", c)
		objects, err := w.target(c.Name).Objects(ctx)
		if err != nil {
			return err
		}
		text := ""
		for _, o := range objects.GetObjects() {
			text += fmt.Sprintf("%d %s,", o.GetId(), o.GetLabel())
		}
		s["objects of "+c.Name] = text
	}
	return nil
}

func (w *world) addFleet(ctx context.Context, s state) error {
	if len(w.boxes) == 1 {
		return nil
	}
	data, err := w.target("").ShowFleet(ctx)
	if err != nil {
		return err
	}
	var now fleet.Status
	if err := json.Unmarshal(data, &now); err != nil {
		return err
	}
	for _, b := range now.Boxes {
		s["box "+b.Name] = fmt.Sprintf("alive %v, cordoned %v, drained %v", b.Alive, b.Cordoned, b.Drained)
	}
	for _, c := range now.Cameras {
		if c.Name != porch { // whichever box has room
			s["box of "+c.Name] = c.Box
		}
	}
	return nil
}

// addStreams adds the configuration of each stream, its lasting consumers, and the keys of each bucket; of the kept
// cameras, which only commands change, the values.
func (w *world) addStreams(ctx context.Context, s state) error {
	all := w.js.ListStreams(ctx)
	for info := range all.Info() {
		name := info.Config.Name
		config, err := json.Marshal(info.Config)
		if err != nil {
			return err
		}
		s["stream "+name] = string(config)
		stream, err := w.js.Stream(ctx, name)
		if err != nil {
			return err
		}
		consumers := []string{}
		list := stream.ListConsumers(ctx)
		for c := range list.Info() {
			if c.Config.Durable != "" { // segd has others while it reads
				c.Config.Metadata = nil
				consumers = append(consumers, fmt.Sprintf("%+v", c.Config))
			}
		}
		if err := list.Err(); err != nil {
			return err
		}
		slices.Sort(consumers)
		s["consumers of "+name] = strings.Join(consumers, ", ")
		if !strings.HasPrefix(name, "KV_") {
			continue
		}
		full, err := stream.Info(ctx, jetstream.WithSubjectFilter(">"))
		if err != nil {
			return err
		}
		for subject := range full.State.Subjects {
			if subject == "$KV.segd_"+site+"_fleet.camera."+spare {
				continue // it is there once the spare camera has run, so that its tokens only rise
			}
			s["key "+subject] = "there"
			if name == "KV_"+bus.CamerasBucket(site) {
				msg, err := stream.GetLastMsgForSubject(ctx, subject)
				if err != nil {
					return err
				}
				s["key "+subject] = fmt.Sprintf("%d %x", msg.Sequence, sha256.Sum256(msg.Data))
			}
		}
	}
	return all.Err()
}

// addCheckpoints adds whose there are. Each has to be one that segd has written, of that camera, and little else may be
// in their bucket. segd may replace one while it is read, which is an error then and not the next time.
func (w *world) addCheckpoints(ctx context.Context, s state) error {
	store, err := w.js.ObjectStore(ctx, bus.CheckpointBucket(site))
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil // none yet
	}
	if err != nil {
		return err
	}
	all, err := store.List(ctx)
	if errors.Is(err, jetstream.ErrNoObjectsFound) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, info := range all {
		camera, _, _ := strings.Cut(info.Name, ".") // then a generation
		data, err := store.GetBytes(ctx, info.Name)
		if err != nil {
			return fmt.Errorf("checkpoint %s: %w", info.Name, err)
		}
		c, err := checkpoint.Decode(data)
		if err == nil && c.Camera != camera {
			err = fmt.Errorf("is of camera %q", c.Camera)
		}
		if err != nil {
			return fmt.Errorf("checkpoint %s: %w", info.Name, err)
		}
		s["checkpoint "+camera] = "decodes"
	}
	stream, err := w.js.Stream(ctx, "OBJ_"+bus.CheckpointBucket(site))
	if err != nil {
		return err
	}
	full, err := stream.Info(ctx, jetstream.WithSubjectFilter(">"))
	if err != nil {
		return err
	}
	if n := len(full.State.Subjects); n > 4*len(all) { // a name and a content each, and the next content while it is written
		s["subjects of checkpoints"] = fmt.Sprintf("%d of %d checkpoints", n, len(all))
	}
	return nil
}

func (w *world) addSettings(ctx context.Context, s state) error {
	for _, b := range w.boxes {
		status, body, err := w.ask(ctx, http.MethodGet, b.Page, operatorToken, "/api/v1/config", "")
		if err != nil || status != http.StatusOK {
			return fmt.Errorf("the configuration: %d, %w", status, err)
		}
		s["configuration at "+b.Page] = string(body)
	}
	return nil
}

// diff tells what has changed.
func (s state) diff(now state) (changes []string) {
	all := maps.Clone(s)
	maps.Copy(all, now)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if s[key] != now[key] {
			changes = append(changes, fmt.Sprintf("%s: %.200q was %.200q", key, now[key], s[key]))
		}
	}
	return changes
}

// levels are what a segd holds.
type levels map[string]float64

// memory is how much more a segd may hold than before, in bytes: 64 MiB of pictures for each of three cameras, which
// it keeps for annotations of earlier frames (docs/annotations.md) and may not have had before, and as much for what the Go runtime
// has not collected yet.
const memory = 4 * 64 << 20

// measure returns the levels of all boxes together: a camera that moves from one to another takes what it needs along.
func (w *world) measure(ctx context.Context) (levels, error) {
	all := levels{}
	for _, b := range w.boxes {
		status, body, err := w.ask(ctx, http.MethodGet, b.Page, operatorToken, "/metrics", "")
		if err != nil || status != http.StatusOK {
			return nil, fmt.Errorf("metrics: %d, %w", status, err)
		}
		now, err := harness.ParseMetrics(body)
		if err != nil {
			return nil, err
		}
		for _, name := range []string{"go_goroutines", "process_open_fds", "process_resident_memory_bytes"} {
			all[name] += now.Sum(name)
		}
	}
	return all, nil
}

// above tells what is higher than it was at the highest.
func (l levels) above(was levels) (more []string) {
	for _, name := range slices.Sorted(maps.Keys(l)) {
		limit := was[name]
		if strings.Contains(name, "bytes") {
			limit += memory
		}
		if l[name] > limit {
			more = append(more, fmt.Sprintf("%s: %.0f, was %.0f", name, l[name], was[name]))
		}
	}
	return more
}

// raise notes levels that are still usual.
func (l levels) raise(now levels) {
	for name, v := range now {
		l[name] = max(l[name], v)
	}
}

// asked counts requests over HTTP.
var asked atomic.Uint32

// ask sends a request from an address that has not asked for long, since segd counts what each asks.
func (w *world) ask(ctx context.Context, method, page, token, path, body string) (status int, answer []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(page, "/")+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	n := asked.Add(1)
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 1, byte(n>>8), byte(1+n%250))}}
	client := &http.Client{
		Transport:     &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return resp.StatusCode, nil, nil // it has no end
	}
	if at := resp.Header.Get("Location"); at != "" {
		return resp.StatusCode, []byte(at), nil
	}
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// witness hears everything in a user's account, and notes what segd did not say.
type witness struct {
	user string
	conn *nats.Conn

	mu     sync.Mutex
	frames map[string][2]uint64 // epoch and sequence of the newest mask, by camera
	masks  map[string]int
	events map[string]bool // by Nats-Msg-Id
	faults []string
}

// watch has a witness be in the account of a user while others do what they may.
func (w *world) watch(user string, others rights) (*witness, error) {
	may, limited := w.may[user]
	conn, err := nats.Connect(w.as(user), nats.Name("witness"))
	if err != nil {
		return nil, err
	}
	v := &witness{user: user, conn: conn, frames: map[string][2]uint64{}, masks: map[string]int{}, events: map[string]bool{}}
	never := targets()
	hear := func(m *nats.Msg) {
		if limited && (m.Header.Get("Status") != "" || strings.HasPrefix(m.Reply, "$JS.ACK.") && strings.Contains(m.Reply, "."+user+".")) {
			return // of its own consumer, whose next messages it has asked for before
		}
		// A stored message bears its own subject, wherever it is sent.
		if slices.Contains(never, m.Sub.Subject) {
			m.Subject = m.Sub.Subject
		}
		fault := v.hear(m)
		switch {
		case fault != nil:
		case limited && !may.mayHear(m.Subject):
			fault = errors.New("may not be heard here")
		case limited && bytes.Contains(m.Data, []byte(marker)):
			fault = errors.New("somebody else says that")
		case slices.Contains(never, m.Subject) && !others.mayAsk(m.Subject) && !ofSegd(m.Subject) && !w.late(m):
			fault = errors.New("nobody says that")
		}
		if fault != nil {
			v.mu.Lock()
			v.faults = append(v.faults, fmt.Sprintf("in the account of %s, on %s: %s, reply %q: %v: %.80q", user, m.Sub.Subject, m.Subject, m.Reply, fault, m.Data))
			v.mu.Unlock()
		}
	}
	// In segd's account not to inboxes.
	subjects := []string{">"}
	if !limited {
		subjects = []string{"segd.v1.*.*.mask", "segd.v1.*.*.event", "segd.v1.*.*.status"}
		for _, target := range never {
			if !matches(target, subjects[:3]) {
				subjects = append(subjects, target)
			}
		}
	}
	for _, subject := range subjects {
		if _, subErr := conn.Subscribe(subject, hear); subErr != nil {
			err = subErr
		}
	}
	err = errors.Join(err, conn.Flush())
	if err != nil {
		conn.Close()
		return nil, err
	}
	return v, nil
}

// late tells whether a message is of the consumer of a role that may have asked for it in an earlier stage, and have it sent
// there.
func (w *world) late(m *nats.Msg) bool {
	for role, may := range w.may {
		if strings.HasPrefix(m.Reply, "$JS.ACK.") && strings.Contains(m.Reply, "."+role+".") && may.mayAsk(m.Subject) {
			return true
		}
	}
	return false
}

// ofSegd tells whether segd itself publishes on one of the targets.
func ofSegd(subject string) bool {
	for _, end := range []string{".mask", ".event", ".event.store", ".status", ".claim", ".forgotten", "_fleet.camera.gate", "_fleet.box.box-a"} {
		if strings.HasSuffix(subject, end) && !strings.Contains(subject, ".there.") {
			return true
		}
	}
	return false
}

// hear holds a mask, event or status to be what segd publishes on its subject, for the first time.
func (v *witness) hear(m *nats.Msg) error {
	tokens := strings.Split(m.Subject, ".")
	if len(tokens) != 5 || !strings.HasPrefix(m.Subject, "segd.v1.") {
		return nil
	}
	camera, kind := tokens[3], bus.Kind(tokens[4])
	contentType := m.Header.Get("Content-Type")
	switch kind {
	case bus.KindMask:
		var f segdv1.MaskFrame
		if err := bus.Unmarshal(contentType, m.Data, &f); err != nil {
			return err
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		last, now := v.frames[camera], [2]uint64{f.GetEpoch(), f.GetSequence()}
		if slices.Compare(now[:], last[:]) <= 0 {
			return fmt.Errorf("epoch and sequence %v after %v", now, last)
		}
		v.frames[camera] = now
		v.masks[camera]++
		return named(&f, tokens)
	case bus.KindEvent:
		var e segdv1.Event
		if err := bus.Unmarshal(contentType, m.Data, &e); err != nil {
			return err
		}
		id := m.Header.Get(nats.MsgIdHdr)
		v.mu.Lock()
		defer v.mu.Unlock()
		if id == "" || v.events[id] {
			return fmt.Errorf("an event of Nats-Msg-Id %q that is empty or was there", id)
		}
		v.events[id] = true
		return named(&e, tokens)
	case bus.KindStatus:
		var s segdv1.Status
		if err := bus.Unmarshal(contentType, m.Data, &s); err != nil {
			return err
		}
		return named(&s, tokens)
	}
	return nil
}

func named(m interface {
	GetSite() string
	GetCamera() string
}, tokens []string,
) error {
	if m.GetSite() != tokens[2] || m.GetCamera() != tokens[3] {
		return fmt.Errorf("is of %s/%s", m.GetSite(), m.GetCamera())
	}
	return nil
}

// flowing waits for masks of every camera.
func (v *witness) flowing(ctx context.Context) error {
	count := func() map[string]int { v.mu.Lock(); defer v.mu.Unlock(); return maps.Clone(v.masks) }
	before := count()
	return harness.Wait(ctx, answerLimit, "masks in the account of "+v.user, func(context.Context) error {
		now := count()
		for _, camera := range []string{gate, yard, porch} {
			if now[camera] < before[camera]+2 {
				return errors.New("none of " + camera)
			}
		}
		return nil
	})
}

// end returns what was wrong.
func (v *witness) end() []string {
	v.conn.Close()
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.faults
}
