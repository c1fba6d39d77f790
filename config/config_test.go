package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/config"
	"github.com/segd/segd/ingest/cameraurl"
	"github.com/segd/segd/objects/zones"
)

const minimal = "cameras:\n  - name: gate\n    url: rtsp://cam/1\n"

// An address of this machine alone needs no token, however it is written.
func TestLoopback(t *testing.T) {
	for _, host := range []string{"localhost", "LOCALHOST", "127.0.0.2", "[::1]", "[::1%lo]"} {
		text := fmt.Sprintf("http: {addr: '%[1]s:1'}\nnats: {addr: '%[1]s:2'}\nrtsp: {addr: '%[1]s:3'}\nwhip: {addr: '%[1]s:4'}\n", host)
		_, err := config.Parse("f", []byte(text+minimal), nil)
		assert.NoError(t, err, "%s", host)
	}
}

func TestDefaults(t *testing.T) {
	got, err := config.Parse("segd.yaml", []byte(minimal), nil)
	require.NoError(t, err)
	want := &config.Config{
		Site:        "home",
		HTTP:        config.HTTP{Addr: "127.0.0.1:8080", Viewers: 64},
		WHIP:        config.WHIP{Addr: "127.0.0.1:8189", SecondPublisher: "refuse"},
		NATS:        config.NATS{Addr: "127.0.0.1:4222", Sync: "interval", Format: "protobuf", Duplicates: "refuse", Replicas: 1},
		MQTT:        config.MQTT{Prefix: "segd", Discovery: "homeassistant"},
		Recording:   config.Recording{Days: 7, MaxMiB: 10240},
		Fleet:       config.Fleet{TTL: "2s"},
		Model:       config.Model{ShortSide: 544, Device: "auto", BatchWait: "2ms", Engine: "auto"},
		Log:         config.Log{Level: "info", Format: "text", SlowMS: 500},
		Superpixels: 2000,
		Tracker:     config.Tracker{BudgetMS: 50},
		Cameras: []config.Camera{{Name: "gate", URL: "rtsp://cam/1", Transport: "auto", Decode: "software", Clock: "auto", Deinterlace: "auto", FPS: 25,
			Detect: config.Detect{Classes: []string{"person", "bicycle", "car", "motorcycle", "bus", "truck"}, Every: "1s", Score: 0.65, MaxObjects: 30, Keep: "30s", Reidentify: 0.65}}},
	}
	assert.Empty(t, cmp.Diff(want, got))
}

func TestEveryKey(t *testing.T) {
	const text = `
site: yard
http: {addr: "0.0.0.0:80", token: s3cret-s3cret-s3cret, viewer_token: v13wer-v13wer-v13wer, trusted_proxies: [10.0.0.0/8], base_path: /a-b/c.d_~, alertmanager: https://am/x, viewers: 200, tls: {cert: a.crt, key: a.key}}
rtsp: {addr: ":8554"}
whip:
  addr: ":9000"
  public_ips: [192.0.2.10]
  token: publish-publish-publish
  second_publisher: replace
  ice_servers: [{url: "stun:a:1"}, {url: "turns:b", username: u, credential: c}]
nats:
  url: nats://a:4222,tls://b:4222
  addr: "[::1]:0"
  token: 0123456789abcdef
  store_dir: /var/lib/segd
  format: json
  duplicates: allow
  replicas: 3
  credentials: segd.creds
  tls: {ca: ca.pem, cert: c.pem, key: c.key}
  events: {max_age: 24h, max_mib: 8}
  masks: {max_age: 90s, max_mib: 512}
  pictures: {max_age: 72h, max_mib: 2048}
mqtt: {url: "mqtts://broker:8884", username: segd, password_file: mqtt.password, client_id: segd-1, tls: {ca: ca.pem, cert: m.pem, key: m.key}, prefix: house/segd, discovery: "", no_snapshots: true, commands: true}
recording: {dir: /var/rec, days: 30, max_mib: 500000}
webhooks:
- {name: door, url: "https://hooks/x", secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw, ca: ca.pem, kinds: [object_entered], cameras: [gate], classes: [traffic light], zones: [yard]}
- {name: all, url: "http://hooks", secret_file: s}
fleet: {box: box-1, labels: [gpu=true, near=gate], max_cameras: 20, page: "https://box-1:8080/", ttl: 5s}
model: {path: m.caffemodel, taps: [a, "b"], short_side: 320, mean: [1, 2.5, -3], std: [1, 1, 2], rgb: true, prototxt: m.txt, device: cpu, engine: onnxruntime, engine_library: ort.so, threads: 2, fp16: true, batch: 4, batch_wait: 5ms, engine_cache: cache}
detector: {path: d.onnx}
log: {level: debug, format: json, slow_ms: 80}
superpixels: 6000
tracker: {budget_ms: 20}
privacy: {off: true}
cameras:
  - {name: a, url: "rtsps://u:p@cam/1", transport: udp, decode: cuda, clock: arrival, rotate: 270, aspect: 16:9, deinterlace: on, annotation: a.json, requires: [near=gate]}
  - {name: b, url: "dir:frames", fps: 12.5, loop: true}
  - {name: c, url: "whip:", record: true}
  - name: d
    url: "file:d.avi"
    zones: [{name: yard, polygon: [[0, 0], [0.5, 0], [0.5, 1]], by: share, share: 0.25, dwell: 1m}, {name: porch, polygon: [[0, 0], [1, 0], [1, 1]]}]
    lines: [{name: street, points: [[0, 0.5], [1, 0.5]]}]
    detect: {classes: [person, traffic light], every: 500ms, score: 0.25, max_objects: 100, keep: 2m, reidentify: 0.9, zones: [porch], off: true}
  - {name: e, url: "file:e.avi", detect: {classes: [car]}}
  - {name: f, url: "snapshot+https://cam/f.jpg"}
  - {name: g, url: "snapshot+http://cam/g.jpg", fps: 0.1}
  - name: h
    url: "file:h.avi"
    detect: {classes: [person, car]}
    privacy: {blur: [person], fill: [car], except: kept, margin: 2.5%, show: operator}
    ignore: [[[0, 0], [0.5, 0], [0.5, 1]]]
`
	got, err := config.Parse("segd.yaml", []byte(text), nil)
	require.NoError(t, err)
	byDefault := config.Detect{Classes: config.DefaultDetectClasses(), Every: "200ms", Score: 0.65, MaxObjects: 30, Keep: "30s", Reidentify: 0.65}
	want := &config.Config{
		Site: "yard",
		HTTP: config.HTTP{Addr: "0.0.0.0:80", Token: "s3cret-s3cret-s3cret", ViewerToken: "v13wer-v13wer-v13wer", TrustedProxies: []string{"10.0.0.0/8"}, BasePath: "/a-b/c.d_~", Alertmanager: "https://am/x", Viewers: 200, TLS: config.TLS{Cert: "a.crt", Key: "a.key"}},
		WHIP: config.WHIP{Addr: ":9000", PublicIPs: []string{"192.0.2.10"}, Token: "publish-publish-publish", SecondPublisher: "replace",
			ICEServers: []config.ICEServer{{URL: "stun:a:1"}, {URL: "turns:b", Username: "u", Credential: "c"}}},
		RTSP: config.RTSP{Addr: ":8554"},
		NATS: config.NATS{URL: "nats://a:4222,tls://b:4222", Addr: "[::1]:0", Token: "0123456789abcdef",
			StoreDir: "/var/lib/segd", Sync: "interval", Format: "json", Credentials: "segd.creds", Duplicates: "allow", Replicas: 3,
			TLS:    config.NATSTLS{CA: "ca.pem", Cert: "c.pem", Key: "c.key"},
			Events: config.Retention{MaxAge: "24h", MaxMiB: 8}, Masks: config.Retention{MaxAge: "90s", MaxMiB: 512}, Pictures: config.Retention{MaxAge: "72h", MaxMiB: 2048}},
		Recording: config.Recording{Dir: "/var/rec", Days: 30, MaxMiB: 500000},
		Webhooks: []config.Webhook{
			{Name: "door", URL: "https://hooks/x", Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", CA: "ca.pem",
				Kinds: []string{"object_entered"}, Cameras: []string{"gate"}, Classes: []string{"traffic light"}, Zones: []string{"yard"}},
			{Name: "all", URL: "http://hooks", SecretFile: "s"},
		},
		MQTT: config.MQTT{URL: "mqtts://broker:8884", Username: "segd", PasswordFile: "mqtt.password", ClientID: "segd-1",
			TLS: config.MQTTTLS{CA: "ca.pem", Cert: "m.pem", Key: "m.key"}, Prefix: "house/segd", NoSnapshots: true, Commands: true},
		Fleet: config.Fleet{Box: "box-1", Labels: []string{"gpu=true", "near=gate"}, MaxCameras: 20, Page: "https://box-1:8080/", TTL: "5s"},
		Model: config.Model{Path: "m.caffemodel", Taps: []string{"a", "b"}, ShortSide: 320,
			Mean: []float64{1, 2.5, -3}, Std: []float64{1, 1, 2}, RGB: true, Prototxt: "m.txt", Device: "cpu", Engine: "onnxruntime", EngineLibrary: "ort.so", Threads: 2, FP16: true, Batch: 4, BatchWait: "5ms", EngineCache: "cache"},
		Detector:    config.Detector{Path: "d.onnx"},
		Log:         config.Log{Level: "debug", Format: "json", SlowMS: 80},
		Superpixels: 6000,
		Tracker:     config.Tracker{BudgetMS: 20},
		Privacy:     config.Privacy{Margin: "10%", Show: "nobody", Off: true},
		Cameras: []config.Camera{
			{Name: "a", URL: "rtsps://u:p@cam/1", Transport: "udp", Decode: "cuda", Clock: "arrival", Rotate: 270, Aspect: "16:9", Deinterlace: "on", FPS: 25, Annotation: "a.json", Requires: []string{"near=gate"}, Detect: byDefault},
			{Name: "b", URL: "dir:frames", Transport: "auto", Decode: "software", Clock: "auto", Deinterlace: "auto", FPS: 12.5, Loop: true, Detect: byDefault},
			{Name: "c", URL: "whip:", Record: true, Transport: "auto", Decode: "software", Clock: "auto", Deinterlace: "auto", FPS: 25, Detect: byDefault},
			{Name: "d", URL: "file:d.avi", Transport: "auto", Decode: "software", Clock: "auto", Deinterlace: "auto", FPS: 25,
				Zones: []config.Zone{
					{Name: "yard", Polygon: [][]float64{{0, 0}, {0.5, 0}, {0.5, 1}}, By: "share", Share: 0.25, Dwell: "1m"},
					{Name: "porch", Polygon: [][]float64{{0, 0}, {1, 0}, {1, 1}}, By: "foot", Share: 0.5},
				},
				Lines:  []config.Line{{Name: "street", Points: [][]float64{{0, 0.5}, {1, 0.5}}}},
				Detect: config.Detect{Classes: []string{"person", "traffic light"}, Every: "500ms", Score: 0.25, MaxObjects: 100, Keep: "2m", Reidentify: 0.9, Zones: []string{"porch"}, Off: true}},
			{Name: "e", URL: "file:e.avi", Transport: "auto", Decode: "software", Clock: "auto", Deinterlace: "auto", FPS: 25,
				Detect: config.Detect{Classes: []string{"car"}, Every: "200ms", Score: 0.65, MaxObjects: 30, Keep: "30s", Reidentify: 0.65}},
			{Name: "f", URL: "snapshot+https://cam/f.jpg", Transport: "auto", Decode: "software", Clock: "auto", Deinterlace: "auto", FPS: 1, Detect: byDefault},
			{Name: "g", URL: "snapshot+http://cam/g.jpg", Transport: "auto", Decode: "software", Clock: "auto", Deinterlace: "auto", FPS: 0.1, Detect: byDefault},
			{Name: "h", URL: "file:h.avi", Transport: "auto", Decode: "software", Clock: "auto", Deinterlace: "auto", FPS: 25,
				Detect:  config.Detect{Classes: []string{"person", "car"}, Every: "200ms", Score: 0.65, MaxObjects: 30, Keep: "30s", Reidentify: 0.65},
				Privacy: config.Privacy{Blur: []string{"person"}, Fill: []string{"car"}, Except: "kept", Margin: "2.5%", Show: "operator"},
				Ignore:  [][][]float64{{{0, 0}, {0.5, 0}, {0.5, 1}}}},
		},
	}
	assert.Empty(t, cmp.Diff(want, got))
	layout := zones.Layout{
		Zones: []zones.Zone{
			{Name: "yard", Polygon: []zones.Point{{0, 0}, {0.5, 0}, {0.5, 1}}, By: zones.ByShare, Share: 0.25, Dwell: time.Minute},
			{Name: "porch", Polygon: []zones.Point{{0, 0}, {1, 0}, {1, 1}}, By: zones.ByFoot, Share: 0.5},
		},
		Lines: []zones.Line{{Name: "street", Points: []zones.Point{{0, 0.5}, {1, 0.5}}}},
	}
	assert.Empty(t, cmp.Diff(layout, got.Cameras[3].Layout()))
}

// faultTable seeds the fuzz target too.
var faultTable = []struct {
	name, text string
	environ    []string
	want       []string // whole lines
}{
	{name: "unknown key", text: "htp: 1\n" + minimal,
		want: []string{`f:1:1: unknown key "htp" (did you mean http?); accepted: site, http, whip, rtsp, nats, mqtt, recording, webhooks, fleet, model, detector, log, superpixels, tracker, privacy, cameras`}},
	{name: "unknown key like none", text: "colour: 1\n" + minimal,
		want: []string{`f:1:1: unknown key "colour"; accepted: site, http, whip, rtsp, nats, mqtt, recording, webhooks, fleet, model, detector, log, superpixels, tracker, privacy, cameras`}},
	{name: "unknown key of anchors", text: "common: &usual {transport: tcp}\nhtp: {addr: &a x}\n" + minimal,
		want: []string{
			`f:1:1: unknown key "common" (a key of your own, for anchors, has to begin with x-, such as x-common); accepted: site, http, whip, rtsp, nats, mqtt, recording, webhooks, fleet, model, detector, log, superpixels, tracker, privacy, cameras`,
			`f:2:1: unknown key "htp" (a key of your own, for anchors, has to begin with x-, such as x-htp); accepted: site, http, whip, rtsp, nats, mqtt, recording, webhooks, fleet, model, detector, log, superpixels, tracker, privacy, cameras`,
		}},
	{name: "unknown key inside", text: "http:\n  adr: x\n" + minimal,
		want: []string{`f:2:3: http: unknown key "adr" (did you mean addr?); accepted: addr, token, viewer_token, trusted_proxies, base_path, viewers, alertmanager, tls`}},
	{name: "unknown key of a camera", text: "cameras:\n  - name: a\n    url: rtsp://a/\n    colour: red\n",
		want: []string{`f:4:5: cameras[0]: unknown key "colour"; accepted: name, url, password_file, transport, decode, clock, fingerprint, rotate, aspect, deinterlace, fps, loop, annotation, zones, lines, rules, detect, privacy, ignore, record, requires`}},
	{name: "fingerprint too short", text: "cameras: [{name: a, url: 'rtsps://a/', fingerprint: 'ab:cd'}]\n",
		want: []string{`f:1:53: cameras[0].fingerprint: "ab:cd"; accepted: the SHA-256 of the certificate of an rtsps://, mjpeg+https:// or snapshot+https:// camera, 64 hexadecimal digits`}},
	{name: "fingerprint without TLS", text: "cameras: [{name: a, url: 'rtsp://a/', fingerprint: '" + strings.Repeat("ab:", 31) + "cd'}]\n",
		want: []string{`f:1:52: cameras[0].fingerprint: the camera's url has no TLS; accepted: the SHA-256 of the certificate of an rtsps://, mjpeg+https:// or snapshot+https:// camera, 64 hexadecimal digits`}},
	{name: "no quarter", text: "cameras: [{name: a, url: 'rtsp://a/', rotate: 45}]\n",
		want: []string{`f:1:47: cameras[0].rotate: found 45; accepted: 0, 90, 180, 270 (degrees clockwise)`}},
	{name: "unknown deinterlacing", text: "cameras: [{name: a, url: 'rtsp://a/', deinterlace: bob}]\n",
		want: []string{`f:1:52: cameras[0].deinterlace: found "bob"; accepted: auto, on, off`}},
	{name: "no aspect", text: "cameras: [{name: a, url: 'rtsp://a/', aspect: 16/9}]\n",
		want: []string{`f:1:47: cameras[0].aspect: "16/9"; accepted: WIDTH:HEIGHT of the whole picture, from 1:16 to 16:1, such as 16:9`}},
	{name: "a line for a picture", text: "cameras: [{name: a, url: 'rtsp://a/', aspect: 17:1}]\n",
		want: []string{`f:1:47: cameras[0].aspect: "17:1"; accepted: WIDTH:HEIGHT of the whole picture, from 1:16 to 16:1, such as 16:9`}},
	{name: "password of nobody", text: "cameras: [{name: a, url: 'rtsp://a/', password_file: x}]\n",
		want: []string{`f:1:54: cameras[0].password_file: the camera's url names no user; accepted: with the url of an RTSP, MJPEG or snapshot camera that names a user and no password`}},
	{name: "password of a file", text: "cameras: [{name: a, url: 'file:a', password_file: x}]\n",
		want: []string{`f:1:51: cameras[0].password_file: the camera's url names no user; accepted: with the url of an RTSP, MJPEG or snapshot camera that names a user and no password`}},
	{name: "two passwords", text: "cameras: [{name: a, url: 'rtsp://u:geheim@a/', password_file: x}]\n",
		want: []string{`f:1:63: cameras[0].password_file: the camera's url has a password already; accepted: with the url of an RTSP, MJPEG or snapshot camera that names a user and no password`}},
	{name: "number for text", text: "site: 7\n" + minimal,
		want: []string{`f:1:7: site: found the number 7; accepted: text (put it in quotes if it looks like a number)`}},
	{name: "text for number", text: "superpixels: many\n" + minimal,
		want: []string{`f:1:14: superpixels: found the text "many"; accepted: a whole number`}},
	{name: "fraction for whole number", text: "superpixels: 2.5\n" + minimal,
		want: []string{`f:1:14: superpixels: found the number 2.5; accepted: a whole number`}},
	{name: "huge number", text: "superpixels: 99999999999999999999\n" + minimal,
		want: []string{`f:1:14: superpixels: found the text "99999999999999999999"; accepted: a whole number`}},
	{name: "list for mapping", text: "http: [1]\n" + minimal,
		want: []string{`f:1:7: http: found a list; accepted: a mapping with the keys addr, token, viewer_token, trusted_proxies, base_path, viewers, alertmanager, tls`}},
	{name: "mapping for list", text: "cameras:\n  gate:\n    url: x\n",
		want: []string{`f:2:3: cameras: found a mapping; accepted: a list`}},
	{name: "text for bool", text: minimal + "    loop: often\n",
		want: []string{`f:4:11: cameras[0].loop: found the text "often"; accepted: true or false`}},
	{name: "value out of range", text: "superpixels: 7\n" + minimal,
		want: []string{`f:1:14: superpixels: found 7; accepted: 50 to 20000`}},
	{name: "bad address", text: "http: {addr: nowhere}\n" + minimal,
		want: []string{`f:1:14: http.addr: "nowhere" is not host:port; accepted: such as 127.0.0.1:8080`}},
	{name: "bad port", text: "nats: {addr: \"h:99999\"}\n" + minimal,
		want: []string{`f:1:14: nats.addr: port "99999"; accepted: 0 to 65535`}},
	{name: "access without a server", text: "nats: {credentials: a.creds, nkey: a.nk, tls: {ca: ca.pem}}\n" + minimal,
		want: []string{
			`f:1:21: nats.credentials: "a.creds" is for an external server; accepted: with nats.url`,
			`f:1:36: nats.nkey: "a.nk" is for an external server; accepted: with nats.url`,
			`f:1:52: nats.tls.ca: "ca.pem" is for an external server; accepted: with nats.url`,
		}},
	{name: "users", text: "nats: {addr: 0.0.0.0:4222, users: [{name: a b, password: short, role: root}, {name: c, role: admin}, {name: c, nkey: SUABC, password: 0123456789abcdef, role: admin}, {name: d, nkey: SUABC, role: admin}]}\n" + minimal,
		want: []string{
			`f:1:43: nats.users[0].name: "a b" contains ' '; accepted: letters, digits, _ and -`,
			`f:1:58: nats.users[0].password: 5 characters; accepted: 16 or more`,
			`f:1:71: nats.users[0].role: found "root"; accepted: subscriber, operator, admin`,
			`f:1:79: nats.users[1]: password and nkey; accepted: one of them`,
			`f:1:103: nats.users[2]: password and nkey; accepted: one of them`,
			`f:1:109: nats.users[2].name: "c" is nats.users[1]'s name already; accepted: a name of its own`,
			`f:1:118: nats.users[2].nkey: not a public key; accepted: U and 55 of A-Z, 2-7, as nk -inkey FILE -pubout prints it`,
			`f:1:183: nats.users[3].nkey: not a public key; accepted: U and 55 of A-Z, 2-7, as nk -inkey FILE -pubout prints it`,
		}},
	{name: "users of another's server", text: "nats: {url: nats://a, users: [{name: a, password: 0123456789abcdef, role: admin}]}\n" + minimal,
		want: []string{`f:1:30: nats.users: nats.url is there too, whose server has users of its own; accepted: one of them`}},
	{name: "half of the server's own certificate", text: "nats: {tls: {key: c.key}}\n" + minimal,
		want: []string{`f:1:14: nats.tls: cert and key belong together; accepted: both or neither`}},
	{name: "credentials and NKey", text: "nats: {url: nats://a, credentials: a.creds, nkey: a.nk}\n" + minimal,
		want: []string{`f:1:51: nats.nkey: nats.credentials is there too; accepted: one of them`}},
	{name: "half a certificate", text: "nats: {url: nats://a, tls: {cert: c.pem}}\n" + minimal,
		want: []string{`f:1:29: nats.tls: cert and key belong together; accepted: both or neither`}},
	{name: "sync of a word that is none", text: "nats: {sync: sometimes}\n" + minimal,
		want: []string{`f:1:14: nats.sync: found "sometimes"; accepted: interval, always`}},
	{name: "sync of a server elsewhere", text: "nats: {url: nats://a, sync: always}\n" + minimal,
		want: []string{`f:1:29: nats.sync: always is for the embedded server; accepted: without nats.url (sync_interval of that server does it)`}},
	{name: "sync of nothing kept", text: "nats: {sync: always}\n" + minimal,
		want: []string{`f:1:14: nats.sync: always keeps nothing in a temporary folder; accepted: with nats.store_dir`}},
	{name: "mqtt without a broker", text: "mqtt:\n  prefix: cams\n  discovery: ''\n" + minimal,
		want: []string{`f:2:3: mqtt.url: missing; accepted: the broker's, such as mqtt://broker.example`}},
	{name: "mqtt without a broker, by the environment", text: minimal, environ: []string{"SEGD_MQTT_COMMANDS=true"},
		want: []string{`f: mqtt.url: missing; accepted: the broker's, such as mqtt://broker.example`}},
	{name: "mqtt", text: "mqtt: {url: 'http://broker', password_file: a, tls: {key: k.pem}, prefix: 'a/+', discovery: '/ha'}\n" + minimal,
		want: []string{
			`f:1:8: mqtt.username: missing; accepted: whose password is in mqtt.password_file`,
			`f:1:13: mqtt.url: "http://broker"; accepted: such as mqtt://broker.example or, by TLS, mqtts://broker.example:8883`,
			`f:1:54: mqtt.tls: cert and key belong together; accepted: both or neither`,
			`f:1:75: mqtt.prefix: "a/+"; accepted: letters, digits, _, . and -, and / between, such as segd or home/segd`,
			`f:1:93: mqtt.discovery: "/ha"; accepted: letters, digits, _, . and -, and / between, such as segd or home/segd`,
		}},
	{name: "webhooks", text: "webhooks:\n- {url: 'ftp://hooks/sesame', secret: sesame, secret_file: s, kinds: [object_enterd], cameras: ['a b'], classes: [''], zones: ['']}\n" +
		"- {name: a, url: 'https://u:sesame@h/'}\n- {name: a, url: 'http://h', ca: c.pem}\n- {name: b}\n- {name: c, url: 'https://h/%zz-sesame'}\n" + minimal,
		want: []string{
			`f:2:4: webhooks[0].name: missing; accepted: letters, digits, _ and -`,
			`f:2:9: webhooks[0].url: neither http:// nor https:// and a host; accepted: such as https://hooks.example/segd`,
			`f:2:39: webhooks[0].secret: it is none; accepted: whsec_ and base64 of 24 to 64 bytes, as of: echo whsec_$(openssl rand -base64 32)`,
			`f:2:60: webhooks[0].secret_file: secret is there too; accepted: one of them`,
			`f:2:71: webhooks[0].kinds[0]: "object_enterd"; accepted: a kind of event, such as object_entered, object_renamed, object_appeared`,
			`f:2:97: webhooks[0].cameras[0]: "a b" contains ' '; accepted: letters, digits, _ and -`,
			`f:2:115: webhooks[0].classes[0]: empty; accepted: a class, such as person`,
			`f:2:128: webhooks[0].zones[0]: missing; accepted: letters, digits, _ and -`,
			`f:3:18: webhooks[1].url: it names a user; accepted: one without`,
			`f:4:10: webhooks[2].name: "a" is webhooks[1]'s name already; accepted: a name of its own`,
			`f:4:34: webhooks[2].ca: the url is without TLS; accepted: with https://`,
			`f:5:4: webhooks[3].url: missing; accepted: such as https://hooks.example/segd`,
			`f:6:18: webhooks[4].url: not a URL; accepted: such as https://hooks.example/segd`,
		}},
	{name: "mqtt with a user in the url", text: "mqtt: {url: 'mqtt://segd:sesame@broker'}\n" + minimal,
		want: []string{`f:1:13: mqtt.url: it names a user; accepted: one without, and mqtt.username and mqtt.password_file`}},
	{name: "mqtt with files for TLS and none", text: "mqtt: {url: 'mqtt://broker:1883', tls: {ca: ca.pem}}\n" + minimal,
		want: []string{`f:1:41: mqtt.tls: mqtt.url is without TLS; accepted: with mqtts://`}},
	{name: "recording", text: "recording: {days: 0.5, max_mib: 1}\ncameras: [{name: a, url: 'rtsp://a', record: true}]",
		want: []string{`f:1:19: recording.days: found the number 0.5; accepted: a whole number`,
			`f:1:33: recording.max_mib: found 1; accepted: 64 to 16777216`,
			`f:2:46: cameras[0].record: true, and there is no recording.dir; accepted: with that`}},
	{name: "what is not recorded", text: "recording: {dir: r}\nprivacy: {blur: [person]}\ncameras:\n- {name: a, url: 'rtsp://a', record: true}\n" +
		"- {name: b, url: 'rtsp://b', record: true, privacy: {fill: [car]}}\n- {name: c, url: 'mjpeg+http://c', record: true}\n" +
		"- {name: d, url: 'rtsp://d', record: true, privacy: {off: true}, ignore: [[[0, 0], [1, 0], [1, 1]]]}\n- {name: e, url: 'whip:', record: true, privacy: {off: true}, rotate: 90}\n" +
		"- {name: f, url: 'rtsp://f', record: true, privacy: {off: true}}\n- {name: g, url: 'rtsp://g'}",
		want: []string{
			`f:4:38: cameras[0].record: true, and the recording would show what privacy hides; accepted: with privacy: {off: true}, or false`,
			`f:5:38: cameras[1].record: true, and the recording would show what privacy hides; accepted: with privacy: {off: true}, or false`,
			`f:6:44: cameras[2].record: true, and the url is of another kind than RTSP and whip:; accepted: a camera of these, whose H.264 or H.265 is recorded as it comes`,
			`f:7:38: cameras[3].record: true, and the recording would show what ignore makes black; accepted: without ignore, or false`,
			`f:8:35: cameras[4].record: true, and the recording is not turned by rotate; accepted: with rotate: 0, the picture turned in the camera's settings, or false`,
		}},
	{name: "retention", text: "nats: {events: {max_age: 7d, max_mib: -1}, masks: {max_mib: 5}, pictures: {max_mib: 6}}\n" + minimal,
		want: []string{
			`f:1:26: nats.events.max_age: "7d"; accepted: a duration of 1s or more, such as 90m or 168h`,
			`f:1:39: nats.events.max_mib: found -1; accepted: 1 to 1048576`,
			`f:1:52: nats.masks: max_mib without max_age; accepted: both, or max_age alone`,
			`f:1:76: nats.pictures: max_mib without max_age; accepted: both, or max_age alone`,
		}},
	{name: "open to all without a token", text: "http: {addr: \":8080\"}\n" + minimal,
		want: []string{`f:1:14: http.addr: ":8080" is reachable from other machines, so http.token is required; accepted: a token, or a loopback address such as 127.0.0.1:8080`}},
	{name: "short token", text: "http: {token: tooshort}\n" + minimal,
		want: []string{`f:1:15: http.token: 8 characters; accepted: 16 or more`}},
	{name: "two means", text: "model: {mean: [1, 2], std: [1, 1, 0]}\n" + minimal,
		want: []string{`f:1:15: model.mean: 2 numbers; accepted: 3, one a channel`,
			`f:1:35: model.std[2]: found 0; accepted: a finite number above 0`}},
	{name: "mean alone", text: "model: {mean: [1, 2, 3]}\n" + minimal,
		want: []string{`f:1:9: model: mean and std belong together; accepted: both or neither`}},
	{name: "no cameras", text: "site: a\n",
		want: []string{`f: cameras: missing; accepted: a list of cameras with name and url, or [] where all are added in the page`}},
	{name: "empty file", text: "",
		want: []string{`f: cameras: missing; accepted: a list of cameras with name and url, or [] where all are added in the page`}},
	{name: "certificate without a key", text: "http: {tls: {cert: a.crt}}\n" + minimal,
		want: []string{`f:1:14: http.tls: cert and key belong together; accepted: both or neither`}},
	{name: "camera without url", text: "cameras: [{name: a}]\n",
		want: []string{`f:1:12: cameras[0].url: missing; accepted: rtsp://host/path, rtsps://host/path, mjpeg+http://host/path, mjpeg+https://host/path, snapshot+http://host/path, snapshot+https://host/path, v4l2:/dev/video0, whip:, file:PATH or dir:PATH`}},
	{name: "two of one name", text: minimal + "  - {name: gate, url: 'file:x'}\n",
		want: []string{`f:4:12: cameras[1].name: "gate" is cameras[0]'s name already; accepted: a name of its own`}},
	{name: "name that is no subject token", text: "cameras: [{name: a.b, url: 'file:x'}]\n",
		want: []string{`f:1:18: cameras[0].name: "a.b" contains '.'; accepted: letters, digits, _ and -`}},
	{name: "unknown scheme", text: "cameras: [{name: a, url: 'http://x/'}]\n",
		want: []string{`f:1:26: cameras[0].url: scheme "http" of "http://x/"; accepted: mjpeg+http://x/ if the camera sends MJPEG by it, snapshot+http://x/ if it sends one JPEG picture a request; else rtsp://host/path, rtsps://host/path, mjpeg+http://host/path, mjpeg+https://host/path, snapshot+http://host/path, snapshot+https://host/path, v4l2:/dev/video0, whip:, file:PATH or dir:PATH`}},
	{name: "rules", text: minimal + `    zones: [{name: porch, polygon: [[0, 0], [1, 0], [1, 1]]}]
    rules:
      - {name: a, when: present, zone: yard, for: 10}
      - {name: a, when: gone, for: 10s, again: often, schedule: [{days: [monday]}]}
`,
		want: []string{
			`f:6:40: cameras[0].rules[0].zone: "yard"; accepted: one of the camera's zones, porch`,
			`f:6:51: cameras[0].rules[0].for: "10" has no unit; accepted: a duration of 1s or more, such as 10s`,
			`f:7:16: cameras[0].rules[1].name: "a" is cameras[0].rules[0]'s name already; accepted: a name of its own`,
			`f:7:25: cameras[0].rules[1].when: "gone"; accepted: present, still or absent`,
			`f:7:48: cameras[0].rules[1].again: "often"; accepted: a duration of 0s or more, such as 5m`,
			`f:7:67: cameras[0].rules[1].schedule[0]: day "monday"; accepted: sun, mon, tue, wed, thu, fri, sat`,
		}},
	{name: "snapshots too rare", text: "cameras: [{name: a, url: 'snapshot+http://x/', fps: 0.0001}, {name: b, url: 'dir:x', fps: 0.0001}]\n",
		want: []string{`f:1:53: cameras[0].fps: found 0.0001; accepted: a picture an hour (0.000278) or more, at most 1000 a second`}},
	{name: "zones", text: minimal + `    zones:
      - {name: a b, polygon: [[0, 0], [1, 1]], dwell: soon}
      - {name: yard, polygon: [[0, 0], [768, 0], [1, 1, 1]], by: head}
      - {name: yard, polygon: [[0, 0], [1, 1], [1, 0], [0, 0.8]], share: 0.3, dwell: 10ms}
      - {name: porch, polygon: [[0, 0], [1, 0], [1, 1]], by: share, share: 50}
      - {polygon: 7}
    lines: [{name: street, points: [[0.1], [0, 0]]}, {name: road}]
`,
		want: []string{
			`f:5:16: cameras[0].zones[0].name: "a b" contains ' '; accepted: 1 to 64 letters, digits, _ and -`,
			`f:5:30: cameras[0].zones[0].polygon: 2 points; accepted: 3 to 64`,
			`f:5:55: cameras[0].zones[0].dwell: "soon"; accepted: a duration of 1s or more, such as 10s`,
			`f:6:40: cameras[0].zones[1].polygon[1]: [768, 0]; accepted: fractions of the picture's width and height, 0 to 1`,
			`f:6:50: cameras[0].zones[1].polygon[2]: 3 numbers; accepted: two, [x, y]`,
			`f:6:66: cameras[0].zones[1].by: found "head"; accepted: foot, share`,
			`f:7:16: cameras[0].zones[2].name: "yard" is zones[1]'s name already; accepted: a name of its own`,
			`f:7:31: cameras[0].zones[2].polygon: the sides from points 0 and 2 cross or touch; accepted: a polygon that does not cross itself`,
			`f:7:74: cameras[0].zones[2].share: the zone goes by foot; accepted: with by: share`,
			`f:7:86: cameras[0].zones[2].dwell: "10ms"; accepted: a duration of 1s or more, such as 10s`,
			`f:8:76: cameras[0].zones[3].share: found 50; accepted: above 0, at most 1`,
			`f:9:10: cameras[0].zones[4].name: missing; accepted: 1 to 64 letters, digits, _ and -`,
			`f:9:19: cameras[0].zones[4].polygon: found the number 7; accepted: a list`,
			`f:10:37: cameras[0].lines[0].points[0]: 1 numbers; accepted: two, [x, y]`,
			`f:10:55: cameras[0].lines[1].points: 0 points; accepted: 2, from where to where`,
		}},
	{name: "detect", text: minimal + `    detect: {classes: [persn, dog, dog, "\u00e9l\u00e9phant"], every: 99ms, score: 2, max_objects: 101, keep: soon, zones: [yard], reidentify: 1.5}
  - name: b
    url: file:x
    zones: [{name: yard, polygon: [[0, 0], [1, 0], [1, 1]]}, {name: porch, polygon: [[0, 0], [1, 0], [1, 1]]}]
    detect: {classes: [], zones: [porch, garden]}
  - {name: c, url: file:x, detect: {classes: [car], every: 2h, score: -0.1, max_objects: -1, keep: 10ms, zones: [yard], reidentify: -0.1}}
  - {name: d, url: file:x, detect: }
  - {name: e, url: file:x, detect: [person]}
  - {name: g, url: file:x, detect: {classes: person}}
`,
		want: []string{
			`f:4:24: cameras[0].detect.classes[0]: "persn"; accepted: one of the 80 classes that the detector knows, such as person, horse, car`,
			`f:4:36: cameras[0].detect.classes[2]: "dog" is named before; accepted: each class once`,
			`f:4:41: cameras[0].detect.classes[3]: "éléphant"; accepted: one of the 80 classes that the detector knows, such as elephant, airplane, boat`,
			`f:4:71: cameras[0].detect.every: "99ms"; accepted: a duration from 100ms to 1h, such as 2s`,
			`f:4:84: cameras[0].detect.score: found 2; accepted: above 0, at most 1`,
			`f:4:100: cameras[0].detect.max_objects: found 101; accepted: 1 to 100`,
			`f:4:111: cameras[0].detect.keep: "soon"; accepted: a duration of 1s or more, such as 30s`,
			`f:4:125: cameras[0].detect.zones[0]: "yard" is no zone; accepted: this camera has none`,
			`f:4:144: cameras[0].detect.reidentify: found 1.5; accepted: above 0, at most 1`,
			`f:8:23: cameras[1].detect.classes: none; accepted: a list of at least one class, such as [person, car], or off: true beside it or in its place`,
			`f:8:42: cameras[1].detect.zones[1]: "garden" is no zone; accepted: names of this camera's zones: yard, porch`,
			`f:9:60: cameras[2].detect.every: "2h"; accepted: a duration from 100ms to 1h, such as 2s`,
			`f:9:71: cameras[2].detect.score: found -0.1; accepted: above 0, at most 1`,
			`f:9:90: cameras[2].detect.max_objects: found -1; accepted: 1 to 100`,
			`f:9:100: cameras[2].detect.keep: "10ms"; accepted: a duration of 1s or more, such as 30s`,
			`f:9:114: cameras[2].detect.zones[0]: "yard" is no zone; accepted: this camera has none`,
			`f:9:133: cameras[2].detect.reidentify: found -0.1; accepted: above 0, at most 1`,
			`f:11:36: cameras[4].detect: found a list; accepted: a mapping with the keys classes, every, score, max_objects, keep, reidentify, zones, off`,
			`f:12:46: cameras[5].detect.classes: found the text "person"; accepted: a list`,
		}},
	{name: "viewers", text: "http: {viewers: 10001}\n" + minimal,
		want: []string{`f:1:17: http.viewers: found 10001; accepted: 1 to 10000`}},
	{name: "short viewer token", text: "http: {token: 0123456789abcdef, viewer_token: short}\n" + minimal,
		want: []string{`f:1:47: http.viewer_token: 5 characters; accepted: 16 or more`}},
	{name: "viewer token alone", text: "http: {viewer_token: 0123456789abcdef}\n" + minimal,
		want: []string{`f:1:22: http.viewer_token: there is no http.token, so everybody may do everything; accepted: beside http.token`}},
	{name: "viewer token is the token", text: "http: {token: 0123456789abcdef, viewer_token: 0123456789abcdef}\n" + minimal,
		want: []string{`f:1:47: http.viewer_token: it is http.token too; accepted: one of its own`}},
	{name: "viewer token lets publish", text: "whip: {token: 0123456789abcdef}\nhttp: {token: 0123456789abcdeF, viewer_token: 0123456789abcdef}\n" + minimal,
		want: []string{`f:2:47: http.viewer_token: it is whip.token too, and a viewer may not publish; accepted: one of its own`}},
	{name: "proxies", text: "http: {trusted_proxies: [10.0.0.1, '10.0.0.0/8', '2001:db8::/32', '0.0.0.0/0', proxy, '10.0.0.0/33', '::ffff:10.0.0.0/104']}\n" + minimal,
		want: []string{
			`f:1:67: http.trusted_proxies[3]: "0.0.0.0/0"; accepted: an IP address or a network such as 10.0.0.0/8, not all there are`,
			`f:1:80: http.trusted_proxies[4]: "proxy"; accepted: an IP address or a network such as 10.0.0.0/8, not all there are`,
			`f:1:87: http.trusted_proxies[5]: "10.0.0.0/33"; accepted: an IP address or a network such as 10.0.0.0/8, not all there are`,
			`f:1:102: http.trusted_proxies[6]: "::ffff:10.0.0.0/104"; accepted: an IP address or a network such as 10.0.0.0/8, not all there are`,
		}},
	{name: "base path with a slash at its end", text: "http: {base_path: /segd/}\n" + minimal,
		want: []string{`f:1:19: http.base_path: "/segd/"; accepted: names of [A-Za-z0-9._~-], each after a slash and without a dot at its beginning, such as /segd`}},
	{name: "base path that leads up", text: "http: {base_path: /segd/..}\n" + minimal,
		want: []string{`f:1:19: http.base_path: "/segd/.."; accepted: names of [A-Za-z0-9._~-], each after a slash and without a dot at its beginning, such as /segd`}},
	{name: "base path that segd itself serves", text: "http: {base_path: /api/segd}\n" + minimal,
		want: []string{`f:1:19: http.base_path: "/api/segd"; accepted: such as /segd/api: segd itself has something at /api`}},
	{name: "an Alertmanager with a password", text: "http: {alertmanager: 'http://a:sesame@am:9093'}\n" + minimal,
		want: []string{`f:1:22: http.alertmanager: not the URL of one; accepted: such as http://alertmanager:9093, without user and ?`}},
	{name: "an Alertmanager without http", text: "http: {alertmanager: 'am:9093'}\n" + minimal,
		want: []string{`f:1:22: http.alertmanager: not the URL of one; accepted: such as http://alertmanager:9093, without user and ?`}},
	{name: "publishers", text: "whip:\n  addr: gate:1\n  token: short\n  second_publisher: fight\n  public_ips: [gate]\n  ice_servers: [{url: 'http://x'}]\ncameras: [{name: a, url: 'whip:b'}]\n",
		want: []string{
			`f:2:9: whip.addr: host "gate"; accepted: an IP address, localhost, or none for every interface`,
			`f:3:10: whip.token: 5 characters; accepted: 16 or more`,
			`f:4:21: whip.second_publisher: found "fight"; accepted: refuse, replace`,
			`f:5:16: whip.public_ips[0]: "gate"; accepted: an IP address such as 192.0.2.10`,
			`f:6:23: whip.ice_servers[0].url: "http://x"; accepted: such as stun:host:3478 or turn:host:3478?transport=udp`,
			`f:7:26: cameras[0].url: "whip:b"; accepted: whip: alone, publishers use the camera's name`,
		}},
	{name: "RTSP for everybody", text: "rtsp: {addr: ':8554'}\n" + minimal,
		want: []string{`f:1:14: rtsp.addr: ":8554" is reachable from other machines, so http.token is required; accepted: a token, or a loopback address such as 127.0.0.1:8554`}},
	{name: "RTSP without a port", text: "rtsp: {addr: localhost}\n" + minimal,
		want: []string{`f:1:14: rtsp.addr: "localhost" is not host:port; accepted: such as 127.0.0.1:8080`}},
	{name: "password stays out of the message", text: "cameras: [{name: a, url: 'rtsp://u:secret@%zz/'}]\n",
		want: []string{`f:1:26: cameras[0].url: "rtsp://xxxxx@%zz/" is not a URL; accepted: rtsp://host/path, rtsps://host/path, mjpeg+http://host/path, mjpeg+https://host/path, snapshot+http://host/path, snapshot+https://host/path, v4l2:/dev/video0, whip:, file:PATH or dir:PATH; with / # ? % and blanks in a password written as %2F %23 %3F %25 %20`}},
	{name: "all at once", text: "site: a b\nsuperpixels: x\nlog:\n  level: loud\ncameras:\n  - name: a\n    url: file:x\n    transport: pigeon\n    fps: -1\n    decode: gpu\n    clock: own\n",
		want: []string{
			`f:1:7: site: "a b" contains ' '; accepted: letters, digits, _ and -`,
			`f:2:14: superpixels: found the text "x"; accepted: a whole number`,
			`f:4:10: log.level: found "loud"; accepted: debug, info, warn, error`,
			`f:8:16: cameras[0].transport: found "pigeon"; accepted: auto, tcp, udp, multicast`,
			`f:9:10: cameras[0].fps: found -1; accepted: above 0, at most 1000`,
			`f:10:13: cameras[0].decode: found "gpu"; accepted: software, cuda, vaapi, auto`,
			`f:11:12: cameras[0].clock: found "own"; accepted: auto, sender, arrival`,
		}},
	{name: "privacy", text: "privacy: {blur: [person, persn], margin: 10px, show: everybody}\n" + minimal + `    detect: {classes: [person, car]}
    privacy: {blur: [person, dog], fill: [person], except: none, margin: 101%}
    ignore: [[[0, 0], [1, 1]], [[0, 0], [1, 0], [1]]]
  - {name: b, url: file:x, detect: {classes: [car]}}
  - {name: c, url: file:x, privacy: {show: operator}}
  - {name: d, url: file:x, privacy: {off: true, fill: [car]}}
  - {name: e, url: file:x, privacy: {off: true}}
`,
		want: []string{
			`f:1:26: privacy.blur[1]: "persn"; accepted: one of the 80 classes that the detector knows, such as person, horse, car`,
			`f:1:42: privacy.margin: "10px"; accepted: 0% to 100% of an object's longer side, such as 10%`,
			`f:1:54: privacy.show: found "everybody"; accepted: nobody, operator`,
			`f:6:30: cameras[0].privacy.blur[1]: "dog" is not detected, so it would not be known where one is; accepted: of the camera's detect.classes, person, car`,
			`f:6:43: cameras[0].privacy.fill[0]: "person" is in blur too; accepted: in one of them`,
			`f:6:60: cameras[0].privacy.except: found "none"; accepted: kept`,
			`f:6:74: cameras[0].privacy.margin: "101%"; accepted: 0% to 100% of an object's longer side, such as 10%`,
			`f:7:14: cameras[0].ignore[0]: 2 points; accepted: 3 to 64`,
			`f:7:49: cameras[0].ignore[1][2]: 1 numbers; accepted: two, [x, y]`,
			`f:8:6: cameras[1].privacy: "person", which privacy hides in all cameras, is not detected in this one; accepted: detect.classes with it, or privacy: {off: true}`,
			`f:9:38: cameras[2].privacy.blur: missing; accepted: a list of at least one class, such as [person], as blur or fill, or off: true`,
			`f:10:43: cameras[3].privacy.off: true, beside what is hidden; accepted: one of them`,
		}},
	{name: "durations without a unit", text: "nats: {events: {max_age: 7}, masks: {max_age: '0.5'}}\ncameras: [{name: a, url: 'whip:', detect: {classes: [car], every: 5, keep: '5'}}]\n",
		want: []string{
			`f:1:26: nats.events.max_age: "7" has no unit; accepted: a duration of 1s or more, such as 7s`,
			`f:1:47: nats.masks.max_age: "0.5" has no unit; accepted: a duration of 1s or more, such as 90m or 168h`,
			`f:2:67: cameras[0].detect.every: "5" has no unit; accepted: a duration from 100ms to 1h, such as 5s`,
			`f:2:76: cameras[0].detect.keep: "5" has no unit; accepted: a duration of 1s or more, such as 5s`,
		}},
	{name: "fleet", text: "nats: {replicas: 3}\nfleet:\n  box: a b\n  labels: [gpu, near=gate, near=yard, 'x=y z']\n  max_cameras: -1\n  page: box-a\n  address: 'http://user:secret@box-a:8080/'\n  ttl: 10\ncameras: [{name: a, url: 'whip:', requires: ['=x']}]\n",
		want: []string{
			`f:1:8: nats.url: missing: the boxes of a fleet share a NATS server; accepted: such as nats://host:4222`,
			`f:1:18: nats.replicas: the embedded server is one; accepted: with nats.url`,
			`f:3:8: fleet.box: "a b" contains ' '; accepted: letters, digits, _ and -`,
			`f:4:12: fleet.labels[0]: "gpu"; accepted: NAME=VALUE of letters, digits, _, . and -, such as near=gate`,
			`f:4:28: fleet.labels[2]: "near" is named before; accepted: each label once`,
			`f:4:39: fleet.labels[3]: "x=y z"; accepted: NAME=VALUE of letters, digits, _, . and -, such as near=gate`,
			`f:5:16: fleet.max_cameras: found -1; accepted: 0 to 1000`,
			`f:6:9: fleet.page: "box-a"; accepted: such as https://box-a.example:8080/`,
			`f:7:12: fleet.address: "http://xxxxx@box-a:8080/"; accepted: such as https://box-a.example:8080/`,
			`f:8:8: fleet.ttl: "10" has no unit; accepted: a duration from 1s to 1m, such as 10s`,
			`f:9:46: cameras[0].requires[0]: "=x"; accepted: NAME=VALUE of letters, digits, _, . and -, such as near=gate`,
		}},
	{name: "two documents", text: minimal + "---\nsite: b\n",
		want: []string{`f:5:1: a second YAML document; one is accepted`}},
	{name: "aliases", text: "site: *s\nlog: {level: &s info}\nhttp: &h {<<: 5, addr: &s ''}\nnats: {<<: [*h, *no]}\n" + minimal,
		want: []string{
			`f:1:7: site: alias *s; accepted: the name of an anchor above it, such as &s`,
			`f:3:15: http: <<: found the number 5; accepted: an alias of a mapping, or a list of such`,
			`f:3:15: nats: <<: found the number 5; accepted: an alias of a mapping, or a list of such`,
			`f:3:24: a second anchor &s; one is accepted`,
			`f:4:17: nats: alias *no; accepted: the name of an anchor above it, such as &no`,
		}},
	{name: "bad environment", text: minimal, environ: []string{"SEGD_SUPERPIXELS=lots", "SEGD_LOG_LEVEL=loud"},
		want: []string{
			`SEGD_SUPERPIXELS: superpixels: found "lots"; accepted: a whole number`,
			`SEGD_LOG_LEVEL: log.level: found "loud"; accepted: debug, info, warn, error`,
		}},
}

func TestFaults(t *testing.T) {
	for _, tt := range faultTable {
		t.Run(tt.name, func(t *testing.T) {
			_, err := config.Parse("f", []byte(tt.text), tt.environ)
			var faults config.Faults
			if !errors.As(err, &faults) {
				t.Fatalf("Parse returned %v, want Faults", err)
			}
			assert.Empty(t, cmp.Diff(tt.want, strings.Split(err.Error(), "\n")))
		})
	}
}

// The library words a syntax error; the place and that it is one line are ours.
func TestProxies(t *testing.T) {
	h := config.HTTP{TrustedProxies: []string{"10.0.0.7", "10.1.2.3/16", "2001:db8::1", "::ffff:192.0.2.1"}}
	assert.Equal(t, "[10.0.0.7/32 10.1.0.0/16 2001:db8::1/128 192.0.2.1/32]", fmt.Sprint(h.Proxies()))
}

func TestNotYAML(t *testing.T) {
	for _, text := range []string{"a: [1, 2\n", "a: b\n  c: d\n", "\tx: 1\n", "a: 1\na: 2\n", "\"open\n"} {
		_, err := config.Parse("f", []byte(text), nil)
		if err == nil {
			t.Errorf("%q was accepted", text)
			continue
		}
		first, rest, more := strings.Cut(err.Error(), "\n")
		if !strings.Contains(first, "not YAML: ") || !strings.HasPrefix(first, "f:") || more {
			t.Errorf("%q: %q, then %q", text, first, rest)
		}
	}
}

func TestEnvironment(t *testing.T) {
	c, err := config.Parse("f", []byte("site: file\n"+minimal), []string{
		"SEGD_SITE=env", "SEGD_HTTP_ADDR=127.0.0.1:1", "SEGD_MODEL_SHORT_SIDE=256", "SEGD_MODEL_RGB=true",
		"SEGD_CAMERAS=x", "SEGD_PORT=tcp://10.0.0.1", "HOME=/root", "odd",
	})
	require.NoError(t, err)
	if c.Site != "env" || c.HTTP.Addr != "127.0.0.1:1" || c.Model.ShortSide != 256 || !c.Model.RGB || len(c.Cameras) != 1 {
		t.Errorf("got %+v", c)
	}
}

// A camera's password may be in a file. It is shown nowhere, and a fault says where the file is named.
func TestPasswordFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "segd.yaml")
	write := func(name, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("gate.secret", "ge/h#ei:m @%\r\n")
	write("segd.yaml", `
cameras:
  - {name: a, url: "rtsp://admin@h/1", password_file: gate.secret}
  - {name: b, url: "mjpeg+https://a%40b@h/", password_file: "`+filepath.Join(dir, "gate.secret")+`"}
`)
	c, err := config.Load(t.Context(), file, nil)
	require.NoError(t, err)
	for i, name := range []string{"admin", "a@b"} {
		u, err := cameraurl.Parse(c.Cameras[i].URL)
		require.NoError(t, err)
		if password, _ := u.Network.User.Password(); password != "ge/h#ei:m @%" || u.Network.User.Username() != name {
			t.Errorf("user %q with the password %q", u.Network.User.Username(), password)
		}
	}
	if text := string(c.Public()); strings.Contains(text, "ei:m") || strings.Contains(text, "ei%3Am") || !strings.Contains(text, "gate.secret") {
		t.Errorf("shown: %s", text)
	}
	write("empty", "\n")
	write("large", strings.Repeat("geheim", 1000))
	write("segd.yaml", `
cameras:
  - {name: a, url: "rtsp://u@h/", password_file: none}
  - {name: b, url: "rtsp://u@h/", password_file: empty}
  - {name: c, url: "rtsp://u@h/", password_file: large}
`)
	_, err = config.Load(t.Context(), file, nil)
	require.Error(t, err, "no fault")
	lines := strings.Split(err.Error(), "\n")
	for i, want := range []string{
		":3:50: cameras[0].password_file: open " + dir + "/none: no such file or directory; accepted: a file with the camera's password",
		":4:50: cameras[1].password_file: " + dir + "/empty is empty; accepted: a file with the camera's password",
		":5:50: cameras[2].password_file: " + dir + "/large has 6000 bytes; accepted: ",
	} {
		if len(lines) != 3 || !strings.HasPrefix(lines[i], file+want) && !strings.HasPrefix(lines[i], file+strings.Replace(want, "open ", "stat ", 1)) {
			t.Errorf("%q\nwant it to say %q", err, want)
		}
	}
	assert.NotContains(t, err.Error(), "geheim", "the password is in %q", err)
}

func TestLoadResolvesPaths(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "segd.yaml")
	text := `
nats: {url: nats://a, store_dir: js, nkey: a.nk, tls: {ca: pki/ca.pem, cert: /abs/c.pem, key: c.key}}
mqtt: {url: mqtts://a, username: u, password_file: m.password, tls: {ca: /abs/ca.pem, cert: m.pem, key: m.key}}
webhooks: [{name: a, url: https://a, secret_file: w.secret, ca: w.pem}]
model: {path: /abs/m.onnx}
cameras:
  - {name: a, url: "file:clips/a.avi", annotation: a.json}
  - {name: b, url: dir:///abs/frames}
  - {name: c, url: "rtsp://cam/1"}
  - {name: d, url: plain.mkv}
`
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	c, err := config.Load(t.Context(), file, nil)
	require.NoError(t, err)
	got := []string{c.NATS.StoreDir, c.Model.Path, c.Cameras[0].URL, c.Cameras[0].Annotation,
		c.Cameras[1].URL, c.Cameras[2].URL, c.Cameras[3].URL, c.NATS.NKey, c.NATS.TLS.CA, c.NATS.TLS.Cert, c.NATS.TLS.Key,
		c.MQTT.PasswordFile, c.MQTT.TLS.CA, c.MQTT.TLS.Cert, c.MQTT.TLS.Key,
		c.Webhooks[0].SecretFile, c.Webhooks[0].CA}
	want := []string{dir + "/js", "/abs/m.onnx", "file:" + dir + "/clips/a.avi", dir + "/a.json",
		"dir:/abs/frames", "rtsp://cam/1", dir + "/plain.mkv", dir + "/a.nk", dir + "/pki/ca.pem", "/abs/c.pem", dir + "/c.key",
		dir + "/m.password", "/abs/ca.pem", dir + "/m.pem", dir + "/m.key",
		dir + "/w.secret", dir + "/w.pem"}
	assert.Empty(t, cmp.Diff(want, got))
	// Kept at one place, handed over at another.
	if c, err = config.LoadIn(t.Context(), "/etc/segd", file, nil); err != nil || c.Cameras[0].Annotation != "/etc/segd/a.json" || c.Model.Path != "/abs/m.onnx" {
		t.Errorf("%+v %v", c, err)
	}
}

func TestLoadMissingFile(t *testing.T) {
	_, err := config.Load(t.Context(), "/does/not/exist.yaml", nil)
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// The classes of a detector with names of its own are held against these.
func TestDetectorNames(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	write("names.txt", "crate\nfork lift\n")
	write("empty.txt", "crate\n\ncar\n")
	for _, tt := range []struct{ names, class, want string }{
		{"names.txt", "fork lift", ""},
		{"names.txt", "person", `segd.yaml:5:24: cameras[0].detect.classes[0]: "person"; accepted: one of the 2 classes that the detector knows, such as crate, fork lift`},
		{"empty.txt", "crate", `segd.yaml:1:33: detector.names: line 2 is empty; want a name a line; accepted: a file with the names of the detector's classes, one a line`},
		{"none.txt", "crate", `no such file or directory; accepted: a file with the names`},
	} {
		file := write("segd.yaml", "detector: {path: d.onnx, names: "+tt.names+"}\n"+minimal+"    detect: {classes: ["+tt.class+"]}\n")
		c, err := config.Load(t.Context(), file, nil)
		if tt.want == "" {
			if err != nil || c.Detector != (config.Detector{Path: dir + "/d.onnx", Names: dir + "/names.txt"}) {
				t.Errorf("%+v, %v", c, err)
			}
			continue
		}
		assert.ErrorContains(t, err, tt.want, "%s, %s", tt.names, tt.class)
	}
}

// A camera marks by default what it can of persons and road vehicles, and with a detector of other things all that it knows.
func TestDefaultClasses(t *testing.T) {
	dir := t.TempDir()
	for names, want := range map[string][]string{"": config.DefaultDetectClasses(), "dog\ntruck\nperson\n": {"person", "truck"}, "crate\nfork lift\n": {"crate", "fork lift"}} {
		detector := ""
		if names != "" {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "names.txt"), []byte(names), 0o600))
			detector = "detector: {path: d.onnx, names: names.txt}\n"
		}
		file := filepath.Join(dir, "segd.yaml")
		if err := os.WriteFile(file, []byte(detector+minimal+"  - {name: b, url: 'whip:', detect: {score: 0.5}}\n  - {name: c, url: 'whip:', detect: {off: true}}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := config.Load(t.Context(), file, nil)
		require.NoError(t, err)
		added, err := config.ParseCamera(t.Context(), []byte(`{"name": "d", "url": "whip:", "detect": null}`), dir, c)
		require.NoError(t, err)
		for _, cam := range append(c.Cameras, added) {
			if !slices.Equal(cam.Detect.Classes, want) || cam.Detect.On() != (cam.Name != "c") {
				t.Errorf("names %q, camera %s: %+v; want %v", names, cam.Name, cam.Detect, want)
			}
		}
	}
}

// The example that ships must be accepted as it stands.
func TestExampleFile(t *testing.T) {
	c, err := config.Load(t.Context(), "../deploy/segd.example.yaml", nil)
	require.NoError(t, err)
	if got, want := c.Cameras[0].Detect, c.Cameras[1].Detect; !reflect.DeepEqual(got, want) {
		t.Errorf("the first camera has %+v, which its comments say is the default; that is %+v", got, want)
	}
	if len(c.Cameras) < 2 {
		t.Errorf("the example shows %d cameras, want several", len(c.Cameras))
	}
}

func FuzzParse(f *testing.F) {
	f.Add(minimal)
	for _, tt := range faultTable {
		f.Add(tt.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := config.Parse("f", []byte(text), nil)
		if err == nil && (c.Cameras == nil || c.Site == "" || c.HTTP.Addr == "") {
			t.Errorf("accepted an incomplete config: %+v", c)
		}
		var faults config.Faults
		if err != nil && !errors.As(err, &faults) {
			t.Errorf("an error that is not Faults: %v", err)
		}
	})
}

func ExampleParse() {
	text := `
http:
  addr: 127.0.0.1:9090
cameras:
  - name: gate
    url: rtsp://camera.example/stream
    transprt: tcp
`
	_, err := config.Parse("segd.yaml", []byte(text), nil)
	fmt.Println(err)
	// Output: segd.yaml:7:5: cameras[0]: unknown key "transprt" (did you mean transport?); accepted: name, url, password_file, transport, decode, clock, fingerprint, rotate, aspect, deinterlace, fps, loop, annotation, zones, lines, rules, detect, privacy, ignore, record, requires
}

// What segd serves at / is no path of a proxy: web's tests hold this list against what it serves.
func TestServedIsNoBasePath(t *testing.T) {
	for _, name := range []string{"api", "assets", "fleet", "history", "livez", "login", "metrics", "publish", "readyz", "recordings", "whip"} {
		_, err := config.Parse("f", []byte("http: {base_path: /"+name+"}\n"+minimal), nil)
		assert.ErrorContains(t, err, "segd itself has something at /"+name, "/%s", name)
	}
}
