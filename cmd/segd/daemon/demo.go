package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/config"
	"github.com/segd/segd/ingest/demo"
)

type demoFlags struct {
	duration    time.Duration
	json        bool
	clip        string
	addr, nats  string
	model       string
	level       string
	superpixels int
	byHand      bool
}

func demoCommand(std cli.Streams, v Version) *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run a sample camera, its masks, the page and a NATS server in one process",
		Long: "Plays a clip of a real surveillance camera (Debian's opencv-doc) over RTSP on\n" +
			"loopback, finds who walks through it and follows them, as `segd run` would.",
		Example: "  segd demo                                    # then open http://127.0.0.1:8080\n" +
			"  segd demo --for 30s --json >figures.json     # ends by itself, with figures\n" +
			"  segd demo --by-hand                          # two persons that are marked by hand, no one else\n" +
			"  segd demo --clip street.mp4 --log info       # another video",
		Args: cli.Args,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.duration < 0 {
				return cli.Usage(fmt.Errorf("--for %v: accepted: a duration above 0 such as 30s", f.duration))
			}
			return runDemo(cmd.Context(), std, v, f)
		},
	}
	flags := cmd.Flags()
	flags.DurationVar(&f.duration, "for", 0, "end by itself after this long, such as 30s")
	flags.BoolVar(&f.json, "json", false, "end with one JSON object on standard output")
	flags.StringVar(&f.clip, "clip", demo.FindClip(), "video to play")
	flags.StringVar(&f.addr, "addr", "", "host:port of the page (default \""+config.DefaultHTTPAddr+"\")")
	flags.StringVar(&f.nats, "nats", "", "host:port of the NATS server (default \""+config.DefaultNATSAddr+"\")")
	flags.StringVar(&f.model, "model", "", "ONNX or Caffe model (default the one in the binary)")
	flags.IntVar(&f.superpixels, "superpixels", 0, fmt.Sprintf("pieces a frame is cut into (default %d)", config.DefaultSuperpixels))
	flags.BoolVar(&f.byHand, "by-hand", false, "detect nothing: follow two persons that are marked by hand")
	flags.StringVar(&f.level, "log", "", "debug, info, warn or error (default \"warn\")")
	return cmd
}

// demoConfig is the configuration of a camera at url. It is a file like any
// other, so that the environment overrides it as it does any other.
func demoConfig(f demoFlags, url string) (*config.Config, error) {
	detect := "{classes: [person], max_objects: 12, keep: 5s}"
	if f.byHand {
		detect = "{off: true}"
	}
	text := "log: {level: warn}\ncameras: [{name: demo, transport: tcp, url: '" + url + "', detect: " + detect + "}]\n"
	environ := os.Environ()
	for name, value := range map[string]string{
		"SEGD_HTTP_ADDR": f.addr, "SEGD_NATS_ADDR": f.nats, "SEGD_MODEL_PATH": f.model, "SEGD_LOG_LEVEL": f.level,
	} {
		if value != "" {
			environ = append(environ, name+"="+value) // the last one counts
		}
	}
	if f.superpixels != 0 {
		environ = append(environ, fmt.Sprintf("SEGD_SUPERPIXELS=%d", f.superpixels))
	}
	cfg, err := config.Parse("demo", []byte(text), environ)
	if err != nil {
		return nil, cli.Usage(err)
	}
	cfg.Cameras[0].Record = cfg.Recording.On() // which the environment alone can say
	return cfg, nil
}

func runDemo(ctx context.Context, std cli.Streams, v Version, f demoFlags) (err error) {
	// For now the camera has no address: the clip is not served before the ports
	// are known to be free.
	cfg, err := demoConfig(f, "rtsp://127.0.0.1/")
	if err != nil {
		return err
	}
	log, _ := newLogger(std.Err, cfg.Log)
	addresses := cfg.Addresses("demo", os.Environ())
	for i, a := range addresses {
		switch {
		case a.Setting == "http.addr" && f.addr != "":
			addresses[i].From = "--addr"
		case a.Setting == "nats.addr" && f.nats != "":
			addresses[i].From = "--nats"
		}
	}
	logAddresses(log, addresses)
	_, stop := hangups() // which would end others, and ask for nothing here: there is no file
	defer stop()
	d, err := openDaemon(ctx, v, cfg, log, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	if f.byHand {
		if d.annotations["demo"], err = annotation.ParseFor(demo.Persons, 0, 0); err != nil {
			return err
		}
		d.fits = true // the clip begins with the frame that they are marked on
	}

	clip, err := prepareClip(ctx, std.Err, f)
	if err != nil {
		return err
	}
	server, err := demo.NewServer(clip, demo.Config{Logger: log})
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	defer server.Close()
	cfg.Cameras[0].URL = server.URL()
	if err := d.build(ctx); err != nil {
		return err
	}

	human := std.Out
	if f.json {
		human = std.Err
	}
	fmt.Fprintf(human, "camera %s  page %s  masks %s on segd.v1.%s.demo.mask\n", server.URL(), d.web.URL(), d.bus.URL(), cfg.Site)
	if f.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.duration)
		defer cancel()
	}
	start := time.Now()
	if err := d.serve(ctx, lines(human, d.snapshots)); err != nil {
		return err
	}
	for _, end := range d.snapshots() { // none where another box of a fleet runs it
		summary(human, time.Since(start), end)
		if f.json {
			return cli.WriteJSON(std.Out, newReport(end))
		}
	}
	return nil
}

// prepareClip compresses the clip and shows how far it is.
func prepareClip(ctx context.Context, w io.Writer, f demoFlags) (*demo.Clip, error) {
	bar := cli.NewProgress(w, "preparing the clip")
	defer bar.End()
	if !f.byHand {
		return demo.Prepare(ctx, f.clip, demo.Shape{Start: demo.StartOf(f.clip)}, bar.Step)
	}
	clip, err := demo.Prepare(ctx, f.clip, demo.Shape{Start: demo.Start}, bar.Step)
	if err != nil {
		return nil, fmt.Errorf("--by-hand marks two persons of the sample clip: %w", err)
	}
	return clip, nil
}
