package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"mime"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// ServiceName is the micro service's name, as "nats micro ls" shows it.
const ServiceName = "segd"

// Codes of the error replies, as HTTP has them.
const (
	codeBadRequest     = "400"
	codeUnknownCamera  = "404"
	codeUnsupported    = "415"
	codeShutDown       = "503"
	codeTimeout        = "504"
	maxDescription     = 1000 // bytes of an error in a header; the body has all of it
	commandTimeout     = 10 * time.Second
	pngSignature       = "\x89PNG\r\n\x1a\n"
	metadataCamera     = "camera"
	metadataSite       = "site"
	serviceDescription = "segd: live masks of annotated objects"
)

// ErrUnknownCamera is in the chain of the error about a camera nobody serves. A
// handler may return it too.
var ErrUnknownCamera = errors.New("bus: unknown camera")

var errStopping = errors.New("segd is shutting down or reloading")

// Commands are what Serve answers.
type Commands struct {
	// Cameras are the names of the cameras that take commands.
	Cameras []string

	// Annotate uses an annotation for a camera: JSON or, when it begins with
	// PNG's signature, a mask as PNG. Its error is the reply. ctx ends after
	// 10 s or with the Bus. Requests for one camera come one after another,
	// those for several at the same time. payload is Annotate's to keep.
	Annotate func(ctx context.Context, camera string, payload []byte) error
}

// Serve answers commands as the micro service "segd", with one endpoint a
// camera, until Close or the next Serve, which takes its place.
func (b *Bus) Serve(c Commands) error {
	if c.Annotate == nil {
		return errors.New("bus: serve: no Annotate")
	}
	for _, camera := range c.Cameras {
		if err := CheckName(camera); err != nil {
			return fmt.Errorf("bus: serve: camera: %w", err)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closing {
		return fmt.Errorf("bus: serve: %w", ErrClosed)
	}
	if b.service != nil {
		old := b.service
		b.service = nil
		if err := old.stop(); err != nil {
			return err
		}
	}
	s, err := startService(b.conn, b.cfg, c)
	if err != nil {
		return err
	}
	b.service = s
	return nil
}

// service is one Serve's micro service.
type service struct {
	micro    micro.Service
	commands Commands
	cancel   context.CancelFunc

	mu       sync.Mutex
	stopping bool
	inHand   sync.WaitGroup // Add only with mu held and stopping false
}

func startService(nc *nats.Conn, cfg Config, c Commands) (*service, error) {
	ctx, cancel := context.WithCancel(context.Background())
	s := &service{commands: c, cancel: cancel}
	var err error
	s.micro, err = micro.AddService(nc, micro.Config{
		Name:        ServiceName,
		Version:     semantic(cfg.Version),
		Description: serviceDescription,
		Metadata:    map[string]string{metadataSite: cfg.Site},
		ErrorHandler: func(_ micro.Service, err *micro.NATSError) {
			cfg.Logger.Warn("nats service", "err", err)
		},
	})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("bus: serve: %w", err)
	}
	for _, camera := range c.Cameras {
		subject, err := Subject(cfg.Site, camera, KindAnnotate)
		if err == nil {
			err = s.micro.AddEndpoint(string(KindAnnotate)+"-"+camera,
				micro.HandlerFunc(func(req micro.Request) { s.annotate(ctx, camera, req, cfg) }),
				micro.WithEndpointSubject(subject),
				micro.WithEndpointMetadata(map[string]string{metadataCamera: camera, metadataSite: cfg.Site}))
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("bus: serve camera %s: %w", camera, err), s.stop())
		}
	}
	// The server knows of the endpoints when Serve returns, if it is there.
	if nc.IsConnected() {
		if err := nc.FlushTimeout(dialTimeout); err != nil {
			cfg.Logger.Warn("nats service", "err", err)
		}
	}
	return s, nil
}

var semver = regexp.MustCompile(`^\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?$`)

// semantic returns version as the micro service must have it.
func semantic(version string) string {
	version = strings.TrimPrefix(version, "v")
	if !semver.MatchString(version) {
		return "0.0.0"
	}
	return version
}

// finish refuses further commands, cancels those in hand and waits for them.
func (s *service) finish() {
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	s.cancel()
	s.inHand.Wait()
}

// stop finishes and withdraws the service.
func (s *service) stop() error {
	s.finish()
	// After a lost connection there is nothing to withdraw.
	if err := s.micro.Stop(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		return fmt.Errorf("bus: stop the service: %w", err)
	}
	return nil
}

// take reports whether a command may be handled; the caller then calls
// inHand.Done.
func (s *service) take() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopping {
		s.inHand.Add(1)
	}
	return !s.stopping
}

func (s *service) annotate(ctx context.Context, camera string, req micro.Request, cfg Config) {
	code, err := codeShutDown, errStopping
	if s.take() {
		defer s.inHand.Done()
		code, err = s.handle(ctx, camera, req)
	}
	if err == nil {
		err = req.Respond([]byte("ok"))
	} else {
		err = req.Error(code, headerText(err.Error()), []byte(err.Error()))
	}
	if err != nil {
		cfg.Logger.Warn("nats reply", "subject", req.Subject(), "err", err)
	}
}

// handle returns the handler's error and the reply's code for it.
func (s *service) handle(ctx context.Context, camera string, req micro.Request) (code string, err error) {
	if err := checkAnnotation(req.Headers().Get(headerContentType), req.Data()); err != nil {
		return codeUnsupported, err
	}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	err = s.commands.Annotate(ctx, camera, req.Data())
	switch {
	case errors.Is(err, ErrUnknownCamera):
		return codeUnknownCamera, err
	case errors.Is(err, context.DeadlineExceeded):
		return codeTimeout, err
	case errors.Is(err, context.Canceled):
		return codeShutDown, err
	}
	return codeBadRequest, err
}

// checkAnnotation returns an error when the payload is not what its type says,
// which may be "".
func checkAnnotation(contentType string, payload []byte) error {
	if len(payload) == 0 {
		return errors.New("the annotation is empty, want JSON or a PNG")
	}
	if contentType == "" {
		return nil
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return fmt.Errorf("%s %q: %w", headerContentType, contentType, err)
	}
	if media != TypeJSON && media != TypePNG {
		return fmt.Errorf("%s %q, want %s or %s", headerContentType, contentType, TypeJSON, TypePNG)
	}
	if actual := annotationType(payload); actual != media {
		return fmt.Errorf("%s is %s and the annotation looks like %s", headerContentType, media, actual)
	}
	return nil
}

// annotationType returns the media type of an annotation by its first bytes.
func annotationType(payload []byte) string {
	if bytes.HasPrefix(payload, []byte(pngSignature)) {
		return TypePNG
	}
	return TypeJSON
}

// headerText makes s fit for a header: one line, not too long.
func headerText(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if s == "" {
		return "no reason given"
	}
	if len(s) > maxDescription {
		s = strings.ToValidUTF8(s[:maxDescription], "") + "…"
	}
	return s
}
