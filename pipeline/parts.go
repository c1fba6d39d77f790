package pipeline

import (
	"context"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/features"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/objects/privacy"
	"github.com/segd/segd/tracker"
)

// Source delivers frames; *ingest.Source is one. Run blocks until ctx ends or the
// source does (nil); sink owns one reference to each frame.
type Source interface {
	Run(ctx context.Context, sink func(*ingest.Frame)) error
}

// Extractor turns a picture into a scene; *features.Extractor is one. It is used
// by one goroutine.
type Extractor interface {
	Extract(dst *features.Scene, bgr []byte, width, height int, plan features.Plan) error
}

// Stepper labels scene after scene; *tracker.Tracker is one. It is used by one
// goroutine at a time. An annotation may name an earlier frame. An error that wraps
// annotation.ErrInvalid refuses the annotation and leaves the stepper as it was.
type Stepper interface {
	Step(ctx context.Context, s *features.Scene, p tracker.Picture, ann *annotation.Annotation, extents []tracker.Extent) (*tracker.Result, error)
	// Recall takes in a scene of another time, before the first Step.
	Recall(ctx context.Context, s *features.Scene, ann *annotation.Annotation) error
	// Snapshot is what it knows besides what pictures show, and Restore has it, after Recall, know that of
	// another one.
	Snapshot() *tracker.Snapshot
	Restore(*tracker.Snapshot) error
	Preview(ann *annotation.Annotation) (*tracker.Preview, error)
	// Picture is that of an earlier frame, to be released.
	Picture(seq uint64) (tracker.Picture, error)
	Remove(id uint32) bool
	Hold(seq uint64) error
	LetGo(seq uint64)
	// Plan is what the next scene is to show, with what is round candidates.
	Plan(plan features.Plan, candidates ...tracker.Candidate) features.Plan
	// Close releases what pictures it keeps.
	Close()
}

// Detector finds things in pictures, in place of the feature model; *dnn.Detector is one. It is used by one goroutine
// of the camera.
type Detector interface {
	// Detect writes what it finds to dst from its beginning, the best scores first. A pixel is meant to be seen
	// pixelAspect times as wide as high.
	Detect(dst []features.Detection, bgr []byte, width, height int, pixelAspect float64) ([]features.Detection, error)
}

// Publisher sends results out; *bus.Bus is one. It is called from several
// goroutines. What it is given is not touched afterwards.
type Publisher interface {
	PublishMask(*segdv1.MaskFrame) error
	PublishEvent(*segdv1.Event) error
	PublishStatus(*segdv1.Status) error
}

// Viewer shows frames and events to people; *web.Server is one. The picture is valid during
// the call only. It is called from several goroutines and must not block.
type Viewer interface {
	Publish(*segdv1.MaskFrame, *privacy.Picture)
	// Thumbnail keeps a small picture of an object, and returns its path, empty if there is none, and how many it made (none
	// if it is there already) and removed for it. It may take some time.
	Thumbnail(masks *segdv1.MaskFrame, picture *privacy.Picture, object uint32) (path string, made, removed int)
	Event(*segdv1.Event)
	Status(*segdv1.Status)
}

// Meter is told what happens, for metrics. It is called from several goroutines
// and must not block.
type Meter interface {
	// Watch is called before the first frame. What it is given may be called from any goroutine, also after the camera's end.
	Watch(func() Snapshot)
	Latency(d time.Duration) // of a frame that was published
	Took(in Stage, d time.Duration)
	Extracted(*features.Scene) // which is valid during the call only
	Solved(tracker.Solve)
	Looked(d time.Duration) // the detector has, or tried to
	LookFailed()            // of those Looked
	Detected(class string)  // one thing, in a frame
	Unmarked(n int)         // things that were detected, but too many objects are marked
	Limited()               // an event was not told when it happened, since there are too many
	// Thumbnails are of events: made, removed for newer ones, and left out as others wait or something failed.
	Thumbnails(made, removed, leftOut int)
	ClockOffset(d time.Duration)
	Checkpoint(bytes int, took time.Duration, err error) // one was kept, or not
}

// Cores are what the cameras of a process compute on; *cores.Cores of internal/cores are.
type Cores interface {
	// Join tells a camera which of those on these cores it is: each looks at all of its pictures at a time of its own.
	Join() (nth int)
	// Acquire waits for a core. Frames that were begun go first, then what has waited the
	// longest.
	Acquire(begun bool, since time.Time)
	Release(n int)
}

// Lease is a box's right to publish a camera. It is asked from several goroutines, and before each frame.
type Lease interface {
	// Token is the fencing token: greater than those of all who published the camera before.
	Token() uint64
	// Box has it.
	Box() string
	// Moved says for people where the camera was before, and why it is not any more; empty: nowhere.
	Moved() string
	// Valid tells whether the camera may be published now.
	Valid() bool
}

// Checkpoints keep what cameras know over a restart; *bus.Checkpoints does.
type Checkpoints interface {
	// Save keeps a checkpoint of a camera, or a short one. The one before stays until it is whole.
	Save(ctx context.Context, camera string, data []byte, short bool) error
	// Load returns what is kept of a camera: the newest short one, and the others, the newest first; nil for
	// what there is and cannot be read. Nothing is no error.
	Load(ctx context.Context, camera string) (short []byte, all [][]byte, err error)
}

// nopViewer, nopMeter, nopCores and noLease stand in for the parts a camera can do without.
type (
	nopViewer struct{}
	nopMeter  struct{}
	nopCores  struct{}
	noLease   struct{}
)

func (noLease) Token() uint64 { return 0 }
func (noLease) Box() string   { return "" }
func (noLease) Moved() string { return "" }
func (noLease) Valid() bool   { return true }

func (nopCores) Join() int               { return 0 }
func (nopCores) Acquire(bool, time.Time) {}
func (nopCores) Release(int)             {}

func (nopViewer) Publish(*segdv1.MaskFrame, *privacy.Picture) {}
func (nopViewer) Event(*segdv1.Event)                         {}
func (nopViewer) Status(*segdv1.Status)                       {}

func (nopViewer) Thumbnail(*segdv1.MaskFrame, *privacy.Picture, uint32) (string, int, int) {
	return "", 0, 0
}

func (nopMeter) Watch(func() Snapshot)     {}
func (nopMeter) Latency(time.Duration)     {}
func (nopMeter) Took(Stage, time.Duration) {}
func (nopMeter) Extracted(*features.Scene) {}
func (nopMeter) Solved(tracker.Solve)      {}
func (nopMeter) Looked(time.Duration)      {}
func (nopMeter) LookFailed()               {}
func (nopMeter) Detected(string)           {}
func (nopMeter) Unmarked(int)              {}
func (nopMeter) Limited()                  {}
func (nopMeter) Thumbnails(int, int, int)  {}
func (nopMeter) ClockOffset(time.Duration) {}

func (nopMeter) Checkpoint(int, time.Duration, error) {}
