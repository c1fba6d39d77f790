// Package trackstate follows the states of objects: visible, occluded, lost.
//
// In goes what a picture's labels show of an object, frame by frame; out come its
// state, its running size and place, and whether the sight of it is beyond doubt. One
// that was out of sight has to show more of itself to come back than to stay. Having
// come back it is on probation, as new tracks are in multi-object tracking: gone again
// within that time, it was something that only looks like it, and the next return has to
// be detected in ever more frames in a row before it is believed.
//
// An object is in one place: its pieces hang together or lie about as near to one another
// as it is wide.
package trackstate
