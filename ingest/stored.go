package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/segd/segd/ingest/cameraurl"
	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/internal/coalesce"
	"github.com/segd/segd/internal/pause"
)

// ErrNoFrames is wrapped when a file or directory holds nothing that decodes.
var ErrNoFrames = errors.New("no frame could be decoded")

// reader reads a file or directory from its start to its end.
type reader interface {
	// next returns the next frame, its media time filled in as PTS, or io.EOF. An
	// error that wraps codec.ErrUndecodable is about one frame.
	next(ctx context.Context, s *Source) (*Frame, error)
	// interval is the nominal time from one frame to the next.
	interval() time.Duration
	close()
}

// runStored reads the file or directory until its end, or for ever if it loops.
func (s *Source) runStored(ctx context.Context, sink func(*Frame)) error {
	pace := pacer{asFast: s.cfg.AsFast}
	up := false
	for {
		err := s.readOnce(ctx, &pace, func(f *Frame) {
			if !up {
				up = true
				s.cfg.Observer.Up(false)
			}
			s.emit(f, sink)
		})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return err
		case !s.cfg.Loop:
			return nil
		}
		s.time.restart()
	}
}

func (s *Source) openReader(ctx context.Context) (reader, error) {
	if _, err := os.Stat(s.url.Path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("ingest: %w", s.url.Missing())
	}
	if s.url.Kind == cameraurl.Dir {
		return openDir(ctx, s.url.Path, s.cfg.FPS)
	}
	m, err := codec.OpenFile(s.url.Path)
	if err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	m.SetDeinterlace(codec.Deinterlace(s.cfg.Deinterlace))
	return &fileReader{m: m}, nil
}

func (s *Source) readOnce(ctx context.Context, pace *pacer, emit func(*Frame)) error {
	r, err := s.openReader(ctx)
	if err != nil {
		return err
	}
	defer r.close()
	before := s.seq
	var why error // the newest frame was skipped
	bad := coalesce.Log{Write: s.log.Warn, Message: "frame skipped"}
	defer bad.Flush()
	for ctx.Err() == nil {
		f, err := r.next(ctx, s)
		switch {
		case errors.Is(err, io.EOF) && s.seq > before:
			return nil
		case errors.Is(err, io.EOF) && why != nil:
			return fmt.Errorf("ingest: %s: %w: %w", s.Name(), ErrNoFrames, why)
		case errors.Is(err, io.EOF):
			return fmt.Errorf("ingest: %s: %w", s.Name(), ErrNoFrames)
		case errors.Is(err, codec.ErrUndecodable):
			s.cfg.Observer.Missed(MissUndecodable, 1)
			bad.Add(1, err)
			why = err
			continue
		case err != nil:
			return fmt.Errorf("ingest: %w", err)
		}
		f.PTS = s.time.nextStored(f.PTS, r.interval())
		if err := pace.wait(ctx, f.PTS); err != nil {
			f.Release()
			return err
		}
		f.Received = time.Now()
		f.Captured, f.Clock = f.Received, ClockMedia
		emit(f)
	}
	return ctx.Err()
}

type fileReader struct{ m *codec.Demuxer }

func (r *fileReader) interval() time.Duration { return r.m.FrameInterval() }
func (r *fileReader) close()                  { r.m.Close() }

func (r *fileReader) next(_ context.Context, s *Source) (*Frame, error) {
	pic, err := r.m.Next()
	if err != nil {
		return nil, err
	}
	s.tellDeinterlaced(r.m.Deinterlacing())
	f, err := s.decodedFrame(pic)
	if err != nil {
		return nil, err
	}
	f.PTS = time.Duration(pic.PTS)
	return f, nil
}

// pacer holds frames back until their stream time has come on the wall clock.
type pacer struct {
	asFast bool
	zero   time.Time // wall clock of stream time 0; zero before the first frame
}

// maxLag is how far a paced source may fall behind before it goes on from now
// instead of rushing to catch up.
const maxLag = time.Second

// wait returns when pts is due, or ctx's error.
func (p *pacer) wait(ctx context.Context, pts time.Duration) error {
	if p.asFast {
		return ctx.Err()
	}
	if lag := time.Since(p.zero.Add(pts)); p.zero.IsZero() || lag > maxLag {
		p.zero = time.Now().Add(-pts)
		return ctx.Err()
	}
	return pause.For(ctx, time.Until(p.zero.Add(pts)))
}
