package recording

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/internal/coalesce"
)

const (
	// maxQueued and maxQueuedBytes bound what waits for the disk, of all cameras: some seconds of some tens of them.
	maxQueued      = 4096
	maxQueuedBytes = 64 << 20
	// checkEvery is how often it is looked for what has ended, or has become too old.
	checkEvery = time.Second
)

// Why video or masks are lost.
const (
	LostDisk   = "disk"   // it refused to take them
	LostBehind = "behind" // too much waited for it
	LostVideo  = "video"  // no file can be made of them, or there was no key frame before
	LostMasks  = "masks"  // of a frame: the disk refused them, too much waited for it, or they were too many or too late
)

// Config says where to and how much. All fields but Logger are required.
type Config struct {
	Dir      string        // made if it is missing
	MaxAge   time.Duration // of video
	MaxBytes int64         // of all files together
	Logger   *slog.Logger  // nil discards
}

// Store has the recordings of all cameras. Make it with Open.
type Store struct {
	cfg    Config
	root   *os.Root
	faults coalesce.Log

	jobs   chan job
	queued atomic.Int64 // bytes of jobs
	quit   chan struct{}
	joined sync.WaitGroup

	mu      sync.Mutex // guards what follows, but for what belongs to the goroutine that writes
	closed  bool
	cameras map[string]*Camera
	bytes   int64 // of all files
}

// job is something to write.
type job struct {
	camera *Camera
	unit   ingest.Unit
	masks  *segdv1.MaskFrame // nil: the unit
	size   int64
}

// Open reads what there is in cfg.Dir, and begins to write and to remove. Close must follow.
func Open(cfg Config) (*Store, error) {
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("recording: recording.dir: %w", err)
	}
	root, err := os.OpenRoot(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("recording: recording.dir: %w", err)
	}
	s := &Store{
		cfg: cfg, root: root, jobs: make(chan job, maxQueued), quit: make(chan struct{}), cameras: map[string]*Camera{},
		faults: coalesce.Log{Write: cfg.Logger.Warn, Message: "recording"},
	}
	if err := s.scan(); err != nil {
		return nil, errors.Join(fmt.Errorf("recording: recording.dir: %w", err), root.Close())
	}
	s.joined.Go(s.run)
	return s, nil
}

// Close writes what waits, completes the files and waits for that. It may be called more than once.
func (s *Store) Close() {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if !closed {
		close(s.quit)
	}
	s.joined.Wait()
}

// Camera returns the recorder of the camera of that name.
func (s *Store) Camera(name string) *Camera {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.camera(name)
}

// camera is Camera; it needs mu.
func (s *Store) camera(name string) *Camera {
	c := s.cameras[name]
	if c == nil {
		c = &Camera{store: s, name: name, lost: map[string]uint64{}}
		s.cameras[name] = c
	}
	return c
}

// list are the cameras, by name.
func (s *Store) list() []*Camera {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Collect(maps.Values(s.cameras))
	slices.SortFunc(all, func(a, b *Camera) int { return cmp.Compare(a.name, b.name) })
	return all
}

// put queues a job, unless too much waits.
func (s *Store) put(j job) bool {
	if s.queued.Add(j.size) <= maxQueuedBytes {
		select {
		case s.jobs <- j:
			return true
		default:
		}
	}
	s.queued.Add(-j.size)
	return false
}

// run writes until Close, and then what is left.
func (s *Store) run() {
	defer func() {
		for _, c := range s.list() {
			c.end()
			c.drop()
		}
		s.faults.Flush()
		_ = s.root.Close() // nothing was written through it
	}()
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	s.trim(time.Now())
	for {
		select {
		case j := <-s.jobs:
			s.do(j)
		case now := <-tick.C:
			for _, c := range s.list() {
				c.check(now)
			}
			s.trim(now)
		case <-s.quit:
			for {
				select {
				case j := <-s.jobs:
					s.do(j)
				default:
					return
				}
			}
		}
	}
}

func (s *Store) do(j job) {
	s.queued.Add(-j.size)
	var err error
	if j.masks != nil {
		err = j.camera.writeMasks(j.masks)
	} else {
		err = j.camera.writeUnit(j.unit)
	}
	if err != nil {
		s.faults.Add(1, fmt.Errorf("camera %s: %w", j.camera.name, err))
	}
}

// trim removes the oldest files, of whichever camera, while there are more than may be, or they are too old.
func (s *Store) trim(now time.Time) {
	for {
		s.mu.Lock()
		var of *Camera
		for _, c := range s.cameras {
			if len(c.segments) > 0 && (of == nil || c.segments[0].Start.Before(of.segments[0].Start)) {
				of = c
			}
		}
		if of == nil || s.bytes <= s.cfg.MaxBytes && now.Sub(of.segments[0].End()) <= s.cfg.MaxAge {
			s.mu.Unlock()
			return
		}
		oldest := of.segments[0]
		of.segments = slices.Delete(of.segments, 0, 1)
		s.count(of, -oldest.Bytes)
		s.mu.Unlock()
		if err := s.remove(of, oldest); err != nil {
			s.faults.Add(1, err)
		}
	}
}

// over tells whether there is more than may be.
func (s *Store) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes > s.cfg.MaxBytes
}

// large is of how many bytes a file ends with the next key frame, so that others remain when it goes.
func (s *Store) large() int64 { return min(large, s.cfg.MaxBytes/8) }

// count adds to the bytes that there are; it needs mu.
func (s *Store) count(c *Camera, bytes int64) {
	s.bytes += bytes
	c.bytes += bytes
}

func (s *Store) remove(c *Camera, seg *Segment) error {
	c.forget(seg)
	var faults []error
	for _, name := range []string{c.path(seg, videoSuffix), c.path(seg, masksSuffix)} {
		if err := s.root.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			faults = append(faults, fmt.Errorf("removing what is too old or too much: %w", err))
		}
	}
	return errors.Join(faults...)
}

// Stats is how the recording of a camera does. The counts are since Open.
type Stats struct {
	Camera   string
	Bytes    int64             // of its files
	Oldest   time.Time         // when the first of them begins; zero if there are none
	Segments int               // complete files of video
	Written  uint64            // bytes
	Lost     map[string]uint64 // frames, by why
	State    State
}

// Stats tells of each camera that is recorded or has been.
func (s *Store) Stats() []Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Stats
	for _, name := range slices.Sorted(maps.Keys(s.cameras)) {
		c := s.cameras[name]
		st := Stats{Camera: name, Bytes: c.bytes, Segments: len(c.segments), Written: c.written, Lost: maps.Clone(c.lost), State: c.state}
		if len(c.segments) > 0 {
			st.Oldest = c.segments[0].Start
		}
		all = append(all, st)
	}
	return all
}
