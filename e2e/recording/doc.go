// Package recording has a segd record a camera that serves the demo's clip by RTSP, and looks at what it keeps: the files by
// FFmpeg, the API with each role, the page in Chromium, after segd was killed, on a full disk, and what it costs.
package recording
