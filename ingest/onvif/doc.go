// Package onvif finds cameras and asks them for their streams.
//
// [Discover] asks the network who is a camera (WS-Discovery); [Inspect] asks one
// camera for its media profiles and their RTSP URLs (ONVIF Device, Media and Media2
// services); [Pick] says which of them suits segd; [Find] is all three, as plain
// structs that have JSON tags. All may be called from any goroutine, block until they
// are done or their context ends, and leave nothing running.
//
// Anybody on the network may answer. What is read is bounded in bytes, number and
// time; a camera is asked, and told of a user, at the address it answered from and
// nowhere else, whatever addresses it names; and URLs of streams are given that host
// too. Passwords go out as digests only (WS-Security UsernameToken, and HTTP Digest
// where it is asked for), after the camera's clock, and are in no URL and no error.
//
// The messages are few enough for encoding/xml; HTTP Digest is icholy/digest's.
// Sources: ONVIF Core and Media Service Specifications, WS-Discovery 2005/04,
// SOAP-over-UDP 1.1, WSS UsernameToken Profile 1.0.
package onvif
