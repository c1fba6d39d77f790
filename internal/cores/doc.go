// Package cores shares the processor's cores among those who compute frames: a semaphore that
// is given to who waits by urgency.
//
// A stage of a camera acquires one core before it works on a frame, and takes more for parts
// that can go side by side only as far as they are free. So no more goroutines compute than
// there are cores: they do not take turns in the middle of a frame, which would make all frames
// late instead of some wait, and caches stay warm. Frames that were begun go first, then
// the frame that waits the longest: latency comes before throughput, nothing that was computed is
// overtaken, and cameras take turns, whatever their frame rates.
//
// What has to go on at once (receiving and decoding, HTTP, NATS) needs no core of these.
//
// Any goroutine may use a Cores.
package cores
