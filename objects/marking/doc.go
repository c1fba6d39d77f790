// Package marking decides which objects begin and end by themselves, and binds objects to the tracks of what a network
// detects (package track).
//
// In go the objects that there are (package objects) and the detections of every frame; out come edits of the objects,
// and, for the tracker, the extents of the objects that have a track and boxes of objects that begin, of the same kind
// as people draw ([annotation.Annotation], Automatic):
//
//   - A track that is confirmed and has no object gets one, if it is of a class that is wanted. It is marked once,
//     by the box that was detected.
//   - The object of a track goes where the track goes. While the track is lost the object is dormant: the tracker does
//     not follow it. If the track is known again the object is marked again under its old id; if it ends, so does
//     the object, also one that people keep meanwhile.
//   - An object that people marked has the track that it fits, or one that begins with the mark, and ends if nothing that is
//     detected is it; later one whose box its mask fits. It does not end
//     with its track, but is followed without one then. Once its track has left the picture it is out of sight
//     until people mark it again, as nothing tells it from who comes in later and looks like it.
//
// Objects that people marked are theirs, and what was marked here becomes theirs when they keep it. Where they
// removed an object none begins for its track.
package marking
