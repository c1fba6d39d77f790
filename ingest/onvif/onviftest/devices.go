package onviftest

import (
	"encoding/xml"
	"errors"
	"net"
	"slices"
	"testing"
)

// Match is a ProbeMatch in the words of one maker or another; wsdd, wsa and so on are
// whatever it calls them.
func Match(endpoint, types, scopes, xaddrs string) string {
	return `<wsdd:ProbeMatch><wsa:EndpointReference><wsa:Address>` + endpoint + `</wsa:Address></wsa:EndpointReference><wsdd:Types>` + types +
		`</wsdd:Types><wsdd:Scopes>` + scopes + `</wsdd:Scopes><wsdd:XAddrs>` + xaddrs + `</wsdd:XAddrs><wsdd:MetadataVersion>1</wsdd:MetadataVersion></wsdd:ProbeMatch>`
}

// Matches is the answer to the probe relatesTo, with what Match returns in it.
func Matches(relatesTo, inner string) []byte {
	return []byte(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<SOAP-ENV:Envelope xmlns:SOAP-ENV="http://www.w3.org/2003/05/soap-envelope" xmlns:wsa="http://schemas.xmlsoap.org/ws/2004/08/addressing" ` +
		`xmlns:wsdd="http://schemas.xmlsoap.org/ws/2005/04/discovery" xmlns:tdn="http://www.onvif.org/ver10/network/wsdl" xmlns:tds="http://www.onvif.org/ver10/device/wsdl"><SOAP-ENV:Header>` +
		`<wsa:MessageID>uuid:1419d68a-1dd2-11b2-a105-000000000000</wsa:MessageID><wsa:RelatesTo>` + relatesTo + `</wsa:RelatesTo>` +
		`<wsa:Action>http://schemas.xmlsoap.org/ws/2005/04/discovery/ProbeMatches</wsa:Action></SOAP-ENV:Header>` +
		`<SOAP-ENV:Body><wsdd:ProbeMatches>` + inner + `</wsdd:ProbeMatches></SOAP-ENV:Body></SOAP-ENV:Envelope>`)
}

// Loopback is the interface that tests probe by.
func Loopback(t testing.TB) *net.Interface {
	t.Helper()
	alone(t)
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

// Devices answer the probes on the loopback interface, each with what answer makes of
// the probe's message ID. They read probes as WS-Discovery 2005/04 has them, by
// namespaces. The probes that came are sent to the channel.
func Devices(t testing.TB, answer func(messageID string) [][]byte) <-chan string {
	t.Helper()
	conn, err := net.ListenMulticastUDP("udp4", Loopback(t), &net.UDPAddr{IP: net.IPv4(239, 255, 255, 250), Port: 3702})
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
				_, err := conn.WriteToUDP(data, from)
				if errors.Is(err, net.ErrClosed) {
					return // the test has ended between two answers
				}
				if err != nil {
					t.Errorf("answering %v: %v", from, err)
				}
			}
		}
	}()
	t.Cleanup(func() { conn.Close(); <-done })
	return probes
}
