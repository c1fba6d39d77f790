package daemon

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/config"
)

func runCommand(std cli.Streams, v Version) *cobra.Command {
	var from source
	cmd := &cobra.Command{
		Use:   "run -c FILE",
		Short: "Run the daemon",
		Long: "Runs until a signal, or until every source that can end has ended. `segd init` writes\n" +
			"a configuration in which every setting is explained; any outside the cameras list can\n" +
			"come from the environment too, http.addr from SEGD_HTTP_ADDR.\n\n" +
			"When the file changes, at SIGHUP and when `segd reload` asks it is read again: cameras\n" +
			"come, go and change while the others run. What takes a restart is said.\n\n" +
			"Started by systemd as Type=notify it says when it is ready and, where WatchdogSec= is\n" +
			"set, lets itself be started anew once cameras are up and none of them advances.",
		Example: "  segd run                                     # segd.yaml in this folder\n" +
			"  segd run -c /etc/segd/segd.yaml\n" +
			"  SEGD_LOG_LEVEL=debug segd run -c segd.yaml   # the environment overrides the file",
		Args: cli.Args,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from.base == "" {
				from.base = filepath.Dir(from.file)
			}
			return runDaemon(cmd.Context(), std, v, from)
		},
	}
	cli.ConfigFlag(cmd, &from.file)
	cmd.Flags().StringVar(&from.base, "base", "", "folder that relative paths in the file start at (default the file's)")
	cmd.Flags().BoolVar(&from.watch, "watch", true, "read the configuration again when its file changes")
	_ = cmd.MarkFlagDirname("base") // the flags are there
	return cmd
}

func runDaemon(ctx context.Context, std cli.Streams, v Version, from source) (err error) {
	signals, stop := hangups()
	defer stop()
	sum := source{file: from.file}.sum(ctx) // a change from now on is one
	cfg, err := config.LoadIn(ctx, from.base, from.file, os.Environ())
	if err != nil {
		return cli.Usage(err)
	}
	log, level := newLogger(std.Err, cfg.Log)
	logAddresses(log, cfg.Addresses(from.file, os.Environ()))
	d, err := openDaemon(ctx, v, cfg, log, func(d *daemon) {
		d.level, d.base, d.reloader = level, from.base, newReloader(d, from, sum, signals)
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	if err := d.build(ctx); err != nil {
		return err
	}
	// A service's journal wants no line a second; a person at a terminal does.
	var tick func(time.Duration)
	if cli.IsTerminal(std.Out) {
		tick = lines(std.Out, d.snapshots)
	}
	start := time.Now()
	err = d.serveManaged(ctx, tick)
	for _, s := range d.snapshots() {
		summary(std.Out, time.Since(start), s)
	}
	return err
}

// logAddresses says what segd listens on and goes to, and who says so: a variable that is forgotten in a shell counts
// before the file.
func logAddresses(log *slog.Logger, addresses []config.Address) {
	var all []any
	for _, a := range addresses {
		all = append(all, a.Setting, a.Value+" ("+a.From+")")
	}
	log.Info("addresses, and where they are from", all...)
}

// serveManaged is serve under systemd's eyes, if systemd started segd.
func (d *daemon) serveManaged(ctx context.Context, tick func(time.Duration)) error {
	ctx, cancel := context.WithCancel(ctx)
	var managing sync.WaitGroup
	managing.Go(func() { newManager(d.watch, d.limit, d.log).run(ctx, d.snapshots) })
	err := d.serve(ctx, tick)
	cancel()
	managing.Wait()
	return err
}
