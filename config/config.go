package config

import (
	"context"
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/segd/segd/features/coco"
	"github.com/segd/segd/ingest/cameraurl"
	"github.com/segd/segd/internal/files"
	"github.com/segd/segd/objects/rules"
	"github.com/segd/segd/objects/track"
	"github.com/segd/segd/objects/zones"
)

// Config is the whole file. The zero value of a field means its default; the
// comment names it.
type Config struct {
	// Site is the third token of every NATS subject, as in segd.v1.SITE.CAMERA.mask: [A-Za-z0-9_-]+. Default "home".
	Site      string    `yaml:"site"`
	HTTP      HTTP      `yaml:"http"`
	WHIP      WHIP      `yaml:"whip"`
	RTSP      RTSP      `yaml:"rtsp"`
	NATS      NATS      `yaml:"nats"`
	MQTT      MQTT      `yaml:"mqtt"`
	Recording Recording `yaml:"recording"`
	// Webhooks are HTTP servers that events are posted to, at most 32 (docs/webhooks.md). A server gets the events that
	// all of its lists agree to.
	Webhooks []Webhook `yaml:"webhooks"`
	// Fleet is for several segd that share cameras (docs/fleet.md).
	Fleet Fleet `yaml:"fleet"`
	// Model is the network whose features describe a superpixel.
	Model    Model    `yaml:"model"`
	Detector Detector `yaml:"detector"`
	Log      Log      `yaml:"log"`
	// Superpixels is how many pieces a frame is cut into, 50 to 20000. Default 2000. More follow fine outlines better
	// and cost time in proportion.
	Superpixels int     `yaml:"superpixels"`
	Tracker     Tracker `yaml:"tracker"`
	// Privacy is what is hidden in the pictures of all cameras that have none of their own (docs/privacy.md).
	Privacy Privacy `yaml:"privacy"`
	// Cameras are the feeds; [] where all are added while segd runs (docs/cameras.md).
	Cameras []Camera `yaml:"cameras"`
}

// HTTP is the page, the API and the metrics.
type HTTP struct {
	// Addr is host:port to listen on; port 0 lets the system choose.
	// Default "127.0.0.1:8080". Off loopback a token is required.
	Addr string `yaml:"addr"`
	// Token is the bearer token of operators, 16 characters or more. Default none.
	Token string `yaml:"token" secret:""`
	// ViewerToken is the bearer token of viewers, who see everything and change nothing; 16 characters or more. Default
	// none.
	ViewerToken string `yaml:"viewer_token" secret:""`
	// TrustedProxies are addresses or networks, such as 10.0.0.0/8, of proxies whose X-Forwarded-For and
	// X-Forwarded-Proto count. Default none.
	TrustedProxies []string `yaml:"trusted_proxies"`
	// BasePath is the path below which a proxy serves segd, such as /segd. segd answers at / too. Default none.
	BasePath string `yaml:"base_path"`
	// Viewers are the most live connections, 1 to 10000, of viewers and of operators each, and as many by RTSP and WHEP
	// together. A page has one for each camera. Default 64.
	Viewers int `yaml:"viewers"`
	// Alertmanager is the URL of one, such as http://alertmanager:9093: the page shows which alerts of segd fire.
	// Default none.
	Alertmanager string `yaml:"alertmanager"`
	// TLS, if set, serves everything by HTTPS only.
	TLS TLS `yaml:"tls"`
}

// Proxies are the networks of TrustedProxies.
func (h HTTP) Proxies() []netip.Prefix {
	var all []netip.Prefix
	for _, text := range h.TrustedProxies {
		if one, ok := network(text); ok { // Parse has refused what is none
			all = append(all, one)
		}
	}
	return all
}

// network reads an address or a network, but not all the addresses there are.
func network(text string) (netip.Prefix, bool) {
	if addr, err := netip.ParseAddr(text); err == nil {
		addr = addr.Unmap().WithZone("")
		return netip.PrefixFrom(addr, addr.BitLen()), true
	}
	p, err := netip.ParsePrefix(text)
	return p.Masked(), err == nil && p.Bits() > 0 && !p.Addr().Is4In6()
}

// TLS names files of PEM, relative to the config file. They are read again when they
// change.
type TLS struct {
	// Cert is the certificate with its intermediates, in PEM; it is read again when it changes. Default none.
	Cert string `yaml:"cert"`
	// Key is its private key. Default none.
	Key string `yaml:"key"`
}

// WHIP is how others publish to cameras whose url is whip: (docs/publishing.md), and watch by WHEP (docs/streams.md).
type WHIP struct {
	// Addr is host:port for media, over UDP and TCP; the host is an IP address, localhost, or empty for every interface.
	// Default "127.0.0.1:8189".
	Addr string `yaml:"addr"`
	// PublicIPs are addresses by which others reach Addr's port, such as those of a router. Default none.
	PublicIPs []string `yaml:"public_ips"`
	// Token lets its bearer publish only, 16 characters or more; HTTP's token permits it too. Default none.
	Token string `yaml:"token" secret:""`
	// SecondPublisher of a camera: refuse it, or let it replace the first. Default "refuse".
	SecondPublisher string `yaml:"second_publisher"`
	// ICEServers are STUN and TURN servers that publishers and viewers are told of.
	ICEServers []ICEServer `yaml:"ice_servers"`
}

// RTSP serves the cameras as H.264 streams (docs/streams.md).
type RTSP struct {
	// Addr is host:port to listen on, such as 127.0.0.1:8554. Off loopback HTTP.Token is required. Default none: no
	// RTSP.
	Addr string `yaml:"addr"`
}

// ICEServer is a STUN or TURN server.
type ICEServer struct {
	// URL is such as stun:HOST:PORT or turn:HOST:PORT?transport=udp.
	URL string `yaml:"url"`
	// Username and Credential for TURN. Default none.
	Username   string `yaml:"username"`
	Credential string `yaml:"credential" secret:""`
}

// NATS says where masks, events and status go.
type NATS struct {
	// URL of an external server, such as nats://nats.example:4222. Default none: the embedded server.
	URL string `yaml:"url"`
	// Addr is host:port of the embedded server. Default "127.0.0.1:4222". Off
	// loopback users or a token are required.
	Addr string `yaml:"addr"`
	// Token lets its bearer do everything on the embedded server, 16 characters or more. Default none.
	Token string `yaml:"token" secret:""`
	// Users are the users of the embedded server. Without users and token, everybody on this machine may do everything.
	Users []NATSUser `yaml:"users"`
	// StoreDir is where the embedded server keeps JetStream's files. Default a temporary folder, removed at the end.
	StoreDir string `yaml:"store_dir"`
	// CamerasKey is a file with the key of added cameras, 64 hexadecimal digits; segd makes a missing one. Default
	// cameras.key in the store_dir; with a URL none, and no cameras can be added.
	CamerasKey string `yaml:"cameras_key"`
	// Sync is when the embedded server syncs to disk: at an interval of two minutes, or always, before it acknowledges a
	// message, which takes a store_dir. Default "interval".
	Sync string `yaml:"sync"`
	// Format of the messages, protobuf or json. Default "protobuf".
	Format string `yaml:"format"`
	// Credentials is a file with a user's JWT and seed, as nsc writes it, for the server at URL. Default none.
	Credentials string `yaml:"credentials"`
	// NKey is a file with a user's seed, for the server at URL. Default none.
	NKey string  `yaml:"nkey"`
	TLS  NATSTLS `yaml:"tls"`
	// Events are kept by JetStream for 168h and up to 3072 MiB, 6144 with format json, 64 without a store_dir.
	Events Retention `yaml:"events"`
	// Masks are kept by JetStream only with a max_age, up to 256 MiB.
	Masks Retention `yaml:"masks"`
	// Pictures are those of events, kept by JetStream only with a max_age, up to 256 MiB, 64 without a store_dir.
	Pictures Retention `yaml:"pictures"`
	// Duplicates of a camera, by another segd of the site on the same server: refuse to start, or allow. Default
	// "refuse".
	Duplicates string `yaml:"duplicates"`
	// Replicas are how many servers of the cluster at URL keep each stream and bucket of segd, 1 to 5. Default 1.
	Replicas int `yaml:"replicas"`
}

// NATSUser is one who may log in to the embedded server.
type NATSUser struct {
	// Name is [A-Za-z0-9_-]+, unique.
	Name string `yaml:"name"`
	// Password, 16 characters or more, or its bcrypt hash ($2a$…). Default none.
	Password string `yaml:"password" secret:""`
	// NKey is the user's public key (U…), in place of a password. Default none.
	NKey string `yaml:"nkey"`
	// Role is subscriber, operator or admin (docs/nats.md). Required.
	Role string `yaml:"role"`
}

// NATSTLS names files in PEM. They are read again when they change.
type NATSTLS struct {
	// CA holds the certificates of authorities to trust at NATS.URL. Default the machine's own.
	CA string `yaml:"ca"`
	// Cert and Key are a certificate and its key: with NATS.URL segd's own there, else the embedded server's, whose
	// clients must then use TLS. Default none.
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
}

// MQTT is a broker that gets counts of objects, events and pictures (docs/mqtt.md).
type MQTT struct {
	// URL of the broker, mqtt://… or, by TLS, mqtts://…; port 1883 or 8883 if it names none. Default none: no MQTT.
	URL string `yaml:"url"`
	// Username and PasswordFile, a file with the password, are for the broker. Default none.
	Username     string `yaml:"username"`
	PasswordFile string `yaml:"password_file"`
	// ClientID is the name of segd at the broker, which no other client may have. Default segd-SITE, and -BOX in a fleet.
	ClientID string  `yaml:"client_id"`
	TLS      MQTTTLS `yaml:"tls"`
	// Prefix is what topics begin with, as in PREFIX/SITE/camera/CAMERA/objects. Default "segd".
	Prefix string `yaml:"prefix"`
	// Discovery is what the topics of Home Assistant's discovery begin with; empty (""): none. Default "homeassistant".
	Discovery string `yaml:"discovery"`
	// NoSnapshots publishes no pictures. Default false.
	NoSnapshots bool `yaml:"no_snapshots"`
	// Commands lets MQTT clients pause added cameras and switch their detect off. Default false.
	Commands bool `yaml:"commands"`
}

// On tells whether there is a broker.
func (m MQTT) On() bool { return m.URL != "" }

// duration is that of a setting: Parse has refused what is none, but for those that may be left out, which are 0.
func duration(text string) time.Duration {
	d, _ := time.ParseDuration(text)
	return d
}

// MQTTTLS names files in PEM, for a URL that begins with mqtts. They are read again at each connection.
type MQTTTLS struct {
	// CA holds the certificates of authorities to trust. Default the machine's own.
	CA string `yaml:"ca"`
	// Cert and Key are a certificate and its key, that segd shows the broker. Default none.
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
}

// Recording keeps the video of cameras with record, and their masks (docs/page.md).
type Recording struct {
	// Dir is the folder of the files. Default none: nothing is recorded.
	Dir string `yaml:"dir"`
	// Days are how long video is kept, 1 to 3650. Default 7.
	Days int `yaml:"days"`
	// MaxMiB is how much is kept of all cameras, 64 to 16777216 MiB; the oldest goes first. Default 10240.
	MaxMiB int `yaml:"max_mib"`
}

// On tells whether cameras may be recorded.
func (r Recording) On() bool { return r.Dir != "" }

// Webhook is an HTTP server, and which events it gets: those that all of the lists agree to that are not empty.
type Webhook struct {
	// Name is its name in the log and in metrics: [A-Za-z0-9_-]+, unique.
	Name string `yaml:"name"`
	// URL is where to, https://… or http://…, without a user. The API does not show it. Required.
	URL string `yaml:"url" secret:""`
	// Secret signs events: whsec_ and base64 of 24 to 64 bytes. Default none: they are not signed.
	Secret string `yaml:"secret" secret:""`
	// SecretFile is a file with the secret, in place of secret; it is read when the configuration is. Default none.
	SecretFile string `yaml:"secret_file"`
	// CA holds the certificates of authorities to trust, in PEM. Default the machine's own.
	CA string `yaml:"ca"`
	// Kinds are kinds of events, such as object_entered (docs/bus.md). Default all.
	Kinds []string `yaml:"kinds"`
	// Cameras are the names of cameras. Default all.
	Cameras []string `yaml:"cameras"`
	// Classes are classes of objects, such as person; with them events of no object are left out. Default all.
	Classes []string `yaml:"classes"`
	// Zones are the names of zones and lines; with them other events are left out. Default all.
	Zones []string `yaml:"zones"`
}

// Retention bounds a JetStream stream; the oldest messages go first.
type Retention struct {
	// MaxAge is how long a message is kept, such as 90m or 168h.
	MaxAge string `yaml:"max_age"`
	// MaxMiB is how much is kept, 1 to 1048576 MiB.
	MaxMiB int `yaml:"max_mib"`
}

// Age is MaxAge; 0 when it is left at its default.
func (r Retention) Age() time.Duration { return duration(r.MaxAge) }

// Bytes is MaxMiB in bytes; 0 when it is left at its default.
func (r Retention) Bytes() int64 { return int64(r.MaxMiB) << 20 }

// Fleet has several segd of one site, the boxes, share their cameras: each runs where there is room, and moves when
// its box dies (docs/fleet.md). All have one NATS.URL, and the same cameras.
type Fleet struct {
	// Box is the name of this box, [A-Za-z0-9_-]+, unique in the site. Default none: no fleet.
	Box string `yaml:"box"`
	// Labels are what this box has and a camera may require, each NAME=VALUE, such as gpu=true. Default none.
	Labels []string `yaml:"labels"`
	// MaxCameras is how many cameras this box runs at most, 0 to 1000; 0: any number. Default 0.
	MaxCameras int `yaml:"max_cameras"`
	// Page is the URL by which publishers and people reach this box, such as https://box-a.example:8080/. Publishers at
	// another box are redirected there. Default none: their requests are handed on.
	Page string `yaml:"page"`
	// Address is the URL by which other boxes reach this one. Default fleet.page, else http.addr as docs/fleet.md says.
	Address string `yaml:"address"`
	// TTL is how long a box may be silent before others take its cameras, 1s to 1m; the same for all boxes. Default
	// "2s".
	TTL string `yaml:"ttl"`
}

// On tells whether there is a fleet.
func (f Fleet) On() bool { return f.Box != "" }

// TTLTime is TTL.
func (f Fleet) TTLTime() time.Duration { return duration(f.TTL) }

// LabelMap are labels by name.
func LabelMap(labels []string) map[string]string {
	all := make(map[string]string, len(labels))
	for _, l := range labels {
		name, value, _ := strings.Cut(l, "=") // Parse has refused what has none
		all[name] = value
	}
	return all
}

// Model is the feature network.
type Model struct {
	// Path of an ONNX or Caffe model. Default none: the model in the binary.
	Path string `yaml:"path"`
	// Taps are the names of the layers to read. Default the model's outputs.
	Taps []string `yaml:"taps"`
	// ShortSide is the shorter side of the network's picture, in pixels, about; 32 to 4096. Default 544.
	ShortSide int `yaml:"short_side"`
	// Mean and Std, three numbers each in the model's channel order, normalise the input to (v−mean)/std, v in 0…255.
	// Default those of the model in the binary.
	Mean []float64 `yaml:"mean"`
	Std  []float64 `yaml:"std"`
	// RGB: the model's channels are in that order. Default false: BGR.
	RGB bool `yaml:"rgb"`
	// Prototxt is the description of a Caffe model. Default the model's path with that ending.
	Prototxt string `yaml:"prototxt"`
	// Device computes the network: cpu, cuda or tensorrt (docs/gpu.md), or auto for cuda where it works. Default "auto".
	Device string `yaml:"device"`
	// FP16: a card computes in half precision. Default false.
	FP16 bool `yaml:"fp16"`
	// Batch is how many pictures of a size the network computes in one run at most, 1 to 64. Default 8 on a card, 1 on
	// the processor.
	Batch int `yaml:"batch"`
	// BatchWait is how long a picture waits for others of its batch, up to 100ms. Default "2ms".
	BatchWait string `yaml:"batch_wait"`
	// EngineCache is the folder for TensorRT's engines, each made once in minutes. Default segd in the user's cache
	// folder.
	EngineCache string `yaml:"engine_cache"`
	// Engine computes the network: opencv (where it is built in), onnxruntime, or auto for ONNX Runtime if it is there and takes the network.
	// Default "auto".
	Engine string `yaml:"engine"`
	// EngineLibrary is ONNX Runtime's shared library. Default libonnxruntime.so beside segd, in ../lib/segd,
	// /usr/local/lib/segd or /usr/lib/segd.
	EngineLibrary string `yaml:"engine_library"`
	// Threads of the network for a frame, 1 to 1024. Default half of the cores divided by the cameras, at least one.
	Threads int `yaml:"threads"`
}

// BatchWaitTime is BatchWait.
func (m Model) BatchWaitTime() time.Duration { return duration(m.BatchWait) }

// Detector finds what cameras with detect mark by themselves (docs/marking.md).
type Detector struct {
	// Path of an ONNX file with the outputs of a NanoDet, YOLOX, YOLOv8, YOLOv10 or RT-DETR. Default none: the heads of the model.
	Path string `yaml:"path"`
	// Names is a file with the detector's class names, one a line in their order. Default none: COCO's 80.
	Names string `yaml:"names"`
}

// Tracker is what finds the objects in a frame.
type Tracker struct {
	// BudgetMS is how many milliseconds the solver may take for a frame, 1 to 10000; it then keeps its best labels so
	// far. Default 50.
	BudgetMS int `yaml:"budget_ms"`
}

// Log is what goes to stderr.
type Log struct {
	// Level is debug, info, warn or error. Default "info".
	Level string `yaml:"level"`
	// Format is text or json. Default "text".
	Format string `yaml:"format"`
	// SlowMS: frames that take more milliseconds from capture to masks are logged with the time of each stage, one a
	// minute at most; 1 to 3600000. Default 500.
	SlowMS int `yaml:"slow_ms"`
}

// Camera is one feed.
type Camera struct {
	// Name is the fourth token of the camera's NATS subjects: [A-Za-z0-9_-]+, unique.
	Name string `yaml:"name"`
	// URL is its source: rtsp://…, rtsps://…, mjpeg+http://…, mjpeg+https://…, snapshot+http://…, snapshot+https://…,
	// v4l2:/dev/video0, whip:, file:PATH or dir:PATH (docs/cameras.md).
	URL string `yaml:"url"`
	// PasswordFile is a file with the password of the user whom URL names without one. It is read when the configuration
	// is. Default none.
	PasswordFile string `yaml:"password_file"`
	// Transport of an RTSP camera: auto, tcp, udp or multicast. Default "auto".
	Transport string `yaml:"transport"`
	// Decode says what decodes video: software, cuda (NVIDIA), vaapi (Intel, AMD), or auto for one that is there. Where
	// the device fails, software takes over. Default "software".
	Decode string `yaml:"decode"`
	// Clock is what times frames: sender, the camera's RTP time; arrival; or auto for the sender's while it runs rightly
	// (docs/cameras.md). Default "auto".
	Clock string `yaml:"clock"`
	// Fingerprint is the SHA-256 of a camera's TLS certificate, 64 hexadecimal digits, with or without colons. Default
	// none: the machine must trust the certificate.
	Fingerprint string `yaml:"fingerprint"`
	// Rotate turns the picture clockwise by 0, 90, 180 or 270 degrees, after what the camera or file says itself.
	// Default 0.
	Rotate int `yaml:"rotate"`
	// Aspect is WIDTH:HEIGHT of the whole picture as it should look, turned, such as 16:9, from 1:16 to 16:1. Default as
	// the camera or file says, else with square pixels.
	Aspect string `yaml:"aspect"`
	// Deinterlace makes whole pictures of interlaced ones: auto, of those that the video calls interlaced; on, of all;
	// or off. Default "auto".
	Deinterlace string `yaml:"deinterlace"`
	// FPS is the pictures a second of a dir: or snapshot camera, above 0 to 1000; of a snapshot camera at least
	// 0.000278, one an hour. Default 25, of a snapshot camera 1.
	FPS float64 `yaml:"fps"`
	// Loop starts a file: or dir: camera over at its end. Default false.
	Loop bool `yaml:"loop"`
	// Annotation is a JSON file with the objects to follow, best with its picture, as `segd objects CAMERA --save FILE`
	// writes (docs/annotations.md). Default none.
	Annotation string `yaml:"annotation"`
	// Zones are parts of the picture, at most 32: events say when objects enter, leave or stay (docs/zones.md).
	Zones []Zone `yaml:"zones"`
	// Lines are straight lines in the picture, at most 32: events say when an object crosses one, and which way.
	Lines []Line `yaml:"lines"`
	// Rules are told when something has been so for a while, at most 32 (docs/zones.md).
	Rules  []Rule `yaml:"rules"`
	Detect Detect `yaml:"detect"`
	// Privacy is in place of privacy for all cameras.
	Privacy Privacy `yaml:"privacy"`
	// Ignore are polygons, at most 32, as of zones, that are black before anything else sees the picture. Default none.
	Ignore [][][]float64 `yaml:"ignore"`
	// Record keeps the camera's own H.264 or H.265 in recording.dir. Default false.
	Record bool `yaml:"record"`
	// Requires are labels that a box of a fleet must have to run the camera, each NAME=VALUE. Default none.
	Requires []string `yaml:"requires"`
}

// AspectRatio is Aspect as a number, 0 without one.
func (c Camera) AspectRatio() float64 {
	ratio, _ := parseAspect(c.Aspect) // Parse has refused what is none
	return ratio
}

var aspect = regexp.MustCompile(`^([1-9][0-9]{0,3}):([1-9][0-9]{0,3})$`)

// parseAspect reads WIDTH:HEIGHT.
func parseAspect(text string) (ratio float64, ok bool) {
	m := aspect.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	w, _ := strconv.Atoi(m[1])
	h, _ := strconv.Atoi(m[2])
	ratio = float64(w) / float64(h)
	return ratio, ratio >= 1.0/maxAspect && ratio <= maxAspect
}

// Detect is what segd marks by itself of what a detector finds (docs/marking.md).
type Detect struct {
	// Classes are the names of what is marked. Default person, bicycle, car, motorcycle, bus and truck; with
	// detector.names those of them that it knows, or all its names if it knows none of them.
	Classes []string `yaml:"classes"`
	// Every is the stream time between looks at the whole picture, 100ms to 1h. Default "1s"; with a detector.path
	// 200ms, else with privacy 500ms.
	Every string `yaml:"every"`
	// Score is the chance of being right that the network must have given a thing once for it to be marked, above 0 to
	// 1. Default 0.65.
	Score float64 `yaml:"score"`
	// MaxObjects is how many objects are marked so at most, 1 to 100. Default 30.
	MaxObjects int `yaml:"max_objects"`
	// Keep is how long such an object may be out of sight, 1s or more, before it is forgotten. Default "30s".
	Keep string `yaml:"keep"`
	// Reidentify is how alike in colours a new detection and a lost object must be to be the same, above 0 to 1; higher
	// mistakes fewer strangers and knows fewer objects again; 1: none. Default 0.65.
	Reidentify float64 `yaml:"reidentify"`
	// Zones are names of the camera's zones: only what stands in one when it is found, by the middle of its box's lower
	// edge, is marked. Default none: anywhere.
	Zones []string `yaml:"zones"`
	// Off marks nothing; the other settings stay. Default false.
	Off bool `yaml:"off"`
}

// DefaultDetectClasses are those that a camera marks which does not say what: persons and road vehicles.
func DefaultDetectClasses() []string {
	return []string{"person", "bicycle", "car", "motorcycle", "bus", "truck"}
}

// On tells whether anything is to be marked.
func (d Detect) On() bool { return len(d.Classes) > 0 && !d.Off }

// EveryTime is Every.
func (d Detect) EveryTime() time.Duration { return duration(d.Every) }

// KeepTime is Keep.
func (d Detect) KeepTime() time.Duration { return duration(d.Keep) }

// Privacy hides objects in all pictures that leave segd (docs/privacy.md). Their masks and events are told all the same.
type Privacy struct {
	// Blur are classes, of those in the camera's detect, that blocks of colour hide; also what people marked under such
	// a name. Default none.
	Blur []string `yaml:"blur"`
	// Fill are classes that grey hides, likewise. Default none.
	Fill []string `yaml:"fill"`
	// Except leaves out what people marked or keep: kept. Default none.
	Except string `yaml:"except"`
	// Margin is what is hidden round an object, as a part of its longer side, 0% to 100%. Default "10%".
	Margin string `yaml:"margin"`
	// Show sets which users may view unredacted pictures: those with the role "operator", or "nobody". Default "nobody".
	Show string `yaml:"show"`
	// Off hides nothing. Default false.
	Off bool `yaml:"off"`
}

// Values of Privacy.Except and Privacy.Show.
const (
	Kept         = "kept"
	ShowNobody   = "nobody"
	ShowOperator = "operator"
)

// given tells whether it says what to hide, or that nothing is.
func (p Privacy) given() bool { return len(p.Blur)+len(p.Fill) > 0 || p.Off }

// MarginShare is Margin as a part of 1.
func (p Privacy) MarginShare() float64 {
	share, _ := parsePercent(p.Margin) // Parse has refused what is none
	return share
}

func parsePercent(text string) (share float64, ok bool) {
	number, unit := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(number, 64)
	return v / 100, unit && err == nil && v >= 0 && v <= 100
}

// PrivacyOf is what a camera of c hides; the zero Privacy if that is nothing.
func (c *Config) PrivacyOf(cam Camera) Privacy {
	p := c.Privacy
	if cam.Privacy.given() {
		p = cam.Privacy
	}
	if p.Off {
		return Privacy{}
	}
	return p
}

// Ignored are the polygons of Ignore.
func (c Camera) Ignored() [][]zones.Point {
	all := make([][]zones.Point, len(c.Ignore))
	for i, p := range c.Ignore {
		all[i] = points(p)
	}
	return all
}

// Zone is a part of the picture.
type Zone struct {
	// Name is [A-Za-z0-9_-]+, 64 at most, unique among the camera's zones.
	Name string `yaml:"name"`
	// Polygon is its corners in order, 3 to 64 of [x, y]: fractions of the picture's width from the left and height from
	// the top. Its sides do not cross. Required.
	Polygon [][]float64 `yaml:"polygon"`
	// By is what tells that an object is in it: foot, the middle of the lower edge of its extent or, without one, of the
	// mask's lowest rows; or share, that of its mask's pixels in the zone. Default "foot".
	By string `yaml:"by"`
	// Share is the part of the mask's pixels from which on an object is in it, above 0 to 1, with by: share. Default
	// 0.5.
	Share float64 `yaml:"share"`
	// Dwell is the time after which an event says that an object stays, 1s or more, such as 10s. Default none.
	Dwell string `yaml:"dwell"`
}

// Line is a line in the picture.
type Line struct {
	// Name is [A-Za-z0-9_-]+, 64 at most, unique among the camera's lines.
	Name string `yaml:"name"`
	// Points are where it begins and ends, two of [x, y] as of a zone. Seen from the first to the second, side a is on
	// the left and b on the right. Required.
	Points [][]float64 `yaml:"points"`
}

// Rule is told when something has been so for a while.
type Rule struct {
	// Name is [A-Za-z0-9_-]+, 64 at most, unique among the camera's rules.
	Name string `yaml:"name"`
	// When is what has to be so: present, an object is in the zone; still, one stays where it is there; or absent, none is
	// there. Required.
	When string `yaml:"when"`
	// Zone is one of the camera's zones. Default none: the whole picture.
	Zone string `yaml:"zone"`
	// Classes are those of the objects that count, or their labels. Default all.
	Classes []string `yaml:"classes"`
	// For is how long it has to be so, 1s or more, such as 10s. Required.
	For string `yaml:"for"`
	// Again is the least time between two events. Default "1m".
	Again string `yaml:"again"`
	// Schedule is when it is told. Default always.
	Schedule []Span `yaml:"schedule"`
}

// Span is a part of some days, in the machine's time zone.
type Span struct {
	// Days are of mon, tue, wed, thu, fri, sat and sun those that it begins on. Default all.
	Days []string `yaml:"days"`
	// From is the time of day at which it begins, such as "22:00". Default, with to, all day.
	From string `yaml:"from"`
	// To is when it ends, such as "06:00"; the next day if that is no later.
	To string `yaml:"to"`
}

// RulesOf are the camera's rules.
func (c Camera) RulesOf() []rules.Rule {
	all := make([]rules.Rule, len(c.Rules))
	for k, r := range c.Rules {
		all[k] = rules.Rule{Name: r.Name, When: rules.When(r.When), Zone: r.Zone, Classes: r.Classes, For: duration(r.For), Again: duration(r.Again)}
		for _, s := range r.Schedule {
			span := rules.Span{From: s.From, To: s.To}
			for _, day := range s.Days {
				span.Days = append(span.Days, rules.Day(day))
			}
			all[k].Schedule = append(all[k].Schedule, span)
		}
	}
	return all
}

// Layout is the camera's zones and lines.
func (c Camera) Layout() zones.Layout {
	var l zones.Layout
	for _, z := range c.Zones {
		l.Zones = append(l.Zones, zones.Zone{Name: z.Name, Polygon: points(z.Polygon), By: zones.By(z.By), Share: z.Share, Dwell: duration(z.Dwell)})
	}
	for _, line := range c.Lines {
		l.Lines = append(l.Lines, zones.Line{Name: line.Name, Points: points(line.Points)})
	}
	return l
}

func points(pairs [][]float64) []zones.Point {
	all := make([]zones.Point, len(pairs))
	for i, p := range pairs {
		if copy(all[i][:], p); len(p) != 2 {
			all[i] = zones.Point{math.NaN(), math.NaN()} // Parse refuses it
		}
	}
	return all
}

// PublishedURL is the URL of a camera that waits for publishers.
const PublishedURL = cameraurl.Published

// Published tells whether the camera waits for publishers.
func (c Camera) Published() bool { return c.URL == PublishedURL }

// Snapshots tells whether the camera is asked for each picture.
func (c Camera) Snapshots() bool {
	u, err := cameraurl.Parse(c.URL)
	return err == nil && u.Kind == cameraurl.Snapshot
}

// Defaults of the fields whose zero value means "the default".
const (
	DefaultSite        = "home"
	DefaultHTTPAddr    = "127.0.0.1:8080"
	DefaultViewers     = 64
	DefaultWHIPAddr    = "127.0.0.1:8189"
	DefaultNATSAddr    = "127.0.0.1:4222"
	DefaultShortSide   = 544
	DefaultSuperpixels = 2000
	DefaultBudgetMS    = 50
	DefaultSlowMS      = 500
	DefaultFPS         = 25
	DefaultSnapshotFPS = 1

	DefaultFleetTTL = "2s"

	DefaultRecordingDays = 7
	DefaultRecordingMiB  = 10240

	DefaultMQTTPrefix    = "segd"
	DefaultMQTTDiscovery = "homeassistant"

	DefaultBatchWait = "2ms"

	DefaultDetectEvery   = "1s"
	DefaultDetectorEvery = "200ms"
	DefaultDetectObjects = 30
	DefaultDetectKeep    = "30s"
	DefaultRuleAgain     = "1m"

	DefaultPrivacyEvery  = "500ms" // Detect.Every of a camera that hides objects
	DefaultPrivacyMargin = "10%"
)

// Load reads, overrides, completes and checks the file at path. environ is a
// list of NAME=value such as os.Environ returns. Relative paths in the result
// are joined to the file's folder. The error is the file's own, or Faults.
func Load(ctx context.Context, path string, environ []string) (*Config, error) {
	return LoadIn(ctx, filepath.Dir(path), path, environ)
}

// LoadIn is Load with relative paths joined to dir, for a file that was handed over
// at another place than where it is kept.
func LoadIn(ctx context.Context, dir, path string, environ []string) (*Config, error) {
	text, err := files.Read(ctx, path, files.Config)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	d, c, err := parseConfig(path, text, environ)
	if err != nil {
		return nil, err
	}
	c.resolve(dir)
	d.passwords(ctx, c.Cameras)
	if c.Detector.Names != "" {
		known, err := readNames(ctx, c.Detector.Names)
		if err != nil {
			d.bad("detector.names", "%v; accepted: a file with the names of the detector's classes, one a line", err)
		} else {
			d.detected(c, known)
		}
	}
	if len(d.faults) > 0 {
		return nil, d.faults.sorted()
	}
	return c, nil
}

// passwords puts the passwords that are in files into the URLs of cameras.
func (d *decoder) passwords(ctx context.Context, cameras []Camera) {
	for i := range cameras {
		cam := &cameras[i]
		if cam.PasswordFile == "" {
			continue
		}
		path := fmt.Sprintf("cameras[%d].password_file", i)
		text, err := files.Read(ctx, cam.PasswordFile, files.Password)
		password := strings.TrimRight(string(text), "\r\n")
		switch u, _ := cameraurl.Parse(cam.URL); { // validate has refused what is none
		case err != nil:
			d.bad(path, "%v; accepted: a file with the camera's password", err)
		case password == "":
			d.bad(path, "%s is empty; accepted: a file with the camera's password", cam.PasswordFile)
		default:
			u.Network.User = url.UserPassword(u.Network.User.Username(), password)
			cam.URL = u.Network.String()
		}
	}
}

// readNames reads a file of class names.
func readNames(ctx context.Context, path string) ([]string, error) {
	text, err := files.Read(ctx, path, files.Names)
	if err != nil {
		return nil, err
	}
	return coco.ParseNames(string(text))
}

// Parse is Load without the file system: name is used in faults only, relative paths stay as they
// are, and neither the classes of a
// detector with names of its own nor the passwords of cameras that are in files are looked up.
func Parse(name string, text []byte, environ []string) (*Config, error) {
	_, c, err := parseConfig(name, text, environ)
	return c, err
}

func parseConfig(name string, text []byte, environ []string) (*decoder, *Config, error) {
	d := &decoder{file: name, source: map[string]place{}}
	c := new(Config)
	d.document(text, c)
	if len(d.faults) == 0 || d.readable {
		d.environment(c, environ)
		c.setDefaults()
		if _, written := d.source["mqtt.discovery"]; !written { // an empty one is meant
			c.MQTT.Discovery = DefaultMQTTDiscovery
		}
		d.validate(c)
	}
	for _, f := range d.numbers {
		if !d.faulty(f.Path) {
			d.faults = append(d.faults, f)
		}
	}
	if len(d.faults) > 0 {
		return nil, nil, d.faults.sorted()
	}
	return d, c, nil
}

func (c *Config) setDefaults() {
	or(&c.Site, DefaultSite)
	or(&c.HTTP.Addr, DefaultHTTPAddr)
	or(&c.HTTP.Viewers, DefaultViewers)
	or(&c.WHIP.Addr, DefaultWHIPAddr)
	or(&c.WHIP.SecondPublisher, "refuse")
	or(&c.NATS.Addr, DefaultNATSAddr)
	or(&c.NATS.Sync, "interval")
	or(&c.NATS.Format, "protobuf")
	or(&c.NATS.Duplicates, "refuse")
	or(&c.NATS.Replicas, 1)
	or(&c.MQTT.Prefix, DefaultMQTTPrefix)
	or(&c.Recording.Days, DefaultRecordingDays)
	or(&c.Recording.MaxMiB, DefaultRecordingMiB)
	or(&c.Fleet.TTL, DefaultFleetTTL)
	or(&c.Model.ShortSide, DefaultShortSide)
	or(&c.Model.Device, "auto")
	or(&c.Model.Engine, "auto")
	or(&c.Model.BatchWait, DefaultBatchWait)
	or(&c.Log.Level, "info")
	or(&c.Log.Format, "text")
	or(&c.Log.SlowMS, DefaultSlowMS)
	or(&c.Superpixels, DefaultSuperpixels)
	or(&c.Tracker.BudgetMS, DefaultBudgetMS)
	c.Privacy.setDefaults()
	for i := range c.Cameras {
		or(&c.Cameras[i].Transport, cameraurl.Transports[0])
		or(&c.Cameras[i].Decode, "software")
		or(&c.Cameras[i].Clock, "auto")
		or(&c.Cameras[i].Deinterlace, "auto")
		if c.Cameras[i].Snapshots() {
			or(&c.Cameras[i].FPS, DefaultSnapshotFPS)
		}
		or(&c.Cameras[i].FPS, DefaultFPS)
		c.Cameras[i].Privacy.setDefaults()
		d := &c.Cameras[i].Detect
		if d.Classes == nil {
			d.Classes = DefaultDetectClasses()
		}
		if c.Detector.Path != "" {
			or(&d.Every, DefaultDetectorEvery)
		}
		if c.PrivacyOf(c.Cameras[i]).given() {
			or(&d.Every, DefaultPrivacyEvery)
		}
		or(&d.Every, DefaultDetectEvery)
		or(&d.Score, track.DefaultConfirm)
		or(&d.MaxObjects, DefaultDetectObjects)
		or(&d.Keep, DefaultDetectKeep)
		or(&d.Reidentify, track.DefaultReidentify)
		for k := range c.Cameras[i].Zones {
			or(&c.Cameras[i].Zones[k].By, string(zones.ByFoot))
			or(&c.Cameras[i].Zones[k].Share, zones.DefaultShare)
		}
		for k := range c.Cameras[i].Rules {
			or(&c.Cameras[i].Rules[k].Again, DefaultRuleAgain)
		}
	}
}

func (p *Privacy) setDefaults() {
	if p.given() {
		or(&p.Margin, DefaultPrivacyMargin)
		or(&p.Show, ShowNobody)
	}
}

func or[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (c *Config) resolve(dir string) {
	join := func(p *string) {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(dir, *p)
		}
	}
	for _, p := range []*string{
		&c.HTTP.TLS.Cert, &c.HTTP.TLS.Key,
		&c.NATS.StoreDir, &c.NATS.CamerasKey, &c.NATS.Credentials, &c.NATS.NKey, &c.NATS.TLS.CA, &c.NATS.TLS.Cert, &c.NATS.TLS.Key,
		&c.MQTT.PasswordFile, &c.MQTT.TLS.CA, &c.MQTT.TLS.Cert, &c.MQTT.TLS.Key,
	} {
		join(p)
	}
	for i := range c.Webhooks {
		join(&c.Webhooks[i].SecretFile)
		join(&c.Webhooks[i].CA)
	}
	join(&c.Recording.Dir)
	join(&c.Model.Path)
	join(&c.Model.Prototxt)
	join(&c.Model.EngineLibrary)
	join(&c.Model.EngineCache)
	join(&c.Detector.Path)
	join(&c.Detector.Names)
	for i := range c.Cameras {
		cam := &c.Cameras[i]
		join(&cam.Annotation)
		join(&cam.PasswordFile)
		u, err := cameraurl.Parse(cam.URL)
		if err == nil && (u.Kind == cameraurl.File || u.Kind == cameraurl.Dir) {
			join(&u.Path)
			cam.URL = u.Path
			if u.Scheme != "" {
				cam.URL = u.Scheme + ":" + u.Path
			}
		}
	}
}
