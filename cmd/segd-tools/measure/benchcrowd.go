package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/cmd/segd-tools/measure/crowd"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/features"
	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/internal/pause"
	"github.com/segd/segd/internal/resident"
)

const (
	crowdReferenceRuns = 7
	// crowdPatience is how long segd may take to find everybody.
	crowdPatience = 15 * time.Second
	// crowdGrows is the least number of persons that the exponent is fitted to.
	crowdGrows = 4
)

// benchCrowdFlags are those of the pipeline, of one camera, for each of some numbers of persons.
type benchCrowdFlags struct {
	benchPipelineFlags
	persons []int
	share   float64 // of the picture that each has
}

// shape is that of a crowd of so many.
func (f *benchCrowdFlags) shape(persons int) crowd.Shape {
	return crowd.Shape{Persons: persons, Width: f.width, Height: f.height, Share: f.share}
}

func benchCrowdCommand(std cli.Streams) *cobra.Command {
	f := &benchCrowdFlags{benchPipelineFlags: benchPipelineFlags{
		benchFlags: benchFlags{cameras: 1}, detect: true, computing: dnn.Computing{BatchWait: dnn.DefaultBatchWait},
	}}
	cmd := &cobra.Command{
		Use:   "crowd",
		Short: "What a frame costs, by the number of persons in it",
		Long: "Starts `segd run` with an RTSP camera, served on loopback by this process, that shows as\n" +
			"many persons as asked for: those of the demo's clip, cut out, side by side before its\n" +
			"empty scene, tiled to --size. segd marks and follows them by itself, or is told of them\n" +
			"by boxes if they are enlarged by --share. Measured are, of segd alone and once it follows\n" +
			"them for 3 s, for each number of persons:\n\n" +
			"  objects            that have a mask, the mean\n" +
			"  core_ms            processor time for a published frame, all in all\n" +
			"  stages_ms          mean time a frame, of stages that overlap\n" +
			"  fps, p95_ms        published frames a second, and their latency\n\n" +
			"reference_core_ms is the processor time for the features of one whole picture (network,\n" +
			"superpixels, pooling) on one thread, in the same run. exponent is by which power core_ms\n" +
			"grows with the persons, from 4 on.",
		Example: "  segd bench crowd --objects 1,2,4,8,16,30\n  segd bench crowd --size 1920x1080 --objects 8,30 --json\n" +
			"  segd bench crowd --size 854x480 --fps 25 --objects 2 --share 0.25",
		Args: cli.Args,
		RunE: func(cmd *cobra.Command, _ []string) error { return runBenchCrowd(cmd.Context(), std, f) },
	}
	flags := cmd.Flags()
	flags.IntSliceVar(&f.persons, "objects", []int{1, 2, 4, 8, 16, 30}, "numbers of persons, 1 to 30 each")
	flags.Float64Var(&f.share, "share", 0, "part of the picture that the box of each has, 0 to 1, if it is not higher than that then: persons are marked by boxes; 0: they are as large as in the clip, and segd marks them")
	flags.StringVar(&f.size, "size", "768x576", "of the pictures, WxH")
	flags.IntVar(&f.fps, "fps", 10, "their frames a second")
	flags.DurationVar(&f.duration, "for", 10*time.Second, "measure each number for this long")
	cli.AddComputing(cmd, &f.computing)
	flags.BoolVar(&f.json, "json", false, "print one JSON object on standard output")
	return cmd
}

// crowdReport is what `segd bench crowd --json` prints: of each number of persons one entry everywhere.
type crowdReport struct {
	Persons   []int                `json:"persons"`
	Objects   []float64            `json:"objects"`
	CoreMS    []float64            `json:"core_ms"`
	Stages    []map[string]float64 `json:"stages_ms"`
	FPS       []float64            `json:"fps"`
	P95       []float64            `json:"p95_ms"`
	Reference float64              `json:"reference_core_ms"`
	Exponent  *float64             `json:"exponent"` // null of fewer than two numbers from crowdGrows on
}

func runBenchCrowd(ctx context.Context, std cli.Streams, f *benchCrowdFlags) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	if len(f.persons) == 0 {
		return cli.Usage(errors.New("--objects: none; accepted: numbers from 1 to 30, such as 4,8,16"))
	}
	for _, n := range f.persons {
		if n < 1 || n > benchMostObjects {
			return cli.Usage(fmt.Errorf("--objects %d: accepted: 1 to %d", n, benchMostObjects))
		}
	}
	if !(f.share >= 0 && f.share <= 1) {
		return cli.Usage(fmt.Errorf("--share %v: accepted: 0 to 1", f.share))
	}
	f.detect = f.share == 0
	alone := f.computing
	alone.Batch, alone.Threads = 1, 1
	model, err := dnn.Embedded(dnn.Options{Computing: alone})
	if err != nil {
		return cli.Usage(err)
	}
	defer func() { err = errors.Join(err, model.Close()) }()
	people, err := crowd.New(ctx, demo.FindClip())
	if err != nil {
		return err
	}
	r := &crowdReport{Persons: f.persons}
	if r.Reference, err = crowdReference(people.Draw(0, f.shape(slices.Max(f.persons))), model); err != nil {
		return err
	}
	for _, n := range f.persons {
		if err := r.measure(ctx, std, f, people, n); err != nil {
			return err
		}
	}
	r.fit()
	if f.json {
		return cli.WriteJSON(std.Out, r)
	}
	return r.tell(std.Out)
}

// oneCore is no further core.
type oneCore struct{}

func (oneCore) TryAcquire(int) int { return 0 }
func (oneCore) Release(int)        {}

// crowdReference is the processor time for the features of one whole picture on one thread, in milliseconds: the
// median of a few.
func crowdReference(p *crowd.Picture, model features.Model) (float64, error) {
	e, err := features.New(features.Config{Cores: oneCore{}}, model)
	if err != nil {
		return 0, err
	}
	var scene features.Scene
	return median(crowdReferenceRuns, resident.CPUTime, func() error {
		return e.Extract(&scene, p.BGR, p.Width, p.Height, features.Plan{Whole: true})
	})
}

// measure has segd follow so many persons, and adds what that costs.
func (r *crowdReport) measure(ctx context.Context, std cli.Streams, f *benchCrowdFlags, people *crowd.Crowd, persons int) (err error) {
	clip, err := demo.Draw(codec.EncoderConfig{Width: f.width, Height: f.height, FPS: f.fps}, crowd.Frames, func(n int) []byte {
		return people.Draw(n, f.shape(persons)).BGR
	})
	if err != nil {
		return err
	}
	camera, err := demo.NewServer(clip, demo.Config{})
	if err != nil {
		return err
	}
	if err := camera.Start(); err != nil {
		return err
	}
	defer camera.Close()
	s, err := startBenchSegd(ctx, std.Err, &f.benchPipelineFlags, []string{camera.URL()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	if !f.detect {
		if err := await(ctx, "masks", func() error { return s.published(benchCameraName(0), 0) }); err != nil {
			return err
		}
		if err := s.mark(ctx, benchCameraName(0), crowdObjects(people, f.shape(persons))); err != nil {
			return err
		}
	}
	for end := time.Now().Add(crowdPatience); s.published(benchCameraName(0), persons) != nil && time.Now().Before(end); {
		if err := pause.For(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	var p pipelineReport
	if err := s.observe(ctx, std, &f.benchPipelineFlags, &p); err != nil {
		return err
	}
	r.Objects, r.CoreMS = append(r.Objects, p.objects), append(r.CoreMS, p.CoreMS)
	r.Stages, r.FPS, r.P95 = append(r.Stages, p.Stages), append(r.FPS, p.FPS), append(r.P95, p.Latency.P95)
	return nil
}

// crowdObjects returns the annotation of a frame of a crowd.
func crowdObjects(people *crowd.Crowd, s crowd.Shape) func(frame uint64) *annotation.Annotation {
	return func(frame uint64) *annotation.Annotation {
		a := &annotation.Annotation{Width: s.Width, Height: s.Height}
		for k := range s.Persons {
			b := people.Box(int(frame), k, s)
			a.Objects = append(a.Objects, annotation.Object{ID: uint32(k + 1), Box: []float64{float64(b.Min.X), float64(b.Min.Y), float64(b.Max.X), float64(b.Max.Y)}})
		}
		return a
	}
}

// fit sets the exponent, by least squares of the logarithms.
func (r *crowdReport) fit() {
	var n, sx, sy, sxx, sxy float64
	for i, persons := range r.Persons {
		if persons >= crowdGrows {
			x, y := math.Log(float64(persons)), math.Log(r.CoreMS[i])
			n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
		}
	}
	if d := n*sxx - sx*sx; d > 1e-9 {
		r.Exponent = new((n*sxy - sx*sy) / d)
	}
}

func (r *crowdReport) tell(out io.Writer) error {
	fmt.Fprintf(out, "the features of one whole picture take %.1f core-ms\n", r.Reference)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "persons\tobjects\tcore-ms\tof the reference\tframes/s\tp95 ms\t\n")
	for i, n := range r.Persons {
		fmt.Fprintf(w, "%d\t%.1f\t%.1f\t%.2f\t%.1f\t%.0f\t\n", n, r.Objects[i], r.CoreMS[i], r.CoreMS[i]/r.Reference, r.FPS[i], r.P95[i])
	}
	if err := w.Flush(); err != nil || r.Exponent == nil {
		return err
	}
	_, err := fmt.Fprintf(out, "it grows by the power %.2f\n", *r.Exponent)
	return err
}
