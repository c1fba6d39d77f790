package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bluenviron/gortsplib/v5/pkg/base"

	"github.com/segd/segd/ingest/codec"
)

// Config names a source and how it is read. Zero fields mean the default.
type Config struct {
	// Camera is the name that frames and log lines carry.
	Camera string
	// URL is where the pictures come from: rtsp://USER:PASSWORD@HOST:PORT/PATH (or
	// rtsps://), mjpeg+http://USER:PASSWORD@HOST:PORT/PATH (or mjpeg+https://) for JPEGs
	// one after the other over HTTP, v4l2:/dev/video0?size=WxH&fps=N&format=NAME for a
	// capture device of the kernel, file:PATH or just PATH for a video file of any container FFmpeg
	// opens, dir:PATH for a directory of JPEG and PNG images taken in the order of
	// their names, whip: to wait for publishers at Door.
	URL string
	// Door is where the publishers of a whip: source come in.
	Door Door
	// Transport of RTSP: "tcp", "udp", "multicast", or "auto" (the default) for UDP
	// first and TCP when none of it arrives.
	Transport string
	// Fingerprint of the certificate an rtsps:// or mjpeg+https:// camera must
	// show: the SHA-256 of
	// its DER form, 64 hexadecimal digits, colons between them allowed. With it
	// nothing else of the certificate is looked at, so that one the camera made
	// itself will do; without it the certificate must be trusted by this machine.
	Fingerprint string
	// Decode is what decodes the video of a camera or publisher; "" = codec.Software.
	// Where that fails, software takes over.
	Decode codec.Device
	// FPS is the images a second of a directory; 0 = 25.
	FPS float64
	// AsFast reads a file or directory as fast as the sink takes it instead of in
	// real time.
	AsFast bool
	// Loop starts a file or directory over at its end.
	Loop bool
	// StallTimeout is how long a camera may show no new picture before it is
	// redialled; 0 = 5 s. The first picture of a connection may take three times
	// that, for cameras with rare key frames.
	StallTimeout time.Duration
	// MinBackoff and MaxBackoff bound the wait before a redial; 0 = 0.5 s and 1 s.
	MinBackoff, MaxBackoff time.Duration
	// FirstDial is how long to wait before the first dial of a camera. Cameras that
	// start together and wait a little longer each do not all shake hands, and ask
	// for their key frames, in the same moment.
	FirstDial time.Duration
	// Logger takes what the source has to say; nil discards it.
	Logger *slog.Logger
	// Observer is told what happens to the source.
	Observer Observer
}

// Observer is told what happens to a source, by the goroutine that runs it. Its
// functions must not block; each may be nil.
type Observer struct {
	// Up: frames flow, for the first time or again.
	Up func()
	// Down: the source went away, or could not be reached the first time. It is
	// called once until the next Up.
	Down func(err error)
	// Retry: an attempt to reach the source failed with err, and the next one follows
	// after a pause. After Down, the first time too. Not called for whip: and stored
	// sources, which nobody dials.
	Retry func(err error, pause time.Duration)
	// Reconnect: frames flow again after Down (a first connection that took several
	// attempts is not a reconnect).
	Reconnect func()
	// Missed: n access units or images gave no frame.
	Missed func(why Miss, n int)
	// Behind, the only one that is asked, tells whether frames that were handed out
	// still wait; nil: never. Then units to which no other refers are not decoded,
	// where decoding costs much.
	Behind func() bool
	// ClockOffset: the camera's clock minus this machine's, transit time included,
	// about once a second while the camera sends sender reports.
	ClockOffset func(d time.Duration)
	// Packets: so many RTP packets came, late of them after ones behind them, and lost
	// never came.
	Packets func(came, late, lost int)
	// Held: a publisher's packet waited for d for ones before it. It is called for
	// every packet, by the goroutine that reads the network.
	Held func(d time.Duration)
	// Jitter: how unevenly packets come, by RFC 3550, about once a second.
	Jitter func(d time.Duration)
	// Decoder: what decodes the video, and what that is in; whenever it changes.
	Decoder func(id codec.ID, on codec.Device)
	// DecodeFallback: software decodes because Config.Decode's device failed.
	DecodeFallback func(err error)
}

func (o *Observer) up() {
	if o.Up != nil {
		o.Up()
	}
}

func (o *Observer) down(err error) {
	if o.Down != nil {
		o.Down(err)
	}
}

func (o *Observer) retry(err error, pause time.Duration) {
	if o.Retry != nil {
		o.Retry(err, pause)
	}
}

func (o *Observer) reconnect() {
	if o.Reconnect != nil {
		o.Reconnect()
	}
}

func (o *Observer) missed(why Miss, n int) {
	if o.Missed != nil {
		o.Missed(why, n)
	}
}

func (o *Observer) behind() bool { return o.Behind != nil && o.Behind() }

func (o *Observer) packets(came, late, lost int) {
	if o.Packets != nil && came+lost > 0 {
		o.Packets(came, late, lost)
	}
}

func (o *Observer) held(d time.Duration) {
	if o.Held != nil {
		o.Held(d)
	}
}

func (o *Observer) jitter(d time.Duration) {
	if o.Jitter != nil {
		o.Jitter(d)
	}
}

func (o *Observer) decoder(id codec.ID, on codec.Device) {
	if o.Decoder != nil {
		o.Decoder(id, on)
	}
}

func (o *Observer) decodeFallback(err error) {
	if o.DecodeFallback != nil {
		o.DecodeFallback(err)
	}
}

func (o *Observer) clockOffset(d time.Duration) {
	if o.ClockOffset != nil {
		o.ClockOffset(d)
	}
}

// Defaults of Config.
const (
	defaultStallTimeout = 5 * time.Second
	defaultMinBackoff   = 500 * time.Millisecond
	// defaultMaxBackoff: a camera that is back shows pictures within two seconds, the
	// wait for its key frame included. An attempt costs a handful of packets.
	defaultMaxBackoff = time.Second
	defaultDirFPS     = 25
	maxDirFPS         = 1000
)

// Source is one source of frames. Run it once at a time.
type Source struct {
	cfg     Config
	log     *slog.Logger
	kind    kind
	path    string              // of a file, directory or device
	capture codec.CaptureConfig // of a device
	url     *base.URL           // of a camera
	pin     []byte              // SHA-256 of its certificate; nil: any that is trusted
	pool    pool
	seq     uint64
	time    timeline
	said    decoding // what was last logged of the decoder
}

type kind uint8

const (
	kindRTSP kind = iota + 1
	kindHTTP
	kindFile
	kindDir
	kindWHIP
	kindV4L2
)

// ErrConfig is wrapped by what Open returns.
var ErrConfig = errors.New("configuration")

// Open checks cfg and returns its source. It connects to nothing and opens
// nothing. The error names every fault.
func Open(cfg Config) (*Source, error) {
	s := &Source{cfg: cfg}
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }

	err := s.parseURL()
	if err != nil {
		faults = append(faults, err)
	}
	switch cfg.Transport {
	case "", "auto", "tcp", "udp", "multicast":
	default:
		fault("transport %q is unknown; auto, tcp, udp and multicast are accepted", cfg.Transport)
	}
	if cfg.Decode != "" && !slices.Contains(codec.Devices, cfg.Decode) {
		fault("decode %q is unknown; software, cuda, vaapi and auto are accepted", cfg.Decode)
	}
	if s.pin, err = parseFingerprint(cfg.Fingerprint); err != nil {
		faults = append(faults, err)
	}
	if !(cfg.FPS >= 0 && cfg.FPS <= maxDirFPS) || math.IsNaN(cfg.FPS) {
		fault("fps %v is not between 0 and %d", cfg.FPS, maxDirFPS)
	}
	setDefault(&s.cfg.StallTimeout, defaultStallTimeout)
	setDefault(&s.cfg.MinBackoff, defaultMinBackoff)
	setDefault(&s.cfg.MaxBackoff, max(defaultMaxBackoff, s.cfg.MinBackoff))
	if s.cfg.StallTimeout < 0 || s.cfg.FirstDial < 0 || s.cfg.MinBackoff < 0 || s.cfg.MaxBackoff < s.cfg.MinBackoff {
		fault("stall timeout %v, first dial after %v, backoff %v to %v: none may be negative, and the largest backoff not below the smallest",
			s.cfg.StallTimeout, s.cfg.FirstDial, s.cfg.MinBackoff, s.cfg.MaxBackoff)
	}
	if len(faults) > 0 {
		return nil, fmt.Errorf("ingest: camera %q: %w: %w", cfg.Camera, ErrConfig, errors.Join(faults...))
	}
	if s.cfg.FPS == 0 {
		s.cfg.FPS = defaultDirFPS
	}
	if cfg.Logger == nil {
		s.cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s.log = s.cfg.Logger.With("camera", cfg.Camera)
	return s, nil
}

func setDefault(d *time.Duration, v time.Duration) {
	if *d == 0 {
		*d = v
	}
}

const acceptedURLs = "rtsp://HOST/PATH, rtsps://HOST/PATH, mjpeg+http://HOST/PATH, mjpeg+https://HOST/PATH, v4l2:/dev/video0, whip:, file:PATH, dir:PATH and the plain PATH of a video file are accepted"

// parseURL sorts cfg.URL into what it names. Nothing it returns shows a password.
func (s *Source) parseURL() error {
	raw := s.cfg.URL
	scheme, rest, found := strings.Cut(raw, ":")
	switch {
	case raw == "":
		return fmt.Errorf("no url; %s", acceptedURLs)
	case found && (scheme == "rtsp" || scheme == "rtsps"):
		s.kind = kindRTSP
		return s.parseRTSP()
	case found && (scheme == "mjpeg+http" || scheme == "mjpeg+https"):
		s.kind = kindHTTP
		return s.parseHTTP()
	case found && scheme == "whip":
		s.kind = kindWHIP
		if rest != "" {
			return fmt.Errorf("url %q: nothing may follow whip:, publishers use the camera's name", raw)
		}
		if s.cfg.Door == nil {
			return fmt.Errorf("url %q: no Door, by which publishers would come in", raw)
		}
		return nil
	case found && scheme == "v4l2":
		s.kind = kindV4L2
		return s.parseV4L2(rest)
	case found && scheme == "file":
		s.kind, s.path = kindFile, localPath(rest)
	case found && scheme == "dir":
		s.kind, s.path = kindDir, localPath(rest)
	case strings.Contains(raw, "://"):
		return fmt.Errorf("url %q: scheme %q is not supported; %s", redact(raw), scheme, acceptedURLs)
	default:
		s.kind, s.path = kindFile, raw
	}
	if s.path == "" {
		return fmt.Errorf("url %q names no path", raw)
	}
	s.path = filepath.Clean(s.path)
	return nil
}

func (s *Source) parseRTSP() error {
	u, err := base.ParseURL(s.cfg.URL)
	if err != nil {
		// The parser's own words quote the URL, password and all.
		return fmt.Errorf("url %q cannot be parsed; rtsp://USER:PASSWORD@HOST:PORT/PATH is accepted, "+
			"with @ : / # ? %% in the password written as %%40 %%3A %%2F %%23 %%3F %%25", redact(s.cfg.URL))
	}
	if u.Hostname() == "" {
		return fmt.Errorf("url %q names no host", redact(s.cfg.URL))
	}
	s.url = u
	return nil
}

func (s *Source) parseHTTP() error {
	u, err := url.Parse(s.cfg.URL)
	if err != nil {
		return fmt.Errorf("url %q cannot be parsed; mjpeg+http://USER:PASSWORD@HOST:PORT/PATH is accepted", redact(s.cfg.URL))
	}
	if u.Hostname() == "" {
		return fmt.Errorf("url %q names no host", redact(s.cfg.URL))
	}
	s.url = (*base.URL)(u)
	return nil
}

// localPath takes the two slashes of file://PATH off.
func localPath(rest string) string {
	return strings.TrimPrefix(rest, "//")
}

// redact hides the password of a URL, even of one that cannot be parsed.
func redact(raw string) string {
	if u, err := url.Parse(raw); err == nil {
		return u.Redacted()
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return raw
	}
	at := strings.LastIndexByte(rest, '@')
	if at < 0 {
		return raw
	}
	user, _, _ := strings.Cut(rest[:at], ":")
	return scheme + "://" + user + ":xxxxx" + rest[at:]
}

// Name returns the source's URL with the password hidden.
func (s *Source) Name() string {
	if s.url != nil {
		return (*url.URL)(s.url).Redacted()
	}
	switch s.kind {
	case kindWHIP:
		return "whip:"
	case kindV4L2:
		return "v4l2:" + s.path
	}
	return s.path
}

// Run reads the source and calls sink with each frame, until ctx ends, and for
// a file or directory that does not loop until its end. The sink owns one
// reference of the frame.
//
// A camera is redialled for ever, and after a publisher the next one is waited
// for, so Run returns only ctx's error. A file or directory returns nil at its
// end, or an error when it cannot be read.
func (s *Source) Run(ctx context.Context, sink func(*Frame)) error {
	s.seq, s.time = 0, timeline{}
	switch s.kind {
	case kindRTSP, kindHTTP, kindV4L2:
		return newCamera(s, sink).run(ctx)
	case kindWHIP:
		return s.runPublished(ctx, sink)
	}
	err := s.runStored(ctx, sink)
	if err != nil && ctx.Err() == nil {
		s.cfg.Observer.down(err)
	}
	return err
}

// Probe connects to cfg's source, waits for one decoded frame and disconnects.
// The error says what is wrong; nil means frames come. It tries once, and gives
// up by itself after about four times the stall timeout.
func Probe(ctx context.Context, cfg Config) error {
	cfg.Observer = Observer{}
	cfg.Loop = false
	cfg.AsFast = true
	s, err := Open(cfg)
	if err != nil {
		return err
	}
	probe, stop := context.WithCancel(ctx)
	defer stop()
	got := false
	sink := func(f *Frame) {
		got = true
		f.Release()
		stop()
	}
	switch s.kind {
	case kindRTSP, kindHTTP, kindV4L2:
		err = s.watchOnce(probe, sink)
	case kindWHIP:
		var p Publisher
		if p, err = s.cfg.Door.Next(probe); err == nil {
			err = s.follow(probe, p, sink, func() {})
		}
	default:
		err = s.runStored(probe, sink)
	}
	switch {
	case got:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("ingest: %s: no frame yet: %w", s.Name(), ctx.Err())
	case err == nil:
		return fmt.Errorf("ingest: %s: %w", s.Name(), ErrNoFrames)
	}
	return err
}

// emit completes f and hands it to the sink.
func (s *Source) emit(f *Frame, sink func(*Frame)) {
	f.Camera = s.cfg.Camera
	f.Seq = s.seq
	s.seq++
	sink(f)
}
