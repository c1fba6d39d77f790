package chaos

import (
	"reflect"
	"testing"
	"time"
)

func TestPlan(t *testing.T) {
	const length, cameras = 15 * time.Minute, 4
	plan := Plan(1, length, cameras)
	if !reflect.DeepEqual(plan, Plan(1, length, cameras)) {
		t.Error("one seed, two plans")
	}
	if reflect.DeepEqual(plan, Plan(2, length, cameras)) {
		t.Error("two seeds, one plan")
	}
	type happening struct {
		kind   Kind
		camera int
	}
	count := map[happening]int{}
	for i, f := range plan {
		count[happening{f.Kind, f.Camera}]++
		if f.At <= 0 || f.For <= 0 || f.At+f.For > length || (i > 0 && f.At < plan[i-1].At) {
			t.Errorf("fault %d: %+v", i, f)
		}
		for _, g := range plan[:i] {
			if g.thing() == f.thing() && f.At < g.At+g.For {
				t.Errorf("at once: %+v, %+v", g, f)
			}
		}
	}
	for c := range cameras {
		for _, k := range cameraLane.kinds {
			if count[happening{k, c}] == 0 {
				t.Errorf("camera %d has no %q", c, k)
			}
		}
	}
	for _, l := range otherLanes {
		for _, k := range l.kinds {
			if count[happening{k, 0}] < 2 {
				t.Errorf("%q comes %d times", k, count[happening{k, 0}])
			}
		}
	}
}
