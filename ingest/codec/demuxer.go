package codec

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"

	"github.com/asticode/go-astiav"

	"github.com/segd/segd/internal/files"
)

// Demuxer reads the best video track of a file as decoded pictures: the one that FFmpeg and
// players choose, but no attached picture such as a cover, and no single picture where a track has more.
type Demuxer struct {
	path   string
	format *astiav.FormatContext
	ctx    *astiav.CodecContext
	packet *astiav.Packet
	pic    Picture
	newest *astiav.Frame // as Decoder.newest
	held   bool          // newest has a picture
	weave  deinterlacer
	stream *astiav.Stream
	tick   float64 // nanoseconds a unit of the track's time base
	start  int64   // time stamp that counts as 0, in units of the time base
	step   int64   // nanoseconds a frame, for tracks whose frames carry no time
	last   int64   // PTS of the newest picture, nanoseconds
	frames int
	eof    bool

	width, height int
	count         int
	peeked        bool // packets were read to choose the track
}

// containers are the demuxers that files are read by. FFmpeg has others that draw text, follow playlists and
// count up names of files: what is no video is not to be shown, nor any other file than the one that was named.
var containers = []string{
	"asf", "av1", "avi", "dv", "flv", "h264", "hevc", "ivf", "m4v", "matroska", "mjpeg", "mov", "mp4", "mpeg", "mpegts",
	"mpegvideo", "mxf", "nut", "obu", "ogg", "vc1", "webm", "yuv4mpegpipe",
}

// notListed is how FFmpeg refuses a format that is not among those that are accepted.
var notListed = astiav.Error(-int(syscall.EINVAL))

// errFormat is about a file that is in none of them.
func errFormat(why error) error {
	return fmt.Errorf("not a video file that is read: %w; accepted: those of FFmpeg's formats %s", why, strings.Join(containers, ", "))
}

// OpenFile opens the file at path, in one of containers and any codec this FFmpeg
// knows. Only that one file is read.
func OpenFile(path string) (*Demuxer, error) {
	// FFmpeg would take a URL, a device or a pipe for a file.
	file, err := files.Open(path, files.Video)
	if err != nil {
		return nil, fmt.Errorf("codec: %w", err)
	}
	defer file.Close() // FFmpeg opens it once more
	m := &Demuxer{path: path}
	// By the number it is the file that was looked at, whatever has that name by now.
	if err := m.open(fmt.Sprintf("file:/proc/self/fd/%d", file.Fd())); err != nil {
		m.Close()
		return nil, fmt.Errorf("codec: %s: %w", path, err)
	}
	return m, nil
}

func (m *Demuxer) open(url string) error {
	m.packet = astiav.AllocPacket()
	if err := m.openFormat(url); err != nil {
		return err
	}
	track, err := m.pickTrack()
	if err != nil {
		return err
	}
	if m.peeked { // what was read is not to be missing
		index := track.Index()
		m.format.CloseInput()
		if err := m.openFormat(url); err != nil {
			return err
		}
		all := m.format.Streams()
		if index >= len(all) {
			return errFormat(errors.New("it has fewer tracks than a moment ago"))
		}
		track = all[index]
	}
	return m.openTrack(track)
}

func (m *Demuxer) openFormat(url string) error {
	options := astiav.NewDictionary()
	defer options.Free()
	if err := setOptions(options, "protocol_whitelist", "file", "format_whitelist", strings.Join(containers, ",")); err != nil {
		return err
	}
	m.format = astiav.AllocFormatContext()
	if err := m.format.OpenInput(url, nil, options); err != nil {
		m.format = nil // freed by FFmpeg when it fails
		if errors.Is(err, notListed) {
			err = errors.New("its format is another")
		}
		return errFormat(err)
	}
	if err := m.format.FindStreamInfo(nil); err != nil {
		return errFormat(err)
	}
	return nil
}

func (m *Demuxer) openTrack(s *astiav.Stream) error {
	par := s.CodecParameters()
	c := astiav.FindDecoder(par.CodecID())
	if c == nil {
		return fmt.Errorf("this FFmpeg cannot decode %s", par.CodecID().Name())
	}
	m.width, m.height = par.Width(), par.Height()
	if m.width <= 0 || m.height <= 0 {
		return errFormat(errors.New("nothing in it tells the picture's size"))
	}
	if err := CheckSize(m.width, m.height); err != nil {
		return err
	}
	ctx, err := openDecoder(c, par, nil)
	if err != nil {
		return fmt.Errorf("opening the %s decoder: %w", c.Name(), err)
	}
	m.ctx = ctx
	m.pic = Picture{frame: astiav.AllocFrame(), scale: newScaler(), track: turnOf(displayMatrix(s))}
	if m.pic.track.sideways() {
		m.width, m.height = m.height, m.width
	}
	if par.CodecID() == astiav.CodecIDVp9 {
		m.newest = astiav.AllocFrame()
	}
	m.stream = s
	m.tick = s.TimeBase().Float64() * float64(time.Second)
	m.start = NoPTS
	m.step = int64(time.Second) / defaultFileRate
	rate := m.format.GuessFrameRate(s, nil)
	if f := rate.Float64(); rate.Den() != 0 && f > 0 {
		m.step = int64(float64(time.Second) / f)
	}
	m.count = int(s.NbFrames())
	if d := m.format.Duration(); m.count <= 0 && d > 0 {
		// AV_TIME_BASE is a microsecond.
		m.count = int(d * int64(time.Microsecond) / m.step)
	}
	return nil
}

// defaultFileRate is the frames a second taken for a file that names none.
const defaultFileRate = 25

// Size returns the upright track's width and height in pixels, as its header says;
// pictures may differ.
func (m *Demuxer) Size() (width, height int) { return m.width, m.height }

// FrameInterval returns the track's nominal time from one frame to the next.
func (m *Demuxer) FrameInterval() time.Duration { return time.Duration(m.step) }

// FrameCount returns how many frames the track has by its header, or by its
// length; 0 when neither is known. It can be off.
func (m *Demuxer) FrameCount() int { return m.count }

// Next returns the next picture, valid until Next or Close is called, or io.EOF
// after the last. PTS is in nanoseconds since the first picture; it jumps where the
// file's time stamps do.
//
// An error that wraps [ErrUndecodable] is about one packet: call Next again.
func (m *Demuxer) Next() (*Picture, error) {
	if m.ctx == nil {
		return nil, ErrClosed
	}
	for {
		if ready, err := m.weave.pull(m.pic.frame); err != nil {
			return nil, fmt.Errorf("codec: %s: %w", m.path, err)
		} else if ready {
			return m.show()
		}
		err := m.ctx.ReceiveFrame(m.pic.frame)
		switch {
		case err == nil && m.newest != nil:
			m.newest.Unref()
			m.newest.MoveRef(m.pic.frame)
			m.held = true
			continue
		case m.held && (errors.Is(err, astiav.ErrEagain) || errors.Is(err, astiav.ErrEof)):
			m.pic.frame.MoveRef(m.newest)
			m.held = false
			err = m.weave.push(m.pic.frame)
		case err == nil:
			err = m.weave.push(m.pic.frame)
		case errors.Is(err, astiav.ErrEof) && m.weave.graph == nil:
			return nil, io.EOF
		case errors.Is(err, astiav.ErrEof):
			err = m.weave.end()
		case !errors.Is(err, astiav.ErrEagain):
			return nil, fmt.Errorf("codec: %s: %w: %w", m.path, ErrUndecodable, err)
		default:
			if err := m.feed(); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("codec: %s: %w", m.path, err)
		}
	}
}

// SetDeinterlace says which pictures are deinterlaced, as that of a Decoder. It is called before Next.
func (m *Demuxer) SetDeinterlace(which Deinterlace) { m.weave.mode = which }

// Deinterlacing tells whether the newest picture was deinterlaced.
func (m *Demuxer) Deinterlacing() bool { return m.weave.now }

// show returns the picture in m.pic's frame.
func (m *Demuxer) show() (*Picture, error) {
	if err := m.pic.fill(m.format.GuessSampleAspectRatio(m.stream, m.pic.frame)); err != nil {
		return nil, fmt.Errorf("codec: %s: %w", m.path, err)
	}
	m.setPTS()
	return &m.pic, nil
}

// feed sends the decoder one packet of the track, or the end.
func (m *Demuxer) feed() error {
	for !m.eof {
		if err := m.format.ReadFrame(m.packet); err != nil {
			// A file cut short ends where it was cut.
			m.eof = true
			break
		}
		if m.packet.StreamIndex() != m.stream.Index() {
			m.packet.Unref()
			continue
		}
		err := m.ctx.SendPacket(m.packet)
		m.packet.Unref()
		if err != nil {
			return fmt.Errorf("codec: %s: %w: %w", m.path, ErrUndecodable, err)
		}
		return nil
	}
	if err := m.ctx.SendPacket(nil); err != nil && !errors.Is(err, astiav.ErrEof) {
		return fmt.Errorf("codec: %s: %w", m.path, err)
	}
	return nil
}

// maxPTS bounds time stamps, so that those of damaged files can be reckoned with: 73 years.
const maxPTS = 1 << 61

// setPTS turns the picture's time stamp into nanoseconds since the first one's.
func (m *Demuxer) setPTS() {
	switch {
	case m.pic.PTS != NoPTS:
		if m.start == NoPTS {
			m.start = m.pic.PTS
		}
		m.pic.PTS = int64(min(max(float64(m.pic.PTS-m.start)*m.tick, -maxPTS), maxPTS))
	case m.frames > 0:
		m.pic.PTS = m.last + m.step
	default:
		m.pic.PTS = 0
	}
	m.last = m.pic.PTS
	m.frames++
}

// Close frees the demuxer's memory and closes the file.
func (m *Demuxer) Close() {
	if m.ctx != nil {
		m.weave.close()
		m.pic.scale.close()
		m.pic.frame.Free()
		free(&m.newest)
		free(&m.ctx)
	}
	free(&m.packet)
	if m.format != nil {
		m.format.CloseInput() // frees it too
		m.format = nil
	}
}
