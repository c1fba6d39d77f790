package config

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each address says where it is from, without secrets.
func TestAddresses(t *testing.T) {
	const file = "http: {addr: '127.0.0.1:1'}\nmqtt: {url: 'mqtt://broker'}\ncameras: []\n"
	environ := []string{"SEGD_NATS_URL=nats://me:s3cret@elsewhere:4222", "SEGD_RTSP_ADDR=127.0.0.1:3", "SEGD_CLIENT_NATS=nats://other:4222"}
	c, err := Parse("segd.yaml", []byte(file), environ)
	require.NoError(t, err)
	want := []Address{
		{"http.addr", "127.0.0.1:1", "segd.yaml"}, {"whip.addr", DefaultWHIPAddr, Default}, {"rtsp.addr", "127.0.0.1:3", "SEGD_RTSP_ADDR"},
		{"nats.url", "nats://xxxxx@elsewhere:4222", "SEGD_NATS_URL"}, {"mqtt.url", "mqtt://broker", "segd.yaml"},
	}
	if got := c.Addresses("segd.yaml", environ); !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	c, err = Parse("segd.yaml", []byte("cameras: []"), nil)
	require.NoError(t, err)
	if got := c.Addresses("segd.yaml", nil); !slices.Contains(got, Address{"nats.addr", DefaultNATSAddr, Default}) {
		t.Errorf("got %v", got)
	}
}
