// Package hider decides, frame by frame, what is hidden in a camera's pictures: in go the camera's objects and what was
// detected, out comes a privacy.Cover.
//
// An object is hidden by its mask and a margin, one out of sight by its extent, a lost one by its last place for a while,
// and what was detected and is no object by its box. It fails towards hiding: all of the picture is hidden until all of it
// was looked at, and when that was too long ago. A place that was not looked at since grows by what a person walks.
//
// A Hider belongs to one goroutine.
package hider
