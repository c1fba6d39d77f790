package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/asticode/go-astiav"
	"github.com/stretchr/testify/require"
)

// trackOf is a video track of n pictures, one each tenth of a second.
type trackOf struct{ width, n int }

// writeTracks writes a file of several video tracks, the packets in the order of their times.
func writeTracks(t *testing.T, format string, tracks ...trackOf) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a."+format)
	out, err := astiav.AllocOutputFormatContext(nil, map[string]string{"mkv": "matroska", "mp4": "mp4"}[format], path)
	require.NoError(t, err)
	defer out.Free()
	type placed struct {
		Packet
		stream *astiav.Stream
	}
	var all []placed
	for _, track := range tracks {
		cfg := EncoderConfig{Width: track.width, Height: 32, FPS: 10}
		if format == "mkv" { // which wants H.264's parameter sets apart
			cfg.Codec = VP8
		}
		e, err := NewEncoder(cfg)
		require.NoError(t, err)
		s := out.NewStream(nil)
		require.NoError(t, s.CodecParameters().FromCodecContext(e.ctx))
		e.Close()
		s.SetTimeBase(astiav.NewRational(1, 10))
		for _, p := range encode(t, cfg, track.n) {
			all = append(all, placed{p, s})
		}
	}
	slices.SortStableFunc(all, func(a, b placed) int { return int(a.PTS - b.PTS) })
	file, err := createFile(path)
	require.NoError(t, err)
	out.SetPb(file)
	require.NoError(t, out.WriteHeader(nil))
	packet := astiav.AllocPacket()
	defer packet.Free()
	for _, p := range all {
		require.NoError(t, packet.FromData(p.Data))
		packet.SetStreamIndex(p.stream.Index())
		packet.SetPts(p.PTS)
		packet.SetDts(p.PTS)
		packet.SetDuration(1)
		if p.Key {
			packet.SetFlags(astiav.NewPacketFlags(astiav.PacketFlagKey))
		}
		packet.RescaleTs(astiav.NewRational(1, 10), p.stream.TimeBase())
		require.NoError(t, out.WriteFrame(packet))
		packet.Unref()
	}
	require.NoError(t, errors.Join(out.WriteTrailer(), file.Close()))
	return path
}

// widthAndCount reads a file to its end.
func widthAndCount(t *testing.T, path string) (width, n int) {
	t.Helper()
	eachPicture(t, path, func(p *Picture) {
		if n++; n == 1 && p.PTS != 0 {
			t.Errorf("the first picture is at %d", p.PTS)
		}
		width = p.Width
	})
	return width, n
}

// Of several tracks the one that moves is read, and all of it.
func TestBestTrack(t *testing.T) {
	for _, format := range []string{"mp4", "mkv"} {
		for name, tt := range map[string]struct {
			tracks   []trackOf
			width, n int
		}{
			"one":             {[]trackOf{{32, 7}}, 32, 7},
			"one picture":     {[]trackOf{{32, 1}}, 32, 1},
			"a still first":   {[]trackOf{{64, 1}, {32, 7}}, 32, 7},
			"a still behind":  {[]trackOf{{32, 7}, {64, 1}}, 32, 7},
			"stills round it": {[]trackOf{{64, 1}, {32, 1}, {48, 7}, {80, 1}}, 48, 7},
			"stills alone":    {[]trackOf{{64, 1}, {32, 1}}, 64, 1},
		} {
			t.Run(format+"/"+name, func(t *testing.T) {
				if width, n := widthAndCount(t, writeTracks(t, format, tt.tracks...)); width != tt.width || n != tt.n {
					t.Errorf("%d pictures %d wide; want %d of %d", n, width, tt.n, tt.width)
				}
			})
		}
	}
}

// Of two tracks that move the one that is the default is read.
func TestDefaultTrack(t *testing.T) {
	data, err := os.ReadFile(writeTracks(t, "mp4", trackOf{32, 7}, trackOf{64, 7}))
	require.NoError(t, err)
	for _, enabled := range []int{0, 1} {
		for track, at := 0, 0; track < 2; track++ {
			at += bytes.Index(data[at:], []byte("tkhd")) + 4
			data[at+3] &^= 1
			if track == enabled {
				data[at+3] |= 1
			}
		}
		if width, n := widthAndCount(t, writeFile(t, "a.mp4", data)); width != 32<<enabled || n != 7 {
			t.Errorf("%d pictures %d wide; want 7 of %d", n, width, 32<<enabled)
		}
	}
}

// boxed is a box of ISO 14496-12.
func boxed(name string, parts ...string) string {
	body := strings.Join(parts, "")
	return string(binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))) + name + body
}

// A cover is no video: behind it the video is read, and alone it is refused in words.
func TestCover(t *testing.T) {
	jpeg, _ := encodeJPEG(t, corners(48, 48), 48, 48, 48, 48, 90)
	cover := boxed("udta", boxed("meta", "\x00\x00\x00\x00",
		boxed("hdlr", "\x00\x00\x00\x00\x00\x00\x00\x00mdirappl\x00\x00\x00\x00\x00\x00\x00\x00\x00"),
		boxed("ilst", boxed("covr", boxed("data", "\x00\x00\x00\x0d\x00\x00\x00\x00", string(jpeg))))))
	video := mp4(t, 64, 32, 7)
	// Fragments say where in the file their base is.
	for rest := video; ; {
		at := bytes.Index(rest, []byte("tfhd"))
		if at < 0 {
			break
		}
		rest = rest[at+4:]
		if base := rest[8:16]; rest[3]&1 != 0 {
			binary.BigEndian.PutUint64(base, binary.BigEndian.Uint64(base)+uint64(len(cover)))
		}
	}
	if width, n := widthAndCount(t, writeFile(t, "a.mp4", append([]byte(cover), video...))); width != 64 || n != 7 {
		t.Errorf("%d pictures %d wide; want 7 of 64", n, width)
	}
	head := boxed("ftyp", "isom\x00\x00\x02\x00isom")
	m, err := OpenFile(writeFile(t, "b.mp4", []byte(head+boxed("moov", boxed("mvhd", strings.Repeat("\x00", 100)), cover))))
	if err == nil {
		m.Close()
		t.Fatal("a cover alone is read")
	}
	if !errors.Is(err, ErrNoVideo) || !strings.Contains(err.Error(), "such as a cover") {
		t.Error(err)
	}
}
