package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/objects/zones"
	"github.com/segd/segd/pipeline/checkpoint"
	"github.com/segd/segd/pipeline/internal/keeper"
)

// saved is a checkpoint that was kept.
type saved struct {
	data  []byte
	short bool
	at    time.Time
}

// shelf keeps checkpoints in memory.
type shelf struct {
	mu    sync.Mutex
	all   []saved
	save  func(ctx context.Context, short bool) error // before one is kept; may be nil
	loads int
	load  func(n int) error // before the n-th is read; may be nil
}

func (s *shelf) Save(ctx context.Context, _ string, data []byte, short bool) error {
	s.mu.Lock()
	save := s.save
	s.mu.Unlock()
	if save != nil {
		if err := save(ctx, short); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, saved{data, short, time.Now()})
	return nil
}

func (s *shelf) Load(context.Context, string) (short []byte, all [][]byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loads++
	if s.load != nil {
		if err := s.load(s.loads); err != nil {
			return nil, nil, err
		}
	}
	for _, c := range slices.Backward(s.all) {
		switch {
		case !c.short:
			all = append(all, c.data)
		case short == nil:
			short = c.data
		}
	}
	return short, all, nil
}

// at is what s kept until then.
func (s *shelf) at(until time.Time) *shelf {
	s.mu.Lock()
	defer s.mu.Unlock()
	other := &shelf{}
	for _, c := range s.all {
		if !c.at.After(until) {
			other.all = append(other.all, c)
		}
	}
	return other
}

// count is how many are kept, whole and short ones.
func (s *shelf) count() (whole, short int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.all {
		if c.short {
			short++
		} else {
			whole++
		}
	}
	return whole, short
}

// change changes the newest whole one that is kept, and leaves no short ones.
func (s *shelf) change(t *testing.T, f func(*checkpoint.Checkpoint)) {
	t.Helper()
	s.all = slices.DeleteFunc(s.all, func(c saved) bool { return c.short })
	last := &s.all[len(s.all)-1]
	c, err := checkpoint.Decode(last.data)
	require.NoError(t, err)
	f(c)
	last.data, err = checkpoint.Encode(c)
	require.NoError(t, err)
}

// from is a source whose first frames were sent before anybody looked.
type from struct {
	Source
	skip uint64
}

func (s from) Run(ctx context.Context, sink func(*ingest.Frame)) error {
	first := time.Duration(-1)
	return s.Source.Run(ctx, func(f *ingest.Frame) {
		if f.Seq < s.skip {
			f.Release()
			return
		}
		if first < 0 {
			first = f.PTS
		}
		f.Seq, f.PTS = f.Seq-s.skip, f.PTS-first
		sink(f)
	})
}

// start runs a camera of b until stop is called, which checks what must always hold.
func (b *bench) start(t *testing.T) (c *Camera, stop func()) {
	t.Helper()
	c, err := New(b.cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = c.Run(ctx) })
	return c, func() {
		t.Helper()
		cancel()
		running.Wait()
		b.check(t, c)
	}
}

// again is a bench like b of which nothing is known, whose source goes on with the skip-th frame.
func (b *bench) again(store Checkpoints, skip uint64) *bench {
	other := &bench{rec: &recorder{tb: b.rec.tb}, dir: b.dir, loop: b.loop, tracker: b.tracker, cfg: b.cfg}
	other.cfg.Publisher, other.cfg.Viewer, other.cfg.Checkpoints = other.rec, other.rec, store
	other.cfg.Open = func(o ingest.Observer) (Source, error) {
		s, err := ingest.Open(ingest.Config{Camera: b.cfg.Name, URL: "dir:" + b.dir, FPS: testFPS, Loop: b.loop, Observer: o})
		if err != nil {
			return nil, err
		}
		c := &counted{Source: s}
		other.sources = append(other.sources, c)
		return from{c, skip}, nil
	}
	return other
}

// ofObjects are the kinds of the events that are of objects.
func (r *recorder) ofObjects() (kinds []string) {
	for _, e := range r.happened() {
		if e.ObjectId != 0 {
			kinds = append(kinds, strings.TrimPrefix(e.Kind.String(), "EVENT_KIND_"))
		}
	}
	return kinds
}

func iouWithSquare(t *testing.T, o *segdv1.Object, n int) float64 {
	t.Helper()
	got, err := mask.Parse(o.Counts, testWidth, testHeight)
	require.NoError(t, err)
	return mask.IoU(got, squareMask(n))
}

// A camera that ended, or was cut off, goes on: its objects are those that they were, nothing is told anew of them,
// and the numbers go on after a gap. Without its checkpoints it knows nothing.
func TestRestore(t *testing.T) {
	for _, tt := range []struct {
		name string
		cut  time.Duration // what was kept this long before the end is all; 0: it ended by itself
	}{{"ended", 0}, {"cut off", 1200 * time.Millisecond}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, store := remembering(t)
				c, stop := b.start(t)
				time.Sleep(500 * time.Millisecond)
				_, err := c.Annotate(t.Context(), annotate(nil, 5))
				require.NoError(t, err)
				_, err = c.Rename(t.Context(), 1, "Anna")
				require.NoError(t, err)
				time.Sleep(4060 * time.Millisecond)
				cut := time.Now().Add(-tt.cut)
				stop()
				if tt.cut != 0 {
					store = store.at(cut)
				}
				if whole, short := store.count(); whole < 2 || short < 1 {
					t.Fatalf("%d whole ones kept, %d short ones", whole, short)
				}
				last := b.rec.newest()
				for _, resume := range []bool{true, false} {
					var kept Checkpoints
					if resume {
						kept = store
					}
					const skip = 3
					again, c := b.rerun(t, kept, skip, 850*time.Millisecond)
					first := again.rec.all()[0]
					if !resume {
						assert.Len(t, first.Objects, 0, "without a checkpoint there is")
						continue
					}
					if o := one(t, first); o.Id != 1 || o.Label != "Anna" || o.State != segdv1.State_STATE_VISIBLE || iouWithSquare(t, o, skip) < 0.7 {
						t.Errorf("%v, IoU %.2f; want Anna where she is", o, iouWithSquare(t, o, skip))
					}
					if kinds := again.rec.ofObjects(); len(kinds) != 0 {
						t.Errorf("events %v", kinds)
					}
					if first.Epoch <= last.Epoch || c.State().Epoch != first.Epoch {
						t.Errorf("epoch %d after %d", first.Epoch, last.Epoch)
					}
					away := first.PublishTime.AsTime().Sub(last.PublishTime.AsTime())
					frames, passed := float64(first.Sequence)-float64(last.Sequence), time.Duration(first.PtsNs-last.PtsNs)
					if frames < 0.8*away.Seconds()*testFPS || frames > 1.2*away.Seconds()*testFPS+1 || (passed-away).Abs() > 50*time.Millisecond {
						t.Errorf("%v numbers and %v are left out in %v of %d frames a second", frames, passed, away, testFPS)
					}
				}
			})
		})
	}
}

// remembering is a bench whose pictures begin anew for ever, and what it keeps.
func remembering(t *testing.T) (*bench, *shelf) {
	b, store := newBench(t, "gate", 24), &shelf{}
	b.loop, b.cfg.Checkpoints = true, store
	return b, store
}

// rerun runs a camera like that of b for a while from its skip-th picture on, as again has it.
func (b *bench) rerun(t *testing.T, store Checkpoints, skip uint64, d time.Duration) (*bench, *Camera) {
	t.Helper()
	other := b.again(store, skip)
	c, stop := other.start(t)
	time.Sleep(time.Duration(skip)*time.Second/testFPS + d)
	stop()
	return other, c
}

// What is marked automatically goes on under its number, and what is kept stays so; a new one gets another number.
// What was away for long is not taken for what is there, but what people keep is looked for.
func TestRestoreAutomatic(t *testing.T) {
	for _, tt := range []struct {
		name string
		keep bool
		away time.Duration
	}{
		{"automatic", false, 0},
		{"kept", true, 0},
		{"automatic, long ago", false, 2 * staleAfter},
		{"kept, long ago", true, 2 * staleAfter},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, store := remembering(t)
				b.detecting(&finder{}, 200*time.Millisecond)
				c, stop := b.start(t)
				time.Sleep(2050 * time.Millisecond)
				if tt.keep {
					_, err := c.Keep(t.Context(), 256)
					require.NoError(t, err)
				}
				time.Sleep(1000 * time.Millisecond)
				stop()
				time.Sleep(tt.away)
				again, _ := b.rerun(t, store, 3, 2050*time.Millisecond)
				all, last, kinds := again.rec.all(), again.rec.newest().Objects, again.rec.ofObjects()
				if !tt.keep && tt.away > 0 { // it ended, as it was out of sight for too long
					if first := one(t, all[2]); first.Id != 257 || !slices.Equal(kinds, []string{"OBJECT_REMOVED", "OBJECT_APPEARED"}) {
						t.Errorf("%v in the third frame, events %v; want another one", first, kinds)
					}
					return
				}
				first := one(t, all[0])
				if first.Id != 256 || first.Class != "person" || first.Automatic == tt.keep {
					t.Errorf("%v in the first frame", first)
				}
				if tt.away == 0 && (first.State != segdv1.State_STATE_VISIBLE || len(kinds) != 0) {
					t.Errorf("%v in the first frame, events %v", first, kinds)
				}
				if len(last) != 1 || last[0].Id != 256 || last[0].State != segdv1.State_STATE_VISIBLE || last[0].Automatic == tt.keep {
					t.Errorf("%v in the end", last)
				}
			})
		})
	}
}

// An automatic object that is out of sight when the camera ends is known again by its looks, and no subscriber is told that it
// is a new one.
func TestRestoreAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, store := remembering(t)
		b.detecting(&finder{}, 200*time.Millisecond)
		b.through(func(s Source) Source { return hidden{s, 14, 1000} })
		_, stop := b.start(t)
		time.Sleep(4050 * time.Millisecond)
		stop()
		if o := one(t, b.rec.newest()); o.Id != 256 || o.Area != 0 {
			t.Fatalf("%v; want it out of sight", o)
		}
		again, _ := b.rerun(t, store, 1, 1500*time.Millisecond)
		if o := one(t, again.rec.newest()); o.Id != 256 || o.State != segdv1.State_STATE_VISIBLE || !o.Automatic {
			t.Errorf("%v in the end", o)
		}
		assert.Equal(t, []string{"OBJECT_BACK"}, again.rec.ofObjects(), "events")
	})
}

// What rests when the camera ends rests in the run after it, and subscribers get a mask of it in every frame.
func TestRestoreResting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, store := remembering(t)
		b.detecting(&finder{}, 200*time.Millisecond)
		hide := func(b *bench, from uint64) {
			b.through(func(s Source) Source { return hidden{s, from, 1000} })
		}
		hide(b, 14) // on its way from the middle of the picture
		c, stop := b.start(t)
		time.Sleep(8050 * time.Millisecond)
		stop()
		if o := c.newest.table().All()[0]; !o.Dormant {
			t.Errorf("%+v is not dormant; want what this test is about", o)
		}
		again := b.again(store, 1)
		hide(again, 0)
		_, stop = again.start(t)
		time.Sleep(1500 * time.Millisecond)
		stop()
		for _, m := range again.rec.all() {
			if o := one(t, m); o.Id != 256 || o.State != segdv1.State_STATE_LOST {
				t.Fatalf("frame %d: %v; want it lost", m.Sequence, o)
			}
		}
	})
}

// Without a detector nothing goes on that one began; nor does it become a user's in a checkpoint of another version,
// whose numbers are not used again.
func TestRestoreWithoutWhatMarked(t *testing.T) {
	for _, foreign := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b, store := remembering(t)
			b.detecting(&finder{}, 200*time.Millisecond)
			_, stop := b.start(t)
			time.Sleep(2050 * time.Millisecond)
			stop()
			if foreign {
				store.change(t, func(c *checkpoint.Checkpoint) {})
				store.foreign(t)
			} else {
				b.cfg.NewDetector, b.cfg.Detect = nil, Detect{}
			}
			again, _ := b.rerun(t, store, 3, 1000*time.Millisecond)
			for _, m := range again.rec.all() {
				for _, o := range m.Objects {
					if !foreign || !o.Automatic || o.Id != 257 {
						t.Fatalf("frame %d: %v", m.Sequence, o)
					}
				}
			}
			if m := again.rec.newest(); foreign && len(m.Objects) != 1 {
				t.Errorf("%v; want what is detected", m.Objects)
			}
		})
	}
}

// foreign makes the newest checkpoint one of a version to come.
func (s *shelf) foreign(t *testing.T) {
	t.Helper()
	last := &s.all[len(s.all)-1]
	plain := append(unpacked(t, last.data), 1<<3, checkpoint.Version+1) // the field version, once more
	w, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	last.data = w.EncodeAll(plain, nil)
}

// unpacked is the protobuf of a checkpoint.
func unpacked(t testing.TB, data []byte) []byte {
	t.Helper()
	r, err := zstd.NewReader(nil)
	require.NoError(t, err)
	defer r.Close()
	plain, err := r.DecodeAll(data, nil)
	require.NoError(t, err)
	return plain
}

// The annotation of the configuration is not put on frames again that it was made for long ago; another one is.
func TestRestoreConfiguredAnnotation(t *testing.T) {
	for _, changed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b, store := remembering(t)
			b.cfg.Annotation = annotate(nil, 0)
			_, stop := b.start(t)
			time.Sleep(2050 * time.Millisecond)
			stop()
			if changed {
				a := annotate(nil, 3)
				a.Objects[0].ID = 2
				b.cfg.Annotation = a
			}
			again, _ := b.rerun(t, store, 3, 500*time.Millisecond)
			ids := make([]uint32, 0, 2)
			for _, o := range again.rec.newest().Objects {
				ids = append(ids, o.Id)
			}
			accepted := again.rec.event(segdv1.EventKind_EVENT_KIND_ANNOTATION_ACCEPTED) != nil
			if want := map[bool][]uint32{false: {1}, true: {1, 2}}[changed]; accepted != changed || !slices.Equal(ids, want) {
				t.Errorf("changed %t: accepted %t, objects %v; want %v", changed, accepted, ids, want)
			}
		})
	}
}

// Zones that were set go on with what they have counted; those of a configuration that was changed since replace them.
func TestRestoreZones(t *testing.T) {
	all := zones.Zone{Name: "all", Polygon: []zones.Point{{0, 0}, {1, 0}, {1, 1}, {0, 1}}}
	door, other := all, all
	door.Name, other.Name = "door", "other"
	for _, changed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b, store := remembering(t)
			b.cfg.Annotation, b.cfg.Zones = annotate(nil, 0), zones.Layout{Zones: []zones.Zone{door}}
			c, stop := b.start(t)
			time.Sleep(1050 * time.Millisecond)
			_, err := c.SetZones(t.Context(), zones.Layout{Zones: []zones.Zone{all}})
			require.NoError(t, err)
			time.Sleep(1000 * time.Millisecond)
			stop()
			if changed {
				b.cfg.Zones = zones.Layout{Zones: []zones.Zone{other, all}}
			}
			again, c := b.rerun(t, store, 3, 1000*time.Millisecond)
			if changed {
				if got := again.rec.zoned(); len(got) != 1 || !strings.Contains(got[0], "other") || len(c.Zones().Zones) != 2 {
					t.Errorf("told %q, zones %v", got, c.Zones().Zones)
				}
			} else if got := again.rec.zoned(); len(got) != 0 || len(c.Zones().Zones) != 1 || c.Zones().Zones[0].Name != "all" {
				t.Errorf("told %q, zones %v", got, c.Zones().Zones)
			}
			if n := c.Snapshot().Zones.Zones[len(c.Zones().Zones)-1]; n.Name != "all" || n.Entries != 1 || n.Objects != 1 {
				t.Errorf("counted %+v; want one who entered once", n)
			}
		})
	}
}

// Zones that a client sets while a checkpoint is waited for stay.
func TestZonesSetBeforeACheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, store := remembering(t)
		_, stop := b.start(t)
		time.Sleep(1050 * time.Millisecond)
		stop()
		store.load = func(n int) error {
			if n < 5 {
				return errors.New("away")
			}
			return nil
		}
		b = b.again(store, 0)
		c, stop := b.start(t)
		synctest.Wait()
		_, err := c.SetZones(t.Context(), zones.Layout{Zones: []zones.Zone{{Name: "new", Polygon: []zones.Point{{0, 0}, {1, 0}, {1, 1}}}}})
		require.NoError(t, err)
		time.Sleep(5 * time.Second)
		stop()
		if l := c.Zones().Zones; len(l) != 1 || store.loads != 5 {
			t.Errorf("zones %v after %d loads", l, store.loads)
		}
	})
}

// What was removed does not come back, also when the checkpoint that was to say so could not be kept whole.
func TestRestoreRemoved(t *testing.T) {
	for _, refused := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b, store := remembering(t)
			b.cfg.Annotation = annotate(nil, 0)
			c, stop := b.start(t)
			time.Sleep(3050 * time.Millisecond)
			if refused {
				store.mu.Lock()
				store.save = func(_ context.Context, short bool) error {
					if !short {
						return errors.New("no space left")
					}
					return nil
				}
				store.mu.Unlock()
			}
			require.NoError(t, c.Clear(t.Context(), 1))
			time.Sleep(2500 * time.Millisecond)
			if refused { // whole ones fail; one that is short is all there is
				c.turn <- struct{}{}
				c.keeper.Owes()
				c.capture(c.stages, false)
				<-c.turn
				time.Sleep(500 * time.Millisecond)
				kept := store.at(time.Now())
				stop()
				store = kept
			} else {
				stop()
			}
			again, _ := b.rerun(t, store, 3, 1000*time.Millisecond)
			for _, m := range again.rec.all() {
				if len(m.Objects) != 0 {
					t.Fatalf("refused %t: frame %d has %v", refused, m.Sequence, m.Objects)
				}
			}
		})
	}
}

// A damaged checkpoint is told of, and the one before it used; of another version the pictures are.
func TestRestoreFaulty(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(*testing.T, *shelf)
		want  string
	}{
		{"the newest is damaged", func(t *testing.T, s *shelf) {
			data := s.all[len(s.all)-1].data
			data[len(data)/2] ^= 1
		}, "damaged checkpoint"},
		{"the newest cannot be read", func(t *testing.T, s *shelf) { s.all[len(s.all)-1].data = nil }, "damaged checkpoint: what the store has of it is not what was kept"},
		{"of another camera", func(t *testing.T, s *shelf) {
			s.change(t, func(c *checkpoint.Checkpoint) { c.Camera = "yard" })
		}, `it is of camera "yard"`},
		{"a damaged short one", func(t *testing.T, s *shelf) {
			s.all = append(s.all, saved{data: []byte("short"), short: true})
		}, "an earlier one is used"},
		{"a short one with a faulty state", func(t *testing.T, s *shelf) {
			short := s.all[slices.IndexFunc(s.all, func(c saved) bool { return c.short })]
			c, err := checkpoint.Decode(short.data)
			require.NoError(t, err)
			c.Tracker.Objects[0].Life.State = 200
			short.data, err = checkpoint.Encode(c)
			require.NoError(t, err)
			s.all = append(s.all, short)
		}, "an earlier one is used"},
		{"another version", func(t *testing.T, s *shelf) { s.foreign(t) }, "it has version 2, and not 1: its pictures are used"},
		{"a faulty state of the tracker", func(t *testing.T, s *shelf) {
			s.change(t, func(c *checkpoint.Checkpoint) { c.Tracker.Objects[0].Life.Zoom = 3 })
		}, "its objects are looked for by what they looked like"},
		{"faulty zones", func(t *testing.T, s *shelf) {
			s.change(t, func(c *checkpoint.Checkpoint) { c.Zones.Layout.Zones = []zones.Zone{{}} })
		}, "damaged checkpoint: zones: counts of 0 zones"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, store := remembering(t)
				b.cfg.Annotation = annotate(nil, 0)
				_, stop := b.start(t)
				time.Sleep(3050 * time.Millisecond)
				stop()
				tt.spoil(t, store)
				again, _ := b.rerun(t, store, 3, 1500*time.Millisecond)
				var told []string
				for _, e := range again.rec.happened() {
					if e.Kind == segdv1.EventKind_EVENT_KIND_CHECKPOINT_REFUSED {
						told = append(told, e.Message)
					}
				}
				if len(told) != 1 || !strings.Contains(told[0], tt.want) {
					t.Errorf("told %q; want once that %q", told, tt.want)
				}
				if o := one(t, again.rec.all()[0]); o.Id != 1 || o.Label != "square" {
					t.Errorf("%v in the first frame", o)
				}
				if o := one(t, again.rec.newest()); o.Id != 1 || o.State != segdv1.State_STATE_VISIBLE {
					t.Errorf("%v in the end", o)
				}
			})
		})
	}
}

// A store that is away at the start is waited for, but not for ever.
func TestStoreAway(t *testing.T) {
	for _, tt := range []struct {
		tries int // that fail
		found bool
	}{{int(loadTimeout/loadRetry) - 2, true}, {1000, false}} {
		synctest.Test(t, func(t *testing.T) {
			b, store := remembering(t)
			b.cfg.Annotation = annotate(nil, 0)
			_, stop := b.start(t)
			time.Sleep(1050 * time.Millisecond)
			stop()
			b.cfg.Annotation = nil
			store.load = func(n int) error {
				if n <= tt.tries {
					return errors.New("away")
				}
				return nil
			}
			began := time.Now()
			again, _ := b.rerun(t, store, 0, loadTimeout+time.Second)
			first := again.rec.all()[0]
			if waited := first.PublishTime.AsTime().Sub(began); (len(first.Objects) == 1) != tt.found || waited > loadTimeout+200*time.Millisecond {
				t.Errorf("%d tries fail: %v in the first frame, after %v", tt.tries, first.Objects, waited)
			}
		})
	}
}

// keptMeter counts checkpoints.
type keptMeter struct {
	nopMeter
	mu           sync.Mutex
	kept, failed int
}

func (m *keptMeter) Checkpoint(bytes int, _ time.Duration, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		m.failed++
	} else if bytes > 0 {
		m.kept++
	}
}

// What cannot be kept is counted, and logged once a second at most; frames go on; what was to be kept whole is as soon
// as it can be.
func TestSaveFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, store := remembering(t)
		meter := &keptMeter{}
		log := &strings.Builder{}
		b.cfg.Annotation, b.cfg.Meter, b.cfg.Logger = annotate(nil, 0), meter, slog.New(slog.NewTextHandler(log, nil))
		var fails atomic.Bool
		fails.Store(true)
		store.save = func(context.Context, bool) error {
			if fails.Load() {
				return errors.New("no space left")
			}
			return nil
		}
		c, stop := b.start(t)
		time.Sleep(1050 * time.Millisecond)
		for range 10 { // more often than once a second
			_, err := c.Annotate(t.Context(), annotate(nil, int(c.newest.sequence()+1)%24))
			require.NoError(t, err)
			time.Sleep(300 * time.Millisecond)
		}
		meter.mu.Lock()
		failed := meter.failed
		fails.Store(false)
		meter.mu.Unlock()
		time.Sleep(1500 * time.Millisecond)
		whole, _ := store.count()
		stop()
		if failed < 10 || meter.failed != failed || meter.kept == 0 || whole == 0 {
			t.Errorf("%d failed, then %d; %d kept, %d whole ones within a second and a half", failed, meter.failed, meter.kept, whole)
		}
		lines := strings.Count(log.String(), "checkpoint not kept")
		if lines == 0 || lines > 6 || !strings.Contains(log.String(), "no space left") {
			t.Errorf("%d lines: %s", lines, log)
		}
		if n := len(b.rec.all()); n < 55 {
			t.Errorf("%d frames; want them to go on", n)
		}
	})
}

// A store that is slow holds up nothing, and every frame is given back: what waits is replaced by what is newer, but
// what was to be kept whole stays.
func TestSlowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, store := remembering(t)
		b.cfg.Annotation = annotate(nil, 0)
		var saves []bool // short
		store.save = func(ctx context.Context, short bool) error {
			store.mu.Lock()
			saves = append(saves, short)
			store.mu.Unlock()
			<-ctx.Done()
			return ctx.Err()
		}
		_, stop := b.start(t)
		time.Sleep(12050 * time.Millisecond)
		if n := len(b.rec.all()); n < 119 {
			t.Errorf("%d frames in 12 s of 10 a second", n)
		}
		began := time.Now()
		stop()
		if d := time.Since(began); d > 2*keeper.SaveTimeout+time.Second {
			t.Errorf("it took %v to end", d)
		}
		if len(saves) < 3 || len(saves) > 5 || saves[0] || saves[1] { // the short ones since the first came later
			t.Errorf("kept short: %v; want the first two whole, one in %v", saves, keeper.SaveTimeout)
		}
	})
}
