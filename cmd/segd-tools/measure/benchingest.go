package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/configured"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/internal/pause"
	"github.com/segd/segd/internal/resident"
)

// benchDrained: with nothing new for so long, nothing more is on its way.
const benchDrained = 2 * time.Second

type benchIngestFlags struct {
	benchFlags
	transport, decode string
}

// check refuses what cannot be measured.
func (f *benchIngestFlags) check() error {
	if err := f.benchFlags.check(); err != nil {
		return err
	}
	switch {
	case !slices.Contains(codec.Devices, codec.Device(f.decode)):
		return cli.Usage(fmt.Errorf("--decode %q: accepted: software, cuda, vaapi, auto", f.decode))
	case !slices.Contains([]string{"tcp", "udp", "auto"}, f.transport):
		return cli.Usage(fmt.Errorf("--transport %q: accepted: tcp, udp, auto", f.transport))
	}
	return nil
}

func benchIngestCommand(std cli.Streams) *cobra.Command {
	f := new(benchIngestFlags)
	cmd := &cobra.Command{
		Use:   "ingest",
		Short: "What receiving and decoding cameras costs",
		Long: fmt.Sprintf("Receives and decodes RTSP cameras of H.264 at %d frames a second, served on\n"+
			"loopback by a process of their own, without looking for anything in the pictures.\n"+
			"A frame is lost if a camera sent it and it was not decoded whole. CPU time, memory\n"+
			"and frames/s are this process', a camera: 100 %% is one core, memory is resident MiB\n"+
			"beyond what the process had before it opened the first.", benchFPS),
		Example: "  segd bench ingest --cameras 16 --for 60s\n" +
			"  segd bench ingest --cameras 4 --transport udp --json",
		Args: cli.Args,
		RunE: func(cmd *cobra.Command, _ []string) error { return runBenchIngest(cmd.Context(), std, f) },
	}
	flags := cmd.Flags()
	flags.IntVar(&f.cameras, "cameras", 16, "how many")
	flags.DurationVar(&f.duration, "for", 20*time.Second, "measure for this long, once every camera is up")
	flags.StringVar(&f.size, "size", "854x480", "of their pictures, WxH")
	flags.StringVar(&f.decode, "decode", string(codec.Software), "what decodes: software, cuda, vaapi or auto")
	flags.StringVar(&f.transport, "transport", "tcp", "tcp, udp or auto")
	flags.StringVar(&f.clip, "clip", demo.FindClip(), "video that the cameras play")
	flags.BoolVar(&f.json, "json", false, "print one JSON object on standard output")
	return cmd
}

// ingestReport is what `segd bench ingest --json` prints.
type ingestReport struct {
	Cameras    int     `json:"cameras"`
	FramesLost int64   `json:"frames_lost"`
	CPU        float64 `json:"cpu_percent_per_camera"`
	RSSMB      float64 `json:"rss_mb_per_camera"`
	FPS        float64 `json:"fps"` // of one camera
}

func runBenchIngest(ctx context.Context, std cli.Streams, f *benchIngestFlags) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	cameras, err := startBenchCameras(ctx, std.Err, f.cameras, f.clip, demo.Shape{Width: f.width, Height: f.height, FPS: benchFPS, Frames: benchFrames})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cameras.end()) }()
	r, err := measureIngest(ctx, std, f, cameras)
	if err != nil {
		return err
	}
	if f.json {
		return cli.WriteJSON(std.Out, r)
	}
	_, err = fmt.Fprintf(std.Out, "%d cameras of %s: %.1f frames/s each, %d frames lost, %.1f %% of a core and %.1f MiB a camera\n",
		r.Cameras, f.size, r.FPS, r.FramesLost, r.CPU, r.RSSMB)
	return err
}

// receivers are the sources that watch the cameras, and what they got.
type receivers struct {
	whole []atomic.Int64 // frames decoded whole, of each camera
	stop  context.CancelFunc
	done  sync.WaitGroup
}

// receive begins to watch every camera. stop and done.Wait must follow.
func receive(ctx context.Context, urls []string, transport string, decode codec.Device) (*receivers, error) {
	r := &receivers{whole: make([]atomic.Int64, len(urls))}
	var sources []*ingest.Source
	for i, url := range urls {
		s, err := ingest.Open(ingest.Config{
			Camera: fmt.Sprint(i), URL: url, Transport: transport, Decode: decode, FirstDial: configured.Stagger(i),
		})
		if err != nil {
			return nil, err
		}
		sources = append(sources, s)
	}
	ctx, r.stop = context.WithCancel(ctx)
	for i, s := range sources {
		r.done.Go(func() {
			_ = s.Run(ctx, func(f *ingest.Frame) { // only ever ctx's error
				if !f.Damaged {
					r.whole[i].Add(1)
				}
				f.Release()
			})
		})
	}
	return r, nil
}

func (r *receivers) total() int64 {
	var n int64
	for i := range r.whole {
		n += r.whole[i].Load()
	}
	return n
}

// up waits until every camera has shown a frame.
func (r *receivers) up(ctx context.Context) error {
	return await(ctx, "the cameras", func() error {
		dark := 0
		for i := range r.whole {
			if r.whole[i].Load() == 0 {
				dark++
			}
		}
		if dark == 0 {
			return nil
		}
		return fmt.Errorf("%d of %d showed no frame", dark, len(r.whole))
	})
}

// drain waits until all that was sent has come, or nothing more does.
func (r *receivers) drain(ctx context.Context, sent []int64) (lost int64, err error) {
	last, since := r.total(), time.Now()
	for end := time.Now().Add(benchPatience); ; {
		lost = 0
		for i := range sent {
			lost += max(0, sent[i]-r.whole[i].Load())
		}
		if n := r.total(); n != last {
			last, since = n, time.Now()
		}
		if lost == 0 || time.Since(since) > benchDrained || time.Now().After(end) {
			return lost, nil
		}
		if err := pause.For(ctx, 10*time.Millisecond); err != nil {
			return lost, err
		}
	}
}

func measureIngest(ctx context.Context, std cli.Streams, f *benchIngestFlags, cameras *benchCameras) (ingestReport, error) {
	report := ingestReport{Cameras: f.cameras}
	rss0, err := resident.MB()
	if err != nil {
		return report, err
	}
	r, err := receive(ctx, cameras.urls, f.transport, codec.Device(f.decode))
	if err != nil {
		return report, err
	}
	defer func() {
		r.stop()
		r.done.Wait()
	}()
	if err := r.up(ctx); err != nil {
		return report, err
	}

	began, cpu0, frames0 := time.Now(), resident.CPUTime(), r.total()
	if err := measuring(ctx, std, f.duration); err != nil {
		return report, err
	}
	took, cpu, frames := time.Since(began), resident.CPUTime()-cpu0, r.total()-frames0
	rss, err := resident.MB()
	if err != nil {
		return report, err
	}
	sent, err := cameras.stop(ctx)
	if err != nil {
		return report, err
	}
	if report.FramesLost, err = r.drain(ctx, sent); err != nil {
		return report, err
	}
	n := float64(f.cameras)
	report.CPU = 100 * cpu.Seconds() / took.Seconds() / n
	report.RSSMB = (rss - rss0) / n
	report.FPS = float64(frames) / took.Seconds() / n
	return report, nil
}
