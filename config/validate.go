package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/features/coco"
	"github.com/segd/segd/ingest/cameraurl"
	"github.com/segd/segd/internal/listen"
	"github.com/segd/segd/internal/nearest"
	"github.com/segd/segd/objects/rules"
	"github.com/segd/segd/objects/zones"
	"github.com/segd/segd/outputs/webhook"
)

// Bounds that validate holds values to.
const (
	minSuperpixels, maxSuperpixels = 50, 20000
	minShortSide, maxShortSide     = 32, 4096
	maxFPS                         = 1000
	minSnapshotFPS                 = 1.0 / 3600
	maxAspect                      = 16 // codec.MaxAspect
	maxViewers                     = 10000
	maxThreads                     = 1024
	maxBatch                       = 64
	maxBatchWait                   = 100 * time.Millisecond
	maxBudgetMS                    = 10000
	maxSlowMS                      = 3_600_000
	maxStreamMiB                   = 1 << 20
	minDetectEvery, maxDetectEvery = 100 * time.Millisecond, time.Hour
	minDetectKeep                  = time.Second
	maxDetectObjects               = 100
	minFleetTTL, maxFleetTTL       = time.Second, time.Minute
	maxFleetCameras                = 1000
	maxLabels                      = 64
	maxRecordingDays               = 3650
	minRecordingMiB                = 64 // some files, of which the oldest goes
	maxRecordingMiB                = 1 << 24
	maxReplicas                    = 5
	maxWebhooks                    = 32
	minToken                       = 16 // 96 bits of base64: beyond guessing over a network
)

// validate judges the values of a complete c.
func (d *decoder) validate(c *Config) {
	d.token("site", c.Site)
	d.listen("http", c.HTTP.Addr, c.HTTP.Token, false)
	if tls := c.HTTP.TLS; (tls.Cert == "") != (tls.Key == "") {
		d.bad("http.tls", "cert and key belong together; accepted: both or neither")
	}
	d.viewer(c)
	d.within("http.viewers", c.HTTP.Viewers, 1, maxViewers)
	for i, text := range c.HTTP.TrustedProxies {
		if _, ok := network(text); !ok {
			d.bad(fmt.Sprintf("http.trusted_proxies[%d]", i), "%q; accepted: an IP address or a network such as 10.0.0.0/8, not all there are", clip(text))
		}
	}
	d.basePath(c.HTTP.BasePath)
	d.alertmanager(c.HTTP.Alertmanager)
	d.whip(&c.WHIP)
	d.rtsp(c)
	d.listen("nats", c.NATS.Addr, c.NATS.Token, len(c.NATS.Users) > 0)
	d.nats(&c.NATS)
	d.mqtt(&c.MQTT)
	d.within("recording.days", c.Recording.Days, 1, maxRecordingDays)
	d.within("recording.max_mib", c.Recording.MaxMiB, minRecordingMiB, maxRecordingMiB)
	d.webhooks(c.Webhooks)
	d.fleet(c)
	d.model(&c.Model)
	d.oneOf("log.level", c.Log.Level, "debug", "info", "warn", "error")
	d.oneOf("log.format", c.Log.Format, "text", "json")
	d.within("log.slow_ms", c.Log.SlowMS, 1, maxSlowMS)
	d.within("superpixels", c.Superpixels, minSuperpixels, maxSuperpixels)
	d.within("tracker.budget_ms", c.Tracker.BudgetMS, 1, maxBudgetMS)
	d.privacy("privacy", c.Privacy)
	d.cameras(c)
	if c.Detector.Names == "" { // else the file has to be read first
		d.detected(c, coco.Names())
	}
}

// listen checks an address to listen on, and that one that others can reach asks
// them for a token, unless it asks them who they are.
func (d *decoder) listen(section, addr, token string, users bool) {
	host := d.addr(section+".addr", addr)
	if host != "" && !listen.Loopback(host) && token == "" && !users {
		d.bad(section+".addr", "%q is reachable from other machines, so %s.token is required; accepted: a token, or a loopback address such as 127.0.0.1:%s",
			addr, section, addr[strings.LastIndexByte(addr, ':')+1:])
	}
	d.secret(section+".token", token)
}

// basePathForm is one or more names, none of which begins with a dot.
var basePathForm = regexp.MustCompile(`^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$`)

// served are the first names of what segd serves at /. Below one of them it could not tell /NAME/x from /x.
var served = []string{"api", "assets", "fleet", "history", "livez", "login", "metrics", "publish", "readyz", "recordings", "whep", "whip"}

func (d *decoder) basePath(path string) {
	const key = "http.base_path"
	if path == "" {
		return
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch {
	case !basePathForm.MatchString(path):
		d.bad(key, "%q; accepted: names of [A-Za-z0-9._~-], each after a slash and without a dot at its beginning, such as /segd", clip(path))
	case slices.Contains(served, first):
		d.bad(key, "%q; accepted: such as /segd/%s: segd itself has something at /%s", clip(path), first, first)
	}
}

func (d *decoder) alertmanager(text string) {
	u, err := url.Parse(text)
	switch {
	case text == "":
	case err != nil || !slices.Contains([]string{"http", "https"}, u.Scheme) || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		d.bad("http.alertmanager", "not the URL of one; accepted: such as http://alertmanager:9093, without user and ?") // it may hold a password
	}
}

func (d *decoder) secret(path, token string) {
	if token != "" && len(token) < minToken {
		d.bad(path, "%d characters; accepted: %d or more", len(token), minToken)
	}
}

func (d *decoder) viewer(c *Config) {
	const path = "http.viewer_token"
	d.secret(path, c.HTTP.ViewerToken)
	switch {
	case c.HTTP.ViewerToken == "":
	case c.HTTP.Token == "":
		d.bad(path, "there is no http.token, so everybody may do everything; accepted: beside http.token")
	case c.HTTP.ViewerToken == c.HTTP.Token:
		d.bad(path, "it is http.token too; accepted: one of its own")
	case c.HTTP.ViewerToken == c.WHIP.Token:
		d.bad(path, "it is whip.token too, and a viewer may not publish; accepted: one of its own")
	}
}

func (d *decoder) whip(w *WHIP) {
	host := d.addr("whip.addr", w.Addr)
	if _, err := netip.ParseAddr(host); host != "" && err != nil && !listen.Loopback(host) {
		d.bad("whip.addr", "host %q; accepted: an IP address, localhost, or none for every interface", clip(host))
	}
	d.secret("whip.token", w.Token)
	d.oneOf("whip.second_publisher", w.SecondPublisher, "refuse", "replace")
	for i, ip := range w.PublicIPs {
		if _, err := netip.ParseAddr(ip); err != nil {
			d.bad(fmt.Sprintf("whip.public_ips[%d]", i), "%q; accepted: an IP address such as 192.0.2.10", clip(ip))
		}
	}
	for i, s := range w.ICEServers {
		path := fmt.Sprintf("whip.ice_servers[%d].url", i)
		scheme, rest, _ := strings.Cut(s.URL, ":")
		if !slices.Contains([]string{"stun", "stuns", "turn", "turns"}, scheme) || rest == "" {
			d.bad(path, "%q; accepted: such as stun:host:3478 or turn:host:3478?transport=udp", clip(s.URL))
		}
	}
}

func (d *decoder) rtsp(c *Config) {
	if c.RTSP.Addr == "" {
		return
	}
	if host := d.addr("rtsp.addr", c.RTSP.Addr); host != "" && !listen.Loopback(host) && c.HTTP.Token == "" {
		d.bad("rtsp.addr", "%q is reachable from other machines, so http.token is required; accepted: a token, or a loopback address such as 127.0.0.1:8554", clip(c.RTSP.Addr))
	}
}

func (d *decoder) model(m *Model) {
	d.within("model.short_side", m.ShortSide, minShortSide, maxShortSide)
	d.oneOf("model.device", m.Device, "auto", "cpu", "cuda", "tensorrt")
	if m.Device == "tensorrt" && m.Engine == "opencv" {
		d.bad("model.engine", "%q with device tensorrt; accepted: auto, onnxruntime", m.Engine)
	}
	if m.Batch != 0 {
		d.within("model.batch", m.Batch, 1, maxBatch)
	}
	d.duration("model.batch_wait", m.BatchWait, "above 0 and up to 100ms", "2ms", func(wait time.Duration) bool { return wait > 0 && wait <= maxBatchWait })
	d.oneOf("model.engine", m.Engine, "auto", "opencv", "onnxruntime")
	if m.Threads != 0 {
		d.within("model.threads", m.Threads, 1, maxThreads)
	}
	for i, tap := range m.Taps {
		if tap == "" || slices.Contains(m.Taps[:i], tap) {
			d.bad(fmt.Sprintf("model.taps[%d]", i), "%q is empty or named before; accepted: the name of another layer of the model", tap)
		}
	}
	if (len(m.Mean) == 0) != (len(m.Std) == 0) {
		d.bad("model", "mean and std belong together; accepted: both or neither")
		return
	}
	d.three("model.mean", m.Mean, math.Inf(-1))
	d.three("model.std", m.Std, 0)
}

// three checks one number a channel, each above least; none is the default.
func (d *decoder) three(path string, values []float64, least float64) {
	if len(values) != 0 && len(values) != 3 {
		d.bad(path, "%d numbers; accepted: 3, one a channel", len(values))
	}
	for i, v := range values {
		if !(v > least) || math.IsInf(v, 0) {
			d.bad(fmt.Sprintf("%s[%d]", path, i), "found %v; accepted: a finite number above %v", v, least)
		}
	}
}

func (d *decoder) cameras(c *Config) {
	cameras := c.Cameras
	if cameras == nil && !d.faulty("cameras") { // left out is more likely forgotten than meant
		d.bad("cameras", "missing; accepted: a list of cameras with name and url, or [] where all are added in the page")
	}
	first := make(map[string]int)
	for i, cam := range cameras {
		path := fmt.Sprintf("cameras[%d]", i)
		d.name("cameras", i, cam.Name, first)
		u, err := cameraurl.Parse(cam.URL)
		if err != nil {
			d.bad(path+".url", "%v", err)
		}
		d.oneOf(path+".transport", cam.Transport, cameraurl.Transports...)
		d.oneOf(path+".decode", cam.Decode, "software", "cuda", "vaapi", "auto")
		d.oneOf(path+".clock", cam.Clock, "auto", "sender", "arrival")
		d.oneOf(path+".deinterlace", cam.Deinterlace, "auto", "on", "off")
		d.fingerprint(path+".fingerprint", cam.Fingerprint, u)
		d.passwordFile(path+".password_file", cam.PasswordFile, u)
		if !slices.Contains([]int{0, 90, 180, 270}, cam.Rotate) {
			d.bad(path+".rotate", "found %d; accepted: 0, 90, 180, 270 (degrees clockwise)", cam.Rotate)
		}
		if _, ok := parseAspect(cam.Aspect); !ok && cam.Aspect != "" {
			d.bad(path+".aspect", "%q; accepted: WIDTH:HEIGHT of the whole picture, from 1:%d to %d:1, such as 16:9", clip(cam.Aspect), maxAspect, maxAspect)
		}
		if !(cam.FPS > 0 && cam.FPS <= maxFPS) {
			d.bad(path+".fps", "found %v; accepted: above 0, at most %d", cam.FPS, maxFPS)
		} else if cam.Snapshots() && cam.FPS < minSnapshotFPS {
			d.bad(path+".fps", "found %v; accepted: a picture an hour (%.6f) or more, at most %d a second", cam.FPS, minSnapshotFPS, maxFPS)
		}
		d.layout(path, cam)
		d.rules(path, cam)
		d.detect(path+".detect", cam)
		d.privacy(path+".privacy", cam.Privacy)
		d.ignore(path+".ignore", cam)
		if cam.Record {
			d.record(path+".record", c, cam, u)
		}
		d.labels(path+".requires", cam.Requires)
	}
}

// detect checks what the camera marks by itself, but for the names of the classes.
func (d *decoder) detect(path string, cam Camera) {
	det := cam.Detect
	if len(det.Classes) == 0 {
		d.bad(path+".classes", "none; accepted: a list of at least one class, such as [person, car], or off: true beside it or in its place")
	}
	for i, class := range det.Classes {
		if slices.Contains(det.Classes[:i], class) {
			d.bad(fmt.Sprintf("%s.classes[%d]", path, i), "%q is named before; accepted: each class once", clip(class))
		}
	}
	d.duration(path+".every", det.Every, "from 100ms to 1h", "2s", func(every time.Duration) bool { return every >= minDetectEvery && every <= maxDetectEvery })
	if !(det.Score > 0 && det.Score <= 1) {
		d.bad(path+".score", "found %v; accepted: above 0, at most 1", det.Score)
	}
	d.within(path+".max_objects", det.MaxObjects, 1, maxDetectObjects)
	d.duration(path+".keep", det.Keep, "of 1s or more", "30s", func(keep time.Duration) bool { return keep >= minDetectKeep })
	if !(det.Reidentify > 0 && det.Reidentify <= 1) {
		d.bad(path+".reidentify", "found %v; accepted: above 0, at most 1", det.Reidentify)
	}
	for i, name := range det.Zones {
		if cam.Layout().Has(name) {
			continue
		}
		names := make([]string, len(cam.Zones))
		for k, z := range cam.Zones {
			names[k] = clip(z.Name)
		}
		accepted := "this camera has none"
		if len(names) > 0 {
			accepted = "names of this camera's zones: " + strings.Join(names, ", ")
		}
		d.bad(fmt.Sprintf("%s.zones[%d]", path, i), "%q is no zone; accepted: %s", clip(name), accepted)
	}
}

// privacy checks what is said of what pictures do not show, but for the names.
func (d *decoder) privacy(path string, p Privacy) {
	if !p.given() {
		if _, written := d.source[path]; written && !d.faulty(path) {
			d.bad(path+".blur", "missing; accepted: a list of at least one class, such as [person], as blur or fill, or off: true")
		}
		return
	}
	if p.Off && len(p.Blur)+len(p.Fill) > 0 {
		d.bad(path+".off", "true, beside what is hidden; accepted: one of them")
	}
	for i, name := range p.Fill {
		if slices.Contains(p.Blur, name) {
			d.bad(fmt.Sprintf("%s.fill[%d]", path, i), "%q is in blur too; accepted: in one of them", clip(name))
		}
	}
	if p.Except != "" {
		d.oneOf(path+".except", p.Except, Kept)
	}
	if _, ok := parsePercent(p.Margin); !ok {
		d.bad(path+".margin", "%q; accepted: 0%% to 100%% of an object's longer side, such as 10%%", clip(p.Margin))
	}
	d.oneOf(path+".show", p.Show, ShowNobody, ShowOperator)
}

// hidden checks that a camera detects what it is to hide: p, which is its own or that for all.
func (d *decoder) hidden(path string, cam Camera, p Privacy) {
	if d.faulty(path + ".blur") { // it says nothing, and was to say something
		return
	}
	accepted := "of the camera's detect.classes, " + strings.Join(cam.Detect.Classes, ", ")
	for i, name := range slices.Concat(p.Blur, p.Fill) {
		at := fmt.Sprintf("%s.blur[%d]", path, i)
		if k := i - len(p.Blur); k >= 0 {
			at = fmt.Sprintf("%s.fill[%d]", path, k)
		}
		switch {
		case slices.Contains(cam.Detect.Classes, name):
		case cam.Privacy.given():
			d.bad(at, "%q is not detected, so it would not be known where one is; accepted: %s", clip(name), accepted)
		default: // all cameras have it
			d.bad(path, "%q, which privacy hides in all cameras, is not detected in this one; accepted: detect.classes with it, or privacy: {off: true}", clip(name))
		}
	}
}

// ignore checks the polygons that are filled with black.
func (d *decoder) ignore(path string, cam Camera) {
	if n := len(cam.Ignore); n > zones.MaxZones {
		d.bad(path, "%d; accepted: at most %d", n, zones.MaxZones)
		return
	}
	for i, polygon := range cam.Ignored() {
		at := fmt.Sprintf("%s[%d]", path, i)
		d.coordinates(at, cam.Ignore[i])
		for _, f := range zones.PolygonFaults(at, polygon) {
			d.bad(f.Field, "%s", f.Detail)
		}
	}
}

// record checks a camera whose video is recorded, which shows all that the camera sees.
func (d *decoder) record(path string, c *Config, cam Camera, u *cameraurl.URL) {
	hides := c.PrivacyOf(cam)
	switch {
	case !c.Recording.On():
		d.bad(path, "true, and there is no recording.dir; accepted: with that")
	case u != nil && u.Kind != cameraurl.RTSP && u.Kind != cameraurl.WHIP:
		d.bad(path, "true, and the url is of another kind than RTSP and whip:; accepted: a camera of these, whose H.264 or H.265 is recorded as it comes")
	case len(hides.Blur)+len(hides.Fill) > 0:
		d.bad(path, "true, and the recording would show what privacy hides; accepted: with privacy: {off: true}, or false")
	case len(cam.Ignore) > 0:
		d.bad(path, "true, and the recording would show what ignore makes black; accepted: without ignore, or false")
	case cam.Rotate != 0:
		d.bad(path, "true, and the recording is not turned by rotate; accepted: with rotate: 0, the picture turned in the camera's settings, or false")
	}
}

// coordinates checks that each point has two numbers.
func (d *decoder) coordinates(list string, points [][]float64) {
	for i, p := range points {
		if len(p) != 2 {
			d.bad(fmt.Sprintf("%s[%d]", list, i), "%d numbers; accepted: two, [x, y]", len(p))
		}
	}
}

// detected checks the classes that cameras mark, and that are hidden in all of them, against those that the detector
// knows, and that cameras mark what they are to hide. Of those that are marked by default it leaves what the detector knows.
func (d *decoder) detected(c *Config, known []string) {
	check := func(list string, names []string) {
		for i, class := range names {
			if !slices.Contains(known, class) {
				d.bad(fmt.Sprintf("%s[%d]", list, i), "%q; accepted: one of the %d classes that the detector knows, such as %s",
					clip(class), len(known), strings.Join(nearest.Words(class, known), ", "))
			}
		}
	}
	check("privacy.blur", c.Privacy.Blur)
	check("privacy.fill", c.Privacy.Fill)
	for i := range c.Cameras {
		cam, at := &c.Cameras[i], fmt.Sprintf("cameras[%d]", i)
		if _, written := d.source[at+".detect.classes"]; written {
			check(at+".detect.classes", cam.Detect.Classes)
		} else if cam.Detect.Classes = slices.DeleteFunc(DefaultDetectClasses(), func(class string) bool { return !slices.Contains(known, class) }); len(cam.Detect.Classes) == 0 {
			cam.Detect.Classes = slices.Clone(known)
		}
		d.hidden(at+".privacy", *cam, c.PrivacyOf(*cam))
	}
}

// layout checks the zones and lines of the camera at path.
func (d *decoder) layout(path string, cam Camera) {
	for i, z := range cam.Zones {
		at := fmt.Sprintf("%s.zones[%d]", path, i)
		d.coordinates(at+".polygon", z.Polygon)
		if z.Dwell != "" {
			d.duration(at+".dwell", z.Dwell, fmt.Sprintf("of %v or more", zones.MinDwell), "10s", func(dwell time.Duration) bool { return dwell >= zones.MinDwell })
		}
		if _, written := d.source[at+".share"]; written && z.By == string(zones.ByFoot) {
			d.bad(at+".share", "the zone goes by foot; accepted: with by: %s", zones.ByShare)
		}
	}
	for i, line := range cam.Lines {
		d.coordinates(fmt.Sprintf("%s.lines[%d].points", path, i), line.Points)
	}
	for _, f := range cam.Layout().Faults() {
		d.bad(path+"."+f.Field, "%s", f.Detail)
	}
}

// rules checks the rules of the camera at path.
func (d *decoder) rules(path string, cam Camera) {
	first := make(map[string]int)
	for i, r := range cam.Rules {
		at := fmt.Sprintf("%s.rules[%d]", path, i)
		d.name(path+".rules", i, r.Name, first)
		d.duration(at+".for", r.For, fmt.Sprintf("of %v or more", rules.MinFor), "10s", func(v time.Duration) bool { return v >= rules.MinFor })
		d.duration(at+".again", r.Again, "of 0s or more", "5m", func(v time.Duration) bool { return v >= 0 })
	}
	for _, f := range rules.Faults(cam.RulesOf(), cam.Layout()) {
		d.bad(path+"."+f.Field, "%s", f.Detail)
	}
}

// bad adds a fault about the setting at path, unless it has one already.
func (d *decoder) bad(path, format string, args ...any) {
	if d.faulty(path) {
		return
	}
	at := place{file: d.file}
	// A setting that is not there is blamed on what should hold it.
	for p := path; p != ""; p = parent(p) {
		if s, ok := d.source[p]; ok {
			at = s
			break
		}
	}
	d.fault(at, path, format, args...)
}

func (d *decoder) faulty(path string) bool {
	return slices.ContainsFunc(d.faults, func(f Fault) bool { return f.Path == path })
}

func parent(path string) string {
	if i := strings.LastIndexAny(path, ".["); i >= 0 {
		return path[:i]
	}
	return ""
}

// name checks that of the i-th of a list: a token, and of none before. first holds whose the
// names are.
func (d *decoder) name(list string, i int, name string, first map[string]int) {
	path := fmt.Sprintf("%s[%d].name", list, i)
	d.token(path, name)
	if j, ok := first[name]; ok && name != "" {
		d.bad(path, "%q is %s[%d]'s name already; accepted: a name of its own", clip(name), list, j)
		return
	}
	first[name] = i
}

// token checks one token of a NATS subject.
func (d *decoder) token(path, value string) {
	if value == "" {
		d.bad(path, "missing; accepted: letters, digits, _ and -")
		return
	}
	for _, r := range value {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' {
			d.bad(path, "%q contains %q; accepted: letters, digits, _ and -", clip(value), r)
			return
		}
	}
}

// addr checks host:port and returns the host, "" after a fault.
func (d *decoder) addr(path, value string) string {
	host, port, err := net.SplitHostPort(value)
	if err != nil {
		d.bad(path, "%q is not host:port; accepted: such as 127.0.0.1:8080", clip(value))
		return ""
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		d.bad(path, "port %q; accepted: 0 to 65535", clip(port))
		return ""
	}
	if host == "" {
		return "0.0.0.0" // an empty host listens on every interface
	}
	return host
}

func (d *decoder) nats(n *NATS) {
	if n.URL != "" {
		d.natsURL(n.URL)
	}
	d.oneOf("nats.format", n.Format, "protobuf", "json")
	d.oneOf("nats.sync", n.Sync, "interval", "always")
	switch {
	case n.Sync != "always":
	case n.URL != "":
		d.bad("nats.sync", "always is for the embedded server; accepted: without nats.url (sync_interval of that server does it)")
	case n.StoreDir == "":
		d.bad("nats.sync", "always keeps nothing in a temporary folder; accepted: with nats.store_dir")
	}
	d.oneOf("nats.duplicates", n.Duplicates, "refuse", "allow")
	d.within("nats.replicas", n.Replicas, 1, maxReplicas)
	if n.Replicas > 1 && n.URL == "" {
		d.bad("nats.replicas", "the embedded server is one; accepted: with nats.url")
	}
	for _, f := range []struct{ path, value string }{
		{"nats.credentials", n.Credentials}, {"nats.nkey", n.NKey}, {"nats.tls.ca", n.TLS.CA},
	} {
		if f.value != "" && n.URL == "" {
			d.bad(f.path, "%q is for an external server; accepted: with nats.url", clip(f.value))
		}
	}
	if n.Credentials != "" && n.NKey != "" {
		d.bad("nats.nkey", "nats.credentials is there too; accepted: one of them")
	}
	if (n.TLS.Cert == "") != (n.TLS.Key == "") {
		d.bad("nats.tls", "cert and key belong together; accepted: both or neither")
	}
	if n.URL != "" && len(n.Users) > 0 {
		d.bad("nats.users", "nats.url is there too, whose server has users of its own; accepted: one of them")
	}
	d.natsUsers(n.Users)
	d.retention("nats.events", n.Events)
	d.retention("nats.masks", n.Masks)
	d.retention("nats.pictures", n.Pictures)
	if n.Masks.MaxMiB != 0 && n.Masks.MaxAge == "" {
		d.bad("nats.masks", maxMiBAlone)
	}
	if n.Pictures.MaxMiB != 0 && n.Pictures.MaxAge == "" {
		d.bad("nats.pictures", maxMiBAlone)
	}
}

// mqtt checks what is said of the broker, but for its files.
func (d *decoder) mqtt(m *MQTT) {
	if m.URL == "" {
		for path := range d.source {
			if strings.HasPrefix(path, "mqtt.") {
				d.bad("mqtt.url", "missing; accepted: the broker's, such as mqtt://broker.example")
			}
		}
		return
	}
	secured := false
	switch u, err := url.Parse(m.URL); {
	case err != nil:
		d.bad("mqtt.url", "not a URL; accepted: such as mqtt://broker.example or mqtts://broker.example")
	case u.User != nil:
		d.bad("mqtt.url", "it names a user; accepted: one without, and mqtt.username and mqtt.password_file")
	case !slices.Contains([]string{"mqtt", "mqtts"}, u.Scheme), u.Hostname() == "", strings.Trim(u.Path, "/") != "", u.RawQuery != "":
		d.bad("mqtt.url", "%q; accepted: such as mqtt://broker.example or, by TLS, mqtts://broker.example:8883", clip(m.URL))
	default:
		secured = u.Scheme == "mqtts"
	}
	if m.PasswordFile != "" && m.Username == "" {
		d.bad("mqtt.username", "missing; accepted: whose password is in mqtt.password_file")
	}
	if (m.TLS.Cert == "") != (m.TLS.Key == "") {
		d.bad("mqtt.tls", "cert and key belong together; accepted: both or neither")
	}
	if m.TLS != (MQTTTLS{}) && !secured {
		d.bad("mqtt.tls", "mqtt.url is without TLS; accepted: with mqtts://")
	}
	d.topic("mqtt.prefix", m.Prefix)
	if m.Discovery != "" {
		d.topic("mqtt.discovery", m.Discovery)
	}
}

// webhooks checks what is said of servers that events are posted to, but for their files.
func (d *decoder) webhooks(all []Webhook) {
	if len(all) > maxWebhooks {
		d.bad("webhooks", "%d webhooks; accepted: at most %d", len(all), maxWebhooks)
	}
	first := make(map[string]int)
	for i, w := range all {
		path := fmt.Sprintf("webhooks[%d]", i)
		d.name("webhooks", i, w.Name, first)
		switch u, err := url.Parse(w.URL); {
		case w.URL == "":
			d.bad(path+".url", "missing; accepted: such as https://hooks.example/segd")
		case err != nil: // the text may hold a secret
			d.bad(path+".url", "not a URL; accepted: such as https://hooks.example/segd")
		case u.User != nil:
			d.bad(path+".url", "it names a user; accepted: one without")
		case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
			d.bad(path+".url", "neither http:// nor https:// and a host; accepted: such as https://hooks.example/segd")
		case w.CA != "" && u.Scheme != "https":
			d.bad(path+".ca", "the url is without TLS; accepted: with https://")
		}
		if w.Secret != "" {
			if _, err := webhook.ParseSecret(w.Secret); err != nil {
				d.bad(path+".secret", "%v", err)
			}
		}
		if w.Secret != "" && w.SecretFile != "" {
			d.bad(path+".secret_file", "secret is there too; accepted: one of them")
		}
		for k, kind := range w.Kinds {
			if known := segdv1.KindNames(); !slices.Contains(known, kind) {
				d.bad(fmt.Sprintf("%s.kinds[%d]", path, k), "%q; accepted: a kind of event, such as %s", clip(kind), strings.Join(nearest.Words(kind, known), ", "))
			}
		}
		for _, list := range []struct {
			name  string
			names []string
		}{{"cameras", w.Cameras}, {"zones", w.Zones}} {
			for k, name := range list.names {
				d.token(fmt.Sprintf("%s.%s[%d]", path, list.name, k), name)
			}
		}
		for k, class := range w.Classes {
			if class == "" {
				d.bad(fmt.Sprintf("%s.classes[%d]", path, k), "empty; accepted: a class, such as person")
			}
		}
	}
}

// topic checks what MQTT topics are to begin with.
func (d *decoder) topic(path, topic string) {
	if !topics.MatchString(topic) {
		d.bad(path, "%q; accepted: letters, digits, _, . and -, and / between, such as segd or home/segd", clip(topic))
	}
}

var topics = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}(/[A-Za-z0-9_.-]{1,64}){0,7}$`)

// fleet checks what several segd that share cameras are told.
func (d *decoder) fleet(c *Config) {
	f := &c.Fleet
	if f.On() {
		d.token("fleet.box", f.Box)
		if c.NATS.URL == "" {
			d.bad("nats.url", "missing: the boxes of a fleet share a NATS server; accepted: such as nats://host:4222")
		}
	}
	d.labels("fleet.labels", f.Labels)
	d.within("fleet.max_cameras", f.MaxCameras, 0, maxFleetCameras)
	d.page("fleet.page", f.Page)
	d.page("fleet.address", f.Address)
	d.duration("fleet.ttl", f.TTL, "from 1s to 1m", "2s", func(ttl time.Duration) bool { return ttl >= minFleetTTL && ttl <= maxFleetTTL })
}

// page checks the URL of one, if there is one.
func (d *decoder) page(path, text string) {
	if u, err := url.Parse(text); text != "" && (err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil) {
		d.bad(path, "%q; accepted: such as https://box-a.example:8080/", clip(text))
	}
}

var label = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}=[A-Za-z0-9_.-]{0,64}$`)

func (d *decoder) labels(path string, labels []string) {
	if len(labels) > maxLabels {
		d.bad(path, "%d labels; accepted: at most %d", len(labels), maxLabels)
	}
	names := map[string]bool{}
	for i, l := range labels {
		name, _, _ := strings.Cut(l, "=")
		switch at := fmt.Sprintf("%s[%d]", path, i); {
		case !label.MatchString(l):
			d.bad(at, "%q; accepted: NAME=VALUE of letters, digits, _, . and -, such as near=gate", clip(l))
		case names[name]:
			d.bad(at, "%q is named before; accepted: each label once", clip(name))
		}
		names[name] = true
	}
}

// publicKey is that of a NATS user; whether its checksum is right the server says.
var publicKey = regexp.MustCompile(`^U[A-Z2-7]{55}$`)

func (d *decoder) natsUsers(users []NATSUser) {
	first := make(map[string]int)
	for i, u := range users {
		path := fmt.Sprintf("nats.users[%d]", i)
		d.name("nats.users", i, u.Name, first)
		if (u.Password == "") == (u.NKey == "") {
			d.bad(path, "password and nkey; accepted: one of them")
		}
		d.secret(path+".password", u.Password)
		if u.NKey != "" && !publicKey.MatchString(u.NKey) {
			// It may be the seed, which must stay secret.
			d.bad(path+".nkey", "not a public key; accepted: U and 55 of A-Z, 2-7, as nk -inkey FILE -pubout prints it")
		}
		d.oneOf(path+".role", u.Role, "subscriber", "operator", "admin")
	}
}

// maxMiBAlone is the fault of a stream that is kept only with a max_age, where max_mib is set without one.
const maxMiBAlone = "max_mib without max_age; accepted: both, or max_age alone"

// retention checks the limits of a stream. Below a second JetStream refuses.
func (d *decoder) retention(path string, r Retention) {
	if r.MaxAge != "" {
		d.duration(path+".max_age", r.MaxAge, "of 1s or more", "90m or 168h", func(age time.Duration) bool { return age >= time.Second })
	}
	if r.MaxMiB != 0 {
		d.within(path+".max_mib", r.MaxMiB, 1, maxStreamMiB)
	}
}

func (d *decoder) natsURL(value string) {
	for one := range strings.SplitSeq(value, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil {
			d.bad("nats.url", "not a URL; accepted: such as nats://host:4222")
			return
		}
		if !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme) || u.Host == "" {
			d.bad("nats.url", "%q; accepted: such as nats://host:4222 (nats, tls, ws or wss)", clip(one))
			return
		}
	}
}

// fingerprint checks the fingerprint of a camera's certificate; u is its URL, nil if
// that is at fault.
func (d *decoder) fingerprint(path, value string, u *cameraurl.URL) {
	if value == "" {
		return
	}
	const accepted = "accepted: the SHA-256 of the certificate of an rtsps://, mjpeg+https:// or snapshot+https:// camera, 64 hexadecimal digits"
	sum, err := hex.DecodeString(strings.ReplaceAll(value, ":", ""))
	switch {
	case err != nil || len(sum) != sha256.Size:
		d.bad(path, "%q; "+accepted, clip(value))
	case u != nil && !u.TLS():
		d.bad(path, "the camera's url has no TLS; "+accepted)
	}
}

// passwordFile checks that there is a user whose password a file can have; u is the camera's URL, nil if that is at fault.
func (d *decoder) passwordFile(path, value string, u *cameraurl.URL) {
	if value == "" || u == nil {
		return
	}
	const accepted = "accepted: with the url of an RTSP, MJPEG or snapshot camera that names a user and no password"
	if u.Network == nil || u.Network.User.Username() == "" {
		d.bad(path, "the camera's url names no user; "+accepted)
		return
	}
	if _, has := u.Network.User.Password(); has {
		d.bad(path, "the camera's url has a password already; "+accepted)
	}
}

// duration checks one; a number alone has its unit pointed out.
func (d *decoder) duration(path, value, accepted, such string, fits func(time.Duration) bool) {
	v, err := time.ParseDuration(value)
	if err == nil && fits(v) {
		return
	}
	unit := ""
	if _, err := strconv.ParseFloat(value, 64); err == nil {
		unit = " has no unit"
		if v, err := time.ParseDuration(value + "s"); err == nil && fits(v) {
			such = value + "s"
		}
	}
	d.bad(path, "%q%s; accepted: a duration %s, such as %s", clip(value), unit, accepted, such)
}

func (d *decoder) within(path string, value, least, most int) {
	if value < least || value > most {
		d.bad(path, "found %d; accepted: %d to %d", value, least, most)
	}
}

func (d *decoder) oneOf(path, value string, accepted ...string) {
	if !slices.Contains(accepted, value) {
		d.bad(path, "found %q; accepted: %s", clip(value), strings.Join(accepted, ", "))
	}
}
