package codec

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What is no video is not shown as one, although FFmpeg can draw text, follow playlists and count up names of
// files. A symbolic link or a name that says otherwise is no way round that.
func TestFormats(t *testing.T) {
	lines := strings.Repeat("root:x:0:0:root:/root:/bin/bash\n", 40)
	packets := encode(t, EncoderConfig{Width: 96, Height: 64, FPS: 10}, 5)
	video := writeMPEGTS(t, packets, 96, 64, 10)
	dir := filepath.Dir(video)
	picture, err := NewJPEGEncoder(96, 64, 96, 64, 80)
	require.NoError(t, err)
	defer picture.Close()
	jpeg, err := picture.Encode(make([]byte, 96*64*3))
	require.NoError(t, err)
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	base := filepath.Base(video)
	write("001.jpg", string(jpeg))
	write("002.jpg", string(jpeg))
	secret := write("secret.txt", lines)
	link := filepath.Join(dir, "link.mp4")
	require.NoError(t, os.Symlink(secret, link))
	for name, path := range map[string]string{
		"text":                        secret,
		"text that is called a video": write("text.avi", lines),
		"text behind a link":          link,
		"ANSI art":                    write("art.ans", "\x1b[31m"+lines+"\x1a"),
		"NFO":                         write("a.nfo", lines),
		"XBIN":                        write("a.xb", "XBIN\x1a\x50\x00\x19\x00\x10\x00"+strings.Repeat("ab", 2000)),
		"HLS playlist":                write("a.m3u8", "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n"+base+"\n#EXT-X-ENDLIST\n"),
		"HLS playlist of text":        write("b.m3u8", "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile:"+secret+"\n#EXT-X-ENDLIST\n"),
		"concat script":               write("a.ffconcat", "ffconcat version 1.0\nfile "+base+"\n"),
		"DASH":                        write("a.mpd", `<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-main:2011" type="static"><Period><AdaptationSet mimeType="video/mp2t"><Representation id="1"><BaseURL>`+base+`</BaseURL></Representation></AdaptationSet></Period></MPD>`),
		"IMF":                         write("CPL_a.xml", `<?xml version="1.0"?><CompositionPlaylist xmlns="http://www.smpte-ra.org/schemas/2067-3/2016"></CompositionPlaylist>`),
		"SDP":                         write("a.sdp", "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 96\na=rtpmap:96 H264/90000\n"),
		"SubRip":                      write("a.srt", "1\n00:00:00,000 --> 00:00:05,000\nhello\n\n2\n00:00:05,000 --> 00:00:06,000\nagain\n"),
		"WebVTT":                      write("a.vtt", "WEBVTT\n\n00:00.000 --> 00:05.000\nhello\n"),
		"SubStation":                  write("a.ass", "[Script Info]\nScriptType: v4.00+\n\n[Events]\nDialogue: 0,0:00:00.00,0:00:05.00,Default,,0,0,0,,hello\n"),
		"a numbered name":             write("%03d.jpg", lines),
		"a picture":                   write("a.jpg", string(jpeg)),
		"FFmetadata":                  write("a.ffmeta", ";FFMETADATA1\ntitle=x\n"),
		"a filter graph":              write("a.lavfi", "testsrc"),
		"AviSynth":                    write("a.avs", "Version()\n"),
		"RTSP's reference":            write("a.rt", "RTSPtextrtsp://127.0.0.1:1/x\r\n"),
		"a QuickTime reference":       write("ref.mov", "\x00\x00\x00\x14ftypqt  \x00\x00\x00\x00qt  \x00\x00\x00\x08mdat"),
		"Portable pixmap":             write("a.ppm", "P6 96 64 255\n"+strings.Repeat("abc", 96*64)),
		"raw video, by its name":      write("96x64.rgb", strings.Repeat("abc", 96*64)),
		"bytes of no format":          write("a.bin", strings.Repeat("\x00\x01\x02secret", 500)),
	} {
		t.Run(name, func(t *testing.T) {
			m, err := OpenFile(path)
			if err == nil {
				_, err := m.Next()
				m.Close()
				t.Fatalf("it opened; its first picture: %v", err)
			}
			if !strings.Contains(err.Error(), "accepted: ") || !strings.Contains(err.Error(), "matroska") {
				t.Errorf("the error does not say what is accepted: %v", err)
			}
		})
	}
	if m, err := OpenFile(video); err != nil {
		t.Errorf("a video beside them: %v", err)
	} else {
		m.Close()
	}
}

// Nothing waits for the other end of a pipe.
func TestPipeIsNoFile(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "a.mp4")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for _, path := range []string{pipe, "/dev/zero", "/dev/ptmx"} {
		m, err := OpenFile(path)
		if err == nil {
			m.Close()
		}
		assert.ErrorContains(t, err, "accepted: a regular file", "%s", path)
	}
	if _, err := OpenCapture(pipe, CaptureConfig{}); !errors.Is(err, ErrCapture) || !strings.Contains(err.Error(), "accepted: such as /dev/video0") {
		t.Errorf("a pipe as a camera: %v", err)
	}
}
