// Package objects is which objects a camera has, and what is known of each: the one place that says what an object is
// called, whose it is and where it is in its life.
//
// In go edits: what people ask for, what a detector's tracks lead to (package marking), and what the tracker makes of
// each frame. Out come a new table and what there is to be told of the change. A [Table] does not change, so that any
// goroutine may read one while the next is being made.
//
// An object is in the table from the frame on that it is marked in, until a user removes it, its track ends or
// nothing is left to follow it by. An object whose track is lost is dormant: the tracker does not follow it, but it is
// in the table, and continues under its id when the track is known again.
package objects
