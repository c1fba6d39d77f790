package checkpoint

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/internal/wirelimit"
	"github.com/segd/segd/objects"
	"github.com/segd/segd/objects/track"
	"github.com/segd/segd/objects/zones"
	"github.com/segd/segd/pipeline/checkpoint/checkpointv1"
	"github.com/segd/segd/tracker"
)

// Checkpoint is what is known of a camera after a frame. A short one, which comes more often, lacks what is large and
// changes little: Marked and Last.
type Checkpoint struct {
	Camera   string
	Time     time.Time // when the newest frame came
	Epoch    uint64
	Sequence uint64        // of the newest frame
	PTS      time.Duration // its stream time
	FPS      float64       // that the camera sends, lately

	// The pictures that the objects were marked on, the oldest first, and the newest with objects in sight, empty if there
	// is none: annotations with picture as docs/annotations.md has them, JSON.
	Marked [][]byte
	Last   []byte

	Objects objects.Table     // all of them lost
	Tracks  *track.Snapshot   // nil: not known
	Tracker *tracker.Snapshot // nil: not known
	Zones   *zones.Snapshot   // nil: not known

	Configured      []byte // SHA-256 of the annotation that the configuration named; empty if it named none
	ConfiguredZones []byte // the zones and lines of the configuration, JSON

	// Foreign is of another version: its pictures and objects are known, not more.
	Foreign int
	// Faults are those of the parts that were left out.
	Faults []error
}

// Version is that of the checkpoints that Encode writes.
const Version = 1

// Limits on what Decode takes.
const (
	MaxBytes    = 64 << 20 // nine pictures of 4K
	maxUnpacked = 192 << 20
	maxWindow   = 8 << 20 // what RFC 8878 has every decoder take; Encode has 4 MiB
	maxScenes   = 300     // people's objects, each in a picture of its own, and the last one
	maxFPS      = 1000
	maxPTS      = math.MaxInt64 / 2 // the time away is added
)

// Limits on how many values there are of what Decode takes, in all of a checkpoint.
const (
	maxObjects = 2 * annotation.MaxFollowed // followed, and at rest
	maxTracks  = 256                        // as many as package track has
	maxLooks   = 1 << 13                    // numbers that say what an object looks like
	maxParts   = 32                         // zones, and lines, of a camera
	maxPixels  = 8 * MaxBytes               // of all pictures: these as JPEG have more than a bit for each
)

var limits = wirelimit.Limits{
	"segd.checkpoint.v1.Checkpoint.marked":  maxScenes,
	"segd.checkpoint.v1.Checkpoint.objects": maxObjects,
	"segd.checkpoint.v1.Tracker.objects":    maxObjects,
	"segd.checkpoint.v1.TrackedObject.box":  maxObjects * 4,
	"segd.checkpoint.v1.Marker.objects":     maxObjects,
	"segd.checkpoint.v1.Tracks.tracks":      maxTracks,
	"segd.checkpoint.v1.Track.box":          maxTracks * 4,
	"segd.checkpoint.v1.Track.velocity":     maxTracks * 2,
	"segd.checkpoint.v1.Track.appearance":   maxTracks * maxLooks,
	"segd.checkpoint.v1.Zones.zones":        maxParts,
	"segd.checkpoint.v1.Zones.lines":        maxParts,
	"segd.checkpoint.v1.Zones.tracks":       maxObjects,
	"segd.checkpoint.v1.ZoneTrack.zones":    maxObjects * maxParts,
	"segd.checkpoint.v1.ZoneTrack.lines":    maxObjects * maxParts,
}

// ErrDamaged is wrapped by Decode's error of what Encode has not written like that.
var ErrDamaged = errors.New("damaged checkpoint")

// coder is what Encode and Decode share: each is for many goroutines.
var coder = sync.OnceValues(func() (c struct {
	to   *zstd.Encoder
	from *zstd.Decoder
}, err error,
) {
	var errTo, errFrom error
	c.to, errTo = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	c.from, errFrom = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxUnpacked), zstd.WithDecoderMaxWindow(maxWindow))
	return c, errors.Join(errTo, errFrom)
})

// pack returns c as it is stored, with the version of this package.
func pack(c *checkpointv1.Checkpoint) ([]byte, error) {
	c.Version = Version
	plain, err := proto.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	zstd, err := coder()
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	if err := limits.Wire(plain, c.ProtoReflect().Descriptor()); err != nil { // Decode would refuse it
		return nil, fmt.Errorf("checkpoint: of camera %s: %w", c.Camera, err)
	}
	data := zstd.to.EncodeAll(plain, nil)
	if len(data) > MaxBytes || len(plain) > maxUnpacked {
		return nil, fmt.Errorf("checkpoint: of camera %s: %d bytes, %d unpacked; want at most %d, and %d", c.Camera, len(data), len(plain), MaxBytes, maxUnpacked)
	}
	return data, nil
}

// unpack reads what pack wrote. Of another version it leaves what means the same in all.
func unpack(data []byte) (*checkpointv1.Checkpoint, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("checkpoint: %w: %d bytes; want at most %d", ErrDamaged, len(data), MaxBytes)
	}
	zstd, err := coder()
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	plain, err := zstd.from.DecodeAll(data, nil)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w: %w", ErrDamaged, err)
	}
	c := &checkpointv1.Checkpoint{}
	if err := limits.Wire(plain, c.ProtoReflect().Descriptor()); err != nil {
		return nil, fmt.Errorf("checkpoint: %w: %w", ErrDamaged, err)
	}
	if err := proto.Unmarshal(plain, c); err != nil {
		return nil, fmt.Errorf("checkpoint: %w: %w", ErrDamaged, err)
	}
	bad := func(field, format string, args ...any) error {
		return fmt.Errorf("checkpoint: %w: %s: %s", ErrDamaged, field, fmt.Sprintf(format, args...))
	}
	switch {
	case c.Version == 0:
		return nil, bad("version", "none")
	case c.Camera == "":
		return nil, bad("camera", "none")
	case c.Time == nil || c.Time.CheckValid() != nil:
		return nil, bad("time", "none, or none there is")
	case !(c.Fps >= 0 && c.Fps <= maxFPS):
		return nil, bad("fps", "%v; want 0 to %d", c.Fps, maxFPS)
	case c.Sequence > math.MaxInt64 || c.Epoch > math.MaxInt64:
		return nil, bad("sequence", "%d, of epoch %d; want at most 2⁶³−1", c.Sequence, c.Epoch)
	case c.PtsNs < 0 || c.PtsNs > maxPTS:
		return nil, bad("pts_ns", "%d; want 0 to %d", c.PtsNs, int64(maxPTS))
	}
	for i, o := range c.Objects {
		again := slices.ContainsFunc(c.Objects[:i], func(f *checkpointv1.Object) bool { return f.Id == o.Id })
		if err := annotation.CheckLabel("label", o.Label); err != nil || o.State > uint32(tracker.Lost) || o.Id == 0 || o.Id > mostID || again {
			return nil, bad("objects", "%d is called %q and has state %d", o.Id, o.Label, o.State)
		}
	}
	if c.Version != Version {
		c.Tracker, c.Marker, c.Zones = nil, nil, nil
	}
	return c, nil
}

// Scenes reads pictures of a checkpoint, all those that it has. None is decoded before the sizes of all are known.
func Scenes(data [][]byte) ([]*annotation.Annotation, error) {
	scenes := make([]*annotation.Annotation, len(data))
	left := maxPixels
	for k := range scenes {
		a, err := annotation.ParseFor(data[k], 0, 0)
		if err != nil {
			return nil, fmt.Errorf("checkpoint: %w: a picture: %w", ErrDamaged, err)
		}
		if a.Picture == nil {
			return nil, fmt.Errorf("checkpoint: %w: a picture: none", ErrDamaged)
		}
		if left -= a.Width * a.Height; left < 0 {
			return nil, fmt.Errorf("checkpoint: %w: the first %d of %d pictures have more pixels than %d; want at most as many in all", ErrDamaged, k+1, len(data), maxPixels)
		}
		a.Frame = nil
		scenes[k] = a
	}
	for _, a := range scenes {
		if _, err := a.BGR(); err != nil {
			return nil, fmt.Errorf("checkpoint: %w: %w", ErrDamaged, err)
		}
	}
	return scenes, nil
}
