package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/cameras"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/configured"
	"github.com/segd/segd/config"
	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/internal/plain"
	"github.com/segd/segd/outputs/mqtt"
	"github.com/segd/segd/outputs/recording"
	"github.com/segd/segd/outputs/webhook"
)

// probeTimeout bounds how long a camera may take to show its first frame.
const probeTimeout = 20 * time.Second

func checkCommand(std cli.Streams) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "check -c FILE",
		Short: "Check a configuration and all it names, without starting",
		Long: "Reads the configuration and its annotations, tries the model, tries the ports that\n" +
			"segd would listen on and the folder it would write to, connects to the NATS server if\n" +
			"it is an external one and to the MQTT broker if there is one, and waits for a frame\n" +
			"of each camera, all at once.\n\n" +
			"The exit status is 2 where the configuration has to be changed, 1 where something\n" +
			"merely did not answer, and 0 when all is well.",
		Example: "  segd check -c segd.yaml\n" +
			"  segd check -c /etc/segd/segd.yaml && systemctl reload segd",
		Args: cli.Args,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := cli.LoadConfig(cmd.Context(), file)
			if err != nil {
				return err
			}
			return check(cmd.Context(), std.Out, std.Err, cfg)
		},
	}
	cli.ConfigFlag(cmd, &file)
	return cmd
}

// errCheck is returned when something did not answer; what, has been printed.
var errCheck = errors.New("not everything is well, see above")

// trial is one thing that check tries.
type trial struct {
	what string
	try  func() (detail string, err error)
}

// trials lists what there is to try in cfg.
func trials(ctx context.Context, cfg *config.Config) []trial {
	list := []trial{{"model", func() (string, error) { return checkModel(ctx, cfg.Model) }}}
	if slices.ContainsFunc(cfg.Cameras, func(c config.Camera) bool { return c.Detect.On() }) {
		list = append(list, trial{"detector", func() (string, error) { return checkDetector(cfg) }})
	}
	there := segdAt(ctx, cfg)
	for _, a := range addresses(cfg) {
		list = append(list, trial{a.network + " " + a.addr, func() (string, error) { return checkAddress(ctx, a, there) }})
	}
	switch {
	case cfg.NATS.URL != "":
		list = append(list, trial{"nats", func() (string, error) { return checkNATS(ctx, cfg) }})
	case cfg.NATS.StoreDir != "":
		list = append(list, trial{"nats.store_dir", func() (string, error) { return checkFolder(cfg.NATS.StoreDir) }})
	}
	if cfg.Recording.On() {
		list = append(list, trial{"recording.dir", func() (string, error) { return checkRecording(cfg.Recording) }})
	}
	if cfg.MQTT.On() {
		list = append(list, trial{"mqtt", func() (string, error) { return "", mqtt.Try(ctx, configured.MQTT(cfg, nil)) }})
	}
	for _, h := range configured.Webhooks(cfg) {
		list = append(list, trial{"webhook " + h.Name, func() (string, error) { return "", webhook.Try(ctx, h) }})
	}
	for _, cam := range cfg.Cameras {
		list = append(list, trial{"camera " + cam.Name, func() (string, error) { return checkCamera(ctx, cfg.HTTP.BasePath, cam) }})
		for _, r := range cam.RulesOf() {
			list = append(list, trial{"rule " + r.Name + " of camera " + cam.Name, func() (string, error) { return ": an event " + r.String(), nil }})
		}
	}
	return list
}

// check prints a line for each thing it tries on w, and on progress how far it is.
// What the configuration is at fault for makes a usage error of it.
func check(ctx context.Context, w, progress io.Writer, cfg *config.Config) error {
	type result struct {
		detail string
		err    error
	}
	list := trials(ctx, cfg)
	results := make([]result, len(list))
	done := make(chan struct{}, len(list))
	for i, t := range list {
		go func() {
			results[i].detail, results[i].err = t.try()
			done <- struct{}{}
		}()
	}
	bar := cli.NewProgress(progress, "checking")
	for n := range list {
		<-done
		bar.Step(n+1, len(list))
	}
	bar.End()

	paint, worst := cli.StyleOf(w), 0
	for i, r := range results {
		if r.err != nil {
			fmt.Fprintf(w, "%s: %s: %s\n", list[i].what, paint.Bad("FAILED"), plain.Error(r.err))
			worst = max(worst, cli.Status(r.err))
			continue
		}
		fmt.Fprintf(w, "%s: %s%s\n", list[i].what, paint.Good("ok"), r.detail)
	}
	switch worst {
	case 0:
		return nil
	case cli.ExitUsage:
		return cli.Usage(errCheck)
	}
	return errCheck
}

// checkDetector opens what finds the things that cameras mark by themselves, if that is not the network.
func checkDetector(cfg *config.Config) (string, error) {
	d, err := configured.OpenDetector(cfg)
	if err != nil || d == nil {
		return ": the network's own", err
	}
	return ": " + d.String(), d.Close()
}

// checkAddress fails if another program listens there. That the segd of this configuration does is what one
// expects of one that is in use.
func checkAddress(ctx context.Context, a address, r running) (string, error) {
	err := a.free(ctx)
	detail := ""
	if err != nil && r.there {
		if detail, err = r.taken(a); err == nil {
			detail = ", " + detail
		}
	}
	return ": " + a.setting + detail, err
}

// checkFolder tries whether files can be made in dir, or dir itself.
func checkFolder(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", cli.Usage(err)
	}
	f, err := os.CreateTemp(dir, ".segd-check-*")
	if err != nil {
		return "", cli.Usage(err)
	}
	return ": " + dir, errors.Join(f.Close(), os.Remove(f.Name()))
}

// checkRecording tells whether files can be made, and whether there is room for as many as are to be kept.
func checkRecording(r config.Recording) (string, error) {
	detail, err := checkFolder(r.Dir)
	if err != nil {
		return "", err
	}
	const mib = 1 << 20
	var disk syscall.Statfs_t
	if err := syscall.Statfs(r.Dir, &disk); err != nil {
		return "", err
	}
	free := int64(disk.Bavail) * disk.Bsize / mib //nolint:gosec // of a disk
	if free < int64(r.MaxMiB) {
		detail += fmt.Sprintf(", but %d MiB of its disk are free and recording.max_mib is %d: what is recorded already counts as part of these", free, r.MaxMiB)
	}
	return detail, nil
}

func checkModel(ctx context.Context, cfg config.Model) (string, error) {
	path := cmp.Or(cfg.Path, dnn.EmbeddedName)
	info, err := dnn.Probe(ctx, path, configured.ModelOptions(cfg))
	if err != nil {
		return "", cli.Usage(err)
	}
	return fmt.Sprintf(": %s, %d channels, %.0f ms a frame", info.Path, info.Channels(), info.Milliseconds), nil
}

func checkNATS(ctx context.Context, cfg *config.Config) (string, error) {
	// Its cli.Streams are left as they are: only a segd that runs may change them.
	small, err := bus.Dial(ctx, cfg.NATS.URL, configured.NATSAccess(cfg.NATS))
	if err != nil {
		return "", err
	}
	if small != "" {
		small = ", but " + small
	}
	return ": " + bus.Redact(cfg.NATS.URL) + small, nil
}

func checkCamera(ctx context.Context, base string, cam config.Camera) (string, error) {
	detail := ""
	if cam.Annotation != "" {
		a, err := cameras.ReadAnnotation(ctx, cam.Annotation)
		if err != nil {
			return "", cli.Usage(err)
		}
		detail = fmt.Sprintf(": annotation of %d objects on %d×%d", len(a.Objects), a.Width, a.Height)
		if a.Picture == nil && !configured.Fits(cam) {
			detail += " without its picture: it is not known whether it fits"
		}
	}
	if cam.Published() { // nothing to be asked: it comes by itself
		return detail + ": waits for publishers at " + base + "/whip/" + cam.Name + " and " + base + "/publish/" + cam.Name, nil
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var of codec.ID
	err := ingest.First(ctx, cameras.Source(cam, nil), func(_ *ingest.Frame, id codec.ID) { of = id })
	if err == nil && cam.Record {
		if fault := recording.Recorded(of); fault != nil {
			err = cli.Usage(fmt.Errorf("record: true, and %w, or set record: false", fault))
		}
	}
	return detail, err
}
