// Package recording keeps cameras' video in files as it comes, and the masks of its frames beside it.
//
// In: access units of H.264 and H.265 (Camera.Unit, from the goroutine that decodes them) and MaskFrames (Camera.Masks,
// from the one that publishes). Neither waits: what does not fit in a bounded queue is lost, and counted. Out: files of
// half a minute, which begin with a key frame.
//
//	DIR/CAMERA/20270131T080000.000Z_30040.mp4    when it begins (UTC), and how many milliseconds it is long
//	DIR/CAMERA/20270131T080000.000Z_30040.masks  segdv1.MaskFrame, one after the other, each after its length as a varint
//
// The video is fragmented MP4, made of the camera's own access units. pts_ns of a MaskFrame is the time of its picture in
// the video. A file that is being written has no length in its name yet. One that a kill left so is cut to its last whole
// fragment and named at the next Open.
//
// One goroutine writes, and removes what is older or more than may be (Config). A disk that refuses costs what should have
// been written: another attempt follows with a key frame some seconds later.
package recording
