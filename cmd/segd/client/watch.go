package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/record"
	"github.com/segd/segd/outputs/draw"
)

type watchFlags struct {
	nats        natsFlags
	page        Page
	save, masks string
}

func watchCommand(std cli.Streams) *cobra.Command {
	var f watchFlags
	cmd := &cobra.Command{
		Use:   "watch CAMERA|SUBJECT",
		Short: "Print masks, events and status as they arrive",
		Long: "Prints a line for each frame of a camera at whatever site, or for each message on\n" +
			"a NATS subject such as 'segd.v1.home.*.event' or 'segd.v1.*.*.status'.\n\n" +
			"--save writes the pictures with the masks drawn on, DIR/CAMERA-SEQUENCE.png each, or\n" +
			"all to one video if its name ends in .mp4. Pictures are not on NATS: it gets them,\n" +
			"and the lines it prints, from segd's page.\n\n" +
			"--masks writes the masks alone, DIR/CAMERA-SEQUENCE.png. A pixel's value is the\n" +
			"object's id and the palette gives it a colour, so the file can be looked at and\n" +
			"can be given to `segd annotate`.\n\n" +
			"A full disk, or one too slow, costs the files of the frames it has no room for. The\n" +
			"lines go on, and the exit status is 1 in the end.",
		Example: "  segd watch gate                      # a line for each frame\n" +
			"  segd watch 'segd.v1.*.*.event'       # what happens, at every camera\n" +
			"  segd watch gate --masks masks        # each frame's masks as PNG\n" +
			"  segd watch gate --save gate.mp4      # the pictures with the masks drawn on",
		Args: cli.Args,
		RunE: func(cmd *cobra.Command, args []string) error { return watch(cmd.Context(), std, args[0], f) },
	}
	f.nats.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.save, "save", "", "folder, or FILE.mp4, to write the pictures with their masks to")
	flags.StringVar(&f.masks, "masks", "", "folder to write each frame's masks to, as PNG")
	f.page.Register(cmd)
	cmd.ValidArgsFunction = f.nats.completeAny
	return cmd
}

func watch(ctx context.Context, std cli.Streams, target string, f watchFlags) (err error) {
	if f.save != "" && !IsCamera(target) {
		return cli.Usage(fmt.Errorf("watch: --save with the subject %q; accepted: a camera's name", target))
	}
	savers, err := openSavers(std, f)
	defer func() {
		for _, s := range savers {
			err = errors.Join(err, s.Close())
		}
	}()
	if err != nil {
		return cli.Usage(fmt.Errorf("watch: %w", err))
	}
	show := func(m *segdv1.MaskFrame, picture []byte) {
		fmt.Fprintln(std.Out, cli.Printable(MaskLine(m)))
		for _, s := range savers {
			s.Offer(Picture{Masks: m, JPEG: picture})
		}
	}
	say := func(line string) { fmt.Fprintln(std.Err, cli.Printable(line)) }
	faulty := LeftOut{Say: say}
	defer faulty.Sum()
	if f.save != "" {
		err = f.page.Watch(ctx, target, 0, PageHandlers{Frame: show, LeftOut: faulty.Add})
	} else {
		err = watchBus(ctx, std, target, f.nats, func(m *segdv1.MaskFrame) { show(m, nil) }, func(subject string, err error) {
			if err = fmt.Errorf("%s: %w", subject, err); errors.Is(err, bus.ErrObjects) {
				faulty.Add(err)
			} else {
				say(err.Error())
			}
		})
	}
	if ctx.Err() != nil {
		return nil // ended by its caller
	}
	return err
}

// LeftOut tells of the first frame that objects were left out of, and in the end how many there were: where one
// is faulty, those after it are.
type LeftOut struct {
	Say    func(string)
	frames int
}

// Add counts a frame with objects that were left out, by a reason.
func (l *LeftOut) Add(err error) {
	if l.frames++; l.frames == 1 {
		l.Say(fmt.Sprintf("%v; the others are there, and further frames like it are counted", err))
	}
}

// Sum tells of how many there were.
func (l *LeftOut) Sum() {
	if l.frames > 0 {
		l.Say(fmt.Sprintf("objects were left out of %d frames", l.frames))
	}
}

// openSavers starts what f asks to be saved.
func openSavers(std cli.Streams, f watchFlags) (savers []*Saver, err error) {
	say := func(line string) { fmt.Fprintln(std.Err, cli.Printable(line)) }
	if f.masks != "" {
		dir, err := record.OpenFolder(f.masks)
		if err != nil {
			return nil, err
		}
		savers = append(savers, NewSaver(f.masks, SaveQueue, func(p Picture) error { return saveMasks(dir, p.Masks) }, say, dir.Close))
	}
	if f.save != "" {
		drawn, err := record.Open(f.save)
		if err != nil {
			return savers, err
		}
		savers = append(savers, NewSaver(f.save, SaveQueue, overlays(drawn), say, drawn.Close))
	}
	return savers, nil
}

func watchBus(ctx context.Context, std cli.Streams, target string, server natsFlags, show func(*segdv1.MaskFrame), bad func(subject string, err error)) error {
	return bus.Watch(ctx, server.url, target, bus.Handlers{
		Mask:     show,
		Event:    func(e *segdv1.Event) { fmt.Fprintln(std.Out, cli.Printable(eventLine(e))) },
		Status:   func(s *segdv1.Status) { fmt.Fprintln(std.Out, cli.Printable(statusLine(s))) },
		Bad:      bad,
		Unserved: func(served []bus.Served) { fmt.Fprintln(std.Err, unserved(target, server.url, served)) },
		Logger:   slog.New(slog.NewTextHandler(std.Err, nil)),
	}, server.access)
}

// unserved says that nothing will come of what is watched as things are.
func unserved(target, url string, served []bus.Served) string {
	if len(served) == 0 {
		return fmt.Sprintf("watch: no segd at %s runs any camera; waiting for %s", bus.Redact(url), target)
	}
	return fmt.Sprintf("watch: no segd at %s runs a camera %s; they run %s; waiting for it", bus.Redact(url), target, bus.Named(served))
}

// clock is a time of day as the lines have it.
func clock(t time.Time) string { return t.Local().Format("15:04:05.000") }

// MaskLine is a frame of masks as people read it.
func MaskLine(m *segdv1.MaskFrame) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  frame %d  %d×%d  %s after capture", clock(m.GetCaptureTime().AsTime()),
		m.Camera, m.Sequence, m.Width, m.Height, cli.MS(m.GetPublishTime().AsTime().Sub(m.GetCaptureTime().AsTime())))
	if len(m.Objects) == 0 {
		b.WriteString("  no objects")
	}
	for _, o := range m.Objects {
		fmt.Fprintf(&b, "  %s %s", cli.ObjectName(o.Id, o.Label), stateName(o.State))
		if o.Area > 0 {
			fmt.Fprintf(&b, " %d px at (%d,%d) %d×%d, score %.2f",
				o.Area, o.Box.GetX(), o.Box.GetY(), o.Box.GetWidth(), o.Box.GetHeight(), o.Score)
		}
		b.WriteString(extentText(o.Extent))
	}
	return b.String()
}

// extentText is an object's extent at the end of what is said of it; empty without one.
func extentText(e *segdv1.Box) string {
	if e == nil {
		return ""
	}
	return fmt.Sprintf(", extent (%d,%d) %d×%d", e.X, e.Y, e.Width, e.Height)
}

func stateName(s segdv1.State) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "STATE_"))
}

func eventLine(e *segdv1.Event) string {
	kind := strings.ReplaceAll(segdv1.KindName(e.Kind), "_", " ")
	line := fmt.Sprintf("%s  %s  %s", clock(e.GetTime().AsTime()), e.Camera, kind)
	if e.ObjectId != 0 {
		line += ": " + cli.ObjectName(e.ObjectId, e.ObjectLabel)
		if e.ObjectClass != "" && e.ObjectClass != e.ObjectLabel {
			line += ", a " + e.ObjectClass
		}
		if b := e.Box; b != nil {
			line += fmt.Sprintf(", at (%d,%d) %d×%d, score %.2f", b.X, b.Y, b.Width, b.Height, e.Score)
		}
		line += extentText(e.Extent)
	}
	if e.Message != "" {
		line += ": " + e.Message
	}
	return line
}

func statusLine(s *segdv1.Status) string {
	up := "up"
	if !s.Up {
		up = "down: " + s.Error
	}
	return fmt.Sprintf("%s  %s  %s  in %d (%.1f fps)  dropped %d  out %d (%.1f fps)  latency p50 %.0f ms  p95 %.0f ms",
		clock(s.GetTime().AsTime()), s.Camera, up, s.FramesIn, s.FpsIn, s.FramesDropped, s.FramesPublished, s.FpsOut,
		1000*s.LatencyP50Seconds, 1000*s.LatencyP95Seconds)
}

// overlays returns what adds a frame, with its masks drawn on, to a recording; to a video
// at its time since the first.
func overlays(to *record.Recording) func(Picture) error {
	began := false
	var first time.Duration // stream time
	return func(p Picture) error {
		m := p.Masks
		img, err := drawMasks(m, p.JPEG)
		if err != nil {
			return err
		}
		if !began {
			began, first = true, time.Duration(m.PtsNs)
		}
		return to.WriteAt(frameName(m), img, time.Duration(m.PtsNs)-first)
	}
}

// saveMasks writes m's masks as a palette PNG.
func saveMasks(dir *os.Root, m *segdv1.MaskFrame) error {
	img, err := draw.Labels(m)
	if err != nil {
		return err
	}
	return record.SavePNG(dir, frameName(m)+".png", img)
}

// frameName is a frame's file's name, without its ending.
func frameName(m *segdv1.MaskFrame) string { return fmt.Sprintf("%s-%06d", m.Camera, m.Sequence) }
