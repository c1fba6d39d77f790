package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/config"
	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/ingest"
)

// probeTimeout bounds how long a camera may take to show its first frame.
const probeTimeout = 20 * time.Second

func checkCommand(std streams) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "check -c FILE",
		Short: "Check a configuration and all it names, without starting",
		Long: "Reads the configuration and its annotations, tries the model, connects to the\n" +
			"NATS server if it is an external one, and waits for a frame of each camera.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfig(file)
			if err != nil {
				return err
			}
			return check(cmd.Context(), std.out, cfg)
		},
	}
	configFlag(cmd, &file)
	return cmd
}

// errCheck is returned when something did not answer; what, has been printed.
var errCheck = errors.New("not everything is well, see above")

// check prints a line for each thing it tries. What the configuration is at fault
// for comes back as itself; what merely did not answer as errCheck.
func check(ctx context.Context, w io.Writer, cfg *config.Config) error {
	type result struct {
		what, detail string
		err          error
	}
	var tries []func() result
	try := func(what string, f func() (string, error)) {
		tries = append(tries, func() result {
			detail, err := f()
			return result{what, detail, err}
		})
	}
	try("model", func() (string, error) { return checkModel(ctx, cfg.Model) })
	if cfg.NATS.URL != "" {
		try("nats", func() (string, error) { return checkNATS(ctx, cfg) })
	}
	for _, cam := range cfg.Cameras {
		try("camera "+cam.Name, func() (string, error) { return checkCamera(ctx, cam) })
	}

	results := make([]result, len(tries))
	var running sync.WaitGroup
	for i, f := range tries {
		running.Go(func() { results[i] = f() })
	}
	running.Wait()

	worst := 0
	for _, r := range results {
		if r.err != nil {
			fmt.Fprintf(w, "%s: FAILED: %v\n", r.what, r.err)
			worst = max(worst, status(r.err))
			continue
		}
		fmt.Fprintf(w, "%s: ok%s\n", r.what, r.detail)
	}
	switch worst {
	case 0:
		return nil
	case exitUsage:
		return usageError{errCheck}
	}
	return errCheck
}

func checkModel(ctx context.Context, cfg config.Model) (string, error) {
	path := cfg.Path
	if path == "" {
		path = dnn.EmbeddedName
	}
	info, err := dnn.Probe(ctx, path, modelOptions(cfg))
	if err != nil {
		return "", usageError{err}
	}
	return fmt.Sprintf(": %s, %d channels, %.0f ms a frame", info.Path, info.Channels(), info.Milliseconds), nil
}

func checkNATS(ctx context.Context, cfg *config.Config) (string, error) {
	// Its streams are left as they are: only a segd that runs may change them.
	if err := bus.Dial(ctx, cfg.NATS.URL, natsAccess(cfg.NATS)); err != nil {
		return "", accessError(err)
	}
	return ": " + bus.Redact(cfg.NATS.URL), nil
}

func checkCamera(ctx context.Context, cam config.Camera) (string, error) {
	detail := ""
	if cam.Annotation != "" {
		a, err := readAnnotation(cam.Annotation)
		if err != nil {
			return "", err
		}
		detail = fmt.Sprintf(": annotation of %d objects on %d×%d", len(a.Objects), a.Width, a.Height)
	}
	if cam.Published() { // nothing to be asked: it comes by itself
		return detail + ": waits for publishers at /whip/" + cam.Name + " and /publish/" + cam.Name, nil
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return detail, ingest.Probe(ctx, sourceConfig(cam, nil))
}
