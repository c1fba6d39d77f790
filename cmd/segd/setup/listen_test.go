package setup

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/config"
)

// Who has a port that is taken: the segd of the configuration that is checked, or another one.
func TestTakenBySegd(t *testing.T) {
	const token = "0123456789abcdef"
	for _, tc := range []struct{ name, is, cfg, want, fault string }{
		{"ours", `{"site": "home", "cameras": [{"name": "yard"}, {"name": "gate"}]}`, "cameras: [{name: gate, url: 'whip:'}]", "taken by the segd that runs", ""},
		{"another site", `{"site": "barn", "cameras": [{"name": "gate"}]}`, "cameras: [{name: gate, url: 'whip:'}]", "", "another segd, which is at site barn; accepted: another http.addr"},
		{"other cameras", `{"site": "home", "nats": {"store_dir": ""}, "cameras": [{"name": "demo"}]}`, "nats: {store_dir: segd-data}\ncameras: [{name: gate, url: 'whip:'}]", "", "runs other cameras: demo"},
		{"other cameras, the same folder", `{"site": "home", "nats": {"store_dir": "/var/lib/segd"}, "cameras": [{"name": "demo"}]}`, "nats: {store_dir: /var/lib/segd}\ncameras: [{name: gate, url: 'whip:'}]", "taken by the segd that runs", ""},
		{"none in the file", `{"site": "home", "cameras": [{"name": "gate"}]}`, "cameras: []", "taken by the segd that runs", ""},
		{"another token", `{"site": "barn", "cameras": []}`, "http: {token: fedcba9876543210}\ncameras: []", "taken by a segd that does not take this http.token", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/livez":
					fmt.Fprintln(w, "ok")
				case r.Header.Get("Authorization") != "Bearer "+token:
					w.WriteHeader(http.StatusUnauthorized)
				default:
					fmt.Fprint(w, tc.is)
				}
			}))
			defer page.Close()
			cfg, err := config.Parse("segd.yaml", []byte(tc.cfg), []string{"SEGD_HTTP_ADDR=" + page.Listener.Addr().String()})
			require.NoError(t, err)
			if cfg.HTTP.Token == "" {
				cfg.HTTP.Token = token
			}
			detail, err := checkAddress(t.Context(), addresses(cfg)[0], segdAt(t.Context(), cfg))
			if tc.fault == "" && (err != nil || !strings.Contains(detail, tc.want)) || tc.fault != "" && (err == nil || !strings.Contains(err.Error(), tc.fault)) {
				t.Errorf("%q, %v", detail, err)
			}
			for _, named := range []bool{true, false} {
				f := lookAtPorts(t.Context(), cfg, named)[0]
				if want := tc.fault == "" || !named; (f.Verdict == fine) != want || want && !strings.Contains(f.Detail, "is taken by ") {
					t.Errorf("doctor, its configuration named %v: %+v", named, f)
				}
			}
		})
	}
}

// A page that is served with TLS is known by the certificate of the configuration, and gets its token only then.
func TestTakenBySegdWithTLS(t *testing.T) {
	asked := false
	page := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/livez" {
			fmt.Fprintln(w, "ok")
			return
		}
		asked = true
		fmt.Fprint(w, `{"site": "home", "cameras": [{"name": "gate"}]}`)
	}))
	defer page.Close()
	own, other := page.Certificate().Raw, append([]byte{0}, page.Certificate().Raw[1:]...)
	for _, tc := range []struct {
		name string
		cert []byte
		fine bool
	}{{"its own", own, true}, {"another", other, false}} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "cert.pem")
			require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: tc.cert}), 0o600))
			cfg := &config.Config{Site: "home", Cameras: []config.Camera{{Name: "gate", URL: "whip:"}}}
			cfg.HTTP.Addr, cfg.HTTP.TLS.Cert = page.Listener.Addr().String(), file
			asked = false
			detail, err := checkAddress(t.Context(), addresses(cfg)[0], segdAt(t.Context(), cfg))
			if fine := err == nil && strings.Contains(detail, "taken by the segd that runs"); fine != tc.fine || asked != tc.fine {
				t.Errorf("%q, %v, asked %v", detail, err, asked)
			}
		})
	}
}

// Each address that segd listens on is tried.
func TestAddresses(t *testing.T) {
	cfg, err := config.Parse("segd.yaml", []byte("rtsp: {addr: '127.0.0.1:8554'}\ncameras: [{name: gate, url: 'whip:'}]"), nil)
	require.NoError(t, err)
	var got []string
	for _, a := range addresses(cfg) {
		got = append(got, a.setting+" "+a.network)
	}
	assert.Equal(t, "http.addr tcp, nats.addr tcp, rtsp.addr tcp, whip.addr udp, whip.addr tcp", strings.Join(got, ", "), "%q", got)
}
