package recording

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/bluenviron/mediacommon/v2/pkg/formats/fmp4"
	"google.golang.org/protobuf/encoding/protodelim"

	"github.com/segd/segd/bus/segdv1"
)

const (
	videoSuffix = ".mp4"
	masksSuffix = ".masks"
	nameForm    = "20060102T150405.000Z"
)

// Segment is a complete file of video.
type Segment struct {
	Start    time.Time // capture time of its first picture, in whole milliseconds, unique in the camera
	Duration time.Duration
	Bytes    int64 // with the masks
}

// Name tells the segment from others of its camera.
func (s Segment) Name() string { return s.Start.UTC().Format(nameForm) }

// End is when it ends.
func (s Segment) End() time.Time { return s.Start.Add(s.Duration) }

// file is the name of its files; of one that is being written it has no length.
func (s *Segment) file() string {
	if s.Duration == 0 {
		return s.Name()
	}
	return s.Name() + "_" + strconv.FormatInt(s.Duration.Milliseconds(), 10)
}

var fileForm = regexp.MustCompile(`^([0-9]{8}T[0-9]{6}\.[0-9]{3}Z)(?:_([0-9]{1,9}))?\.(mp4|masks)$`)

// parseFile reads the name of a file.
func parseFile(name string) (seg Segment, video, ok bool) {
	m := fileForm.FindStringSubmatch(name)
	if m == nil {
		return Segment{}, false, false
	}
	start, err := time.Parse(nameForm, m[1])
	ms, _ := strconv.ParseInt("0"+m[2], 10, 64)
	return Segment{Start: start, Duration: time.Duration(ms) * time.Millisecond}, m[3] == "mp4", err == nil
}

// Segments are those of a camera that have a part between two times, at most so many, the newest, in order. A zero time is
// no bound. more tells whether there are older ones.
func (s *Store) Segments(camera string, from, to time.Time, limit int) (found []Segment, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cameras[camera]
	if c == nil {
		return nil, false
	}
	for _, seg := range slices.Backward(c.segments) {
		switch {
		case !to.IsZero() && !seg.Start.Before(to):
			continue
		case !from.IsZero() && !seg.End().After(from):
			slices.Reverse(found)
			return found, false
		case len(found) == limit:
			slices.Reverse(found)
			return found, true
		}
		found = append(found, *seg)
	}
	slices.Reverse(found)
	return found, false
}

// StateOf is what becomes of a camera's video.
func (s *Store) StateOf(camera string) State {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.cameras[camera]; c != nil && c.state.Is != "" {
		return c.state
	}
	return State{Waiting, "no video has come yet"}
}

// find returns a copy of the segment of that name.
func (s *Store) find(camera, name string) (*Camera, *Segment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cameras[camera]
	if c == nil {
		return nil, nil
	}
	i := slices.IndexFunc(c.segments, func(seg *Segment) bool { return seg.Name() == name })
	if i < 0 {
		return nil, nil
	}
	seg := *c.segments[i]
	return c, &seg
}

// Video opens the video of a segment; nil if there is none of that name.
func (s *Store) Video(camera, name string) (*os.File, error) {
	return s.open(camera, name, videoSuffix)
}

func (s *Store) open(camera, name, suffix string) (*os.File, error) {
	c, seg := s.find(camera, name)
	if seg == nil {
		return nil, nil
	}
	f, err := s.root.Open(c.path(seg, suffix))
	if errors.Is(err, fs.ErrNotExist) { // it was removed meanwhile
		return nil, nil
	}
	return f, err
}

// Masks calls each with the masks of a segment, in the order in which they were published, until it returns an error.
// found is false if there is no segment of that name.
func (s *Store) Masks(camera, name string, each func(*segdv1.MaskFrame) error) (found bool, err error) {
	f, err := s.open(camera, name, masksSuffix)
	if err != nil || f == nil {
		return false, err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	for {
		m := new(segdv1.MaskFrame)
		err := protodelim.UnmarshalOptions{MaxSize: mostMasks}.UnmarshalFrom(in, m)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // what a kill cut short
			return true, nil
		}
		if err == nil {
			err = each(m)
		}
		if err != nil {
			return true, fmt.Errorf("recording: masks of %s: %w", name, err)
		}
	}
}

// scan lists what there is in the folder, and completes what a kill left.
func (s *Store) scan() error {
	folders, err := fs.ReadDir(s.root.FS(), ".")
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if !folder.IsDir() {
			continue
		}
		entries, err := fs.ReadDir(s.root.FS(), folder.Name())
		if err != nil {
			return err
		}
		c := s.camera(folder.Name())
		for _, e := range entries {
			seg, video, ok := parseFile(e.Name())
			if !ok || !video || !e.Type().IsRegular() {
				continue
			}
			if err := s.take(c, &seg); err != nil {
				s.cfg.Logger.Warn("a recording is left out", "file", path.Join(c.name, e.Name()), "error", err)
			}
		}
		for _, e := range entries { // masks whose video is gone
			if seg, video, ok := parseFile(e.Name()); ok && !video && e.Type().IsRegular() && !slices.ContainsFunc(c.segments, func(have *Segment) bool { return have.Start.Equal(seg.Start) }) {
				_ = s.root.Remove(path.Join(c.name, e.Name()))
			}
		}
		slices.SortFunc(c.segments, func(a, b *Segment) int { return a.Start.Compare(b.Start) })
	}
	return nil
}

// take lists a segment, once it is complete.
func (s *Store) take(c *Camera, seg *Segment) error {
	if seg.Duration == 0 {
		length, err := s.mend(c.path(seg, videoSuffix))
		if err != nil {
			return errors.Join(err, s.remove(c, seg))
		}
		open := *seg
		seg.Duration = length
		// The masks may have their name already.
		if err := s.root.Rename(c.path(&open, masksSuffix), c.path(seg, masksSuffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := s.root.Rename(c.path(&open, videoSuffix), c.path(seg, videoSuffix)); err != nil {
			return err
		}
	}
	for _, suffix := range []string{videoSuffix, masksSuffix} {
		if info, err := s.root.Stat(c.path(seg, suffix)); err == nil {
			seg.Bytes += info.Size()
		}
	}
	c.segments = append(c.segments, seg)
	s.count(c, seg.Bytes)
	return nil
}

// mend cuts a video after its last whole fragment, and returns how long it is.
func (s *Store) mend(name string) (time.Duration, error) {
	f, err := s.root.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	whole, moof, err := lastFragment(f)
	if err != nil {
		return 0, err
	}
	if moof < 0 {
		return 0, errors.New("it has no whole fragment")
	}
	if whole-moof > large {
		return 0, fmt.Errorf("a fragment of %d bytes; accepts %d", whole-moof, large)
	}
	text := make([]byte, whole-moof)
	if _, err := f.ReadAt(text, moof); err != nil {
		return 0, err
	}
	var parts fmp4.Parts
	if err := parts.Unmarshal(text); err != nil {
		return 0, err
	}
	var ticks int64
	for _, p := range parts {
		for _, t := range p.Tracks {
			ticks = int64(t.BaseTime)
			for _, sample := range t.Samples {
				ticks += int64(sample.Duration)
			}
		}
	}
	length := max(ticksToDuration(ticks).Round(time.Millisecond), time.Millisecond)
	return length, errors.Join(f.Truncate(whole), sayLength(f, length))
}

// lastFragment finds where the last whole fragment begins, -1 if there is none, and where it ends.
func lastFragment(f io.ReaderAt) (end, moof int64, err error) {
	var at, begun int64
	moof, begun = -1, -1
	for {
		var head [8]byte
		if _, err := f.ReadAt(head[:], at); err != nil {
			if errors.Is(err, io.EOF) {
				return end, moof, nil
			}
			return 0, 0, err
		}
		size := int64(binary.BigEndian.Uint32(head[:]))
		if size < int64(len(head)) {
			return end, moof, nil
		}
		var one [1]byte
		if _, err := f.ReadAt(one[:], at+size-1); err != nil {
			if errors.Is(err, io.EOF) { // the box is not whole
				return end, moof, nil
			}
			return 0, 0, err
		}
		switch string(head[4:]) {
		case "moof":
			begun = at
		case "mdat":
			if begun >= 0 {
				end, moof, begun = at+size, begun, -1
			}
		}
		at += size
	}
}
