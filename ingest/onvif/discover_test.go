package onvif

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/ingest/onvif/onviftest"
)

// came skips the test where multicast goes nowhere, and else returns what it found.
func came(t *testing.T, probes <-chan string, list []Camera, err error) []Camera {
	t.Helper()
	if len(probes) == 0 {
		t.Skipf("a multicast sent by the loopback interface does not come back on it here (%v)", err)
	}
	require.NoError(t, err)
	return list
}

// One after the other: all devices on the loopback interface hear all probes.
func TestDiscover(t *testing.T) {
	t.Run("real multicast", func(t *testing.T) {
		probes := onviftest.Devices(t, func(id string) [][]byte {
			first := onviftest.Matches(id, onviftest.Match("urn:uuid:5f5a69c2-e0ae-504f-829b-00001", "tdn:NetworkVideoTransmitter tds:Device",
				"onvif://www.onvif.org/type/video_encoder onvif://www.onvif.org/hardware/DS-2CD2043 onvif://www.onvif.org/name/Front%20Door onvif://www.onvif.org/location/yard",
				"http://127.0.0.1/onvif/device_service http://[fe80::1]/onvif/device_service"))
			return [][]byte{
				first, first, // it answers twice
				onviftest.Matches(id, onviftest.Match("urn:uuid:2", "dn:NetworkVideoTransmitter", "", "https://10.0.0.9/x http://10.0.0.9:8000/onvif/device_service")),
				onviftest.Matches(id, onviftest.Match("urn:uuid:printer", "wprt:PrintDeviceType", "", "http://127.0.0.1/printer")),
				[]byte("garbage"), {}, onviftest.Matches(id, "")[:200], make([]byte, 60000),
			}
		})
		began := time.Now()
		const wait = 2 * time.Second // so that a busy machine has answered
		list, err := Discover(t.Context(), wait, onviftest.Loopback(t).Name)
		list = came(t, probes, list, err)
		if took := time.Since(began); took < wait {
			t.Errorf("it took %v", took)
		}
		require.Len(t, list, 2, "found %+v", list)
		const at = "127.0.0.1"
		want := []Camera{
			{Endpoint: "urn:uuid:2", Address: at, Services: []string{"http://" + at + ":8000/onvif/device_service", "https://" + at + "/x"}},
			{Endpoint: "urn:uuid:5f5a69c2-e0ae-504f-829b-00001", Name: "Front Door", Hardware: "DS-2CD2043", Address: at, Services: []string{"http://" + at + "/onvif/device_service"}},
		}
		assert.Empty(t, cmp.Diff(want, list))
		if len(probes) < 2 {
			t.Fatalf("%d probes; want one and the same, twice", len(probes))
		}
		if first, second := <-probes, <-probes; first != second || !strings.HasPrefix(first, "urn:uuid:") || len(first) != 45 {
			t.Errorf("probes %q and %q; want one and the same, twice", first, second)
		}
	})
	t.Run("no more than 256", func(t *testing.T) {
		probes := onviftest.Devices(t, func(id string) [][]byte {
			var list [][]byte
			for i := range 30 {
				var inner strings.Builder
				for j := range 10 {
					inner.WriteString(onviftest.Match(fmt.Sprintf("urn:uuid:%d-%d", i, j), "dn:NetworkVideoTransmitter", "", "http://192.0.2.1/"))
				}
				list = append(list, onviftest.Matches(id, inner.String()))
			}
			return list
		})
		list, err := Discover(t.Context(), 2*time.Second, onviftest.Loopback(t).Name)
		list = came(t, probes, list, err)
		assert.Equal(t, maxCameras, len(list), "cameras")
	})
	t.Run("ended", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(2*repeatAfter, cancel) // when nothing but the end is waited for
		_, err := Discover(ctx, time.Hour, onviftest.Loopback(t).Name)
		assert.ErrorIs(t, err, context.Canceled)
	})
	t.Run("no such interface", func(t *testing.T) {
		_, err := Discover(t.Context(), time.Second, "nosuch0")
		assert.ErrorContains(t, err, onviftest.Loopback(t).Name)
	})
}

// Found, asked, picked: what a page shows, in JSON.
func TestFind(t *testing.T) {
	sim := &onviftest.Camera{Version: 2, User: "admin", Password: "secret", Ahead: time.Hour}
	_, port, _ := net.SplitHostPort(sim.Start(t))
	probes := onviftest.Devices(t, func(id string) [][]byte {
		return [][]byte{
			onviftest.Matches(id, onviftest.Match("urn:uuid:a", "dn:NetworkVideoTransmitter", scopePrefix+"name/gate", "http://0.0.0.0:"+port+"/onvif/device_service")),
			onviftest.Matches(id, onviftest.Match("urn:uuid:b", "dn:NetworkVideoTransmitter", scopePrefix+"name/gone", "http://0.0.0.0:1/onvif/device_service")),
		}
	})
	cfg := Config{Timeout: 600 * time.Millisecond, Interfaces: []string{onviftest.Loopback(t).Name}, User: "admin", Password: "secret"}
	list, err := Find(t.Context(), cfg)
	list = came(t, probes, list, err)
	if len(list) != 2 || list[1].Device != nil || !errors.Is(list[1].Err, ErrNoAnswer) || list[1].Error == "" {
		t.Fatalf("%+v", list)
	}
	if p := list[0].Picked(); p == nil || p.Name != "subStream" || list[0].Error != "" || list[0].Device.ClockAhead < 3500 {
		t.Errorf("%+v", list[0])
	}

	cfg = Config{Hosts: []string{"127.0.0.1:" + port}}
	list, err = Find(t.Context(), cfg)
	if err != nil || len(list) != 1 || !list[0].Unauthorized || list[0].Picked() != nil {
		t.Errorf("%+v %v", list, err)
	}
	if _, err = Find(t.Context(), Config{Hosts: []string{"rtsp://a:secret@b"}}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}

func TestParseMatches(t *testing.T) {
	t.Parallel()
	from := netip.MustParseAddr("192.0.2.7")
	const nvt = "dn:NetworkVideoTransmitter"
	for _, tc := range []struct {
		name string
		data []byte
		want []Camera
	}{
		{"of itself", onviftest.Matches("", onviftest.Match("urn:uuid:1", nvt, "", "http://192.0.2.7:8080/onvif/device_service")), []Camera{{Endpoint: "urn:uuid:1", Services: []string{"http://192.0.2.7:8080/onvif/device_service"}}}},
		{"its other address first", onviftest.Matches("", onviftest.Match("urn:uuid:1", nvt, "", "http://10.0.0.7/a http://192.0.2.7/b")), []Camera{{Endpoint: "urn:uuid:1", Services: []string{"http://192.0.2.7/b", "http://192.0.2.7/a"}}}},
		{"of another host", onviftest.Matches("", onviftest.Match("urn:uuid:1", nvt, "", "http://bank.example/transfer")), []Camera{{Endpoint: "urn:uuid:1", Services: []string{"http://192.0.2.7/transfer"}}}},
		{"no address", onviftest.Matches("", onviftest.Match("urn:uuid:1", nvt, "", "")), []Camera{{Endpoint: "urn:uuid:1", Services: []string{"http://192.0.2.7/onvif/device_service"}}}},
		{"no addresses that can be used", onviftest.Matches("", onviftest.Match("urn:uuid:1", nvt, "", "ftp://192.0.2.7/ http://u:p@192.0.2.7/ http://[fe80::2]/ :")), []Camera{{Endpoint: "urn:uuid:1", Services: []string{"http://192.0.2.7/onvif/device_service"}}}},
		{"known by its scopes", onviftest.Matches("", onviftest.Match("urn:uuid:1", "tds:Device", scopePrefix+"name/A%zz", "")), []Camera{{Endpoint: "urn:uuid:1", Name: "A%zz", Services: []string{"http://192.0.2.7/onvif/device_service"}}}},
		{"a name of many lines", onviftest.Matches("", onviftest.Match("urn:uuid:1", nvt, scopePrefix+"name/a%0A%1b[31mb"+strings.Repeat("x", 500), "")), []Camera{{Endpoint: "urn:uuid:1", Name: "a [31mb" + strings.Repeat("x", maxText-7), Services: []string{"http://192.0.2.7/onvif/device_service"}}}},
		{"a name that is no UTF-8", onviftest.Matches("", onviftest.Match("urn:uuid:1", nvt, scopePrefix+"name/%C7%B0\xc7", "")), []Camera{{Endpoint: "urn:uuid:1", Name: "ǰ\uFFFD", Services: []string{"http://192.0.2.7/onvif/device_service"}}}},
		{"in another encoding", []byte(strings.Replace(string(onviftest.Matches("", onviftest.Match("urn:uuid:1", nvt, "", ""))), "UTF-8", "gb2312", 1)), []Camera{{Endpoint: "urn:uuid:1", Services: []string{"http://192.0.2.7/onvif/device_service"}}}},
		{"no ProbeMatches around it", []byte(strings.ReplaceAll(string(onviftest.Matches("", onviftest.Match("urn:uuid:1", nvt, "", ""))), "wsdd:ProbeMatches>", "wsdd:Other>")), nil},
		{"a bare ProbeMatch", []byte(strings.NewReplacer("<wsdd:ProbeMatches>", "", "</wsdd:ProbeMatches>", "").Replace(string(onviftest.Matches("", onviftest.Match("urn:uuid:1", nvt, "", ""))))), []Camera{{Endpoint: "urn:uuid:1", Services: []string{"http://192.0.2.7/onvif/device_service"}}}},
		{"nothing", onviftest.Matches("", ""), nil},
		{"cut off", onviftest.Matches("", onviftest.Match("urn:uuid:1", nvt, "", ""))[:500], nil},
	} {
		for i := range tc.want {
			tc.want[i].Address = "192.0.2.7"
		}
		assert.Empty(t, cmp.Diff(tc.want, parseMatches(tc.data, from)), "%s", tc.name)
	}
}
