package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/segd/segd/ingest/cameraurl"
	"github.com/segd/segd/ingest/codec"
)

// Config names a source and how it is read. Zero fields mean the default.
type Config struct {
	// Camera is the name that frames and log lines carry.
	Camera string
	// URL is where the pictures come from: rtsp://USER:PASSWORD@HOST:PORT/PATH (or
	// rtsps://), mjpeg+http://USER:PASSWORD@HOST:PORT/PATH (or mjpeg+https://) for JPEGs
	// one after the other over HTTP, snapshot+http://USER:PASSWORD@HOST:PORT/PATH (or
	// snapshot+https://) for one JPEG a request, v4l2:/dev/video0?size=WxH&fps=N&format=NAME
	// for a capture device of the kernel, file:PATH or just PATH for a video file of any container FFmpeg
	// opens, dir:PATH for a directory of JPEG and PNG images taken in the order of
	// their names, whip: to wait for publishers at Door.
	URL string
	// Door is where the publishers of a whip: source come in.
	Door Door
	// Transport of RTSP: "tcp", "udp", "multicast", or "auto" (the default) for UDP
	// first and TCP when that comes to nothing before the first packet. Then TCP stays
	// until it comes to nothing too.
	Transport string
	// Fingerprint of the certificate an rtsps://, mjpeg+https:// or snapshot+https://
	// camera must show: the SHA-256 of its DER form, 64 hexadecimal digits, colons between them allowed. With it
	// nothing else of the certificate is looked at, so that one the camera made
	// itself will do; without it the certificate must be trusted by this machine.
	Fingerprint string
	// Decode is what decodes the video of a camera or publisher; "" = codec.Software.
	// Where that fails, software takes over.
	Decode codec.Device
	// Clock is what the frames of a camera or publisher are timed by: "sender", its RTP
	// time; "arrival", this machine's clock when they come in, also for Captured; "auto"
	// (the default) for the sender's until it is seen to run faster or slower than time
	// passes.
	Clock string
	// Rotate is by how many degrees pictures are turned clockwise, beside what they say themselves:
	// 0, 90, 180 or 270.
	Rotate int
	// Aspect is the width of the picture, as it is meant to be seen and turned, over its height; 0: as it says
	// itself, or with square pixels.
	Aspect float64
	// Deinterlace says which pictures are deinterlaced: "auto" (the default), those that their stream calls interlaced; "on",
	// all; or "off", none. Each of these comes with the next one.
	Deinterlace string
	// Ignore fills parts of a picture, tight rows of BGR, before it is handed on; nil: none. Several
	// goroutines may call it.
	Ignore func(bgr []byte, width, height int)
	// FPS is the images a second of a directory, 0 = 25, and how often a second a
	// snapshot+http:// camera is asked for a picture, 0 = 1 and at least once an hour.
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
	// FirstDial is how long to wait before the first dial of a camera. Cameras that
	// start together and wait a little longer each do not all shake hands, and ask
	// for their key frames, in the same moment.
	FirstDial time.Duration
	// Logger takes what the source has to say; nil discards it.
	Logger *slog.Logger
	// Observer is told what happens to the source.
	Observer Observer

	// Bounds of the waits before redials, below; 0: the defaults. Tests have shorter ones.
	minBackoff, maxBackoff, minRefused, maxRefused time.Duration
}

// Observer is told what happens to a source, by the goroutine that runs it. Its
// functions must not block; each may be nil.
type Observer struct {
	// Up: frames flow. again says that they did before, and Down was told since: not so after a
	// first connection that took several attempts.
	Up func(again bool)
	// Down: the source went away, or could not be reached the first time. It is
	// called once until the next Up.
	Down func(err error)
	// Retry: an attempt to reach the source failed with err, and the next one follows
	// after a pause. After Down, the first time too. Not called for whip: and stored
	// sources, which are not dialled.
	Retry func(err error, pause time.Duration)
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
	// never came. They came as unevenly as jitter, by RFC 3550. About once a second.
	Packets func(came, late, lost int, jitter time.Duration)
	// Held: a publisher's packet waited for d for ones before it. It is called for
	// every packet, by the goroutine that reads the network.
	Held func(d time.Duration)
	// Decoder: what decodes the video, and what that is in; whenever it changes. With
	// a fallback software decodes because Config.Decode's device failed.
	Decoder func(id codec.ID, on codec.Device, fallback error)
	// Deinterlaced: pictures are deinterlaced from now on, or not any more.
	Deinterlaced func(now bool)
	// Unit: an access unit of a camera or publisher came, in the order in which it is decoded.
	Unit func(u Unit)
}

// Unit is an access unit of a camera's or publisher's video as it came. None of it may be written to.
type Unit struct {
	Codec codec.ID
	Data  []byte // as codec.Decoder takes it: of H.264 and H.265 NAL units with start codes
	Key   bool   // pictures are whole from it on
	// Params are of a Key the newest parameter sets of H.264 and H.265, without start codes.
	Params   [][]byte
	Fresh    bool      // it does not follow on the unit before: Ticks may begin anew
	Ticks    int64     // when it is shown, by the sender's clock of 90 kHz
	Captured time.Time // Frame.Captured of its picture
}

// complete returns o with functions that do nothing in the place of those that are nil.
func (o Observer) complete() Observer {
	if o.Up == nil {
		o.Up = func(bool) {}
	}
	if o.Down == nil {
		o.Down = func(error) {}
	}
	if o.Retry == nil {
		o.Retry = func(error, time.Duration) {}
	}
	if o.Missed == nil {
		o.Missed = func(Miss, int) {}
	}
	if o.Behind == nil {
		o.Behind = func() bool { return false }
	}
	if o.ClockOffset == nil {
		o.ClockOffset = func(time.Duration) {}
	}
	if o.Packets == nil {
		o.Packets = func(int, int, int, time.Duration) {}
	}
	if o.Held == nil {
		o.Held = func(time.Duration) {}
	}
	if o.Decoder == nil {
		o.Decoder = func(codec.ID, codec.Device, error) {}
	}
	if o.Deinterlaced == nil {
		o.Deinterlaced = func(bool) {}
	}
	if o.Unit == nil {
		o.Unit = func(Unit) {}
	}
	return o
}

// Defaults of Config.
const (
	defaultStallTimeout = 5 * time.Second
	// The wait before a redial. A camera that is back shows pictures within two seconds, the
	// wait for its key frame included. An attempt costs a handful of packets.
	defaultMinBackoff, defaultMaxBackoff = 500 * time.Millisecond, time.Second
	// The same after the camera has refused user and password, or any client: many lock an
	// account after five wrong passwords.
	defaultMinRefused, defaultMaxRefused = time.Minute, 15 * time.Minute
	defaultDirFPS                        = 25
	maxDirFPS                            = 1000
	// defaultSnapshotFPS: cameras make a snapshot apart from their video, which many can
	// do about once a second.
	defaultSnapshotFPS = 1
	// minSnapshotFPS is once an hour: a camera that is asked less often is not watched.
	minSnapshotFPS = 1.0 / 3600
)

// Values of Config.Clock.
const (
	clockSender  = "sender"
	clockArrival = "arrival"
)

// Source is one source of frames. Run it once at a time.
type Source struct {
	cfg     Config
	log     *slog.Logger
	url     *cameraurl.URL
	capture codec.CaptureConfig // of a device
	pin     []byte              // SHA-256 of a camera's certificate; nil: any that is trusted
	// interval is that between two snapshots, and is part of cfg.StallTimeout; 0 of others.
	interval time.Duration
	overTCP  atomic.Bool // what transport "auto" means: UDP came to nothing, and TCP did not
	seq      uint64
	time     timeline
	said     decoding // what was last logged of the decoder
	clocks   clocks   // and of the camera's clocks
	// deinterlaced is what was last told of that.
	deinterlaced bool
}

// ErrConfig is wrapped by what Open returns.
var ErrConfig = errors.New("configuration")

// Open checks cfg and returns its source. It connects to nothing and opens
// nothing. The error names every fault.
func Open(cfg Config) (*Source, error) {
	s := &Source{cfg: cfg}
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }

	var err error
	if s.url, err = cameraurl.Parse(cfg.URL); err != nil {
		fault("url: %w", err)
	} else {
		s.capture = codec.CaptureConfig(s.url.Capture)
		if err := codec.CheckCapture(s.capture); err != nil {
			fault("url %q: %w", s.url, err)
		}
		if s.url.Kind == cameraurl.WHIP && cfg.Door == nil {
			fault("url %q: no Door, by which publishers would come in", s.url)
		}
	}
	if cfg.Transport != "" && !slices.Contains(cameraurl.Transports, cfg.Transport) {
		fault("transport %q is unknown; %s are accepted", cfg.Transport, strings.Join(cameraurl.Transports, ", "))
	}
	if cfg.Decode != "" && !slices.Contains(codec.Devices, cfg.Decode) {
		fault("decode %q is unknown; software, cuda, vaapi and auto are accepted", cfg.Decode)
	}
	switch cfg.Clock {
	case "", "auto", clockSender, clockArrival:
	default:
		fault("clock %q is unknown; auto, sender and arrival are accepted", cfg.Clock)
	}
	if s.pin, err = parseFingerprint(cfg.Fingerprint); err != nil {
		faults = append(faults, err)
	}
	if !slices.Contains([]int{0, 90, 180, 270}, cfg.Rotate) {
		fault("rotate %d; 0, 90, 180 and 270 are accepted", cfg.Rotate)
	}
	if !(cfg.Aspect == 0 || cfg.Aspect >= 1.0/codec.MaxAspect && cfg.Aspect <= codec.MaxAspect) {
		fault("aspect %v is not between 1:%d and %d:1", cfg.Aspect, codec.MaxAspect, codec.MaxAspect)
	}
	switch codec.Deinterlace(cfg.Deinterlace) {
	case "", codec.DeinterlaceAuto, codec.DeinterlaceOn, codec.DeinterlaceOff:
	default:
		fault("deinterlace %q is unknown; auto, on and off are accepted", cfg.Deinterlace)
	}
	s.cfg.StallTimeout = cmp.Or(cfg.StallTimeout, defaultStallTimeout)
	s.cfg.minBackoff, s.cfg.maxBackoff = cmp.Or(cfg.minBackoff, defaultMinBackoff), cmp.Or(cfg.maxBackoff, defaultMaxBackoff)
	s.cfg.minRefused, s.cfg.maxRefused = cmp.Or(cfg.minRefused, defaultMinRefused), cmp.Or(cfg.maxRefused, defaultMaxRefused)
	if s.cfg.StallTimeout < 0 || s.cfg.FirstDial < 0 {
		fault("stall timeout %v, first dial after %v: neither may be negative", s.cfg.StallTimeout, s.cfg.FirstDial)
	}
	if err := s.setPace(); err != nil {
		faults = append(faults, err)
	}
	if len(faults) > 0 {
		return nil, fmt.Errorf("ingest: camera %q: %w: %w", cfg.Camera, ErrConfig, errors.Join(faults...))
	}
	s.cfg.Observer = cfg.Observer.complete()
	if cfg.Logger == nil {
		s.cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s.log = s.cfg.Logger.With("camera", cfg.Camera)
	return s, nil
}

// setPace checks Config.FPS and sets what it means for the source.
func (s *Source) setPace() error {
	fps := s.cfg.FPS
	snapshots := s.url != nil && s.url.Kind == cameraurl.Snapshot
	switch {
	case !(fps >= 0 && fps <= maxDirFPS):
		return fmt.Errorf("fps %v is not between 0 and %d", fps, maxDirFPS)
	case !snapshots:
		s.cfg.FPS = cmp.Or(fps, defaultDirFPS)
	case fps > 0 && fps < minSnapshotFPS:
		return fmt.Errorf("fps %v is less than once an hour, which is %.6f", fps, minSnapshotFPS)
	default:
		s.interval = time.Duration(float64(time.Second) / cmp.Or(fps, defaultSnapshotFPS))
		s.cfg.StallTimeout += s.interval
	}
	return nil
}

// Name returns the source's URL without secrets.
func (s *Source) Name() string { return s.url.String() }

// dialled tells whether the source is a camera that is dialled.
func (s *Source) dialled() bool {
	switch s.url.Kind {
	case cameraurl.RTSP, cameraurl.MJPEG, cameraurl.Snapshot, cameraurl.V4L2:
		return true
	}
	return false
}

// Run reads the source and calls sink with each frame, until ctx ends, and for
// a file or directory that does not loop until its end. The sink owns one
// reference of the frame.
//
// A camera is redialled for ever, and after a publisher the next one is waited
// for, so Run returns only ctx's error. A file or directory returns nil at its
// end, or an error when it cannot be read.
func (s *Source) Run(ctx context.Context, sink func(*Frame)) error {
	s.seq, s.time, s.clocks = 0, timeline{clock: s.cfg.Clock}, clocks{}
	switch {
	case s.dialled():
		return newCamera(s, sink).run(ctx)
	case s.url.Kind == cameraurl.WHIP:
		return s.runPublished(ctx, sink)
	}
	err := s.runStored(ctx, sink)
	if err != nil && ctx.Err() == nil {
		s.cfg.Observer.Down(err)
	}
	return err
}

// First connects to cfg's source, waits for one decoded frame, calls use with it and what it was decoded
// of, 0 if the source does not tell, and disconnects. It releases the frame. The error says what is wrong; nil means frames
// come. It tries once, and gives up by itself after about four times the stall timeout.
func First(ctx context.Context, cfg Config, use func(f *Frame, of codec.ID)) error {
	of := codec.ID(0)
	cfg.Observer = Observer{Decoder: func(id codec.ID, _ codec.Device, _ error) { of = id }}
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
		if !got {
			got = true
			use(f, of)
		}
		f.Release()
		stop()
	}
	switch {
	case s.dialled():
		err = s.watchOnce(probe, sink)
	case s.url.Kind == cameraurl.WHIP:
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

// tellDeinterlaced tells whether pictures are deinterlaced, if that has changed.
func (s *Source) tellDeinterlaced(now bool) {
	if now == s.deinterlaced {
		return
	}
	s.deinterlaced = now
	s.cfg.Observer.Deinterlaced(now)
	if now {
		s.log.Info("pictures are interlaced and are deinterlaced; deinterlace: off would not", "deinterlace", cmp.Or(s.cfg.Deinterlace, string(codec.DeinterlaceAuto)))
	} else {
		s.log.Info("pictures are not interlaced any more")
	}
}

// emit completes f and hands it to the sink.
func (s *Source) emit(f *Frame, sink func(*Frame)) {
	if s.cfg.Ignore != nil {
		s.cfg.Ignore(f.Pix, f.Width, f.Height)
		if f.kept != nil {
			f.kept.ignore = s.cfg.Ignore
		}
	}
	f.Camera = s.cfg.Camera
	f.Seq = s.seq
	s.seq++
	sink(f)
}
