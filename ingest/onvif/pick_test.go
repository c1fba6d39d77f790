package onvif

import "testing"

func TestPick(t *testing.T) {
	t.Parallel()
	of := func(encoding string, width, height int, fps float64) Profile {
		return Profile{Encoding: encoding, Width: width, Height: height, FPS: fps, URL: "rtsp://x/"}
	}
	mute := of("H264", 640, 480, 15)
	mute.URL = ""
	for _, tc := range []struct {
		name      string
		profiles  []Profile
		shortSide int
		want      int
	}{
		{"none", nil, 0, -1},
		{"main and sub", []Profile{of("H264", 2560, 1440, 25), of("H264", 640, 480, 15)}, 0, 1},
		{"sub first", []Profile{of("H264", 704, 576, 15), of("H264", 1920, 1080, 25)}, 0, 0},
		{"sub too small", []Profile{of("H264", 1920, 1080, 25), of("H264", 320, 240, 15)}, 0, 0},
		{"a bit small is better than very large", []Profile{of("H264", 3840, 2160, 25), of("H264", 640, 360, 15)}, 0, 1},
		{"720 rather than 360", []Profile{of("H264", 640, 360, 25), of("H264", 1280, 720, 25)}, 0, 1},
		{"upright", []Profile{of("H264", 480, 864, 15), of("H264", 864, 1536, 15)}, 0, 0},
		{"sub too slow", []Profile{of("H264", 1280, 720, 25), of("H264", 640, 480, 3)}, 0, 0},
		{"fast costs little", []Profile{of("H264", 1920, 1080, 25), of("H264", 640, 480, 60)}, 0, 1},
		{"in time before fast", []Profile{of("H264", 640, 480, 30), of("H264", 640, 480, 25)}, 0, 1},
		{"H.265 as good as H.264", []Profile{of("H265", 640, 480, 25), of("H264", 640, 480, 25)}, 0, 0},
		{"MJPEG last", []Profile{of("MJPEG", 640, 480, 25), of("H264", 1280, 720, 25)}, 0, 1},
		{"MJPEG after 1080", []Profile{of("MJPEG", 640, 480, 15), of("H265", 1920, 1080, 25)}, 0, 1},
		{"MJPEG before a picture of stamps", []Profile{of("H264", 160, 120, 15), of("MJPEG", 640, 480, 15)}, 0, 1},
		{"MJPEG alone", []Profile{of("MJPEG", 640, 480, 15)}, 0, 0},
		{"MPEG-4 is not decoded", []Profile{of("MPEG4", 640, 480, 25)}, 0, -1},
		{"nothing is said", []Profile{of("", 0, 0, 0)}, 0, 0},
		{"one without a URL", []Profile{mute, of("H264", 1920, 1080, 25)}, 0, 1},
		{"another model", []Profile{of("H264", 1920, 1080, 25), of("H264", 640, 480, 25)}, 1080, 0},
		{"equals", []Profile{of("H264", 640, 480, 25), of("H264", 640, 480, 25)}, 0, 0},
	} {
		if got := Pick(tc.profiles, tc.shortSide); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
}
