package main

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/segd/segd/config"
)

func runCommand(std streams) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "run -c FILE",
		Short: "Run the daemon",
		Long: "Run the daemon until a signal, or until every source that can end has ended.\n" +
			"deploy/segd.example.yaml shows the configuration.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfig(file)
			if err != nil {
				return err
			}
			return runDaemon(cmd.Context(), std, cfg)
		},
	}
	configFlag(cmd, &file)
	return cmd
}

func configFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVarP(file, "config", "c", "segd.yaml", "configuration file")
}

func loadConfig(file string) (*config.Config, error) {
	cfg, err := config.Load(file, os.Environ())
	if err != nil {
		return nil, usageError{err}
	}
	return cfg, nil
}

func runDaemon(ctx context.Context, std streams, cfg *config.Config) (err error) {
	d, err := openDaemon(ctx, cfg, newLogger(std.err, cfg.Log))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	if err := d.build(); err != nil {
		return err
	}
	// A service's journal wants no line a second; a person at a terminal does.
	var tick func(time.Duration)
	if isTerminal(std.out) {
		tick = lines(std.out, d.set.Snapshots)
	}
	start := time.Now()
	err = d.serveManaged(ctx, tick)
	for _, s := range d.set.Snapshots() {
		summary(std.out, time.Since(start), s)
	}
	return err
}

// serveManaged is serve under systemd's eyes, if systemd started segd.
func (d *daemon) serveManaged(ctx context.Context, tick func(time.Duration)) error {
	ctx, cancel := context.WithCancel(ctx)
	var managing sync.WaitGroup
	managing.Go(func() { newManager(d.cfg, d.log).run(ctx, d.set.Snapshots) })
	err := d.serve(ctx, tick)
	cancel()
	managing.Wait()
	return err
}
