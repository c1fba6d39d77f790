package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/cmd/segd/backup"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/internal/sealed"
)

func restoreCommand(std cli.Streams) *cobra.Command {
	var to storeFlags
	var replace bool
	cmd := to.command(&cobra.Command{
		Use:   "restore FILE",
		Short: "Have segd know what a file of segd backup has",
		Long: "On this or another machine. A camera goes on with its objects, ids and names when it\n" +
			"starts the next time; one that was added while segd ran is there again. All of FILE is\n" +
			"checked first, and nothing is changed if something is wrong.\n\n" +
			"A camera that runs is refused, since it would replace what is restored: stop segd, then\n" +
			"restore with -c, as the user that segd runs as, then start it; or, over NATS, pause the\n" +
			"camera or take it out of the configuration. A camera of which something newer is kept, or\n" +
			"that is added with other settings, is refused without --replace.\n\n" +
			"Settings whose key is neither here nor in FILE are left out, and that is said: put the\n" +
			"key file there and restore again, or add the camera again with its password.",
		Example: "  segd restore home.tar -c /etc/segd/segd.yaml\n" +
			"  segd restore home.tar --cameras gate --replace",
	}, "file with the key of the cameras, made if it is in FILE alone", func(ctx context.Context, args []string) error {
		return restore(ctx, std, &to, replace, args[0])
	})
	cmd.Flags().BoolVar(&replace, "replace", false, "replace what is newer, and other settings")
	return cmd
}

func restore(ctx context.Context, std cli.Streams, to *storeFlags, replace bool, path string) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return cli.Usage(fmt.Errorf("restore: %w", err))
	}
	defer f.Close()
	b, err := backup.Read(f)
	if err != nil {
		return cli.Usage(fmt.Errorf("restore: %s: %w", path, err))
	}
	names, err := chosen(slices.Sorted(maps.Keys(b.Cameras)), to.cameras)
	if err != nil {
		return fmt.Errorf("restore: %s: %w", path, err)
	}
	for _, name := range names {
		c := b.Cameras[name]
		for _, data := range [][]byte{c.Checkpoint, c.Short} {
			if data == nil {
				continue
			}
			if _, err := decode(name, data); err != nil {
				return cli.Usage(fmt.Errorf("restore: %s: camera %s: %w", path, name, err))
			}
		}
	}
	s, err := to.open(ctx, std)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Claim(names); errors.Is(err, bus.ErrTaken) {
		return fmt.Errorf("restore: nothing was changed: a segd runs these cameras and would replace what is restored; stop it, or have it pause them (segd camera pause) or take them out of its configuration: %w", err)
	} else if err != nil {
		return denied(err)
	}
	keys, err := to.keys(b)
	if err != nil {
		return fmt.Errorf("restore: nothing was changed: %w", err)
	}
	settings, err := s.KeptCameras(ctx)
	if err != nil {
		return denied(err)
	}
	values := map[string][]byte{}
	var faults []error
	for _, name := range names {
		c := b.Cameras[name]
		there, err := s.read(ctx, name)
		if err != nil {
			return err
		}
		if values[name], err = keys.value(c.Settings); err != nil {
			fmt.Fprintf(std.Err, "%s: its settings are left out: %v; put the key there and restore again, or add the camera with its password (segd camera add %s URL --user USER)\n", name, err, name)
		}
		if c.Checkpoint != nil {
			if cp, _ := decode(name, c.Checkpoint); there.time.After(cp.Time) {
				faults = append(faults, fmt.Errorf("camera %s: what is kept of it is of %s, newer than %s in the backup", name, there.time.Local().Format(time.DateTime), cp.Time.Local().Format(time.DateTime)))
			}
		}
		if old, ok := settings[name]; ok && values[name] != nil && !keys.same(old, values[name]) {
			faults = append(faults, fmt.Errorf("camera %s: it is there with other settings", name))
		}
	}
	if len(faults) > 0 && !replace {
		return fmt.Errorf("restore: nothing was changed; accepted: --replace, or --cameras without these: %w", errors.Join(faults...))
	}
	if err := keys.keep(); err != nil {
		return fmt.Errorf("restore: nothing was changed: %w", err)
	}
	if b.Key != nil && keys.path == "" {
		fmt.Fprintln(std.Err, "the key in the backup is put nowhere: --key FILE names that of the segd here")
	}
	var done []string
	for _, name := range names {
		line, err := s.put(ctx, name, b.Cameras[name], values[name])
		if err != nil {
			return fmt.Errorf("restore: camera %s: %w; restored before it: %s", name, denied(err), cmp.Or(strings.Join(done, ", "), "none"))
		}
		done = append(done, name)
		fmt.Fprintf(std.Out, "%s: restored, %s\n", name, line)
	}
	if to.config == "" && slices.ContainsFunc(names, func(name string) bool { return values[name] != nil }) {
		fmt.Fprintln(std.Err, "a segd that runs takes up cameras that it does not know when it reloads (segd reload), and changes of others when it starts again")
	}
	return nil
}

// put keeps what a backup has of a camera: its settings last, so that a segd that finds it finds all.
func (s *store) put(ctx context.Context, name string, c backup.Camera, value []byte) (string, error) {
	var at time.Time
	if c.Checkpoint != nil {
		cp, err := decode(name, c.Checkpoint)
		if err != nil {
			return "", err
		}
		at = cp.Time
		if err := s.kept.Save(ctx, name, c.Checkpoint, false); err != nil {
			return "", err
		}
		if c.Short == nil {
			err = s.kept.DeleteShort(ctx, name)
		} else {
			err = s.kept.Save(ctx, name, c.Short, true)
		}
		if err != nil {
			return "", err
		}
	}
	if value != nil {
		if err := s.KeepCamera(ctx, name, value); err != nil {
			return "", err
		}
	}
	return cmp.Or(contents(value != nil, at), "nothing but its name"), nil
}

// sealedSettings is what is kept of a camera that was added, as its version 1 is.
type sealedSettings struct {
	Version int    `json:"version"`
	Sealed  []byte `json:"sealed"`
}

// keys open and seal cameras' settings. Both are nil where it is not known where this segd's key is.
type keys struct {
	path  string
	made  bool        // ours is theirs, and not in its file yet
	ours  *sealed.Key // this segd's
	other *sealed.Key // the backup's, if it is in it
}

func (f *storeFlags) keys(b *backup.Backup) (k keys, err error) {
	k.path = f.key
	if b.Key != nil {
		if k.other, err = sealed.ParseKey(b.Key); err != nil {
			return k, fmt.Errorf("the key in the backup: %w", err)
		}
	}
	text, err := f.readKey()
	switch {
	case err != nil:
		return k, err
	case text != nil:
		if k.ours, err = sealed.ReadKey(f.key); err != nil {
			return k, err
		}
	case f.key != "" && k.other != nil:
		k.ours, k.made = k.other, true
	}
	return k, nil
}

// keep writes this segd's key, if it has none yet.
func (k *keys) keep() error {
	if !k.made {
		return nil
	}
	return k.ours.Write(k.path)
}

func (k *keys) open(with *sealed.Key, value []byte) ([]byte, error) {
	var outer sealedSettings
	if err := json.Unmarshal(value, &outer); err != nil {
		return nil, fmt.Errorf("damaged: %w", err)
	}
	if outer.Version != 1 {
		return nil, fmt.Errorf("of version %d; accepted: version 1, that of this segd", outer.Version)
	}
	return with.Open(outer.Sealed)
}

// value is what to keep for settings of the backup: as they are if this segd's key opens them or no key does
// tell, or sealed by its key instead of the backup's.
func (k *keys) value(settings []byte) ([]byte, error) {
	switch {
	case settings == nil || k.path == "":
		return settings, nil
	case k.ours == nil:
		return nil, fmt.Errorf("they are encrypted, and the key is neither in the backup nor in %s", k.path)
	}
	_, err := k.open(k.ours, settings)
	if err == nil {
		return settings, nil
	}
	if k.other == nil {
		return nil, fmt.Errorf("the key in %s does not open them: %w", k.path, err)
	}
	plain, err := k.open(k.other, settings)
	if err != nil {
		return nil, fmt.Errorf("neither the key in %s nor that of the backup opens them: %w", k.path, err)
	}
	return json.Marshal(sealedSettings{1, k.ours.Seal(plain)})
}

// same tells whether two values mean the same settings.
func (k *keys) same(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if k.ours == nil {
		return false
	}
	x, errX := k.open(k.ours, a)
	y, errY := k.open(k.ours, b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
