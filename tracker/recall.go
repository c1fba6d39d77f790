package tracker

import (
	"context"
	"image"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
)

// Recall takes in a scene that is not one of the camera's now, but a picture from before it
// was there to be seen, and what a user marked on it. Nothing is said of where the objects
// are: they are lost, and looked for by what that scene shows of them. It comes before the
// first Step; several scenes come oldest first. A faulty annotation is reported as by Step;
// its field frame is not looked at. Nothing of s is kept. s.Seq may be that of the scene to come.
func (t *Tracker) Recall(ctx context.Context, s *features.Scene, ann *annotation.Annotation) error {
	if t.frames.differ(s) {
		return annotation.Faultf("width", "the picture is %d×%d; the ones before it were %d×%d",
			s.Width, s.Height, t.frames.anchors[0].Width, t.frames.anchors[0].Height)
	}
	t.seeking = seekPictures
	t.size, t.aspect = image.Pt(s.Width, s.Height), s.PixelAspect
	marked, err := t.accept(ann, s, t.objects.inSight)
	if err != nil {
		return err
	}
	f := t.load(s)
	f.recalled = true
	t.expect(f)
	if err := t.label(ctx, f, ann, marked, &Result{}); err != nil {
		return err
	}
	t.evictAll()
	for k := range t.objects.all {
		t.objects.all[k].Lose(t.cfg.OccludedFrames)
		t.objects.all[k].corrected = false // masks that it is recalled by are no corrections
	}
	return nil
}
