// Package marking marks objects by itself: it decides what the findings of a detector mean for the
// objects that a tracker follows.
//
// A detector says what there is and about where, now and then; a tracker says which pixels, in every
// frame. In go the tracker's results, and the detections in some of the frames; out come boxes for the
// tracker, of the same kind as people draw ([annotation.Annotation], Automatic), and the objects that
// are none any more:
//
//   - A detection is of the object whose box, moved on as it moved lately, overlaps it the most. An
//     object that was marked here gets it for its box anew: a mask that has crept beyond it or has
//     shrunk is mended, and one that was out of sight is there again under its old id.
//   - One that is of no object, and lies on none, becomes a new object; of two of which one lies in the
//     other only one does.
//   - An object marked here that has a mask but is not detected any more, or that was out of sight for
//     too long, is gone.
//
// Objects that people marked are theirs: they take the detections that are of them, so that no other
// object begins there, and nothing else is done to them. What was marked here becomes theirs when they
// keep it. Where they removed an object none begins while what is there is detected.
//
// The steps are those of tracking by detection (Bewley et al., Simple online and realtime tracking, 2016),
// with masks between the detections instead of a Kalman filter.
package marking
