// Package demo is the sample camera: a clip of a real surveillance camera,
// served as H.264 over RTSP on loopback, in real time and looping.
//
// In: a video file (by default the one Debian's opencv-doc ships, [ClipPath]),
// which [Prepare] compresses into memory. Out: a [Server] that any RTSP client
// plays over TCP or UDP, with RTP times that keep rising over the loop and RTCP
// sender reports that tie them to the wall clock.
//
// The clip starts at its start frame when the first client plays, so that
// client's frame n is the clip's frame start+n (modulo its length). Clients
// that come later join the running stream.
//
// A Server is safe for use by several goroutines. The RTSP side is gortsplib's.
package demo
