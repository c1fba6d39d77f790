// Package ingest brings camera pictures in: from RTSP cameras, web cameras that
// send JPEGs over HTTP, one after the other or one a request, publishers that come by
// themselves (package whip), video files and directories of images, as decoded BGR24
// frames with their times.
//
// In: a [Config] that names one source. Out: [Frame] values, handed one by one
// to the sink given to [Source.Run], from the goroutine that called Run. The
// sink owns one reference of each frame and must not block for long: frames
// are not queued behind it. A source that cannot keep up leaves out the access units
// to which no other refers, and then all up to the next key frame; Observer.Missed
// is told of each.
//
// Times. Frame.PTS is stream time since the source's first frame; it rises from
// frame to frame for as long as Run runs, across reconnects, loops and jumps of the
// source's own time (see timeline), and runs as time passes even if a camera's RTP
// time does not (see drift).
// Frame.Captured is wall clock, and Frame.Clock says whose: the camera's, once it
// has sent an RTCP sender report that can be believed (see senderClock), or this
// machine's at arrival.
//
// Pictures are upright, by what their stream says of how they lie and then by Config.Rotate, and not of two fields
// (Config.Deinterlace). Their pixels need not be square: Frame.PixelAspect says what they are.
//
// A camera that cannot be reached, goes away or shows no new picture for
// Config.StallTimeout, whatever else it sends, is redialled until Run's context
// ends, at waits that double, with jitter, up to 1 s. One that is late with a
// picture is dialled a second time beside the connection there is, and whichever
// shows a picture first is followed; one that says nothing at all is dialled again
// every 0.8 s, without giving up on the first dial. So one that is well again
// is found within two seconds, whatever was wrong; but one that refuses the password
// is asked again after minutes only, more each time and once at a time, for cameras
// lock accounts. None is followed to another server (see redirects). [First] tries
// once and says what is wrong in words meant for the user who typed the URL.
//
// Cameras get much wrong that gortsplib takes literally. rtspTalk sees what is said on a
// connection before it does: only what a session description says of video is read, the user
// is told by package digest (login), and redirects are held to the camera. Transport auto
// takes whatever goes wrong between SETUP and the first packet over UDP for a reason to use
// TCP.
//
// URLs are read by package cameraurl, and shown without secrets (package redact).
// RTSP is gortsplib's, and so are the depacketisers but that of JPEG; decoding is
// package codec's, which is the only one that touches FFmpeg.
package ingest
