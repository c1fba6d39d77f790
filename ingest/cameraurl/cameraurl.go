// Package cameraurl reads the URLs of cameras. In goes what a user typed; out
// comes what it names, or an error that says what was found and what would be
// accepted, with its secrets hidden. It is the one place that explains URLs: to segd init and
// segd check, in the page and in the API. It opens and dials nothing.
package cameraurl

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/segd/segd/internal/redact"
)

// Transports are those of RTSP. With auto, the default, it is UDP, and TCP where that comes to nothing.
var Transports = []string{"auto", "tcp", "udp", "multicast"}

// Kind is what kind of source a URL names.
type Kind uint8

const (
	RTSP Kind = iota + 1
	// MJPEG is JPEGs one after the other over HTTP.
	MJPEG
	// Snapshot is one JPEG a request over HTTP.
	Snapshot
	// V4L2 is a capture device of the kernel.
	V4L2
	// WHIP waits for publishers.
	WHIP
	// File is a video file.
	File
	// Dir is a folder of images.
	Dir
)

// Published is the URL of a camera that waits for publishers.
const Published = "whip:"

// URL is a camera's URL, read.
type URL struct {
	Kind Kind
	// Scheme is as it was written; "" of a file's plain path.
	Scheme string
	// Network is the whole of the URL of an RTSP, MJPEG or snapshot camera, which has a host,
	// and its credentials; nil of others.
	Network *url.URL
	// Path is that of a file, a folder or a device.
	Path string
	// Capture is what is asked of a device.
	Capture Capture
}

// Capture is how a device shall capture; zero fields leave it to the device.
type Capture struct {
	Width, Height int // both or neither
	FPS           int
	Format        string
}

const (
	accepted = "accepted: " + urls
	urls     = "rtsp://host/path, rtsps://host/path, mjpeg+http://host/path, mjpeg+https://host/path, " +
		"snapshot+http://host/path, snapshot+https://host/path, v4l2:/dev/video0, whip:, file:PATH or dir:PATH"
	acceptedCapture = "accepted: v4l2: and the path of a device, such as v4l2:/dev/video0 or v4l2:/dev/video0?size=1280x720&fps=30&format=mjpeg"
	escapes         = "with / # ? % and blanks in a password written as %2F %23 %3F %25 %20"
)

// schemes are all that are read: what each names, and the port of cameras that are dialled.
var schemes = map[string]struct {
	kind Kind
	port string
}{
	"rtsp": {RTSP, "554"}, "rtsps": {RTSP, "322"},
	"mjpeg+http": {MJPEG, "80"}, "mjpeg+https": {MJPEG, "443"},
	"snapshot+http": {Snapshot, "80"}, "snapshot+https": {Snapshot, "443"},
	"v4l2": {kind: V4L2}, "whip": {kind: WHIP}, "file": {kind: File}, "dir": {kind: Dir},
}

// Complete makes a URL of what a user typed who was asked for a URL, an address or a file: an address is an RTSP
// camera's. isFile tells whether there is a file of that name.
func Complete(text string, isFile func(string) bool) string {
	text = strings.TrimSpace(text)
	scheme, _, found := strings.Cut(text, ":")
	switch {
	case text == "", strings.Contains(text, "://"), found && schemes[scheme].kind != 0:
		return text
	case isFile(text):
		return "file:" + text
	}
	return "rtsp://" + text
}

// Parse reads the URL raw. A text without a scheme is the path of a video file, unless it begins with an address.
func Parse(raw string) (*URL, error) {
	scheme, rest, found := strings.Cut(raw, ":")
	if raw == "" {
		return nil, errors.New("missing; " + accepted)
	}
	if !found || strings.Contains(scheme, "/") {
		if isAddress(raw) {
			return nil, redact.Error(addressFault(raw))
		}
		return &URL{Kind: File, Path: filepath.Clean(raw)}, nil
	}
	u := &URL{Scheme: scheme, Kind: schemes[scheme].kind}
	var err error
	switch u.Kind {
	case RTSP, MJPEG, Snapshot:
		err = u.network(raw)
	case V4L2:
		err = u.device(rest)
	case WHIP:
		if rest != "" {
			err = fmt.Errorf("%q; accepted: whip: alone, publishers use the camera's name", redact.URL(raw))
		}
	case File, Dir:
		if u.Path = strings.TrimPrefix(rest, "//"); u.Path == "" {
			err = fmt.Errorf("%q names no path; %s", raw, accepted)
		}
		u.Path = filepath.Clean(u.Path)
	default:
		err = schemeFault(scheme, raw)
	}
	if err != nil {
		return nil, redact.Error(err)
	}
	return u, nil
}

// isAddress tells whether a text without a scheme begins with an IP address, a host and a port, or a user at a host.
func isAddress(raw string) bool {
	host, _, _ := strings.Cut(raw, "/")
	at := strings.LastIndexByte(host, '@')
	user, host := host[:max(at, 0)], host[at+1:]
	if name, port, err := net.SplitHostPort(host); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); err == nil && name != "" {
			return true
		}
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || strings.Contains(user, ":") && host != ""
}

func addressFault(raw string) error {
	such := redact.URL("rtsp://" + raw)
	if !strings.Contains(raw, "/") {
		such += "/PATH"
	}
	return fmt.Errorf("%q is an address and not a URL; accepted: such as %s, with the path that the camera's manual names, or with mjpeg+http:// for MJPEG, or snapshot+http:// for single pictures",
		redact.URL(raw), such)
}

// schemeFault says what may have been meant by a URL of another scheme.
func schemeFault(scheme, raw string) error {
	hint := ""
	switch lower := strings.ToLower(scheme); {
	case lower == "http", lower == "https":
		rest := lower + raw[len(scheme):]
		hint = "mjpeg+" + rest + " if the camera sends MJPEG by it, snapshot+" + rest + " if it sends one JPEG picture a request; else "
	case schemes[lower].kind != 0:
		hint = lower + raw[len(scheme):] + "; else "
	case strings.HasPrefix(lower, "rtsp"): // of GStreamer, MediaMTX and others
		name, rest := "rtsp", raw[len(scheme):]
		if strings.HasPrefix(lower, "rtsps") {
			name = "rtsps"
		}
		switch lower[len(name):] {
		case "t", "u":
			hint = name + rest + " with the setting transport: " + map[byte]string{'t': "tcp", 'u': "udp"}[lower[len(name)]] + "; else "
		default:
			hint = name + rest + " with the port that the camera has for RTSP itself, since segd does not speak RTSP over HTTP; else "
		}
	case isAddress(raw):
		return addressFault(raw)
	}
	// The scheme may be a user's name, or a password.
	return fmt.Errorf("scheme %q of %q; accepted: %s%s", redact.URL(scheme), redact.URL(raw), redact.Text(hint), urls)
}

// Missing says that there is no file of the URL's path, and of one without a scheme what was perhaps meant. It
// is an fs.ErrNotExist.
func (u *URL) Missing() error {
	text := "no such file or folder: " + u.Path
	if u.Scheme == "" {
		text += "; if a camera is meant, a URL with its scheme is accepted: " + urls
	}
	return missing(text)
}

type missing string

func (m missing) Error() string { return string(m) }
func (m missing) Unwrap() error { return fs.ErrNotExist }

// network reads the URL of a camera that is dialled.
func (u *URL) network(raw string) error {
	raw = escapeUser(raw)
	parsed, err := url.Parse(raw)
	switch {
	case err != nil || strings.ContainsAny(raw, " \t\r\n\"`<>"): // which end a URL in a text
		// The parser's words repeat the URL.
		return fmt.Errorf("%q is not a URL; %s; %s", redact.URL(raw), accepted, escapes)
	case parsed.Hostname() == "":
		return fmt.Errorf("%q names no host; %s", redact.URL(raw), accepted)
	case strings.Contains(raw, "#"):
		return fmt.Errorf("%q has a #, by which a camera is told nothing; %s; %s", redact.URL(raw), accepted, escapes)
	}
	u.Network = parsed
	return nil
}

// escapeUser escapes what RFC 3986 does not take in a user and a password and what ends neither: passwords are taken as
// they are typed.
func escapeUser(raw string) string {
	before, rest, _ := strings.Cut(raw, "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	at := strings.LastIndexByte(rest[:end], '@')
	if at < 0 {
		return raw
	}
	var out strings.Builder
	out.WriteString(before + "://")
	for _, c := range []byte(rest[:at]) {
		if c >= 0x80 || strings.IndexByte("\"<>[\\]^`{|}", c) >= 0 {
			fmt.Fprintf(&out, "%%%02X", c)
		} else {
			out.WriteByte(c)
		}
	}
	return out.String() + rest[at:]
}

// device reads PATH?size=WxH&fps=N&format=NAME.
func (u *URL) device(rest string) error {
	path, query, _ := strings.Cut(strings.TrimPrefix(rest, "//"), "?")
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%q is not the path of a device; %s", path, acceptedCapture)
	}
	u.Path = filepath.Clean(path)
	values, err := url.ParseQuery(query)
	if err != nil {
		return fmt.Errorf("%q: %w; %s", query, err, acceptedCapture)
	}
	var faults []error
	number := func(key, text string) int {
		n, err := strconv.Atoi(text)
		if err != nil || n <= 0 {
			faults = append(faults, fmt.Errorf("%s=%q; %s", key, values.Get(key), acceptedCapture))
		}
		return n
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		switch all := values[key]; {
		case len(all) != 1:
			faults = append(faults, fmt.Errorf("%s is there %d times; %s", key, len(all), acceptedCapture))
		case key == "size":
			width, height, _ := strings.Cut(all[0], "x")
			u.Capture.Width, u.Capture.Height = number(key, width), number(key, height)
		case key == "fps":
			u.Capture.FPS = number(key, all[0])
		case key == "format":
			u.Capture.Format = all[0]
		default:
			faults = append(faults, fmt.Errorf("unknown %q; %s", key, acceptedCapture))
		}
	}
	return errors.Join(faults...)
}

// TLS tells whether the camera is spoken to by TLS.
func (u *URL) TLS() bool { return u.Scheme == "rtsps" || strings.HasSuffix(u.Scheme, "+https") }

// Port is that of a camera that is dialled, written or not.
func (u *URL) Port() string {
	if p := u.Network.Port(); p != "" {
		return p
	}
	return schemes[u.Scheme].port
}

// HostPort is where a camera is dialled.
func (u *URL) HostPort() string { return net.JoinHostPort(u.Network.Hostname(), u.Port()) }

// String returns the URL without secrets, or the path.
func (u *URL) String() string {
	switch {
	case u.Network != nil:
		return redact.URL(u.Network.String())
	case u.Kind == WHIP:
		return Published
	case u.Kind == V4L2:
		return "v4l2:" + u.Path
	}
	return u.Path
}

// WithUser returns a camera's URL with another user, whose name and password are encoded as a URL wants
// them; with none if it is empty. An error does not show the URL.
func WithUser(text, user, password string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "", errors.New("the url names no host that a user could be of; accepted: with rtsp://, rtsps://, mjpeg+http://, mjpeg+https://, snapshot+http:// or snapshot+https://")
	}
	u.User = nil
	if user != "" {
		u.User = url.UserPassword(user, password)
	}
	return u.String(), nil
}
