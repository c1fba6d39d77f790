// Package history keeps the latest frames of a camera and how they were labelled, so that
// an annotation may be for a picture that a user saw a moment ago.
//
// The tracker adds each picture with the labels of its pixels, oldest first. By a sequence number it gets the scene
// (package features) that is made of that picture on demand, and the list of later frames that have to be labelled again.
// The kept frames are bounded in bytes. A frame that a user holds is kept beyond that bound, with some of the frames after
// it, the fewer the later, along which its objects are followed to the present. Pictures are of a type of the caller's.
package history
