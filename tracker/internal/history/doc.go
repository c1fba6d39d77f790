// Package history keeps the latest frames of a camera and how they were labelled, so that
// an annotation may be for a picture that a user saw a moment ago.
//
// In go pictures with the labels of their pixels, oldest first; out come scenes (package
// features) by sequence number, made of the picture when a caller asks, and which of those
// after it are to be labelled again. What is kept is bounded in bytes. A frame that a user
// holds stays beyond the bound, and so does a trail of frames after it, ever thinner, along which
// its objects are followed to the present. What a picture is, is for the caller to say.
package history
