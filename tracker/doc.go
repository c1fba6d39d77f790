// Package tracker follows annotated objects through the scenes of one camera.
//
// In go scenes (package features), oldest first, and annotations; out come, for
// each scene, every object's mask and state. A sliding window of the latest
// frames and the annotated ones, which stay, is labelled as one problem:
//
//   - Affinity. Each superpixel looks up its most similar ones near by in the
//     latest frames and in the annotated ones, and inherits their labels as
//     probabilities q. This is the unary energy 1 − q.
//   - Classifier. A linear classifier and the window's labels are estimated
//     together by DC-ADMM (package solver), warm started from the last window.
//   - Smoothness. Neighbouring superpixels of like colour prefer one label.
//
// The newest frame is then cut with the classifier speaking as loudly as the
// affinity is unsure.
//
// A Tracker belongs to one goroutine.
package tracker
