package main

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/config"
	"github.com/segd/segd/mask"
)

type watchFlags struct{ nats, save, overlay, page, token string }

func watchCommand(std streams) *cobra.Command {
	var f watchFlags
	cmd := &cobra.Command{
		Use:   "watch CAMERA|SUBJECT",
		Short: "Print masks, events and status as they arrive",
		Long: "Prints a line for each frame of a camera at whatever site, or for each message on\n" +
			"a NATS subject such as 'segd.v1.home.*.event' or 'segd.v1.*.*.status'.\n\n" +
			"--save writes each frame's masks as DIR/CAMERA-SEQUENCE.png. A pixel's value is\n" +
			"the object's id and the palette gives it a colour, so the file can be looked at\n" +
			"and can be given to `segd annotate`.\n\n" +
			"--overlay writes the pictures with the masks drawn on. Pictures are not on NATS:\n" +
			"it gets them, and the lines it prints, from segd's page.",
		Example: "  segd watch gate                              # a line for each frame\n" +
			"  segd watch 'segd.v1.*.*.event'               # what happens, at every camera\n" +
			"  segd watch gate --save masks                 # each frame's masks as PNG\n" +
			"  segd watch gate --overlay pictures           # the pictures with the masks drawn on",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return watch(cmd.Context(), std, args[0], f) },
	}
	natsFlag(cmd, &f.nats)
	flags := cmd.Flags()
	flags.StringVar(&f.save, "save", "", "folder to write each frame's masks to, as PNG")
	flags.StringVar(&f.overlay, "overlay", "", "folder to write each frame's picture with its masks to, as JPEG")
	flags.StringVar(&f.page, "page", "http://"+config.DefaultHTTPAddr, "URL of the page, for --overlay")
	flags.StringVar(&f.token, "token", os.Getenv("SEGD_HTTP_TOKEN"), "the page's token (default $SEGD_HTTP_TOKEN)")
	flags.Lookup("token").DefValue = "" // keeps it out of --help
	return cmd
}

func watch(ctx context.Context, std streams, target string, f watchFlags) error {
	for _, dir := range []string{f.save, f.overlay} {
		if dir == "" {
			continue
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return usageError{fmt.Errorf("watch: %w", err)}
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	show := func(m *segdv1.MaskFrame) error {
		fmt.Fprintln(std.out, maskLine(m))
		if f.save == "" {
			return nil
		}
		return saveMasks(f.save, m)
	}
	var err error
	switch {
	case f.overlay != "" && !isCamera(target):
		return usageError{fmt.Errorf("watch: --overlay with the subject %q; accepted: a camera's name", target)}
	case f.overlay != "":
		err = watchPage(ctx, f.page, f.token, target, func(m *segdv1.MaskFrame, picture []byte) error {
			return errors.Join(show(m), saveOverlay(f.overlay, m, picture))
		})
	default:
		err = watchBus(ctx, std, target, f.nats, func(m *segdv1.MaskFrame) {
			if err := show(m); err != nil {
				cancel(err)
			}
		})
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	if ctx.Err() != nil {
		return nil // ended by whoever started it
	}
	return err
}

func watchBus(ctx context.Context, std streams, target, url string, show func(*segdv1.MaskFrame)) error {
	return bus.Watch(ctx, url, target, bus.Handlers{
		Mask:   show,
		Event:  func(e *segdv1.Event) { fmt.Fprintln(std.out, eventLine(e)) },
		Status: func(s *segdv1.Status) { fmt.Fprintln(std.out, statusLine(s)) },
		Bad:    func(subject string, err error) { fmt.Fprintf(std.err, "%s: %v\n", subject, err) },
		Logger: slog.New(slog.NewTextHandler(std.err, nil)),
	})
}

// clock is a time of day as the lines have it.
func clock(t time.Time) string { return t.Local().Format("15:04:05.000") }

func maskLine(m *segdv1.MaskFrame) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  frame %d  %d×%d  %s after capture", clock(m.GetCaptureTime().AsTime()),
		m.Camera, m.Sequence, m.Width, m.Height, ms(m.GetPublishTime().AsTime().Sub(m.GetCaptureTime().AsTime())))
	if len(m.Objects) == 0 {
		b.WriteString("  no objects")
	}
	for _, o := range m.Objects {
		fmt.Fprintf(&b, "  %s %s", objectName(o.Id, o.Label), stateName(o.State))
		if o.Area > 0 {
			fmt.Fprintf(&b, " %d px at (%d,%d) %d×%d, score %.2f",
				o.Area, o.Box.GetX(), o.Box.GetY(), o.Box.GetWidth(), o.Box.GetHeight(), o.Score)
		}
	}
	return b.String()
}

func stateName(s segdv1.State) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "STATE_"))
}

func eventLine(e *segdv1.Event) string {
	kind := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(e.Kind.String(), "EVENT_KIND_")), "_", " ")
	line := fmt.Sprintf("%s  %s  %s", clock(e.GetTime().AsTime()), e.Camera, kind)
	if e.ObjectId != 0 {
		line += ": " + objectName(e.ObjectId, e.ObjectLabel)
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

// saveMasks writes m's masks as a palette PNG.
func saveMasks(dir string, m *segdv1.MaskFrame) (err error) {
	img, err := paint(m)
	if err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%s-%06d.png", m.Camera, m.Sequence)))
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return encode(f, img)
}

func encode(w io.Writer, img image.Image) error {
	if err := png.Encode(w, img); err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	return nil
}

// paint draws every mask of m with its object's id; a higher id covers a lower.
func paint(m *segdv1.MaskFrame) (*image.Paletted, error) {
	img := image.NewPaletted(image.Rect(0, 0, int(m.Width), int(m.Height)), palette)
	var bits []uint8
	for _, o := range m.Objects {
		if o.Id >= uint32(len(palette)) {
			return nil, fmt.Errorf("watch: object id %d; a PNG holds ids up to %d", o.Id, len(palette)-1)
		}
		rle, err := mask.Parse(o.Counts, int(m.Width), int(m.Height))
		if err != nil {
			return nil, fmt.Errorf("watch: frame %d, object %d: %w", m.Sequence, o.Id, err)
		}
		bits = rle.Decode(bits)
		for i, b := range bits {
			if b != 0 {
				img.Pix[i] = uint8(o.Id)
			}
		}
	}
	return img, nil
}

// palette is PASCAL VOC's, which DAVIS and most mask editors use: black for the
// background, then colours whose bits are spread over the channels.
var palette = func() color.Palette {
	p := make(color.Palette, 256)
	for i := range p {
		var r, g, b uint8
		for id, shift := i, 7; id != 0; id, shift = id>>3, shift-1 {
			r |= uint8(id&1) << shift
			g |= uint8(id>>1&1) << shift
			b |= uint8(id>>2&1) << shift
		}
		p[i] = color.RGBA{r, g, b, 255}
	}
	return p
}()
