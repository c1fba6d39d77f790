package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/pipeline/checkpoint"
)

// listed are objects as all readers have them: by id, what each is called and whether it is in sight.
type listed map[uint32]string

func (l listed) add(id uint32, label string, inSight bool) {
	l[id] = fmt.Sprintf("%s in sight %t", label, inSight)
}

// readers are the objects that each reader has of c.
func (b *bench) readers(t *testing.T, c *Camera, store *shelf, meter *watcher) (all map[string]listed, owners map[string]map[uint32]bool) {
	t.Helper()
	synctest.Wait() // for the checkpoint
	all = map[string]listed{"bus": {}, "page": {}, "status": {}, "snapshot": {}, "metrics": {}, "checkpoint": {}, "zones": {}}
	owners = map[string]map[uint32]bool{"bus": {}, "page": {}, "checkpoint": {}}
	visible := func(s segdv1.State) bool { return s == segdv1.State_STATE_VISIBLE }
	for _, o := range b.rec.newest().Objects {
		all["bus"].add(o.Id, o.Label, visible(o.State))
		owners["bus"][o.Id] = o.Automatic
	}
	_, shown := c.Objects()
	for _, o := range shown {
		all["page"].add(o.Id, o.Label, visible(o.State))
		owners["page"][o.Id] = o.Automatic
	}
	for _, o := range c.State().Objects {
		all["status"].add(o.Id, o.Label, visible(o.State))
	}
	for _, o := range c.Snapshot().Objects {
		all["snapshot"].add(o.ID, o.Label, o.InSight())
	}
	for _, o := range meter.now().Objects {
		all["metrics"].add(o.ID, o.Label, o.InSight())
	}
	store.mu.Lock()
	cp, err := checkpoint.Decode(store.all[len(store.all)-1].data)
	store.mu.Unlock()
	require.NoError(t, err)
	for _, o := range cp.Objects.All() {
		all["checkpoint"].add(o.ID, o.Label, o.Appeared && o.Told == 0)
		owners["checkpoint"][o.ID] = o.Automatic()
	}
	for _, tr := range cp.Zones.Tracks {
		o, _ := cp.Objects.Get(tr.Object)
		all["zones"].add(tr.Object, o.Label, o.Told == 0) // they know ids alone
	}
	return all, owners
}

// All answers about the camera's objects are the same, whatever became of them: what they are called, whose they are
// and whether they are in sight.
func TestReadersAgree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, store := remembering(t)
		b.detecting(&finder{}, 200*time.Millisecond)
		meter := &watcher{}
		b.cfg.Meter, b.cfg.Zones = meter, testZones
		b.through(func(s Source) Source { return hidden{s, 62, 1000} })
		c, stop := b.start(t)
		agree := func(when string, want listed, automatic ...uint32) {
			t.Helper()
			all, owners := b.readers(t, c, store, meter)
			for who, has := range all {
				if !maps.Equal(has, want) {
					t.Errorf("%s: %s has %v; want %v", when, who, has, want)
				}
			}
			for who, of := range owners {
				for id, is := range of {
					assert.Equal(t, slices.Contains(automatic, id), is, "%s: %s says that %d is automatic", when, who, id)
				}
			}
		}
		// What is published comes with the next frame; what is kept, with the next second.
		settled := func() { time.Sleep(1200 * time.Millisecond) }

		time.Sleep(2050 * time.Millisecond)
		agree("detected", listed{256: "person in sight true"}, 256)
		_, err := c.Annotate(t.Context(), &annotation.Annotation{Width: testWidth, Height: testHeight, Objects: []annotation.Object{rectangle(2, 2, 34, 30, 46)}})
		require.NoError(t, err)
		settled()
		agree("marked", listed{2: "object 2 in sight true", 256: "person in sight true"}, 256)
		_, err = c.Rename(t.Context(), 256, "Ada")
		require.NoError(t, err)
		renamed := listed{2: "object 2 in sight true", 256: "Ada in sight true"}
		if all, _ := b.readers(t, c, store, meter); !maps.Equal(all["page"], renamed) || !maps.Equal(all["status"], renamed) ||
			!maps.Equal(all["snapshot"], renamed) || !maps.Equal(all["metrics"], renamed) || !maps.Equal(all["checkpoint"], renamed) {
			t.Errorf("at once: %v; want all but the last frame's masks to have %v", all, renamed)
		}
		settled()
		agree("renamed", renamed, 256)
		_, err = c.Keep(t.Context(), 256)
		require.NoError(t, err)
		settled()
		agree("kept", renamed)
		require.NoError(t, c.Clear(t.Context(), 2))
		cleared := listed{256: "Ada in sight true"}
		if all, _ := b.readers(t, c, store, meter); !maps.Equal(all["page"], cleared) || !maps.Equal(all["status"], cleared) ||
			!maps.Equal(all["metrics"], cleared) || !maps.Equal(all["checkpoint"], cleared) || !maps.Equal(all["zones"], cleared) {
			t.Errorf("at once: %v; want all but the last frame's masks to have %v", all, cleared)
		}
		time.Sleep(100 * time.Millisecond)
		agree("cleared", cleared)
		settled()
		agree("hidden", listed{256: "Ada in sight false"})
		stop()

		// A restart: before the first frame the object is listed as it was, and found again under its name.
		b = b.again(store, 3)
		b.cfg.Meter = meter
		c, stop = b.start(t)
		defer stop()
		synctest.Wait()
		if o := c.State().Objects; len(o) != 1 || o[0].Label != "Ada" || o[0].State != segdv1.State_STATE_LOST {
			t.Errorf("before the first frame the status has %v", o)
		}
		if _, o := c.Objects(); len(o) != 1 || o[0].Label != "Ada" || o[0].State != segdv1.State_STATE_LOST || o[0].Automatic || o[0].Class != "person" {
			t.Errorf("before the first frame the page has %v", o)
		}
		time.Sleep(300 * time.Millisecond)
		settled()
		agree("restarted", cleared)
	})
}
