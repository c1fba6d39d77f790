// Package rules tells when something has been so for a while: an object is in a zone, an object stands there, or none has been there.
// Each rule has a schedule, and a least time between two of its events.
//
// In go a camera's rules, and then each frame's objects and in which zones they are (package zones); out come events. Durations are
// stream times; schedules are of the frames' wall clock, in the local time zone. A Watcher is for one goroutine at a time.
package rules
