package onvif

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/segd/segd/internal/redact"
)

const (
	// inspectTimeout bounds all that one camera is asked.
	inspectTimeout = 20 * time.Second
	// maxProfiles bounds those that are asked for their stream, one after the other.
	maxProfiles = 64
	// maxSide is beyond any picture's.
	maxSide = 1 << 16
	// skewTold is from where on a clock is said to be wrong.
	skewTold = 5 * time.Second

	media1 = "http://www.onvif.org/ver10/media/wsdl"
	media2 = "http://www.onvif.org/ver20/media/wsdl"
)

// Device is what a camera says of itself.
type Device struct {
	// Service is where it was asked.
	Service string `json:"service"`
	// ClockAhead is how many seconds its clock is before this machine's, if ClockKnown.
	ClockAhead float64   `json:"clock_ahead_seconds"`
	ClockKnown bool      `json:"clock_known"`
	Profiles   []Profile `json:"profiles"`
}

// Profile is one of a camera's streams.
type Profile struct {
	Token string `json:"token"`
	Name  string `json:"name"`
	// Encoding is H264, H265, MJPEG, or another as the camera calls it; "" if it does not
	// say. Sizes and the rate are 0 where it does not say.
	Encoding string  `json:"encoding"`
	Width    int     `json:"width"`
	Height   int     `json:"height"`
	FPS      float64 `json:"fps"`
	// URL is that of its RTSP stream, at the host that was asked and without user and
	// password; parts of its path or query may be secret all the same. It is empty if
	// Error says why.
	URL   string `json:"url,omitempty"`
	Error string `json:"error,omitempty"`
	// Picked says that this one suits segd best.
	Picked bool `json:"picked,omitempty"`
}

// Inspect asks a camera for its profiles. Its address is HOST, HOST:PORT or the URL of
// its device service. Without a user it is told none. The errors are ErrNoAnswer,
// ErrUnauthorized, ErrNotONVIF and ErrFault; the first refusal of a user ends it, since
// many cameras lock an account after a few.
func Inspect(ctx context.Context, address, user, password string) (*Device, error) {
	ctx, cancel := context.WithTimeout(ctx, inspectTimeout)
	defer cancel()
	service, err := deviceURL(address)
	if err != nil {
		return nil, err
	}
	c := newClient(service.Host, user, password)
	defer c.http.CloseIdleConnections()
	return c.inspect(ctx, service)
}

func (c *client) inspect(ctx context.Context, service *url.URL) (*Device, error) {
	if err := c.readClock(ctx, service); err != nil {
		return nil, err
	}
	d := &Device{Service: service.String(), ClockAhead: c.ahead.Seconds(), ClockKnown: c.clock}
	media, err := c.mediaServices(ctx, service)
	if err != nil {
		return nil, err
	}
	for _, ask := range []struct {
		service *url.URL
		ask     func(context.Context, *url.URL) ([]Profile, error)
	}{{media[media2], c.profiles2}, {media[media1], c.profiles1}} {
		if ask.service == nil {
			continue
		}
		d.Profiles, err = ask.ask(ctx, ask.service)
		if err == nil && len(d.Profiles) > 0 || errors.Is(err, ErrUnauthorized) || errors.Is(err, ErrNoAnswer) || ctx.Err() != nil {
			break
		}
	}
	switch {
	case err != nil:
		return nil, err
	case len(d.Profiles) == 0:
		return nil, c.fail(ErrFault, "has no video profiles")
	}
	return d, nil
}

// deviceURL is the URL of the device service at HOST, HOST:PORT or that URL.
func deviceURL(address string) (*url.URL, error) {
	text := address
	if !strings.Contains(text, "://") {
		if strings.Count(text, ":") > 1 && !strings.HasPrefix(text, "[") {
			text = "[" + text + "]" // IPv6
		}
		text = "http://" + text
	}
	u, err := serviceURL(text)
	if err != nil {
		return nil, fmt.Errorf("onvif: %q: %w", clean(redact.URL(address)), err)
	}
	return u, nil
}

// readClock asks for the camera's time, which it tells anybody; one that does not is
// told the user by ours.
func (c *client) readClock(ctx context.Context, service *url.URL) error {
	type date struct {
		Year  int `xml:"Date>Year"`
		Month int `xml:"Date>Month"`
		Day   int `xml:"Date>Day"`
		Hour  int `xml:"Time>Hour"`
		Min   int `xml:"Time>Minute"`
		Sec   int `xml:"Time>Second"`
	}
	var answer struct {
		UTC *date `xml:"Body>GetSystemDateAndTimeResponse>SystemDateAndTime>UTCDateTime"`
	}
	asked := time.Now()
	err := c.call(ctx, service, `<GetSystemDateAndTime xmlns="http://www.onvif.org/ver10/device/wsdl"/>`, false, &answer)
	if errors.Is(err, ErrFault) || errors.Is(err, ErrUnauthorized) && c.user != "" && !c.denied {
		return nil
	}
	if err != nil {
		return err
	}
	if t := answer.UTC; t != nil && t.Year >= 1970 && t.Year < 2200 {
		there := time.Date(t.Year, time.Month(t.Month), t.Day, t.Hour, t.Min, t.Sec, 0, time.UTC)
		here := asked.Add(time.Since(asked) / 2)
		if there.Year() == t.Year { // the rest is in its bounds, or nearly
			c.ahead, c.clock = there.Sub(here)+time.Second/2, true // it tells whole seconds
		}
	}
	return nil
}

// Skew says in words how far a camera's clock is ahead of this machine's.
func Skew(ahead time.Duration) string {
	word := "ahead"
	if ahead < 0 {
		word = "behind"
	}
	unit := time.Second
	if ahead.Abs() > time.Minute {
		unit = 10 * time.Second
	}
	return fmt.Sprintf("%v %s", ahead.Abs().Round(unit), word)
}

// mediaServices asks where the media services are, at the host that is asked.
func (c *client) mediaServices(ctx context.Context, device *url.URL) (map[string]*url.URL, error) {
	var services struct {
		List []struct {
			Namespace string
			XAddr     string
		} `xml:"Body>GetServicesResponse>Service"`
	}
	err := c.call(ctx, device, `<GetServices xmlns="http://www.onvif.org/ver10/device/wsdl"><IncludeCapability>false</IncludeCapability></GetServices>`, true, &services)
	if errors.Is(err, ErrUnauthorized) || errors.Is(err, ErrNoAnswer) || ctx.Err() != nil {
		return nil, err
	}
	found := map[string]*url.URL{}
	for _, s := range services.List {
		if ns := strings.TrimSpace(s.Namespace); ns == media1 || ns == media2 {
			found[ns] = at(device, s.XAddr)
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	// Before ONVIF 2.1 there was no GetServices.
	var capabilities struct {
		Media string `xml:"Body>GetCapabilitiesResponse>Capabilities>Media>XAddr"`
	}
	if err := c.call(ctx, device, `<GetCapabilities xmlns="http://www.onvif.org/ver10/device/wsdl"><Category>Media</Category></GetCapabilities>`, true, &capabilities); err != nil {
		return nil, err
	}
	if capabilities.Media == "" {
		return nil, c.fail(ErrFault, "has no media service")
	}
	return map[string]*url.URL{media1: at(device, capabilities.Media)}, nil
}

// at is the address of another service at the host and port where the device's is. The
// port that it names counts only beside the right host: behind NAT both are others.
func at(device *url.URL, xaddr string) *url.URL {
	u, err := serviceURL(strings.TrimSpace(xaddr))
	if err != nil {
		return device
	}
	if u.Hostname() != device.Hostname() || u.Scheme != device.Scheme {
		u.Scheme, u.Host = device.Scheme, device.Host
	}
	return u
}

// encoder is a video encoder's configuration. Numbers are texts: one that is none
// shall not cost the others.
type encoder struct {
	Encoding string `xml:"Encoding"`
	Width    string `xml:"Resolution>Width"`
	Height   string `xml:"Resolution>Height"`
	FPS      string `xml:"RateControl>FrameRateLimit"`
}

func (c *client) profiles1(ctx context.Context, media *url.URL) ([]Profile, error) {
	var answer struct {
		List []struct {
			Token   string    `xml:"token,attr"`
			Name    string    `xml:"Name"`
			Source  *struct{} `xml:"VideoSourceConfiguration"`
			Encoder *encoder  `xml:"VideoEncoderConfiguration"`
		} `xml:"Body>GetProfilesResponse>Profiles"`
	}
	if err := c.call(ctx, media, `<GetProfiles xmlns="`+media1+`"/>`, true, &answer); err != nil {
		return nil, err
	}
	var list []Profile
	for _, p := range answer.List {
		if p.Source != nil || p.Encoder != nil {
			list = append(list, profile(p.Token, p.Name, p.Encoder))
		}
	}
	return list, c.streams(ctx, media, list, `<GetStreamUri xmlns="`+media1+`"><StreamSetup><Stream xmlns="http://www.onvif.org/ver10/schema">RTP-Unicast</Stream>`+
		`<Transport xmlns="http://www.onvif.org/ver10/schema"><Protocol>RTSP</Protocol></Transport></StreamSetup><ProfileToken>%s</ProfileToken></GetStreamUri>`)
}

func (c *client) profiles2(ctx context.Context, media *url.URL) ([]Profile, error) {
	var answer struct {
		List []struct {
			Token   string   `xml:"token,attr"`
			Name    string   `xml:"Name"`
			Encoder *encoder `xml:"Configurations>VideoEncoder"`
		} `xml:"Body>GetProfilesResponse>Profiles"`
	}
	if err := c.call(ctx, media, `<GetProfiles xmlns="`+media2+`"><Type>VideoEncoder</Type></GetProfiles>`, true, &answer); err != nil {
		return nil, err
	}
	var list []Profile
	for _, p := range answer.List {
		if p.Encoder != nil {
			list = append(list, profile(p.Token, p.Name, p.Encoder))
		}
	}
	return list, c.streams(ctx, media, list, `<GetStreamUri xmlns="`+media2+`"><Protocol>RtspUnicast</Protocol><ProfileToken>%s</ProfileToken></GetStreamUri>`)
}

func profile(token, name string, e *encoder) Profile {
	p := Profile{Token: token, Name: clean(name)}
	if e == nil {
		return p
	}
	p.Encoding = strings.ToUpper(clean(e.Encoding))
	if p.Encoding == "JPEG" {
		p.Encoding = "MJPEG"
	}
	side := func(text string) int {
		if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil && n > 0 && n < maxSide {
			return n
		}
		return 0
	}
	p.Width, p.Height = side(e.Width), side(e.Height)
	if rate, err := strconv.ParseFloat(strings.TrimSpace(e.FPS), 64); err == nil && rate > 0 && rate <= 1000 {
		p.FPS = math.Round(rate*100) / 100
	}
	return p
}

// streams asks for the URL of each profile's stream. What one lacks is said in it; the
// error is of the camera as a whole.
func (c *client) streams(ctx context.Context, media *url.URL, list []Profile, question string) error {
	for i := range list {
		p := &list[i]
		if i >= maxProfiles || len(p.Token) > maxAddress {
			p.Token, p.Error = clean(p.Token), fmt.Sprintf("not asked: it is beyond %d profiles, or its token beyond %d bytes", maxProfiles, maxAddress)
			continue
		}
		var answer struct {
			URI1 string `xml:"Body>GetStreamUriResponse>MediaUri>Uri"`
			URI2 string `xml:"Body>GetStreamUriResponse>Uri"`
		}
		err := c.call(ctx, media, fmt.Sprintf(question, escape(p.Token)), true, &answer)
		switch {
		case errors.Is(err, ErrNoAnswer) && i > 0: // what it told so far is of use
		case errors.Is(err, ErrUnauthorized), errors.Is(err, ErrNoAnswer), ctx.Err() != nil:
			return err
		case err == nil:
			p.URL, err = streamURL(answer.URI1+answer.URI2, media.Hostname())
		}
		if err != nil {
			p.Error = err.Error()
		}
	}
	return nil
}

// streamURL is the URL of a stream at host: cameras name 0.0.0.0, addresses of before
// they moved, and their own behind NAT; and the password is sent to none but who
// was asked.
func streamURL(text, host string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Scheme != "rtsp" && u.Scheme != "rtsps" || u.Host == "" || len(text) > maxAddress ||
		strings.ContainsFunc(u.String(), func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\"`<>", r) }) {
		return "", errors.New("onvif: its stream has no URL of RTSP")
	}
	u.User, u.Fragment = nil, ""
	withHost(u, host, u.Port())
	return u.String(), nil
}
