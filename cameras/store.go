package cameras

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/segd/segd/internal/sealed"
)

// storedVersion is that of a kept camera. A later one is not read.
const storedVersion = 1

// errNoKeyPath is why cameras cannot be added beside a NATS server elsewhere.
var errNoKeyPath = errors.New("cameras are kept on the NATS server at nats.url, encrypted with a key, and it is not known where that is; " +
	"set nats.cameras_key to a file, which is made where it is not there")

// stored is what is kept of a camera: the version can be read by all, the rest by who has the key.
type stored struct {
	Version int    `json:"version"`
	Sealed  []byte `json:"sealed"` // a storedCamera
}

// storedCamera has the name of its camera, so that none can be passed off as another.
type storedCamera struct {
	Name   string         `json:"name"`
	Paused bool           `json:"paused"`
	Camera map[string]any `json:"camera"`
}

// cameraStore keeps the cameras that were added. Who has the turn uses it.
type cameraStore struct {
	Kept
	key     *sealed.Key // nil: not read yet
	strange int         // values that the key does not open, or that there is none for
	opened  int         // others
}

// Bucket keeps a value for each camera that was added; bus.Bus has it.
type Bucket interface {
	KeptCameras(ctx context.Context) (map[string][]byte, error)
	KeepCamera(ctx context.Context, camera string, value []byte) error
	ForgetCamera(ctx context.Context, camera string) error
	// WatchKeptCameras calls changed whenever what is kept may have changed, until ctx ends.
	WatchKeptCameras(ctx context.Context, changed func())
}

// Kept is what outlives segd.
type Kept struct {
	Bucket         // nil: nothing does
	KeyFile string // that the cameras are encrypted with; "": there is no place for one
	// Checkpoints have what is known of a camera. Delete removes it.
	Checkpoints interface {
		Delete(ctx context.Context, camera string) error
	}
}

// openAll opens what is kept of cameras. What cannot be opened has a fault that says why.
func (s *cameraStore) openAll(values map[string][]byte) map[string]*addedCamera {
	var keyErr error
	if s.key == nil && len(values) > 0 {
		if s.key, keyErr = sealed.ReadKey(s.KeyFile); keyErr != nil {
			s.key = nil
		}
	}
	s.opened, s.strange = 0, 0
	all := make(map[string]*addedCamera, len(values))
	for name, value := range values {
		one := &addedCamera{fault: keyErr}
		if keyErr == nil {
			one.storedCamera, one.fault = s.open(name, value)
		}
		switch {
		case one.fault == nil:
			s.opened++
		case keyErr != nil, errors.Is(one.fault, sealed.ErrKey):
			s.strange++
		}
		one.Name = name
		all[name] = one
	}
	if s.opened == 0 && s.strange > 0 {
		s.key = nil // another may be there next time
	}
	return all
}

func (s *cameraStore) open(name string, value []byte) (c storedCamera, err error) {
	var outer stored
	if err := json.Unmarshal(value, &outer); err != nil {
		return c, fmt.Errorf("what is kept of it is damaged: %w", err)
	}
	if outer.Version != storedVersion {
		return c, fmt.Errorf("what is kept of it is of version %d, and this segd reads version %d; another segd has written it", outer.Version, storedVersion)
	}
	plain, err := s.key.Open(outer.Sealed)
	if err != nil {
		return c, fmt.Errorf("what is kept of it does not open with the key in %s: %w", s.KeyFile, err)
	}
	dec := json.NewDecoder(bytes.NewReader(plain))
	dec.UseNumber()
	if err := dec.Decode(&c); err != nil {
		return c, fmt.Errorf("what is kept of it is damaged: %w", err)
	}
	if c.Name != name {
		return storedCamera{}, fmt.Errorf("what is kept of it is camera %q's", c.Name)
	}
	return c, nil
}

// ready makes sure of a key. One that opens nothing of what is kept would leave those who mend that with
// cameras of two keys.
func (s *cameraStore) ready() error {
	switch {
	case s.KeyFile == "":
		return errNoKeyPath
	case s.strange > 0 && s.opened == 0:
		return fmt.Errorf("the key in %s opens none of the %d cameras that are kept; put the right one there and reload, or remove those cameras", s.KeyFile, s.strange)
	case s.key != nil:
		return nil
	}
	key, err := sealed.ReadKey(s.KeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		key, err = sealed.MakeKey(s.KeyFile)
	}
	if err == nil {
		s.key = key
	}
	return err
}

// keep has been stored when it returns.
func (s *cameraStore) keep(ctx context.Context, c storedCamera) error {
	if err := s.ready(); err != nil {
		return err
	}
	plain, err := json.Marshal(c)
	if err != nil {
		return err
	}
	value, err := json.Marshal(stored{storedVersion, s.key.Seal(plain)})
	if err != nil {
		return err
	}
	return s.KeepCamera(ctx, c.Name, value)
}
