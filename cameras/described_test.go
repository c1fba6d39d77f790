package cameras

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/config"
)

// What openapi.json says of a camera that is added is what the configuration accepts of one, with what a
// schema cannot say left out.
func TestCamerasAsDescribed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../web/openapi.json")
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("openapi.json", doc))
	schema, err := c.Compile("openapi.json#/components/schemas/NewCamera")
	require.NoError(t, err)
	sum := strings.Repeat("0a", 32)
	const zone = `"name": "z", "polygon": [[0, 0], [1, 0], [1, 1]]`
	with := func(more string) string { return `{"name": "a", "url": "rtsps://h/", ` + more + `}` }
	type tried struct {
		camera string
		ok     bool
	}
	cameras := []tried{
		{`{"name": "a_B-9", "url": "whip:"}`, true},
		{`{"name": "", "url": "whip:"}`, false},
		{`{"name": "a b", "url": "whip:"}`, false},
		{`{"name": null, "url": "whip:"}`, false},
		{`{"url": "whip:"}`, false},
		{`{"name": "a"}`, false},
		{`{"name": "a", "url": null}`, false},
		{with(`"colour": 1`), false},
		{with(`"transport": "udp", "decode": "vaapi"`), true},
		{with(`"transport": "", "decode": null`), true},
		{with(`"transport": "serial"`), false},
		{with(`"decode": "vdpau"`), false},
		{with(`"clock": "arrival"`), true},
		{with(`"clock": "sundial"`), false},
		{with(`"fingerprint": "` + sum + `"`), true},
		{with(`"fingerprint": "` + strings.ReplaceAll(sum, "0a", "0A:") + `"`), true},
		{with(`"fingerprint": ""`), true},
		{with(`"fingerprint": ":"`), false},
		{with(`"fingerprint": "` + sum[2:] + `"`), false},
		{with(`"rotate": 90, "aspect": "16:9"`), true},
		{with(`"rotate": 0, "aspect": ""`), true},
		{with(`"rotate": null, "aspect": null`), true},
		{with(`"deinterlace": "on"`), true},
		{with(`"deinterlace": ""`), true},
		{with(`"deinterlace": null`), true},
		{with(`"deinterlace": "bob"`), false},
		{with(`"deinterlace": true`), false},
		{with(`"rotate": 45`), false},
		{with(`"rotate": "90"`), false},
		{with(`"aspect": "16/9"`), false},
		{with(`"aspect": "0:9"`), false},
		{with(`"aspect": "10000:9999"`), false},
		{with(`"aspect": 1.5`), false},
		{with(`"password_file": "a"`), false},
		{with(`"fps": 0`), true},
		{with(`"fps": 1000`), true},
		{with(`"fps": 1000.5`), false},
		{with(`"fps": -1`), false},
		{with(`"fps": "5"`), false},
		{with(`"loop": null, "annotation": "a.json"`), true},
		{with(`"zones": [{` + zone + `}]`), true},
		{with(`"zones": null`), true},
		{with(`"zones": [null]`), false},
		{with(`"zones": {}`), false},
		{with(`"zones": [{` + zone + `, "by": "share", "share": 0.3, "dwell": "1m30s"}]`), true},
		{with(`"zones": [{` + zone + `, "by": null, "share": null, "dwell": null}]`), true},
		{with(`"zones": [{` + zone + `, "share": 0.3}]`), false},
		{with(`"zones": [{` + zone + `, "by": "foot", "share": 0.3}]`), false},
		{with(`"zones": [{` + zone + `, "by": "hand"}]`), false},
		{with(`"zones": [{` + zone + `, "dwell": "10"}]`), false},
		{with(`"zones": [{"name": "z", "polygon": [[0, 0], [1, 0]]}]`), false},
		{with(`"zones": [{"name": "z", "polygon": [[null, 0], [1, 0], [1, 1]]}]`), false},
		{with(`"zones": [{"name": "z", "polygon": [[0, 0], [1, 0], [1, 1.1]]}]`), false},
		{with(`"lines": [{"name": "l", "points": [[0, 0], [1, 0]]}]`), true},
		{with(`"lines": [{"name": "l", "points": [[0, 0]]}]`), false},
		{with(`"rules": [{"name": "r", "when": "present", "for": "10s"}]`), true},
		{with(`"rules": [{"name": "r", "when": "still", "zone": null, "classes": ["car"], "for": "1m30s", "again": "0s", "schedule": [{"days": ["mon"], "from": "22:00", "to": "06:00"}, {}]}]`), true},
		{with(`"rules": null`), true},
		{with(`"rules": [{"name": "r", "when": "present", "for": "10s", "zone": "", "classes": null, "again": null, "schedule": null}]`), true},
		{with(`"rules": [{"name": "r", "when": "gone", "for": "10s"}]`), false},
		{with(`"rules": [{"name": "r", "when": "present"}]`), false},
		{with(`"rules": [{"name": "r", "when": "present", "for": ""}]`), false},
		{with(`"rules": [{"name": "r", "when": "present", "for": "10s", "again": "-1s"}]`), false},
		{with(`"rules": [{"name": "r", "when": "present", "for": "10s", "schedule": [{"days": ["monday"]}]}]`), false},
		{with(`"rules": [{"name": "r", "when": "present", "for": "10s", "schedule": [{"from": "6:00", "to": "7:00"}]}]`), false},
		{with(`"rules": [{"name": "r", "when": "present", "for": "10s", "schedule": [{"from": "06:00"}]}]`), false},
		{with(`"rules": [{"name": "r", "when": "present", "for": "10s", "colour": 1}]`), false},
		{with(`"detect": null`), true},
		{with(`"detect": {"classes": ["person"]}`), true},
		{with(`"detect": {"classes": ["person", "car"], "every": ".5s", "score": 1, "max_objects": 100, "keep": "1m", "reidentify": 0, "zones": []}`), true},
		{with(`"detect": {"classes": ["person"], "every": "", "score": null, "max_objects": 0, "keep": null}`), true},
		{with(`"detect": {}`), true},
		{with(`"detect": {"classes": null, "off": true}`), true},
		{with(`"detect": {"classes": []}`), false},
		{with(`"detect": {"classes": [""]}`), false},
		{with(`"detect": {"classes": ["car", "car"]}`), false},
		{with(`"detect": {"classes": ["car"], "every": "-1s"}`), false},
		{with(`"detect": {"classes": ["car"], "score": 1.5}`), false},
		{with(`"detect": {"classes": ["car"], "max_objects": 101}`), false},
		{with(`"detect": {"classes": ["car"], "max_objects": 1.5}`), false},
		{with(`"detect": {"classes": ["car"], "zones": null}`), true},
		{with(`"detect": {"classes": ["car"], "zones": [null]}`), false},
		{with(`"detect": {"classes": ["car"], "colour": 1}`), false},
		{with(`"detect": {"classes": ["car"]}, "privacy": {"blur": ["car"], "except": "kept", "margin": "2.5%", "show": "operator"}`), true},
		{with(`"detect": {"classes": ["car"]}, "privacy": {"fill": ["car"], "blur": [], "except": "", "margin": "", "show": null, "off": false}`), true},
		{with(`"privacy": {"off": true}`), true},
		{with(`"privacy": null`), true},
		{with(`"privacy": {}`), false},
		{with(`"privacy": {"show": "operator"}`), false},
		{with(`"privacy": {"off": true, "except": "all"}`), false},
		{with(`"privacy": {"off": true, "margin": "101%"}`), false},
		{with(`"privacy": {"off": true, "margin": "10px"}`), false},
		{with(`"privacy": {"off": true, "show": "viewer"}`), false},
		{with(`"privacy": ["person"]`), false},
		{with(`"ignore": [[[0, 0], [1, 0], [1, 1]]]`), true},
		{with(`"ignore": []`), true},
		{with(`"ignore": [[[0, 0], [1, 0]]]`), false},
		{with(`"ignore": [[[0, 0], [1, 0], [1, 1.1]]]`), false},
		{with(`"ignore": [[0, 0], [1, 0], [1, 1]]`), false},
	}
	for url, ok := range map[string]bool{
		"rtsp://h": true, "rtsps://u:p@h:322/a?b=c": true, "mjpeg+http://[::1]/": true, "mjpeg+https://h/a": true, "snapshot+http://u:p@h/a.jpg?b": true, "snapshot+https://h": true,
		"rtsp:": false, "rtsp:///a": false, "rtsp://h/a b": false, "rtsp://h/#a": false, "RTSP://h": false, "ftp://h/": false, "http://h/": false,
		"v4l2:/dev/video0": true, "v4l2:///dev/video0?size=640x480": true, "v4l2:/": true, "v4l2://dev": false, "v4l2:dev": false, "v4l2:": false,
		"whip:": true, "whip:a": false, "whip:\n": false,
		"file:a": true, "file:/a": true, "file:/": true, "file://a": true, "file:///a": true, "file:": false, "file://": false,
		"dir:a b": true, "dir:": false, "dir://": false, "dir:\n": true,
		"a": true, "a/b:c": true, "/": true, "a\nb": true, ":": false, "a:b": false, "": false,
	} {
		text, err := json.Marshal(map[string]string{"name": "a", "url": url})
		require.NoError(t, err)
		cameras = append(cameras, tried{string(text), ok})
	}
	for _, tt := range cameras {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(tt.camera))
		require.NoError(t, err, "%s", tt.camera)
		if err := schema.Validate(value); (err == nil) != tt.ok {
			t.Errorf("%s: openapi.json: %v; want accepted %v", tt.camera, err, tt.ok)
		}
		// As a request comes there.
		camera := storedCamera{Camera: map[string]any{}}
		given, err := readObject([]byte(tt.camera))
		if err == nil {
			err = camera.merge(given)
		}
		if err == nil {
			var text []byte
			if text, err = json.Marshal(camera.Camera); err == nil {
				_, err = config.ParseCamera(t.Context(), text, "", &config.Config{})
			}
		}
		if (err == nil) != tt.ok {
			t.Errorf("%s: segd: %v; want accepted %v", tt.camera, err, tt.ok)
		}
	}
}
