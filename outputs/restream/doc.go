// Package restream sends the cameras' pictures on as video, in H.264.
//
// In: each frame that a camera shows, with its masks (Streams.Publish, from that camera's last stage). Out: RTP packets
// for those who watch a stream, by RTSP (Listen) or by whatever else calls Streams.Watch, as WHEP does (package whip).
//
//	CAMERA          the pictures as they are shown
//	CAMERA/overlay  with the masks drawn
//
// A frame is encoded once for all who watch a stream, on the goroutine that publishes it, and not at all while no one
// does. A viewer begins with a key frame, which is made soon after it has come. One that cannot be
// written to loses whole frames, alone and counted, up to the next key frame: by WHEP a network loses packets instead.
//
// All methods may be called from any goroutine.
package restream
