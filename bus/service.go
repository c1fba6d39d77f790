package bus

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/segd/segd/api"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/internal/limit"
)

// ServiceName is the micro service's name, as "nats micro ls" shows it.
const ServiceName = "segd"

const (
	maxHeader          = 256  // bytes of a reply's header, but for its warnings
	maxWarnings        = 16   // in a reply's header; its message has all of them
	maxDescription     = 1000 // bytes of an error in a header; the body has all of it
	commandTimeout     = 10 * time.Second
	metadataCamera     = "camera"
	metadataSite       = "site"
	metadataInstance   = "instance"
	metadataHost       = "host"
	serviceDescription = "segd: live masks of annotated objects"
)

// ErrUnknownCamera is in the chain of the error about a camera that no segd serves. A
// handler may return it too.
var ErrUnknownCamera = errors.New("bus: unknown camera")

// Refusal is why a request was not carried out, whatever it asks for.
type Refusal string

// The reasons.
const (
	TooLarge  Refusal = "too_large"  // answered 413
	TooOften  Refusal = "too_often"  // answered 429
	NoRequest Refusal = "no_request" // a stored message, or its answer would pass for one of ours; not answered
)

var errPanicked = &api.Refusal{Status: http.StatusInternalServerError, Detail: "segd failed at this request; its log says more"}

var errStopping = &api.Refusal{Status: http.StatusServiceUnavailable, Detail: "segd is shutting down or reloading"}

// Commands are what Serve answers. A command's error is the reply; an *api.Refusal replies its status, a context that
// ended 504 or 503, and any other 400; a panic is logged and replied to with 500. Requests have the limits of package limit,
// each camera an allowance of its own. Contexts end after 10 s or with the Bus. Requests of one kind for one camera come
// one after another, others at the same time.
type Commands struct {
	// Cameras are the names of the cameras that take commands, until Bus.Cameras names others.
	Cameras []string
	// Camera is that of a name.
	Camera func(name string) (Camera, error)
	// Refuse gives an error of a camera the status that it answers with, and leaves others as they are.
	Refuse func(error) error
	// Snapshot returns a camera's newest picture as JPEG, with the masks drawn on or not, and its frame's sequence number.
	Snapshot func(camera string, overlay bool) (seq uint64, picture []byte, err error)

	// The others may be nil: they have no endpoints then.

	// Reload has segd read its configuration again, and returns as JSON what that came to.
	Reload func(ctx context.Context) ([]byte, error)
	// Manage adds, changes and removes cameras; List returns as JSON all, those that do not run too, and Show one as it is
	// listed. They go together.
	Manage api.Changer
	List   func() ([]byte, error)
	Show   func(camera string) ([]byte, error)
	// Fleet is that which segd is a box of.
	Fleet api.Fleet
}

// Camera is what a camera is asked. What is returned is not changed; the counts of objects are not sent.
type Camera interface {
	// Annotate uses an annotation: JSON or, when it begins with PNG's signature, a mask as PNG. payload is Annotate's
	// to keep.
	Annotate(ctx context.Context, payload []byte) (*segdv1.Annotated, error)
	// Clear removes an object; all of them when id is 0.
	Clear(ctx context.Context, id uint32) error
	// Rename gives an object another label and returns it.
	Rename(ctx context.Context, id uint32, label string) (*segdv1.Object, error)
	// Keep makes an object that was marked automatically people's and returns it.
	Keep(ctx context.Context, id uint32) (*segdv1.Object, error)
	// Objects lists the objects of the newest frame, whose number is seq.
	Objects() (seq uint64, objects []*segdv1.Object)
	// State tells how the camera does.
	State() *segdv1.Status
}

// Serve answers commands as the micro service "segd", with an endpoint for each
// command of each camera and those of the site, until Close or the next Serve, which takes its place.
// A camera that another segd of the site publishes is an ErrTaken.
func (b *Bus) Serve(c Commands) error {
	if c.Camera == nil || c.Refuse == nil {
		return errors.New("bus: serve: no Camera or no Refuse")
	}
	if err := checkCameras(c.Cameras); err != nil {
		return err
	}
	b.serving.Lock()
	defer b.serving.Unlock()
	if b.isClosing() {
		return fmt.Errorf("bus: serve: %w", ErrClosed)
	}
	if err := b.claims.take(c.Cameras); err != nil {
		return err
	}
	if b.service != nil {
		old := b.service
		b.service = nil
		if err := old.stop(); err != nil {
			return err
		}
	}
	s, err := startService(b.conn, b.cfg, b.claims.now(), c)
	if err != nil {
		return err
	}
	b.service = s
	return nil
}

// Cameras has the commands of Serve answered for these cameras instead of those it was called
// with. Commands in hand go on, and those of cameras that stay are answered all the while. A camera
// that comes and that another segd of the site publishes is an ErrTaken, and changes nothing; one
// that goes may be another's from then on.
func (b *Bus) Cameras(names []string) error {
	if err := checkCameras(names); err != nil {
		return err
	}
	b.serving.Lock()
	defer b.serving.Unlock()
	switch {
	case b.isClosing():
		return fmt.Errorf("bus: serve: %w", ErrClosed)
	case b.service == nil:
		return errors.New("bus: cameras: nothing is served yet; want Serve before")
	}
	before := b.claims.now().Holds
	if err := b.claims.take(names); err != nil {
		return err
	}
	if err := b.service.change(names); err != nil {
		return errors.Join(err, b.claims.take(before))
	}
	return nil
}

func checkCameras(names []string) error {
	for _, camera := range names {
		if err := CheckName(camera); err != nil {
			return fmt.Errorf("bus: serve: camera: %w", err)
		}
	}
	return nil
}

// service is one Serve's micro service.
type service struct {
	micro    micro.Service // Bus.serving guards it, and the cameras in commands
	commands Commands
	conn     *nats.Conn
	cfg      Config
	id       claim
	limits   *limit.Limiter[string] // by camera: NATS does not tell who asks
	ctx      context.Context        // of the commands; ends with the service
	cancel   context.CancelFunc

	mu       sync.Mutex
	stopping bool
	inHand   sync.WaitGroup // Add only with mu held and stopping false
}

func startService(nc *nats.Conn, cfg Config, id claim, c Commands) (*service, error) {
	ctx, cancel := context.WithCancel(context.Background())
	s := &service{commands: c, conn: nc, cfg: cfg, id: id, limits: limit.New[string](), ctx: ctx, cancel: cancel}
	var err error
	if s.micro, err = s.announce(c.Cameras); err != nil {
		cancel()
		return nil, err
	}
	s.flush()
	return s, nil
}

// announce starts a micro service with the endpoints of cameras.
func (s *service) announce(cameras []string) (micro.Service, error) {
	m, err := micro.AddService(s.conn, micro.Config{
		Name:        ServiceName,
		Version:     semantic(s.cfg.Version),
		Description: serviceDescription,
		Metadata:    map[string]string{metadataSite: s.cfg.Site, metadataInstance: s.id.Instance, metadataHost: s.id.Host},
		ErrorHandler: func(_ micro.Service, err *micro.NATSError) {
			s.cfg.Logger.Warn("nats service", "err", err)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("bus: serve: %w", err)
	}
	for _, e := range s.siteEndpoints() {
		name := string(e.kind)
		switch {
		case slices.Contains(fleetRequests, e.kind):
			name += "-fleet"
		case e.kind != KindReload:
			name += "-camera"
		}
		err = errors.Join(err, s.addEndpoint(m, name, siteSubject(s.cfg.Site, e.kind), "", e))
	}
	for _, camera := range cameras {
		err = errors.Join(err, s.add(m, camera))
	}
	if err != nil {
		return nil, errors.Join(err, withdraw(m))
	}
	return m, nil
}

// handOver is how long the server has two services for each camera that stays. It looks up who answers a request before it hands
// the request on: one that it looked up before the new service came, and hands on after the old one went, would find none.
const handOver = 100 * time.Millisecond

// change serves the cameras of names. One more is an endpoint more; to take one away nats.go has a
// micro service withdrawn as a whole, so another is there before the old one goes: the server hands
// each request to one of the two.
func (s *service) change(names []string) error {
	goes := func(camera string) bool { return !slices.Contains(names, camera) }
	if slices.ContainsFunc(s.commands.Cameras, goes) {
		m, err := s.announce(names)
		if err != nil {
			return err
		}
		s.flush() // the server knows the new one
		time.Sleep(handOver)
		old := s.micro
		s.micro, s.commands.Cameras = m, slices.Clone(names)
		err = withdraw(old) // it still answers what it was handed
		s.flush()
		return err
	}
	for _, camera := range names {
		if !slices.Contains(s.commands.Cameras, camera) {
			if err := s.add(s.micro, camera); err != nil {
				return err
			}
			s.commands.Cameras = append(slices.Clone(s.commands.Cameras), camera)
		}
	}
	s.flush()
	return nil
}

// flush returns when the server knows of the endpoints there are, if it is there itself.
func (s *service) flush() {
	if s.conn.IsConnected() {
		if err := s.conn.FlushTimeout(dialTimeout); err != nil {
			s.cfg.Logger.Warn("nats service", "err", err)
		}
	}
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
	return withdraw(s.micro)
}

func withdraw(m micro.Service) error {
	// After a lost connection there is nothing to withdraw.
	if err := m.Stop(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
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

// answer is the reply to a command that was done.
type answer struct {
	contentType string // empty: none
	sequence    string // of the frame that data is of; empty: of none
	warnings    []string
	data        []byte
}

var (
	done    = answer{data: []byte("ok")}
	pending = answer{data: []byte("pending")}
)

// endpoint answers the requests of one kind.
type endpoint struct {
	kind Kind
	cost int // of the camera's allowance
	most int // bytes of a request
	do   command
}

type command func(ctx context.Context, camera string, req micro.Request) (answer, error)

// add serves the commands of camera.
func (s *service) add(m micro.Service, camera string) error {
	for _, e := range s.endpoints() {
		subject, err := Subject(s.cfg.Site, camera, e.kind)
		if err != nil {
			return err
		}
		if err := s.addEndpoint(m, string(e.kind)+"-"+camera, subject, camera, e); err != nil {
			return fmt.Errorf("bus: serve camera %s: %w", camera, err)
		}
	}
	return nil
}

// addEndpoint serves e on subject; camera is "" if it is for none.
func (s *service) addEndpoint(m micro.Service, name, subject, camera string, e endpoint) error {
	metadata := map[string]string{metadataSite: s.cfg.Site}
	if camera != "" {
		metadata[metadataCamera] = camera
	}
	return m.AddEndpoint(name,
		micro.HandlerFunc(func(req micro.Request) {
			if err := s.serve(s.ctx, camera, req, e); err != nil {
				s.cfg.Logger.Warn("nats reply", "subject", req.Subject(), "err", err)
			}
		}),
		micro.WithEndpointSubject(subject), micro.WithEndpointMetadata(metadata))
}

// serve replies to req; the error is that of sending the reply.
func (s *service) serve(ctx context.Context, camera string, req micro.Request, e endpoint) error {
	if !isRequest(req.Reply(), req.Headers()) {
		s.cfg.Refused(NoRequest)
		return nil // no client waits where an answer would go
	}
	if !s.take() {
		return fail(req, errStopping)
	}
	defer s.inHand.Done()
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	a, err := s.carryOut(ctx, camera, req, e)
	if err != nil {
		return fail(req, err)
	}
	header := micro.Headers{}
	if a.contentType != "" {
		header[headerContentType] = []string{a.contentType}
	}
	if a.sequence != "" {
		header[api.HeaderSequence] = []string{a.sequence}
	}
	if len(a.warnings) > 0 {
		header[headerWarning] = a.warnings
	}
	var opts []micro.RespondOpt
	if len(header) > 0 {
		opts = append(opts, micro.WithHeaders(header))
	}
	return req.Respond(a.data, opts...)
}

// carryOut is what e does, within its limits.
func (s *service) carryOut(ctx context.Context, camera string, req micro.Request, e endpoint) (a answer, err error) {
	if n := len(req.Data()); n > e.most {
		s.cfg.Refused(TooLarge)
		return a, tooMuch("the request has %d bytes, more than the %s accepted", n, limit.Text(int64(e.most)))
	}
	if wait, ok := s.limits.Spend(camera, e.cost); !ok {
		s.cfg.Refused(TooOften)
		of := ""
		if camera != "" {
			of = " to camera " + camera
		}
		return a, &api.Refusal{Status: http.StatusTooManyRequests, Detail: fmt.Sprintf("too many requests%s; try again in %d s", of, wait), Retry: wait}
	}
	// The goroutine is nats.go's, where a panic would end the process.
	defer func() {
		if v := recover(); v != nil {
			s.cfg.Panicked()
			s.cfg.Logger.Error("a command panicked", "subject", req.Subject(), "panic", v, "stack", string(debug.Stack()))
			err = errPanicked
		}
	}()
	if a, err = e.do(ctx, camera, req); err != nil {
		return a, s.commands.Refuse(err)
	}
	return a, s.fits(a)
}

func tooMuch(format string, args ...any) error {
	return &api.Refusal{Status: http.StatusRequestEntityTooLarge, Detail: fmt.Sprintf(format, args...)}
}

// fits refuses a reply that the server does not take.
func (s *service) fits(a answer) error {
	header := maxHeader
	for _, w := range a.warnings {
		header += len(headerWarning) + len(w) + 4 // a colon, a blank and the line's end
	}
	if limit := s.conn.MaxPayload(); int64(len(a.data)+header) > limit {
		return tooMuch("the reply has %d bytes, the NATS server takes %d", len(a.data), limit)
	}
	return nil
}

func fail(req micro.Request, err error) error {
	var opts []micro.RespondOpt
	code := api.StatusOf(err, http.StatusBadRequest, api.Status{Is: ErrUnknownCamera, Code: http.StatusNotFound})
	if r := (*api.Refusal)(nil); errors.As(err, &r) {
		if code = r.Status; r.Retry > 0 {
			opts = append(opts, micro.WithHeaders(micro.Headers{headerRetry: {strconv.Itoa(r.Retry)}}))
		}
	}
	return req.Error(strconv.Itoa(code), headerText(err.Error()), []byte(err.Error()), opts...)
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
	if http.DetectContentType(payload) == TypePNG {
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
