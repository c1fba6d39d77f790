// Package streams tries the cameras' streams with programs that are not ours: by RTSP with FFmpeg and GStreamer, by WHEP with
// GStreamer and Chromium, and there with segd's page. Its tests need the build tag e2e; make stream-test installs what they need.
package streams
