package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/configured"
	"github.com/segd/segd/pipeline/checkpoint"
)

// storeFlags say where the store is that segd keeps what it knows in, and the key of its cameras.
type storeFlags struct {
	to      Target
	config  string
	key     string
	cameras []string
}

func (f *storeFlags) command(cmd *cobra.Command, key string, do func(ctx context.Context, args []string) error) *cobra.Command {
	f.to.wait = time.Minute
	f.to.command(cmd, do)
	flags := cmd.Flags()
	flags.StringVarP(&f.config, "config", "c", "", "configuration of a segd that does not run, to open its store itself")
	flags.StringVar(&f.key, "key", "", key+" (default that of the configuration)")
	flags.StringSliceVar(&f.cameras, "cameras", nil, "names of the cameras that are meant (default all)")
	for _, name := range []string{"nats", "site"} {
		cmd.MarkFlagsMutuallyExclusive("config", name)
	}
	_ = cmd.MarkFlagFilename("config", "yaml", "yml") // the flag is there
	return cmd
}

// store is open until close.
type store struct {
	*bus.Bus
	kept *bus.Checkpoints
}

// open opens the store, and finds the key's file if it was not named.
func (f *storeFlags) open(ctx context.Context, std cli.Streams) (_ *store, err error) {
	log := slog.New(slog.NewTextHandler(std.Err, &slog.HandlerOptions{Level: slog.LevelError}))
	cfg := bus.Config{Site: f.to.site, External: bus.External{URL: f.to.server.url, Access: f.to.server.access}, Logger: log}
	if f.config != "" {
		c, err := cli.LoadConfig(ctx, f.config)
		if err != nil {
			return nil, err
		}
		if c.NATS.URL == "" && c.NATS.StoreDir == "" {
			return nil, cli.Usage(fmt.Errorf("%s: nats.store_dir: missing, so nothing is kept; accepted: a folder", f.config))
		}
		if cfg, err = configured.NATS(c, log); err != nil {
			return nil, cli.Usage(err)
		}
		if f.key == "" {
			f.key = configured.CamerasKey(c.NATS)
		}
	}
	cfg.KeptOnly = true
	b, err := bus.Open(ctx, cfg)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%w; while segd runs leave out -c, and name its server by --nats", err)
	} else if err != nil {
		return nil, err
	}
	for !b.Connected() {
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
			continue
		}
		return nil, errors.Join(b.Err(), b.Close())
	}
	return &store{b, b.Checkpoints()}, nil
}

// denied adds to an error what it means when no server answers.
func denied(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w; the store is for those whom the server permits it: of the server inside segd, users of the role admin", err)
	}
	return err
}

// knows is what is kept of a camera, without what is damaged.
type knows struct {
	checkpoint, short []byte
	time              time.Time // of checkpoint
	damaged           bool      // there is something, and none of it is whole
}

func (s *store) read(ctx context.Context, camera string) (k knows, err error) {
	short, all, err := s.kept.Load(ctx, camera)
	if err != nil {
		return k, denied(err)
	}
	k.damaged = len(all) > 0
	for _, data := range all {
		if c, err := decode(camera, data); err == nil {
			k.checkpoint, k.time, k.damaged = data, c.Time, false
			break
		}
	}
	if _, err := decode(camera, short); err == nil && k.checkpoint != nil {
		k.short = short
	}
	return k, nil
}

// decode reads a checkpoint of a camera.
func decode(camera string, data []byte) (*checkpoint.Checkpoint, error) {
	c, err := checkpoint.Decode(data)
	if err == nil && c.Camera != camera {
		err = fmt.Errorf("it is of camera %q", c.Camera)
	}
	return c, err
}

// readKey returns the text of the key's file; nil if there is none.
func (f *storeFlags) readKey() ([]byte, error) {
	if f.key == "" {
		return nil, nil
	}
	text, err := os.ReadFile(f.key)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return bytes.TrimSpace(text), err
}
