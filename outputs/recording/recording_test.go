package recording

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/ingest/codec"
)

const (
	width, height = 64, 48
	fps           = 10
)

var began = time.Date(2027, 1, 31, 8, 0, 0, 0, time.UTC)

// video are units as a camera sends them, a key frame a second, of noise.
func video(t *testing.T, cfg codec.EncoderConfig, frames int) []ingest.Unit {
	t.Helper()
	cfg.Width, cfg.Height, cfg.FPS, cfg.GOP = width, height, fps, fps
	enc, err := codec.NewEncoder(cfg)
	require.NoError(t, err)
	defer enc.Close()
	random := rand.New(rand.NewPCG(1, 2))
	var units []ingest.Unit
	add := func(packets []codec.Packet) {
		for _, p := range packets {
			u := ingest.Unit{
				Codec: max(cfg.Codec, codec.H264), Data: p.Data, Key: p.Key, Fresh: len(units) == 0,
				Ticks: 1e9 + p.PTS*ticksPerSecond/fps, Captured: began.Add(time.Duration(p.PTS) * time.Second / fps),
			}
			if p.Key {
				u.Params = sets(t, u)
			}
			units = append(units, u)
		}
	}
	pix := make([]byte, 3*width*height)
	for range frames {
		for i := range pix {
			pix[i] = byte(random.Uint32())
		}
		packets, err := enc.BGR(pix, false)
		require.NoError(t, err)
		add(packets)
	}
	packets, err := enc.Flush()
	require.NoError(t, err)
	add(packets)
	return units
}

func sets(t *testing.T, u ingest.Unit) (params [][]byte) {
	t.Helper()
	var units h264.AnnexB
	require.NoError(t, units.Unmarshal(u.Data))
	for _, n := range units {
		if h := n[0] & 0x1f; u.Codec == codec.H264 && (h == 7 || h == 8) {
			params = append(params, n)
		}
		if h := n[0] >> 1 & 0x3f; u.Codec == codec.H265 && h >= 32 && h <= 34 {
			params = append(params, n)
		}
	}
	return params
}

func open(t *testing.T, cfg Config) *Store {
	t.Helper()
	cfg.MaxAge = max(cfg.MaxAge, 1e6*time.Hour)
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = 1 << 30
	}
	s, err := Open(cfg)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// record has units recorded, and masks of each, and waits for that.
func record(t *testing.T, cfg Config, units []ingest.Unit) *Store {
	t.Helper()
	s := open(t, cfg)
	c := s.Camera("gate")
	for i, u := range units {
		c.Unit(u)
		c.Masks(&segdv1.MaskFrame{Sequence: uint64(i), PtsNs: 1, CaptureTime: timestamppb.New(u.Captured)})
	}
	s.Close()
	return open(t, cfg)
}

// pictures are the times of a file's pictures, as FFmpeg decodes it.
func pictures(t *testing.T, path string) (times []time.Duration) {
	t.Helper()
	m, err := codec.OpenFile(path)
	require.NoError(t, err)
	defer m.Close()
	for {
		p, err := m.Next()
		if errors.Is(err, io.EOF) {
			return times
		}
		require.NoError(t, err)
		if p.Width != width || p.Height != height || p.Damaged {
			t.Fatalf("%d×%d, damaged: %v", p.Width, p.Height, p.Damaged)
		}
		times = append(times, time.Duration(p.PTS))
	}
}

func folder(t *testing.T, dir, suffix string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "gate"))
	require.NoError(t, err)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix) {
			names = append(names, e.Name())
		}
	}
	return names
}

// What is recorded has each picture at its time, and the masks of a picture have the time of that picture.
func TestRecord(t *testing.T) {
	for name, cfg := range map[string]codec.EncoderConfig{
		"H.264": {}, "H.264 with reordered pictures": {BFrames: 2}, "H.265": {Codec: codec.H265},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			units := video(t, cfg, 650)
			s := record(t, Config{Dir: dir}, units)
			if _, more := s.Segments("gate", time.Time{}, time.Time{}, 2); !more {
				t.Error("no more than two segments")
			}
			segments, more := s.Segments("gate", time.Time{}, time.Time{}, 10)
			if len(segments) != 3 || more {
				t.Fatalf("%d segments, more: %v", len(segments), more)
			}
			total := 0
			var bytes int64
			for i, seg := range segments {
				if i > 0 && seg.Start.Sub(segments[i-1].End()).Abs() > time.Millisecond {
					t.Errorf("segment %d begins at %v, the one before ends at %v", i, seg.Start, segments[i-1].End())
				}
				bytes += seg.Bytes
				f, err := s.Video("gate", seg.Name())
				if err != nil || f == nil {
					t.Fatal(f, err)
				}
				times := pictures(t, f.Name())
				_ = f.Close()
				at := map[uint64]time.Duration{}
				found, err := s.Masks("gate", seg.Name(), func(m *segdv1.MaskFrame) error {
					at[m.Sequence] = time.Duration(m.PtsNs)
					if want := m.CaptureTime.AsTime().Sub(seg.Start); want != time.Duration(m.PtsNs) {
						t.Errorf("masks of %v are at %v", want, time.Duration(m.PtsNs))
					}
					return nil
				})
				if !found || err != nil || len(at) != len(times) {
					t.Errorf("segment %d: %d pictures, %d masks, %v", i, len(times), len(at), err)
				}
				for k, got := range times {
					if want := time.Duration(k) * time.Second / fps; (got - want).Abs() > time.Millisecond {
						t.Fatalf("picture %d of segment %d is at %v", k, i, got)
					}
				}
				total += len(times)
			}
			assert.Equal(t, len(units), total, "pictures")
			if st := s.Stats()[0]; st.Bytes != bytes || st.Segments != 3 || !st.Oldest.Equal(began) {
				t.Errorf("%+v, and the segments have %d bytes", st, bytes)
			}
			if some, _ := s.Segments("gate", segments[1].Start.Add(time.Second), segments[1].Start.Add(2*time.Second), 10); len(some) != 1 || some[0] != segments[1] {
				t.Errorf("of a second in the middle: %v", some)
			}
		})
	}
}

// The oldest go where there are too many bytes, those that are old, and none else.
func TestTrim(t *testing.T) {
	units := video(t, codec.EncoderConfig{}, 1000)
	now := time.Now()
	for i := range units { // they end now
		units[i].Captured = now.Add(units[i].Captured.Sub(units[len(units)-1].Captured))
	}
	all := t.TempDir()
	segments, _ := record(t, Config{Dir: all}, units).Segments("gate", time.Time{}, time.Time{}, 100)
	var total int64
	for _, seg := range segments {
		total += seg.Bytes
	}
	for name, tt := range map[string]struct {
		cfg  Config
		most int
	}{
		"by bytes": {Config{MaxBytes: total * 2 / 3}, 9},
		"by age":   {Config{MaxAge: 35 * time.Second}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := tt.cfg
			cfg.Dir = t.TempDir()
			if cfg.MaxBytes == 0 {
				cfg.MaxBytes = 1 << 30
			}
			if cfg.MaxAge == 0 {
				cfg.MaxAge = time.Hour
			}
			s, err := Open(cfg)
			require.NoError(t, err)
			for _, u := range units {
				s.Camera("gate").Unit(u)
			}
			s.Close()
			kept, _ := s.Segments("gate", time.Time{}, time.Time{}, 100)
			var bytes int64
			for _, path := range append(folder(t, cfg.Dir, videoSuffix), folder(t, cfg.Dir, masksSuffix)...) {
				info, err := os.Stat(filepath.Join(cfg.Dir, "gate", path))
				require.NoError(t, err)
				bytes += info.Size()
			}
			if n := len(folder(t, cfg.Dir, videoSuffix)); n != len(kept) || len(kept) == 0 || len(kept) > tt.most || bytes != s.Stats()[0].Bytes || bytes > cfg.MaxBytes {
				t.Errorf("%d files of %d bytes, %d segments are listed; %+v", n, bytes, len(kept), s.Stats()[0])
			}
			if last := kept[len(kept)-1]; now.Sub(last.End()).Abs() > time.Second {
				t.Errorf("the newest ends %v", last.End())
			}
		})
	}
}

// A kill leaves a file without a length in its name, cut anywhere. The next start has all whole fragments of it.
func TestMend(t *testing.T) {
	dir := t.TempDir()
	units := video(t, codec.EncoderConfig{}, 100)
	record(t, Config{Dir: dir}, units).Close()
	video := filepath.Join(dir, "gate", folder(t, dir, videoSuffix)[0])
	whole, err := os.ReadFile(video)
	require.NoError(t, err)
	masks, err := os.ReadFile(strings.TrimSuffix(video, videoSuffix) + masksSuffix)
	require.NoError(t, err)
	before := 0
	for _, length := range []int{0, 10, 500, len(whole) / 3, len(whole) / 2, len(whole) - 1, len(whole)} {
		dir := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(dir, "gate"), 0o700))
		name := filepath.Join(dir, "gate", began.Format(nameForm))
		require.NoError(t, errors.Join(os.WriteFile(name+videoSuffix, whole[:length], 0o600), os.WriteFile(name+masksSuffix, masks[:len(masks)-3], 0o600)))
		s := open(t, Config{Dir: dir})
		segments, _ := s.Segments("gate", time.Time{}, time.Time{}, 10)
		if len(segments) == 0 {
			if left := folder(t, dir, ""); before > 0 || length > len(whole)/2 || len(left) > 0 {
				t.Errorf("%d of %d bytes: nothing is left but %q", length, len(whole), left)
			}
			continue
		}
		n := len(pictures(t, filepath.Join(dir, "gate", folder(t, dir, videoSuffix)[0])))
		if want := time.Duration(n) * time.Second / fps; segments[0].Duration != want || n < before {
			t.Errorf("%d of %d bytes: %d pictures, %v", length, len(whole), n, segments[0].Duration)
		}
		before = n
		count := 0
		if found, err := s.Masks("gate", segments[0].Name(), func(*segdv1.MaskFrame) error { count++; return nil }); !found || err != nil || count != len(units)-1 {
			t.Errorf("%d masks, %v", count, err)
		}
	}
	assert.Equal(t, len(units), before, "pictures")
}

// Pictures that all come at one time do not wait for another one.
func TestManyAtOnce(t *testing.T) {
	units := video(t, codec.EncoderConfig{}, 2)
	c := open(t, Config{Dir: t.TempDir()}).Camera("gate")
	c.store.Close()
	var err error
	if c.store.root, err = os.OpenRoot(c.store.cfg.Dir); err != nil { // this goroutine writes from now on
		t.Fatal(err)
	}
	defer c.store.root.Close()
	for i := range 3 * fragmentSamples {
		u := units[min(i, 1)]
		u.Ticks = units[0].Ticks
		c.store.do(job{camera: c, unit: u})
		if c.now == nil || len(c.now.samples) > fragmentSamples {
			t.Fatalf("after %d: %v, %v", i, c.state, c.lost)
		}
	}
	c.end()
	if st := c.store.Stats()[0]; st.Bytes < 2*fragmentSamples*int64(len(units[1].Data)) {
		t.Errorf("%+v", st)
	}
}

// What cannot be recorded is told and counted, and what follows is recorded.
func TestFaults(t *testing.T) {
	units := video(t, codec.EncoderConfig{}, 3*fps)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "gate"), nil, 0o600); err != nil { // where the folder is to be
		t.Fatal(err)
	}
	var log bytes.Buffer
	s := open(t, Config{Dir: dir})
	s.faults.Write = func(message string, args ...any) { log.WriteString(message); log.WriteString(args[3].(error).Error()) }
	c := s.Camera("gate")
	write := func(u ingest.Unit) { s.do(job{camera: c, unit: u}) }
	s.Close()
	var err error
	if s.root, err = os.OpenRoot(dir); err != nil { // this goroutine writes from now on
		t.Fatal(err)
	}
	defer s.root.Close()

	write(units[1])
	if c.lost[LostVideo] != 1 || c.state.Is != Waiting || !strings.Contains(c.state.Reason, "key frame") {
		t.Errorf("before the key frame: %v, %v", c.lost, c.state)
	}
	write(units[0])
	write(units[1])
	if c.lost[LostDisk] != 1 || c.lost[LostVideo] != 2 || c.state.Is != Failed {
		t.Errorf("without a folder: %v, %v", c.lost, c.state)
	}
	require.NoError(t, os.Remove(filepath.Join(dir, "gate")))
	write(units[fps])
	if c.lost[LostDisk] != 2 {
		t.Errorf("it is tried again at once: %v", c.lost)
	}
	c.retryAt = time.Time{}
	for _, u := range units[fps : 2*fps+2] {
		write(u)
	}
	if c.state != stateRunning || c.now == nil {
		t.Errorf("it records again: %v", c.state)
	}
	write(ingest.Unit{Codec: codec.MJPEG, Data: []byte{0xff, 0xd8}, Key: true})
	if c.state.Is != Refused || !strings.Contains(c.state.Reason, "MJPEG; H.264 and H.265 are recorded") || len(c.segments) != 1 || c.segments[0].Duration != 1200*time.Millisecond {
		t.Errorf("MJPEG: %v, %d segments", c.state, len(c.segments))
	}
	back := slices.Clone(units[:3])
	back[2].Ticks = back[0].Ticks - 5*ticksPerSecond
	for _, u := range back {
		write(u)
	}
	if c.lost[LostVideo] != 3 || c.state.Is != Failed {
		t.Errorf("times that fall: %v, %v", c.lost, c.state)
	}
	for range maxQueued + 1 {
		c.Unit(units[0])
	}
	if c.Unit(units[1]); c.lost[LostBehind] != 2 {
		t.Errorf("a full queue: %v", c.lost)
	}
	if log.Len() == 0 {
		t.Error("nothing was logged")
	}
}
