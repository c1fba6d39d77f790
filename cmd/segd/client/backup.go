package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/segd/segd/cmd/segd/backup"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/internal/files"
	"github.com/segd/segd/internal/sealed"
)

func backupCommand(std cli.Streams) *cobra.Command {
	var from storeFlags
	var withKey bool
	cmd := from.command(&cobra.Command{
		Use:   "backup FILE",
		Short: "Save what segd knows of its cameras to a file",
		Long: "The newest checkpoint of each camera that is whole, so with its objects, and the cameras\n" +
			"that were added while segd ran, encrypted as they are kept. FILE is a tar. The\n" +
			"configuration is a file of yours, and is not in it.\n\n" +
			"The key of those cameras is in FILE only with --with-key: who has the file then has\n" +
			"their passwords. Without it, keep a copy of the key elsewhere.\n\n" +
			"It asks the NATS server while segd runs; -c opens the store of a segd that does not,\n" +
			"as the user that segd runs as. It is for those whom the server permits all: of the\n" +
			"server inside segd, users of the role admin; docs/nats.md has what another one has to\n" +
			"permit.",
		Example: "  segd backup home.tar\n" +
			"  segd backup home.tar --cameras gate,yard --nats nats://me:PASSWORD@192.0.2.20:4222\n" +
			"  segd backup home.tar -c /etc/segd/segd.yaml --with-key    # while segd does not run",
	}, "file with the key of the cameras, for --with-key", func(ctx context.Context, args []string) error {
		return backUp(ctx, std, &from, withKey, args[0])
	})
	cmd.Flags().BoolVar(&withKey, "with-key", false, "put the key of the added cameras' passwords into FILE")
	return cmd
}

func backUp(ctx context.Context, std cli.Streams, from *storeFlags, withKey bool, path string) (err error) {
	s, err := from.open(ctx, std)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	b := &backup.Backup{Site: s.Site(), Created: time.Now().Truncate(time.Second), Cameras: map[string]backup.Camera{}}
	if withKey {
		if b.Key, err = from.readKey(); err == nil && b.Key == nil {
			err = fmt.Errorf("backup: --with-key: there is no key file %q; accepted: --key FILE, that of nats.cameras_key", from.key)
		}
		if err == nil {
			_, err = sealed.ParseKey(b.Key)
		}
		if err != nil {
			return cli.Usage(err)
		}
	}
	settings, err := s.KeptCameras(ctx)
	if err != nil {
		return denied(err)
	}
	names, err := s.kept.Cameras(ctx)
	if err != nil {
		return denied(err)
	}
	names = slices.Compact(slices.Sorted(slices.Values(slices.Concat(names, slices.Collect(maps.Keys(settings))))))
	if len(names) == 0 {
		return fmt.Errorf("backup: nothing is kept of any camera of site %s", s.Site())
	}
	if names, err = chosen(names, from.cameras); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	var lines []string
	encrypted := 0
	for _, name := range names {
		k, err := s.read(ctx, name)
		if err != nil {
			return err
		}
		value, added := settings[name]
		if k.damaged {
			fmt.Fprintf(std.Err, "%s: no checkpoint of it is whole; its objects are not in the backup\n", name)
		}
		if added && value == nil {
			fmt.Fprintf(std.Err, "%s: its settings are damaged, and not in the backup\n", name)
		}
		if value == nil && k.checkpoint == nil {
			continue
		}
		if value != nil {
			encrypted++
		}
		b.Cameras[name] = backup.Camera{Settings: value, Checkpoint: k.checkpoint, Short: k.short}
		lines = append(lines, name+": "+contents(value != nil, k.time))
	}
	var content bytes.Buffer
	if err := backup.Write(&content, b); err != nil {
		return err
	}
	if err := files.WriteWhole(path, 0o600, content.Bytes()); err != nil {
		return cli.Usage(fmt.Errorf("backup: %w", err))
	}
	switch {
	case b.Key != nil:
		fmt.Fprintf(std.Err, "%s has the key of the cameras' passwords: keep it as you keep those\n", path)
	case encrypted > 0:
		fmt.Fprintln(std.Err, "the settings of the cameras that were added are encrypted with a key that is not in the backup: keep a copy of it (nats.cameras_key)")
	}
	_, err = fmt.Fprintf(std.Out, "%s\n%s: %d cameras of site %s\n", strings.Join(lines, "\n"), path, len(b.Cameras), b.Site)
	return err
}

// contents says what there is of a camera.
func contents(settings bool, at time.Time) string {
	var parts []string
	if settings {
		parts = append(parts, "settings")
	}
	if !at.IsZero() {
		parts = append(parts, "objects as of "+at.Local().Format(time.DateTime))
	}
	return strings.Join(parts, ", ")
}

// chosen are those of the names that the user asked for.
func chosen(names, wanted []string) ([]string, error) {
	if len(wanted) == 0 {
		return names, nil
	}
	for _, name := range wanted {
		if !slices.Contains(names, name) {
			return nil, cli.Usage(fmt.Errorf("there is no camera %q; accepted: %s", name, strings.Join(names, ", ")))
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(wanted))), nil
}
