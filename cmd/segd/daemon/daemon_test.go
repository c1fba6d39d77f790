package daemon

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/config"
)

// segd says at its start when publishers reach its page and not its port for media.
func TestWHIPAddressWarning(t *testing.T) {
	for _, tt := range []struct {
		http, whip string
		public     []string
		camera     string
		warns      bool
	}{
		{"0.0.0.0:8080", "127.0.0.1:0", nil, "whip:", true},
		{":8080", "localhost:0", nil, "whip:", true},
		{"127.0.0.1:8080", "127.0.0.1:0", nil, "whip:", false},
		{"[::1]:8080", "127.0.0.1:0", nil, "whip:", false},
		{"0.0.0.0:8080", "127.0.0.1:0", []string{"192.0.2.1"}, "whip:", false}, // something forwards to it
		{"0.0.0.0:8080", "127.0.0.1:0", nil, "file:x", false},
	} {
		var log bytes.Buffer
		p := &publishers{log: slog.New(slog.NewTextHandler(&log, nil))}
		if _, err := p.open(&config.Config{
			HTTP: config.HTTP{Addr: tt.http}, WHIP: config.WHIP{Addr: tt.whip, PublicIPs: tt.public},
			Cameras: []config.Camera{{Name: "a", URL: tt.camera}},
		}); err != nil {
			t.Fatal(err)
		}
		p.close()
		if warns := strings.Contains(log.String(), "reach http.addr, but not whip.addr"); warns != tt.warns {
			t.Errorf("http %s, whip %s: warns %v, want %v", tt.http, tt.whip, warns, tt.warns)
		}
	}
}

// nats.sync reaches the server inside segd, which syncs at an interval unless told.
func TestSyncSetting(t *testing.T) {
	const camera = "cameras: [{name: a, url: 'whip:'}]\n"
	for text, want := range map[string]bool{
		camera: false,
		"nats: {store_dir: js, sync: interval}\n" + camera: false,
		"nats: {store_dir: js, sync: always}\n" + camera:   true,
	} {
		cfg, err := config.Load(t.Context(), clitest.File(t, "segd.yaml", text), nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := newDaemon(Version{}, cfg, slog.New(slog.DiscardHandler)).busConfig()
		if err != nil || got.SyncAlways != want {
			t.Errorf("%q: always %v, %v; want %v", text, got.SyncAlways, err, want)
		}
	}
}
