// Package fleet has three boxes share eight cameras through a cluster of three NATS servers, lets one fault after
// another happen to them, and looks at what subscribers get: how soon each camera has masks again, whether these are the
// ones of an undisturbed run, of the same objects, of one box at a time, and whether all events are kept.
package fleet
