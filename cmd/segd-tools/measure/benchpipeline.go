package measure

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/spf13/cobra"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/config"
	"github.com/segd/segd/features"
	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/internal/files"
	"github.com/segd/segd/internal/pause"
)

const (
	// benchMostObjects is how many objects a camera may have at most.
	benchMostObjects = 30
	// benchSettled is how long the objects are followed before it is measured.
	benchSettled = 3 * time.Second
	// benchReference is the size of the reference's frame.
	benchReferenceWidth, benchReferenceHeight = 864, 480
	benchReferenceRuns                        = 10
)

type benchPipelineFlags struct {
	benchFlags
	fps, objects int
	model        string
	computing    dnn.Computing
	detect       bool   // persons are marked by segd itself
	add          string // a file of configuration
	camera       string // settings of each camera
	beside       string // a command
}

// check refuses what cannot be measured.
func (f *benchPipelineFlags) check() error {
	if err := f.benchFlags.check(); err != nil {
		return err
	}
	switch {
	case f.fps < 1 || f.fps > 120:
		return cli.Usage(fmt.Errorf("--fps %d: accepted: 1 to 120", f.fps))
	case f.objects < 0 || f.objects > benchMostObjects:
		return cli.Usage(fmt.Errorf("--objects %d: accepted: 0 to %d", f.objects, benchMostObjects))
	}
	if f.detect {
		f.objects = 0
	}
	return nil
}

func benchPipelineCommand(std cli.Streams) *cobra.Command {
	f := new(benchPipelineFlags)
	cmd := &cobra.Command{
		Use:   "pipeline",
		Short: "What following objects costs, from the cameras to NATS",
		Long: "Starts `segd run` with RTSP cameras of H.264, served on loopback by a process of their\n" +
			"own, marks objects in them, and subscribes to the masks. The cameras play the demo's\n" +
			"clip from the frame on that its two persons are marked in; further objects are boxes\n" +
			"spread over the picture. Measured are, of segd alone and once the objects were followed\n" +
			"for 3 s:\n\n" +
			"  fps                published frames a second, of one camera\n" +
			"  dropped_percent    of the frames that came\n" +
			"  outcomes_percent   what became of these: dropped_features and dropped_tracker gave way\n" +
			"                     to a newer frame while they waited for features, and to be tracked\n" +
			"  latency_ms         from a frame's due time at the camera to its masks' publication\n" +
			"  stages_ms          mean time a frame, of stages that overlap\n" +
			"  busy_percent       of the time that a camera's stage works, and does not wait for a\n" +
			"                     core: frames are dropped where features or track come near to 100,\n" +
			"                     or where cpu_percent comes near to 100 a core\n" +
			"  cores              that there are\n" +
			"  cpu_percent        100 is one core\n" +
			"  core_ms            processor time for a published frame\n" +
			"  rss_mb             resident memory\n" +
			"  allocs_per_frame   on Go's heap, for a published frame, but for what is measured with\n" +
			"  images_per_run     that the model computes together (--batch)\n" +
			"  device_failures    times a card failed and the processor took over\n" +
			"  reference_ms       one forward of the model in the binary at 864×480, before segd is\n" +
			"                     started, so that figures of different days compare\n\n" +
			"--add, --camera and --beside tell what a feature costs: configuration that segd has,\n" +
			"such as mqtt, nats.pictures, privacy and rtsp, that its cameras have, such as record and\n" +
			"rules, and a command that runs meanwhile, such as a viewer. It has SEGD_CLIENT_PAGE and\n" +
			"SEGD_CLIENT_NATS; the cameras are called camera0, camera1 and so on.",
		Example: "  segd bench pipeline --cameras 1 --size 1920x1080 --fps 25 --objects 2\n" +
			"  segd bench pipeline --cameras 4 --fps 10 --engine opencv --json\n" +
			"  segd bench pipeline --detect --fps 10 --add privacy.yaml --beside 'segd record camera0 /tmp/r'",
		Args: cli.Args,
		RunE: func(cmd *cobra.Command, _ []string) error { return runBenchPipeline(cmd.Context(), std, f) },
	}
	flags := cmd.Flags()
	flags.IntVar(&f.cameras, "cameras", 1, "how many")
	flags.StringVar(&f.size, "size", "854x480", "of their pictures, WxH")
	flags.IntVar(&f.fps, "fps", 25, "their frames a second")
	flags.IntVar(&f.objects, "objects", 2, "followed in each")
	flags.DurationVar(&f.duration, "for", 20*time.Second, "measure for this long")
	flags.BoolVar(&f.detect, "detect", false, "persons are marked by segd itself, and nothing else")
	flags.StringVar(&f.camera, "camera", "", "settings that each camera has besides, as between YAML's braces: 'record: true'")
	flags.StringVar(&f.add, "add", "", "file of configuration that segd has besides; names of files in it are absolute")
	flags.StringVar(&f.beside, "beside", "", "command for the shell that runs while it is measured")
	flags.StringVar(&f.model, "model", "", "ONNX or Caffe model (default the one in the binary, which reference_ms is of anyway)")
	cli.AddComputing(cmd, &f.computing)
	flags.IntVar(&f.computing.Batch, "batch", 0, "pictures that the model computes in one run at most (default 8 on a card, else 1)")
	flags.DurationVar(&f.computing.BatchWait, "batch-wait", dnn.DefaultBatchWait, "how long a picture waits for others")
	flags.StringVar(&f.clip, "clip", demo.FindClip(), "video that the cameras play; of another than the demo's no persons are marked")
	flags.BoolVar(&f.json, "json", false, "print one JSON object on standard output")
	return cmd
}

// percentiles of a time, in milliseconds.
type percentiles struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

// pipelineReport is what `segd bench pipeline --json` prints.
type pipelineReport struct {
	Cameras   int                `json:"cameras"`
	FPS       float64            `json:"fps"`
	Dropped   float64            `json:"dropped_percent"`
	Outcomes  map[string]float64 `json:"outcomes_percent"`
	Latency   percentiles        `json:"latency_ms"`
	Stages    map[string]float64 `json:"stages_ms"`
	Busy      map[string]float64 `json:"busy_percent"`
	Cores     int                `json:"cores"`
	CPU       float64            `json:"cpu_percent"`
	CoreMS    float64            `json:"core_ms"`
	RSS       float64            `json:"rss_mb"`
	Allocs    float64            `json:"allocs_per_frame"`
	Batch     float64            `json:"images_per_run"`
	Failures  float64            `json:"device_failures"`
	Reference float64            `json:"reference_ms"`

	objects float64 // with a mask, a frame
}

func runBenchPipeline(ctx context.Context, std cli.Streams, f *benchPipelineFlags) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	report := pipelineReport{Cameras: f.cameras}
	if report.Reference, err = reference(f.computing); err != nil {
		return err
	}
	shape := demo.Shape{Width: f.width, Height: f.height, FPS: f.fps, Start: demo.StartOf(f.clip)}
	cameras, err := startBenchCameras(ctx, std.Err, f.cameras, f.clip, shape)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cameras.end()) }()
	s, err := startBenchSegd(ctx, std.Err, f, cameras.urls)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	if err := s.measure(ctx, std, f, &report); err != nil {
		return err
	}
	if f.json {
		return cli.WriteJSON(std.Out, report)
	}
	return tellPipeline(std.Out, f, &report)
}

func tellPipeline(w io.Writer, f *benchPipelineFlags, r *pipelineReport) error {
	fmt.Fprintf(w, "%d cameras of %s at %d frames/s, %d objects each: %.1f frames/s published each, %.1f %% dropped\n",
		r.Cameras, f.size, f.fps, f.objects, r.FPS, r.Dropped)
	fmt.Fprintf(w, "latency %.0f ms, %.0f in 95 %% and %.0f in 99 %% of the frames\n", r.Latency.P50, r.Latency.P95, r.Latency.P99)
	for _, line := range []struct {
		what   string
		values map[string]float64
	}{{"of the frames, %", r.Outcomes}, {"ms a frame", r.Stages}, {"at work, % of the time", r.Busy}} {
		fmt.Fprint(w, line.what, ":")
		for _, key := range slices.Sorted(maps.Keys(line.values)) {
			fmt.Fprintf(w, "  %s %.1f", key, line.values[key])
		}
		fmt.Fprintln(w)
	}
	_, err := fmt.Fprintf(w, "%.0f %% of one of %d cores, %.1f core-ms a frame, %.0f MiB resident, %.0f allocations a frame, %.2f images a run of the model; the reference takes %.1f ms\n",
		r.CPU, r.Cores, r.CoreMS, r.RSS, r.Allocs, r.Batch, r.Reference)
	return err
}

// reference is how long the model in the binary takes for a frame, in milliseconds: the
// median of a few.
func reference(computing dnn.Computing) (_ float64, err error) {
	computing.Batch = 1
	m, err := dnn.Embedded(dnn.Options{ShortSide: benchReferenceHeight, Computing: computing})
	if err != nil {
		return 0, cli.Usage(err)
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	grey := bytes.Repeat([]byte{128}, 3*benchReferenceWidth*benchReferenceHeight)
	var sight features.Sight
	start := time.Now()
	return median(benchReferenceRuns, func() time.Duration { return time.Since(start) }, func() (err error) {
		sight, err = m.Features(sight, grey, benchReferenceWidth, benchReferenceHeight, features.View{})
		return err
	})
}

// benchSegd is a segd that is measured.
type benchSegd struct {
	cmd       *exec.Cmd
	dir       string // of its configuration
	page, bus string // URLs

	watching context.CancelFunc
	done     sync.WaitGroup

	mu        sync.Mutex
	newest    map[string]*segdv1.MaskFrame // by camera
	recording bool
	latencies []float64 // of the frames since recording began, milliseconds
	masks     int       // in them
}

func benchCameraName(i int) string { return fmt.Sprintf("camera%d", i) }

// startBenchSegd starts a segd with cameras at urls. end must follow.
func startBenchSegd(ctx context.Context, stderr io.Writer, f *benchPipelineFlags, urls []string) (_ *benchSegd, err error) {
	segd, err := cli.FindProgram("segd", "segd bench pipeline measures it")
	if err != nil {
		return nil, err
	}
	s := &benchSegd{newest: map[string]*segdv1.MaskFrame{}}
	if s.dir, err = os.MkdirTemp("", "segd-bench.*"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.end())
		}
	}()
	var addrs [2]string
	for i := range addrs {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		addrs[i] = l.Addr().String()
		_ = l.Close()
	}
	s.page, s.bus = "http://"+addrs[0]+"/", "nats://"+addrs[1]
	text, err := f.added(ctx)
	if err != nil {
		return nil, err
	}
	text += "log: {level: warn}\n"
	c := f.computing
	for _, file := range []*string{&f.model, &c.EngineLibrary} { // the configuration lies elsewhere
		if *file != "" {
			if *file, err = filepath.Abs(*file); err != nil {
				return nil, err
			}
		}
	}
	text += fmt.Sprintf("model: {path: '%s', engine: '%s', engine_library: '%s', device: '%s', fp16: %t, batch_wait: %v", f.model, c.Engine, c.EngineLibrary, c.Device, c.FP16, c.BatchWait)
	if c.Batch > 0 {
		text += fmt.Sprintf(", batch: %d", c.Batch)
	}
	text += "}\ncameras:\n"
	detect := "{off: true}"
	if f.detect {
		detect = "{classes: [person]}"
	}
	for i, url := range urls {
		text += fmt.Sprintf("  - {name: %s, url: '%s', transport: tcp, detect: %s, %s}\n", benchCameraName(i), url, detect, f.camera)
	}
	if f.add != "" || f.camera != "" {
		source := cmp.Or(f.add, "--camera")
		if f.add != "" && f.camera != "" {
			source += " and --camera"
		}
		if _, err := config.Parse(source, []byte(text), nil); err != nil {
			return nil, cli.Usage(err)
		}
	}
	file := filepath.Join(s.dir, "segd.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	s.cmd = exec.CommandContext(ctx, segd, "run", "-c", file)
	// The addresses are of no section, so that what is added may have sections http and nats.
	s.cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "SEGD_") }),
		"SEGD_HTTP_ADDR="+addrs[0], "SEGD_NATS_ADDR="+addrs[1])
	s.cmd.Stderr = stderr
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	s.cmd.WaitDelay = benchPatience
	if err := s.cmd.Start(); err != nil {
		s.cmd = nil
		return nil, err
	}
	if err := await(ctx, "segd's bus", func() error {
		_, err := bus.Dial(ctx, s.bus)
		return err
	}); err != nil {
		return nil, err
	}
	watch, cancel := context.WithCancel(ctx)
	s.watching = cancel
	s.done.Go(func() {
		_ = bus.Watch(watch, s.bus, "segd.v1.*.*.mask", bus.Handlers{Mask: s.see}) // only ever watch's error
	})
	return s, nil
}

// added is what the configuration has besides.
func (f *benchPipelineFlags) added(ctx context.Context) (string, error) {
	if f.add == "" {
		return "", nil
	}
	text, err := files.Read(ctx, f.add, files.Config)
	if err != nil {
		return "", cli.Usage(fmt.Errorf("--add: %w", err))
	}
	return string(text) + "\n", nil
}

// see takes a frame's masks.
func (s *benchSegd) see(m *segdv1.MaskFrame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newest[m.GetCamera()] = m
	if s.recording {
		s.latencies = append(s.latencies, milliseconds(m.GetPublishTime().AsTime().Sub(m.GetCaptureTime().AsTime())))
		for _, o := range m.GetObjects() {
			if o.GetArea() > 0 {
				s.masks++
			}
		}
	}
}

// end ends segd.
func (s *benchSegd) end() error {
	if s.watching != nil {
		s.watching()
		s.done.Wait()
	}
	var err error
	if s.cmd != nil {
		err = errors.Join(s.cmd.Process.Signal(syscall.SIGTERM), s.cmd.Wait())
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// measure marks the objects, waits until they are followed, and measures.
func (s *benchSegd) measure(ctx context.Context, std cli.Streams, f *benchPipelineFlags, r *pipelineReport) error {
	ann, err := benchObjects(f)
	if err != nil {
		return err
	}
	for i := range f.cameras {
		name := benchCameraName(i)
		if err := await(ctx, "masks of "+name, func() error { return s.published(name, 0) }); err != nil {
			return err
		}
		if f.objects == 0 {
			continue
		}
		if err := s.mark(ctx, name, func(uint64) *annotation.Annotation { return ann }); err != nil {
			return err
		}
		if err := await(ctx, "the objects of "+name, func() error { return s.published(name, f.objects) }); err != nil {
			return err
		}
	}
	return s.observe(ctx, std, f, r)
}

// mark marks objects in a camera's first frame. Where that was not received, or is no longer kept, in its newest one.
func (s *benchSegd) mark(ctx context.Context, camera string, objects func(frame uint64) *annotation.Annotation) error {
	to := bus.Target{URL: s.bus, Site: config.DefaultSite, Camera: camera}
	in := func(frame uint64) error {
		a := objects(frame)
		a.Frame = &frame
		data, err := json.Marshal(a)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, benchPatience)
		defer cancel()
		_, err = to.Annotate(ctx, data)
		return err
	}
	if in(0) == nil {
		return nil
	}
	s.mu.Lock()
	newest := s.newest[camera].GetSequence()
	s.mu.Unlock()
	if err := in(newest); err != nil {
		return fmt.Errorf("%s: %w", camera, err)
	}
	return nil
}

// besideCommand runs while it is measured. end must follow.
type besideCommand struct {
	ctx   context.Context // of the measurement
	stop  context.CancelFunc
	ended chan struct{} // closed when it has
	err   error         // then: how
}

// startBeside starts a command for the shell; nil: there is none.
func (s *benchSegd) startBeside(ctx context.Context, std cli.Streams, command string) (*besideCommand, error) {
	if command == "" {
		return nil, nil
	}
	b := &besideCommand{ctx: ctx, ended: make(chan struct{})}
	ctx, b.stop = context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Stdout, cmd.Stderr = std.Err, std.Err
	cmd.Env = append(os.Environ(), "SEGD_CLIENT_PAGE="+s.page, "SEGD_CLIENT_NATS="+s.bus)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // to end what the shell started too
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = benchPatience
	if err := cmd.Start(); err != nil {
		b.stop()
		return nil, fmt.Errorf("--beside: %w", err)
	}
	go func() {
		defer close(b.ended)
		b.err = cmd.Wait()
	}()
	return b, nil
}

// end ends it, and tells whether it ended before.
func (b *besideCommand) end() error {
	if b == nil {
		return nil
	}
	early := false
	select {
	case <-b.ended:
		early = b.ctx.Err() == nil
	default:
	}
	b.stop()
	<-b.ended
	if early {
		return fmt.Errorf("--beside: the command ended before it was measured: %w", cmp.Or(b.err, errors.New("exit status 0")))
	}
	return nil
}

// observe waits a little, and measures.
func (s *benchSegd) observe(ctx context.Context, std cli.Streams, f *benchPipelineFlags, r *pipelineReport) (err error) {
	beside, err := s.startBeside(ctx, std, f.beside)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, beside.end()) }()
	if err := pause.For(ctx, benchSettled); err != nil {
		return err
	}
	const mallocs = "go_memstats_mallocs_total"
	before, err := s.metrics(ctx)
	if err != nil {
		return err
	}
	scrape := math.Inf(1) // what being asked for metrics allocates, with the least of what else does meanwhile
	for range 5 {
		earlier := before
		if before, err = s.metrics(ctx); err != nil {
			return err
		}
		scrape = min(scrape, before.sum(mallocs)-earlier.sum(mallocs))
	}
	began := time.Now()
	s.record(true)
	if err := measuring(ctx, std, f.duration); err != nil {
		return err
	}
	latencies, masks := s.record(false)
	took := time.Since(began).Seconds()
	after, err := s.metrics(ctx)
	if err != nil {
		return err
	}
	if len(latencies) == 0 {
		return errors.New("no frame was published")
	}
	grown := func(name string, labels ...string) float64 {
		return after.sum(name, labels...) - before.sum(name, labels...)
	}
	published := grown("segd_frames_total", "outcome", "published")
	r.objects = float64(masks) / float64(len(latencies))
	r.FPS = published / took / float64(f.cameras)
	r.Dropped = 100 * (1 - published/grown("segd_frames_total"))
	r.Outcomes = map[string]float64{}
	for _, outcome := range after.values("segd_frames_total", "outcome") {
		if n := grown("segd_frames_total", "outcome", outcome); n > 0 {
			r.Outcomes[outcome] = 100 * n / grown("segd_frames_total")
		}
	}
	slices.Sort(latencies)
	at := func(share float64) float64 {
		return latencies[min(int(share*float64(len(latencies))), len(latencies)-1)]
	}
	r.Latency = percentiles{at(0.5), at(0.95), at(0.99)}
	r.Stages, r.Busy, r.Cores = map[string]float64{}, map[string]float64{}, runtime.NumCPU()
	for _, stage := range after.values("segd_stage_duration_seconds", "stage") {
		if n := grown("segd_stage_duration_seconds", "stage", stage); n > 0 {
			seconds := after.histogram("segd_stage_duration_seconds", stage) - before.histogram("segd_stage_duration_seconds", stage)
			r.Stages[stage], r.Busy[stage] = 1000*seconds/n, 100*seconds/took/float64(f.cameras)
		}
	}
	r.CPU = 100 * grown("process_cpu_seconds_total") / took
	r.CoreMS = 1000 * grown("process_cpu_seconds_total") / published
	r.RSS = after.sum("process_resident_memory_bytes") / (1 << 20)
	r.Allocs = max(0, grown(mallocs)-scrape) / published
	r.Batch = grown("segd_dnn_images_total") / max(1, grown("segd_dnn_runs_total"))
	r.Failures = grown("segd_dnn_device_failures_total")
	return nil
}

// published returns an error until a camera has published a frame with so many objects.
func (s *benchSegd) published(camera string, objects int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.newest[camera]
	if m == nil || len(m.GetObjects()) < objects {
		return fmt.Errorf("%d objects", len(m.GetObjects()))
	}
	return nil
}

// record begins or ends to keep the latencies, and returns those that were kept, and how many masks there were.
func (s *benchSegd) record(on bool) (latencies []float64, masks int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	latencies, masks = s.latencies, s.masks
	s.recording, s.latencies, s.masks = on, nil, 0
	return latencies, masks
}

// benchObjects are what is marked, in whichever frame.
func benchObjects(f *benchPipelineFlags) (*annotation.Annotation, error) {
	a := &annotation.Annotation{Width: f.width, Height: f.height}
	if f.clip == demo.FindClip() {
		persons, err := annotation.ParseFor(demo.Persons, 0, 0)
		if err != nil {
			return nil, err
		}
		sx, sy := float64(f.width)/float64(persons.Width), float64(f.height)/float64(persons.Height)
		scale := func(strokes []annotation.Stroke) {
			for i := range strokes {
				strokes[i].Width *= min(sx, sy)
				for k := range strokes[i].Points {
					p := &strokes[i].Points[k]
					p[0], p[1] = p[0]*sx, p[1]*sy
				}
			}
		}
		a.Objects = persons.Objects[:min(len(persons.Objects), f.objects)]
		for _, o := range a.Objects {
			scale(o.Scribbles)
		}
		a.Background = persons.Background // without it the persons would be all there is
		scale(a.Background)
	}
	// In rows of six, each as large as a person of the clip.
	const columns, rows = 6, benchMostObjects / 6
	w, h := float64(f.width), float64(f.height)
	for k := len(a.Objects); k < f.objects; k++ {
		x, y := (float64(k%columns)+0.5)/columns*w, (float64(k/columns%rows)+0.5)/rows*h
		a.Objects = append(a.Objects, annotation.Object{
			ID: uint32(k + 1), Label: fmt.Sprintf("box %d", k+1), Box: []float64{x - w/40, y - h/12, x + w/40, y + h/12},
		})
	}
	return a, nil
}

// scrape is what /metrics said.
type scrape map[string]*dto.MetricFamily

func (s *benchSegd) metrics(ctx context.Context) (_ scrape, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.page+"metrics", nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(resp.Body)
}

// each calls visit with the series of a metric that have a label of that value, if there is
// one to have.
func (s scrape) each(name string, labels []string, visit func(*dto.Metric)) {
	for _, m := range s[name].GetMetric() {
		if len(labels) == 0 || slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName() == labels[0] && l.GetValue() == labels[1] }) {
			visit(m)
		}
	}
}

// sum adds up the series of a counter, a gauge, or the counts of a histogram.
func (s scrape) sum(name string, labels ...string) (sum float64) {
	s.each(name, labels, func(m *dto.Metric) {
		sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
	})
	return sum
}

// histogram adds up what was observed of a stage.
func (s scrape) histogram(name, stage string) (sum float64) {
	s.each(name, []string{"stage", stage}, func(m *dto.Metric) { sum += m.GetHistogram().GetSampleSum() })
	return sum
}

// values are those of a label.
func (s scrape) values(name, label string) []string {
	found := map[string]bool{}
	s.each(name, nil, func(m *dto.Metric) {
		for _, l := range m.GetLabel() {
			if l.GetName() == label {
				found[l.GetValue()] = true
			}
		}
	})
	return slices.Sorted(maps.Keys(found))
}
