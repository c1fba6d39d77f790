package config

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/internal/redact"
)

func TestPublicHidesSecrets(t *testing.T) {
	const text = `
http: {addr: "0.0.0.0:8080", token: sesame-0123456789}
whip: {token: publish-0123456789, ice_servers: [{url: "turn:host:3478", username: bob, credential: sesame}]}
nats: {url: "nats://sesame@one:4222,tls://bob:sesame@two", token: sesame-nats-0123456789}
model: {path: "file,with,commas.onnx"}
cameras:
  - {name: gate, url: "rtsp://admin:sesame@192.0.2.1:554/stream?user=a&password=sesame&channel=1"}
  - {name: yard, url: "file:a.avi"}
  - {name: lane, url: "rtsp://192.0.2.1/user=admin&password=sesame&channel=1.sdp"}
  - {name: lawn, url: "rtsp://192.0.2.1/1;pwd=sesame"}
  - {name: loft, url: "mjpeg+http://192.0.2.1/user%3Dadmin%26pwd%3Dsesame"}
  - {name: lock, url: "rtsp://192.0.2.1/admin:sesame@1"}
`
	c, err := Parse("segd.yaml", []byte(text), nil)
	require.NoError(t, err)
	public := string(c.Public())
	if strings.Contains(public, "sesame") || strings.Contains(public, "publish-") || strings.Contains(public, "admin") {
		t.Errorf("a secret shows: %s", public)
	}
	var got struct {
		HTTP    struct{ Addr, Token string }
		NATS    struct{ URL string }
		Model   struct{ Path string }
		Cameras []struct{ Name, URL string }
	}
	require.NoError(t, json.Unmarshal(c.Public(), &got))
	for _, v := range []struct{ got, want string }{
		{got.HTTP.Addr, "0.0.0.0:8080"},
		{got.HTTP.Token, redact.Hidden},
		{got.NATS.URL, "nats://xxxxx@one:4222,tls://xxxxx@two"},
		{got.Model.Path, "file,with,commas.onnx"},
		{got.Cameras[0].URL, "rtsp://xxxxx@192.0.2.1:554/stream?user=xxxxx&password=xxxxx&channel=1"},
		{got.Cameras[1].URL, "file:a.avi"},
	} {
		assert.Equal(t, v.want, v.got)
	}
}

func TestPublicHidesUsers(t *testing.T) {
	c, err := Parse("segd.yaml", []byte("nats: {users: [{name: wall, password: sesame-0123456789, role: subscriber}]}\ncameras: [{name: a, url: 'whip:'}]\n"), nil)
	require.NoError(t, err)
	if public := string(c.Public()); strings.Contains(public, "sesame") || !strings.Contains(public, `{"name":"wall","nkey":"","password":"xxxxx","role":"subscriber"}`) {
		t.Errorf("got %s", public)
	}
}

// Nor do faults show them, be the URL where a URL belongs or not.
func TestFaultsHideSecrets(t *testing.T) {
	for name, text := range map[string]string{
		"query":             `cameras: [{name: a, url: "http://h/v?token=sesame"}]`,
		"path":              `cameras: [{name: a, url: "rtsp:///user=admin&password=sesame"}]`,
		"whip":              `cameras: [{name: a, url: "whip://admin:sesame@h"}]`,
		"device":            `cameras: [{name: a, url: "v4l2:rtsp://admin:sesame@h"}]`,
		"no scheme":         `cameras: [{name: a, url: "sesame@h:554/x"}]`,
		"a text for a list": `cameras: "rtsp://admin:sesame@192.0.2.1/x"`,
		"cut off":           `cameras: "rtsp://administrator-of-the-whole-long-building:sesame-sesame@192.0.2.1/x"`,
		"as an unknown key": `cameras: [{name: a, "rtsp://admin:sesame@h": x}]`,
		"as a name":         `cameras: [{name: "rtsp://admin:sesame@h", url: "file:a"}]`,
		"as a transport":    `cameras: [{name: a, url: "file:a", transport: "rtsp://admin:sesame@h"}]`,
		"NATS":              `nats: {url: "http://sesame@h"}`,
		"NATS, several":     `nats: {url: "nats://a, http://h?token=sesame"}`,
		"ICE server":        `whip: {ice_servers: [{url: "http://u:sesame@h"}]}`,
		"where to listen":   `http: {addr: "http://u:sesame@h"}`,
		"a number":          `superpixels: "rtsp://admin:sesame@h"`,
	} {
		_, err := Parse("segd.yaml", []byte(text), nil)
		if err == nil || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Every field shows under its YAML name, and one that sounds like a
// secret has to say whether it is.
func TestEveryFieldIsPublicOrSecret(t *testing.T) {
	sounds := regexp.MustCompile(`(?i)token|secret|password|credential|key|seed|jwt`)
	files := []string{"cameras.password_file", "http.tls.key", "mqtt.password_file", "mqtt.tls.key", "nats.cameras_key", "nats.credentials", "nats.nkey", "nats.tls.key", "nats.users.nkey", "webhooks.secret_file"} // names of files, whose contents are not in the configuration, and a public key
	var walk func(at string, typ reflect.Type)
	walk = func(at string, typ reflect.Type) {
		for i := range typ.NumField() {
			f := typ.Field(i)
			path := strings.TrimPrefix(at+"."+f.Tag.Get("yaml"), ".")
			kind := f.Type
			for kind.Kind() == reflect.Slice {
				kind = kind.Elem()
			}
			if kind.Kind() == reflect.Struct {
				walk(path, kind)
				continue
			}
			_, secret := f.Tag.Lookup("secret")
			if sounds.MatchString(f.Name) && !secret && !slices.Contains(files, path) {
				t.Errorf("%s sounds like a secret: tag it secret, or name it among the files here", path)
			}
		}
	}
	walk("", reflect.TypeFor[Config]())
}
