// Package track follows things from frame to frame by a detector's boxes: it says which box is of which thing, where
// a thing is that is hidden for a moment, and when one is no more. It takes and gives numbers and
// knows nothing of pictures. A [Tracker] belongs to one goroutine and allocates nothing once it has seen as many
// things as there are; its figures are in docs/tracks.md.
package track
