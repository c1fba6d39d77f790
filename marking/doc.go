// Package marking decides which objects there are: it binds the objects that a tracker follows to the tracks of
// what a network detects (package track), begins objects by itself and ends them.
//
// In go the detections of every frame and what the tracker makes of it; out come, for the tracker, the extents of
// the objects that have a track, boxes of objects that begin, of the same kind as people draw
// ([annotation.Annotation], Automatic), and the objects that are none any more:
//
//   - A track that is confirmed and has no object gets one, if it is of a class that is wanted. It is marked once,
//     by the box that was detected.
//   - The object of a track goes where the track goes. While the track is lost the object rests: the tracker does
//     not follow it. If the track is known again the object is marked again under its old id; if it ends, so does
//     the object.
//   - An object that people marked is bound to the track whose box its mask fits, if there is one. It does not end
//     with its track, but is followed without one then. Once its track has left the picture it is out of sight
//     until people mark it again, as nothing tells it from who comes in later and looks like it.
//
// Objects that people marked are theirs, and what was marked here becomes theirs when they keep it. Where they
// removed an object none begins for its track.
package marking
