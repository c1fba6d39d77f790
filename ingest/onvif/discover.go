package onvif

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/net/ipv4"
)

// DefaultTimeout is how long answers to a probe are waited for. Devices wait up to
// half a second before they answer, so that not all do at once.
const DefaultTimeout = 3 * time.Second

const (
	// repeatAfter is when the probe is sent once more: UDP may lose it.
	repeatAfter = 250 * time.Millisecond
	// maxCameras bounds how many are found at once.
	maxCameras = 256
	// maxDatagram is the largest answer read; cameras' have one or two KiB.
	maxDatagram = 16 << 10
	// maxText bounds what a camera calls itself, and maxAddress an address of it.
	maxText, maxAddress = 200, 1024
	// maxServices bounds the addresses of one camera.
	maxServices = 8
	// multicastTTL lets a probe through one router that forwards it.
	multicastTTL = 2
)

// group is where devices listen for probes.
var group = &net.UDPAddr{IP: net.IPv4(239, 255, 255, 250), Port: 3702}

const probe = `<?xml version="1.0" encoding="UTF-8"?>
<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope" xmlns:a="http://schemas.xmlsoap.org/ws/2004/08/addressing" xmlns:d="http://schemas.xmlsoap.org/ws/2005/04/discovery" xmlns:dn="http://www.onvif.org/ver10/network/wsdl">
<s:Header><a:Action s:mustUnderstand="1">http://schemas.xmlsoap.org/ws/2005/04/discovery/Probe</a:Action><a:MessageID>urn:uuid:%s</a:MessageID><a:ReplyTo><a:Address>http://schemas.xmlsoap.org/ws/2004/08/addressing/role/anonymous</a:Address></a:ReplyTo><a:To s:mustUnderstand="1">urn:schemas-xmlsoap-org:ws:2005:04:discovery</a:To></s:Header>
<s:Body><d:Probe><d:Types>dn:NetworkVideoTransmitter</d:Types></d:Probe></s:Body>
</s:Envelope>`

// Discover sends a probe by each of interfaces, by their names, and returns the
// cameras that answer within timeout, each once, in the order of their addresses.
// Without names it is sent by all that are up and have multicast and an IPv4 address;
// a timeout of 0 is DefaultTimeout. That none answers is no error.
func Discover(ctx context.Context, timeout time.Duration, interfaces ...string) ([]Camera, error) {
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	by, err := doors(interfaces)
	if err != nil {
		return nil, err
	}
	socket, err := net.ListenUDP("udp4", nil)
	if err != nil {
		return nil, fmt.Errorf("onvif: %w", err)
	}
	defer func() { _ = socket.Close() }()
	defer context.AfterFunc(ctx, func() { _ = socket.SetReadDeadline(time.Unix(1, 0)) })()

	end := time.Now().Add(timeout)
	message := fmt.Appendf(nil, probe, uuid())
	if err := send(socket, by, message); err != nil {
		return nil, err
	}
	found := map[string]Camera{}
	if again := time.Now().Add(repeatAfter); again.Before(end) {
		if err := gather(ctx, socket, again, found); err != nil {
			return nil, err
		}
		_ = send(socket, by, message) // once was well
	}
	if err := gather(ctx, socket, end, found); err != nil {
		return nil, err
	}
	list := slices.AppendSeq(make([]Camera, 0, len(found)), maps.Values(found))
	slices.SortFunc(list, func(a, b Camera) int {
		x, _ := netip.ParseAddr(a.Address)
		y, _ := netip.ParseAddr(b.Address)
		return cmp.Or(x.Compare(y), strings.Compare(a.Endpoint, b.Endpoint))
	})
	return list, nil
}

// door is an interface, and the address that devices answer to.
type door struct {
	name  string
	index int
	from  net.IP
}

// doors are the interfaces with names, or all that can be probed by.
func doors(names []string) ([]door, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("onvif: %w", err)
	}
	var usable []door
	var known []string
	for _, i := range all {
		from := firstIPv4(i)
		if i.Flags&net.FlagUp == 0 || from == nil {
			continue
		}
		known = append(known, i.Name)
		if slices.Contains(names, i.Name) || len(names) == 0 && i.Flags&net.FlagMulticast != 0 {
			usable = append(usable, door{i.Name, i.Index, from})
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("onvif: no interface %q that is up and has an IPv4 address; accepted: %s", name, strings.Join(known, ", "))
		}
	}
	if len(usable) == 0 {
		return nil, errors.New("onvif: no interface is up that has multicast and an IPv4 address")
	}
	return usable, nil
}

func firstIPv4(i net.Interface) net.IP {
	addrs, _ := i.Addrs() // one that has gone has none
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil {
			return n.IP.To4()
		}
	}
	return nil
}

// send sends message by each door. It fails if it could be sent by none.
func send(socket *net.UDPConn, by []door, message []byte) error {
	conn := ipv4.NewPacketConn(socket)
	if err := conn.SetMulticastTTL(multicastTTL); err != nil {
		return fmt.Errorf("onvif: %w", err)
	}
	var faults []error
	for _, d := range by {
		// With its address, which the kernel would take from another interface for loopback.
		if _, err := conn.WriteTo(message, &ipv4.ControlMessage{IfIndex: d.index, Src: d.from}, group); err != nil {
			faults = append(faults, fmt.Errorf("onvif: %s: %w", d.name, err))
		}
	}
	if len(faults) == len(by) {
		return errors.Join(faults...)
	}
	return nil
}

// gather adds to found the cameras that answer until a time.
func gather(ctx context.Context, socket *net.UDPConn, until time.Time, found map[string]Camera) error {
	if err := socket.SetReadDeadline(until); err != nil {
		return fmt.Errorf("onvif: %w", err)
	}
	buffer := make([]byte, maxDatagram)
	// A deadline set after ctx's end would hide it.
	for ctx.Err() == nil && len(found) < maxCameras {
		n, from, err := socket.ReadFromUDPAddrPort(buffer)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if err != nil {
			return fmt.Errorf("onvif: %w", err)
		}
		for _, c := range parseMatches(buffer[:n], from.Addr().Unmap()) {
			key := cmp.Or(c.Endpoint, c.Address)
			if _, known := found[key]; !known && len(found) < maxCameras {
				found[key] = c
			}
		}
	}
	return ctx.Err()
}

// probeMatches is an answer to a probe. Some devices leave out the ProbeMatches
// around their ProbeMatch.
type probeMatches struct {
	Wrapped []probeMatch `xml:"Body>ProbeMatches>ProbeMatch"`
	Bare    []probeMatch `xml:"Body>ProbeMatch"`
}

type probeMatch struct {
	Endpoint string `xml:"EndpointReference>Address"`
	Types    string `xml:"Types"`
	Scopes   string `xml:"Scopes"`
	XAddrs   string `xml:"XAddrs"`
}

// parseMatches returns the cameras in a datagram that came from an address.
func parseMatches(data []byte, from netip.Addr) []Camera {
	var answer probeMatches
	if err := decode(data, &answer); err != nil {
		return nil
	}
	var list []Camera
	for _, m := range slices.Concat(answer.Wrapped, answer.Bare) {
		// Printers and the like answer anybody.
		if !strings.Contains(m.Types, "NetworkVideoTransmitter") && !strings.Contains(m.Scopes, scopePrefix) {
			continue
		}
		c := Camera{Endpoint: clean(m.Endpoint), Address: from.String(), Services: services(m.XAddrs, from)}
		for scope := range strings.FieldsSeq(m.Scopes) {
			kind, value, _ := strings.Cut(strings.TrimPrefix(scope, scopePrefix), "/")
			if decoded, err := url.PathUnescape(value); err == nil {
				value = decoded
			}
			switch {
			case !strings.HasPrefix(scope, scopePrefix):
			case kind == "name" && c.Name == "":
				c.Name = clean(value)
			case kind == "hardware" && c.Hardware == "":
				c.Hardware = clean(value)
			}
		}
		list = append(list, c)
	}
	return list
}

const scopePrefix = "onvif://www.onvif.org/"

// services reads the addresses of a device's service, those at from first. One that
// names another host is taken to from: a device knows its address behind NAT no
// better, and no answer may send segd elsewhere.
func services(xaddrs string, from netip.Addr) []string {
	var here, elsewhere []string
	for text := range strings.FieldsSeq(xaddrs) {
		u, err := serviceURL(text)
		if err != nil || len(here)+len(elsewhere) == maxServices {
			continue
		}
		if u.Hostname() == from.String() {
			here = append(here, u.String())
			continue
		}
		if a, err := netip.ParseAddr(u.Hostname()); err == nil && a.Is6() != from.Is6() {
			continue // its address of the other family
		}
		withHost(u, from.String(), u.Port())
		elsewhere = append(elsewhere, u.String())
	}
	list := slices.Concat(here, elsewhere)
	if len(list) == 0 {
		u := &url.URL{Scheme: "http", Path: devicePath}
		withHost(u, from.String(), "")
		list = append(list, u.String())
	}
	slices.SortStableFunc(list, func(a, b string) int { // http before https, whose certificates are rarely signed
		return strings.Compare(a[:strings.IndexByte(a, ':')], b[:strings.IndexByte(b, ':')])
	})
	return slices.Compact(list)
}

// withHost gives u another host, whose port may be empty.
func withHost(u *url.URL, host, port string) {
	switch {
	case port != "":
		u.Host = net.JoinHostPort(host, port)
	case strings.Contains(host, ":"):
		u.Host = "[" + host + "]"
	default:
		u.Host = host
	}
}

// clean is text of a camera on one line, bounded.
func clean(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	runes := []rune(text)
	return string(runes[:min(len(runes), maxText)])
}

// uuid is a random one (RFC 9562, version 4).
func uuid() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
