package setup

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/ingest/onvif"
	"github.com/segd/segd/ingest/onvif/onviftest"
)

// announced is a camera that answers probes on the loopback interface.
func announced(t *testing.T, cam *onviftest.Camera) (address string) {
	t.Helper()
	address = cam.Start(t)
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	onviftest.Devices(t, func(id string) [][]byte {
		return [][]byte{onviftest.Matches(id, onviftest.Match("urn:uuid:"+port, "dn:NetworkVideoTransmitter",
			"onvif://www.onvif.org/name/The%20Gate%1b onvif://www.onvif.org/hardware/X-1", "http://0.0.0.0:"+port+"/onvif/device_service"))}
	})
	return address
}

// runDiscover runs segd camera discover on the loopback interface.
func runDiscover(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := cameraCommand(cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"discover", "--timeout", "500ms", "--interface", onviftest.Loopback(t).Name}, args...))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// One after the other: every camera on the loopback interface hears every probe.
func TestDiscover(t *testing.T) {
	address := announced(t, &onviftest.Camera{Version: 2, User: "admin", Password: "s3cr et", Ahead: -2 * time.Hour})
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("s3cr et\n"), 0o600))
	long := filepath.Join(t.TempDir(), "long")
	require.NoError(t, os.WriteFile(long, bytes.Repeat([]byte("x"), 4097), 0o600))
	const picked = `url: "rtsp://USER:PASSWORD@127.0.0.1:554/Streaming/Profile_2&xxxxx?transportmode=unicast&profile=x"`
	for _, tc := range []struct {
		name   string
		args   []string
		has    []string
		hasNot []string
		fault  string // in the error
		status int
	}{
		{"no user", nil, []string{"127.0.0.1  The Gate, X-1", "wants user and password", "--user"}, []string{"url:", "\x1b"}, "", 0},
		{"user", []string{"--user", "admin", "--password-file", secret}, []string{"its clock is 2h0m0s behind", "2560×1440", "25/s", "none: ", picked, "--show-passwords", "*  subStream"}, []string{"s3cr", "*  mainStream"}, "", 0},
		{"shown", []string{"--user", "admin", "--password", "s3cr et", "--show-passwords"}, []string{`url: "rtsp://admin:s3cr%20et@127.0.0.1:554/`}, nil, "", 0},
		{"wrong", []string{"--user", "admin", "--password", "guess1"}, []string{"refuses user and password"}, []string{"guess1", "url:", "names one"}, "", 0},
		{"by its address", []string{address, "--user", "admin", "--password", "s3cr et"}, []string{address + "\n", picked}, nil, "", 0},
		{"refused at its address", []string{address}, []string{"wants user and password"}, nil, "see above", cli.ExitFailure},
		{"nobody to ask", []string{"--user", "admin"}, nil, nil, "--password-file", cli.ExitUsage},
		{"no user for it", []string{"--password", "guess1"}, nil, []string{"guess1"}, "--user", cli.ExitUsage},
		{"both", []string{"--password", "guess1", "--password-file", secret}, nil, nil, "none of the others", cli.ExitFailure},
		{"no such file", []string{"--user", "a", "--password-file", secret + "x"}, nil, nil, secret + "x", cli.ExitUsage},
		{"no password", []string{"--user", "a", "--password-file", long}, nil, nil, "4096 bytes", cli.ExitUsage},
		{"no address", []string{"http://a:guess1@b"}, nil, nil, "accepted: HOST", cli.ExitUsage},
		{"no interface", []string{"--interface", "nosuch0"}, nil, nil, "nosuch0", cli.ExitUsage},
		{"no time", []string{"--timeout", "2h"}, nil, nil, "up to 1m", cli.ExitUsage},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, err := runDiscover(t, tc.args...)
			if cli.Status(err) != tc.status || err != nil && (!strings.Contains(err.Error(), tc.fault) || strings.Contains(err.Error(), "guess1")) {
				t.Errorf("error %v; want %q, status %d", err, tc.fault, tc.status)
			}
			for _, text := range tc.has {
				assert.Contains(t, out, text, "no %q in", text)
			}
			for _, text := range tc.hasNot {
				assert.NotContains(t, out, text, "%q in", text)
			}
		})
	}

	out, err := runDiscover(t, "--user", "admin", "--password", "s3cr et", "--json")
	var list []onvif.Camera
	if err == nil {
		err = json.Unmarshal([]byte(out), &list)
	}
	if err != nil || len(list) != 1 || list[0].Picked() == nil || !strings.HasPrefix(list[0].Picked().URL, "rtsp://USER:PASSWORD@127.0.0.1:554/") || strings.Contains(out, "s3cr") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestDiscoverNone(t *testing.T) {
	out, err := runDiscover(t, "--json")
	if cli.Status(err) != cli.ExitFailure || !strings.Contains(err.Error(), "no camera answered within 500ms") || strings.TrimSpace(out) != "[]" {
		t.Errorf("%q %v", out, err)
	}
}

func TestStreamURL(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		url, user, password string
		show                bool
		want                string
	}{
		{"rtsp://h/a?channel=1", "", "", false, "rtsp://h/a?channel=1"},
		{"rtsp://h/user=admin&password=tlJwpbo6&channel=1", "", "", false, "rtsp://h/user=xxxxx&password=xxxxx&channel=1"},
		{"rtsp://h/user=admin&password=tlJwpbo6&channel=1", "", "", true, "rtsp://h/user=admin&password=tlJwpbo6&channel=1"},
		{"rtsp://h/a?token=secret", "admin", "p@:/", false, "rtsp://USER:PASSWORD@h/a?token=xxxxx"},
		{"rtsp://h/a?token=secret", "admin", "p@:/", true, "rtsp://admin:p%40%3A%2F@h/a?token=secret"},
		{"", "admin", "x", true, ""},
	} {
		assert.Equal(t, tc.want, streamURL(tc.url, tc.user, tc.password, tc.show), "%+v", tc)
	}
}

// At a terminal: a camera is chosen by its number, its user is refused once, and its
// stream that suits is what is tried and written. What is typed as a URL still is one.
func TestInitFinds(t *testing.T) {
	server := camera(t, demo.Config{User: "admin", Password: "secret"})
	announced(t, &onviftest.Camera{Version: 2, User: "admin", Password: "secret", Stream: server.URL()})
	var said bytes.Buffer
	i := typing(&said, nil, "1", "admin", "guess1", "admin", "secret", "gate", server.URL(), "admin", "secret", "", "2", "n", "")
	i.discover = func(ctx context.Context) ([]onvif.Camera, error) {
		return onvif.Discover(ctx, 500*time.Millisecond, onviftest.Loopback(t).Name)
	}
	cameras, err := i.cameras(t.Context(), true)
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	want := strings.Replace(server.URL(), "rtsp://", "rtsp://admin:secret@", 1)
	if len(cameras) != 2 || cameras[0].URL != want || cameras[0].Name != "gate" || cameras[1].URL != want || cameras[1].Name != "camera2" {
		t.Errorf("%+v, want %s\n%s", cameras, want, said.String())
	}
	for _, text := range []string{"  1  127.0.0.1  The Gate, X-1\n", "refuses user and password", "its stream subStream, H264, 640×480"} {
		assert.Contains(t, said.String(), text, "no %q in", text)
	}
	if strings.Contains(said.String(), "secret") || strings.Contains(said.String(), "guess1") {
		t.Errorf("it tells a password:\n%s", said.String())
	}
}
