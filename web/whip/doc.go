// Package whip takes in video that browsers, OBS, FFmpeg or GStreamer publish by
// WebRTC, over the WebRTC-HTTP ingestion protocol (WHIP, RFC 9725), and sends video to
// those who watch, over the egress protocol (WHEP, draft-ietf-wish-whep). WebRTC is pion's.
//
// In: HTTP requests to [Server.Handler], an SDP offer to start with, and then RTP
// on one port, over UDP or, where that is blocked, TCP. Out: for each camera a
// [Door], by which a source of package ingest gets one publisher after the other; and
// to viewers the packets of a stream of package restream.
//
//	POST    /whip/CAMERA           offer, answered 201 with the answer; Location names the session
//	DELETE  /whip/CAMERA/ID        ends the session
//	PATCH   /whip/CAMERA/ID        trickled candidates, answered 204; ICE restarts are not offered (422)
//	OPTIONS both                   what is accepted, and the ICE servers
//	POST    /whep/CAMERA           as above, of who watches
//	POST    /whep/CAMERA/overlay   likewise, with the masks drawn
//	DELETE, PATCH /whep/CAMERA/ID  likewise
//
// A session that another has replaced answers 409, one that has ended 404.
//
// Who may ask is decided before the handler: it knows no tokens. A camera has one
// publisher; the next one is refused or takes its place, as configured.
//
// The server is an ICE-lite agent: it sends nothing to an address before a
// request with the session's password came from there, so an offer cannot make it
// knock on other machines' doors. Hence it has no use for candidates and drops
// those it is sent.
//
// Lost packets are asked for again (NACK) and waited for, within bounds, by a
// buffer that puts packets in order; what never comes is counted, and a key frame
// is asked for (PLI).
//
// All methods may be called from any goroutine.
package whip
