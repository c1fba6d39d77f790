package onvif

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// match is a ProbeMatch in the words of one maker or another; wsdd, wsa and so on are
// whatever it calls them.
func match(endpoint, types, scopes, xaddrs string) string {
	return `<wsdd:ProbeMatch><wsa:EndpointReference><wsa:Address>` + endpoint + `</wsa:Address></wsa:EndpointReference><wsdd:Types>` + types +
		`</wsdd:Types><wsdd:Scopes>` + scopes + `</wsdd:Scopes><wsdd:XAddrs>` + xaddrs + `</wsdd:XAddrs><wsdd:MetadataVersion>1</wsdd:MetadataVersion></wsdd:ProbeMatch>`
}

func matches(relatesTo, inner string) []byte {
	return []byte(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<SOAP-ENV:Envelope xmlns:SOAP-ENV="http://www.w3.org/2003/05/soap-envelope" xmlns:wsa="http://schemas.xmlsoap.org/ws/2004/08/addressing" ` +
		`xmlns:wsdd="http://schemas.xmlsoap.org/ws/2005/04/discovery" xmlns:tdn="http://www.onvif.org/ver10/network/wsdl" xmlns:tds="http://www.onvif.org/ver10/device/wsdl"><SOAP-ENV:Header>` +
		`<wsa:MessageID>uuid:1419d68a-1dd2-11b2-a105-000000000000</wsa:MessageID><wsa:RelatesTo>` + relatesTo + `</wsa:RelatesTo>` +
		`<wsa:Action>http://schemas.xmlsoap.org/ws/2005/04/discovery/ProbeMatches</wsa:Action></SOAP-ENV:Header>` +
		`<SOAP-ENV:Body><wsdd:ProbeMatches>` + inner + `</wsdd:ProbeMatches></SOAP-ENV:Body></SOAP-ENV:Envelope>`)
}

// loopback is the interface that tests probe by.
func loopback(t *testing.T) *net.Interface {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(i net.Interface) bool { return i.Flags&net.FlagLoopback != 0 && i.Flags&net.FlagUp != 0 })
	if i < 0 {
		t.Skip("there is no loopback interface that is up")
	}
	return &all[i]
}

// devices answer the probes on the loopback interface, each with what answer makes of
// the probe's message ID. They read probes as WS-Discovery 2005/04 has them, by
// namespaces. The probes that came are sent to the channel.
func devices(t *testing.T, answer func(messageID string) [][]byte) <-chan string {
	t.Helper()
	conn, err := net.ListenMulticastUDP("udp4", loopback(t), group)
	if err != nil {
		t.Skipf("multicast cannot be received on the loopback interface here: %v", err)
	}
	probes, done := make(chan string, 64), make(chan struct{})
	go func() {
		defer close(done)
		buffer := make([]byte, 1<<16)
		for {
			n, from, err := conn.ReadFromUDP(buffer)
			if err != nil {
				return
			}
			var e struct {
				XMLName   xml.Name `xml:"http://www.w3.org/2003/05/soap-envelope Envelope"`
				Action    string   `xml:"Header>Action"`
				MessageID string   `xml:"Header>MessageID"`
				Body      struct {
					Probe struct {
						Types struct {
							Text  string     `xml:",chardata"`
							Attrs []xml.Attr `xml:",any,attr"`
						} `xml:"http://schemas.xmlsoap.org/ws/2005/04/discovery Types"`
					} `xml:"http://schemas.xmlsoap.org/ws/2005/04/discovery Probe"`
				} `xml:"http://www.w3.org/2003/05/soap-envelope Body"`
			}
			if xml.Unmarshal(buffer[:n], &e) != nil || e.Action != "http://schemas.xmlsoap.org/ws/2005/04/discovery/Probe" ||
				e.Body.Probe.Types.Text != "dn:NetworkVideoTransmitter" {
				continue
			}
			select {
			case probes <- e.MessageID:
			default:
			}
			for _, data := range answer(e.MessageID) {
				if _, err := conn.WriteToUDP(data, from); err != nil {
					t.Errorf("answering %v: %v", from, err)
				}
			}
		}
	}()
	t.Cleanup(func() { conn.Close(); <-done })
	return probes
}

// came skips the test where multicast goes nowhere, and else returns what it found.
func came(t *testing.T, probes <-chan string, list []Camera, err error) []Camera {
	t.Helper()
	if len(probes) == 0 {
		t.Skipf("a multicast sent by the loopback interface does not come back on it here (%v)", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// One after the other: all devices on the loopback interface hear all probes.
func TestDiscover(t *testing.T) {
	t.Run("real multicast", func(t *testing.T) {
		probes := devices(t, func(id string) [][]byte {
			first := matches(id, match("urn:uuid:5f5a69c2-e0ae-504f-829b-00001", "tdn:NetworkVideoTransmitter tds:Device",
				"onvif://www.onvif.org/type/video_encoder onvif://www.onvif.org/hardware/DS-2CD2043 onvif://www.onvif.org/name/Front%20Door onvif://www.onvif.org/location/yard",
				"http://127.0.0.1/onvif/device_service http://[fe80::1]/onvif/device_service"))
			return [][]byte{
				first, first, // it answers twice
				matches(id, match("urn:uuid:2", "dn:NetworkVideoTransmitter", "", "https://10.0.0.9/x http://10.0.0.9:8000/onvif/device_service")),
				matches(id, match("urn:uuid:printer", "wprt:PrintDeviceType", "", "http://127.0.0.1/printer")),
				[]byte("garbage"), {}, matches(id, "")[:200], make([]byte, 60000),
			}
		})
		began := time.Now()
		list, err := Discover(t.Context(), 600*time.Millisecond, loopback(t).Name)
		list = came(t, probes, list, err)
		if took := time.Since(began); took < 600*time.Millisecond || took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
		if len(list) != 2 {
			t.Fatalf("found %+v", list)
		}
		const at = "127.0.0.1"
		want := []Camera{
			{Endpoint: "urn:uuid:2", Address: at, Services: []string{"http://" + at + ":8000/onvif/device_service", "https://" + at + "/x"}},
			{Endpoint: "urn:uuid:5f5a69c2-e0ae-504f-829b-00001", Name: "Front Door", Hardware: "DS-2CD2043", Address: at, Services: []string{"http://" + at + "/onvif/device_service"}},
		}
		if diff := cmp.Diff(want, list); diff != "" {
			t.Error(diff)
		}
		if first, second := <-probes, <-probes; first != second || !strings.HasPrefix(first, "urn:uuid:") || len(first) != 45 {
			t.Errorf("probes %q and %q; want one and the same, twice", first, second)
		}
	})
	t.Run("no more than 256", func(t *testing.T) {
		probes := devices(t, func(id string) [][]byte {
			var list [][]byte
			for i := range 30 {
				var inner strings.Builder
				for j := range 10 {
					inner.WriteString(match(fmt.Sprintf("urn:uuid:%d-%d", i, j), "dn:NetworkVideoTransmitter", "", "http://192.0.2.1/"))
				}
				list = append(list, matches(id, inner.String()))
			}
			return list
		})
		list, err := Discover(t.Context(), 2*time.Second, loopback(t).Name)
		if list = came(t, probes, list, err); len(list) != maxCameras {
			t.Errorf("%d cameras", len(list))
		}
	})
	t.Run("ended", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		began := time.Now()
		if _, err := Discover(ctx, time.Minute, loopback(t).Name); !errors.Is(err, context.Canceled) || time.Since(began) > 5*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
	t.Run("no such interface", func(t *testing.T) {
		if _, err := Discover(t.Context(), time.Second, "nosuch0"); err == nil || !strings.Contains(err.Error(), loopback(t).Name) {
			t.Error(err)
		}
	})
}

// Found, asked, picked: what a page shows, in JSON.
func TestFind(t *testing.T) {
	sim := &simulator{version: 2, user: "admin", password: "secret", ahead: time.Hour}
	_, port, _ := net.SplitHostPort(sim.start(t))
	probes := devices(t, func(id string) [][]byte {
		return [][]byte{
			matches(id, match("urn:uuid:a", "dn:NetworkVideoTransmitter", scopePrefix+"name/gate", "http://0.0.0.0:"+port+"/onvif/device_service")),
			matches(id, match("urn:uuid:b", "dn:NetworkVideoTransmitter", scopePrefix+"name/gone", "http://0.0.0.0:1/onvif/device_service")),
		}
	})
	cfg := Config{Timeout: 600 * time.Millisecond, Interfaces: []string{loopback(t).Name}, User: "admin", Password: "secret"}
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
		{"of itself", matches("", match("urn:uuid:1", nvt, "", "http://192.0.2.7:8080/onvif/device_service")), []Camera{{Endpoint: "urn:uuid:1", Services: []string{"http://192.0.2.7:8080/onvif/device_service"}}}},
		{"its other address first", matches("", match("urn:uuid:1", nvt, "", "http://10.0.0.7/a http://192.0.2.7/b")), []Camera{{Endpoint: "urn:uuid:1", Services: []string{"http://192.0.2.7/b", "http://192.0.2.7/a"}}}},
		{"of another host", matches("", match("urn:uuid:1", nvt, "", "http://bank.example/transfer")), []Camera{{Endpoint: "urn:uuid:1", Services: []string{"http://192.0.2.7/transfer"}}}},
		{"no address", matches("", match("urn:uuid:1", nvt, "", "")), []Camera{{Endpoint: "urn:uuid:1", Services: []string{"http://192.0.2.7/onvif/device_service"}}}},
		{"no addresses that can be used", matches("", match("urn:uuid:1", nvt, "", "ftp://192.0.2.7/ http://u:p@192.0.2.7/ http://[fe80::2]/ :")), []Camera{{Endpoint: "urn:uuid:1", Services: []string{"http://192.0.2.7/onvif/device_service"}}}},
		{"known by its scopes", matches("", match("urn:uuid:1", "tds:Device", scopePrefix+"name/A%zz", "")), []Camera{{Endpoint: "urn:uuid:1", Name: "A%zz", Services: []string{"http://192.0.2.7/onvif/device_service"}}}},
		{"a name of many lines", matches("", match("urn:uuid:1", nvt, scopePrefix+"name/a%0A%1b[31mb"+strings.Repeat("x", 500), "")), []Camera{{Endpoint: "urn:uuid:1", Name: "a [31mb" + strings.Repeat("x", maxText-7), Services: []string{"http://192.0.2.7/onvif/device_service"}}}},
		{"a name that is no UTF-8", matches("", match("urn:uuid:1", nvt, scopePrefix+"name/%C7%B0\xc7", "")), []Camera{{Endpoint: "urn:uuid:1", Name: "ǰ\uFFFD", Services: []string{"http://192.0.2.7/onvif/device_service"}}}},
		{"in another encoding", []byte(strings.Replace(string(matches("", match("urn:uuid:1", nvt, "", ""))), "UTF-8", "gb2312", 1)), []Camera{{Endpoint: "urn:uuid:1", Services: []string{"http://192.0.2.7/onvif/device_service"}}}},
		{"no ProbeMatches around it", []byte(strings.ReplaceAll(string(matches("", match("urn:uuid:1", nvt, "", ""))), "wsdd:ProbeMatches>", "wsdd:Other>")), nil},
		{"a bare ProbeMatch", []byte(strings.NewReplacer("<wsdd:ProbeMatches>", "", "</wsdd:ProbeMatches>", "").Replace(string(matches("", match("urn:uuid:1", nvt, "", ""))))), []Camera{{Endpoint: "urn:uuid:1", Services: []string{"http://192.0.2.7/onvif/device_service"}}}},
		{"nothing", matches("", ""), nil},
		{"cut off", matches("", match("urn:uuid:1", nvt, "", ""))[:500], nil},
	} {
		for i := range tc.want {
			tc.want[i].Address = "192.0.2.7"
		}
		if diff := cmp.Diff(tc.want, parseMatches(tc.data, from)); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
}
