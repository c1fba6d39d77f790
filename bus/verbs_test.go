package bus

import (
	"context"

	"github.com/segd/segd/bus/segdv1"
)

// verbs are what cameras are asked, for tests: of those that a test does not have nothing is asked.
type verbs struct {
	Annotate func(ctx context.Context, camera string, payload []byte) (*segdv1.Annotated, error)
	Clear    func(ctx context.Context, camera string, id uint32) error
	Rename   func(ctx context.Context, camera string, id uint32, label string) (*segdv1.Object, error)
	Keep     func(ctx context.Context, camera string, id uint32) (*segdv1.Object, error)
	Objects  func(camera string) (seq uint64, objects []*segdv1.Object)
	State    func(camera string) *segdv1.Status
}

// of serves them for cameras.
func (v verbs) of(cameras ...string) Commands {
	return Commands{
		Cameras: cameras, Refuse: func(err error) error { return err },
		Camera: func(name string) (Camera, error) { return asked{v, name}, nil },
	}
}

// granting serves cameras whose annotations are all granted.
func granting(cameras ...string) Commands { return verbs{Annotate: granted}.of(cameras...) }

type asked struct {
	verbs
	camera string
}

func (a asked) Annotate(ctx context.Context, payload []byte) (*segdv1.Annotated, error) {
	return a.verbs.Annotate(ctx, a.camera, payload)
}
func (a asked) Clear(ctx context.Context, id uint32) error { return a.verbs.Clear(ctx, a.camera, id) }
func (a asked) Rename(ctx context.Context, id uint32, label string) (*segdv1.Object, error) {
	return a.verbs.Rename(ctx, a.camera, id, label)
}

func (a asked) Keep(ctx context.Context, id uint32) (*segdv1.Object, error) {
	return a.verbs.Keep(ctx, a.camera, id)
}
func (a asked) Objects() (uint64, []*segdv1.Object) { return a.verbs.Objects(a.camera) }
func (a asked) State() *segdv1.Status               { return a.verbs.State(a.camera) }
