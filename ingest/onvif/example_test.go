package onvif_test

import (
	"fmt"

	"github.com/segd/segd/ingest/onvif"
)

// A camera's main stream is more than segd looks at, and has to be decoded all the same.
func ExamplePick() {
	profiles := []onvif.Profile{
		{Name: "mainStream", Encoding: "H265", Width: 3840, Height: 2160, FPS: 25, URL: "rtsp://192.0.2.10/101"},
		{Name: "subStream", Encoding: "H264", Width: 704, Height: 576, FPS: 15, URL: "rtsp://192.0.2.10/102"},
		{Name: "stills", Encoding: "MJPEG", Width: 640, Height: 480, FPS: 2, URL: "rtsp://192.0.2.10/103"},
	}
	fmt.Println(profiles[onvif.Pick(profiles, onvif.DefaultShortSide)].Name)
	// Output: subStream
}
