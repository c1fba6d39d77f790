package recording

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/ingest/codec"
)

const (
	// usual is how long a file is: it ends with the next key frame after that. One without key frames ends at most.
	usual = 30 * time.Second
	most  = 10 * time.Minute
	// large is of how many bytes a file of video ends with the next key frame, mostMasks how many are kept beside it.
	large     = 512 << 20
	mostMasks = 64 << 20
	// quiet ends a file of a camera of which nothing comes any more.
	quiet = 10 * time.Second
	// again is how long after the disk refused it is tried again.
	again = 5 * time.Second
	// remembered are the newest units whose masks may come yet: many seconds.
	remembered = 512
)

// State is what becomes of a camera's video.
type State struct {
	Is     string // Waiting, Running, Failed or Refused
	Reason string // in words, unless it is Running
}

// What State.Is may be.
const (
	Waiting = "waiting"
	Running = "recording"
	Failed  = "failed"
	Refused = "refused"
)

var (
	stateRunning = State{Running, ""}
	stateWaiting = State{Waiting, "the camera's next key frame is waited for; where none comes set a shorter I-frame interval in the camera's settings, and intra refresh off"}
)

// Recorded tells whether video of a codec is recorded, in words if not.
func Recorded(id codec.ID) error {
	if id == codec.H264 || id == codec.H265 {
		return nil
	}
	return fmt.Errorf("the video is %v; H.264 and H.265 are recorded, choose one of them in the camera's settings", id)
}

// Camera records one. Its methods may be called from any goroutine, and wait for nothing.
type Camera struct {
	store *Store
	name  string
	gap   atomic.Bool // a unit was lost: what follows begins anew with a key frame

	// Guarded by the store's mu.
	segments []*Segment // complete ones, oldest first
	bytes    int64
	written  uint64
	lost     map[string]uint64
	state    State

	// Of the goroutine that writes.
	now     *writer   // the file that is written; nil: none
	tracks  *maskFile // of now
	before  *maskFile // of the file before, of which masks may come yet
	recent  []moment  // the newest units, a ring
	next    int       // in recent, once it is full
	retryAt time.Time // not before that
	heard   time.Time // when a unit came
}

// moment is where a picture is.
type moment struct {
	captured int64 // UnixNano of its capture time, which tells pictures apart
	ticks    int64 // in the file
	in       *maskFile
}

// Unit records an access unit.
func (c *Camera) Unit(u ingest.Unit) {
	if c.gap.Load() {
		if !u.Key {
			c.lose(LostBehind, 1)
			return
		}
		u.Fresh = true
	}
	gap := !c.store.put(job{camera: c, unit: u, size: int64(len(u.Data))})
	if gap {
		c.lose(LostBehind, 1)
	}
	c.gap.Store(gap)
}

// Masks records those of a frame. m must not change any more.
func (c *Camera) Masks(m *segdv1.MaskFrame) {
	const about = 512 // bytes of a message, and of an object in it, beside its mask
	size := int64(about)
	for _, o := range m.Objects {
		size += int64(len(o.Counts) + about)
	}
	if !c.store.put(job{camera: c, masks: m, size: size}) {
		c.lose(LostMasks, 1)
	}
}

func (c *Camera) lose(why string, n int) {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	c.lost[why] += uint64(n)
}

func (c *Camera) be(st State) {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	c.state = st
}

// wrote counts bytes that are in the files now.
func (c *Camera) wrote(n int) {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	c.store.count(c, int64(n))
	c.written += uint64(n)
}

// writeUnit is Unit of the goroutine that writes.
func (c *Camera) writeUnit(u ingest.Unit) error {
	c.heard = time.Now()
	if err := Recorded(u.Codec); err != nil {
		c.end()
		if st := (State{Refused, err.Error()}); c.state != st { // only this goroutine sets it
			c.be(st)
			return err
		}
		return nil
	}
	if c.now != nil && (u.Fresh || u.Key && c.now.due(u, c.store.large()) || c.now.full(u, c.store.large())) {
		c.now.until(u)
		c.end()
	}
	if c.now == nil {
		switch {
		case !u.Key:
			c.lose(LostVideo, 1)
			if c.state.Is != Failed {
				c.be(stateWaiting)
			}
			return nil
		case c.heard.Before(c.retryAt):
			c.lose(LostDisk, 1)
			return nil
		}
		if err := c.begin(u); err != nil {
			return c.failed(err, 1)
		}
	}
	ticks, n, err := c.now.add(u)
	if n > 0 {
		c.wrote(n)
		c.be(stateRunning)
		if c.store.trim(c.heard); c.store.over() { // by what is written: then that goes, too
			c.end()
			c.store.trim(c.heard)
			return nil
		}
	}
	switch {
	case errors.Is(err, errVideo):
		return c.failed(err, 1) // what is held is sound
	case err != nil:
		return c.failed(err, c.now.held())
	}
	m := moment{u.Captured.UnixNano(), ticks, c.tracks}
	if len(c.recent) < remembered {
		c.recent = append(c.recent, m)
	} else {
		c.recent[c.next] = m
		c.next = (c.next + 1) % remembered
	}
	return nil
}

// failed ends the file, as the disk refused so many frames.
func (c *Camera) failed(err error, frames int) error {
	if errors.Is(err, errVideo) {
		c.lose(LostVideo, frames)
		c.be(State{Failed, err.Error()})
		c.end()
		return err
	}
	c.lose(LostDisk, frames)
	c.be(State{Failed, err.Error()})
	c.retryAt = time.Now().Add(again)
	if c.now != nil {
		c.now.abandon()
	}
	c.end()
	return err
}

// begin makes the files of a segment.
func (c *Camera) begin(u ingest.Unit) error {
	if err := c.store.root.Mkdir(c.name, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	seg := &Segment{Start: u.Captured.UTC().Truncate(time.Millisecond)}
	if last := c.last(); last != nil && !seg.Start.After(last.Start) { // the camera's clock was set back
		seg.Start = last.End()
	}
	w, n, err := newWriter(c.store.root, c.path(seg, videoSuffix), u)
	if err != nil {
		return err
	}
	masks, err := c.store.root.OpenFile(c.path(seg, masksSuffix), os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600)
	if err != nil {
		return errors.Join(err, w.file.Close(), c.store.root.Remove(c.path(seg, videoSuffix)))
	}
	c.drop()
	c.before, c.tracks, c.now = nil, &maskFile{file: masks, of: seg}, w
	c.wrote(n)
	c.store.mu.Lock()
	seg.Bytes = int64(n)
	c.store.mu.Unlock()
	return nil
}

// last is the newest complete segment.
func (c *Camera) last() *Segment {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	if len(c.segments) == 0 {
		return nil
	}
	return c.segments[len(c.segments)-1]
}

// end completes the file, and lists it, or removes it if it has no picture. Masks that come late are still taken.
func (c *Camera) end() {
	if c.now == nil {
		return
	}
	w, seg := c.now, c.tracks.of
	c.now = nil
	c.drop()
	c.before, c.tracks = c.tracks, nil
	n, err := w.close()
	if n > 0 {
		c.wrote(n)
	}
	if err != nil {
		c.store.faults.Add(1, fmt.Errorf("camera %s: %w", c.name, err))
	}
	open := *seg
	bytes := w.size + c.before.size
	if w.ticks == 0 {
		c.store.mu.Lock()
		c.store.count(c, -bytes)
		c.store.mu.Unlock()
		if err := c.store.remove(c, seg); err != nil {
			c.store.faults.Add(1, err)
		}
		return
	}
	length := ticksToDuration(w.ticks).Round(time.Millisecond)
	named := open
	named.Duration = max(length, time.Millisecond)
	var faults []error
	for _, suffix := range []string{masksSuffix, videoSuffix} { // a video with a length is complete
		faults = append(faults, c.store.root.Rename(c.path(&open, suffix), c.path(&named, suffix)))
	}
	if err := errors.Join(faults...); err != nil { // the next Open names it
		c.store.faults.Add(1, fmt.Errorf("camera %s: %w", c.name, err))
	}
	c.store.mu.Lock()
	seg.Duration, seg.Bytes = named.Duration, bytes
	c.segments = append(c.segments, seg)
	c.store.mu.Unlock()
}

// check ends the file of a camera of which nothing comes, and that of the masks before.
func (c *Camera) check(now time.Time) {
	if c.now != nil && now.Sub(c.heard) > quiet {
		c.end()
		c.be(State{Waiting, "no video comes"})
	}
	if c.now == nil && c.before != nil && now.Sub(c.heard) > 2*quiet {
		c.drop()
	}
}

// drop takes no more masks of the segment before.
func (c *Camera) drop() {
	if c.before != nil {
		c.before.close()
		c.before = nil
	}
}

// forget takes no more masks of a segment that goes.
func (c *Camera) forget(seg *Segment) {
	if c.before != nil && c.before.of == seg {
		c.drop()
	}
}

// maskFile are the masks of a segment. size is guarded by the goroutine that writes.
type maskFile struct {
	file   *os.File
	of     *Segment
	size   int64
	closed bool
}

func (f *maskFile) close() {
	f.closed = true
	_ = f.file.Close() // each write was looked at
}

// writeMasks is Masks of the goroutine that writes.
func (c *Camera) writeMasks(m *segdv1.MaskFrame) error {
	at := m.GetCaptureTime().AsTime().UnixNano()
	for k := range c.recent { // the newest first: what is asked for is among them
		i := (c.next - 1 - k + 2*len(c.recent)) % len(c.recent)
		if c.recent[i].captured == at {
			return c.putMasks(m, c.recent[i])
		}
	}
	return nil // of video that is not recorded
}

func (c *Camera) putMasks(m *segdv1.MaskFrame, at moment) error {
	f := at.in
	if f.closed || f.size >= mostMasks {
		c.lose(LostMasks, 1)
		return nil
	}
	message, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	// Of a field that is there twice the last one counts.
	const ptsField = 4
	message = protowire.AppendVarint(protowire.AppendTag(message, ptsField, protowire.VarintType), uint64(ticksToDuration(at.ticks)))
	record := append(protowire.AppendVarint(nil, uint64(len(message))), message...)
	if _, err := f.file.Write(record); err != nil {
		c.lose(LostMasks, 1)
		_, seek := f.file.Seek(f.size, io.SeekStart)
		return errors.Join(err, f.file.Truncate(f.size), seek)
	}
	f.size += int64(len(record))
	c.wrote(len(record))
	c.store.mu.Lock()
	if f.of.Duration > 0 { // it is listed
		f.of.Bytes += int64(len(record))
	}
	c.store.mu.Unlock()
	return nil
}

// path is that of a segment's file.
func (c *Camera) path(seg *Segment, suffix string) string {
	return path.Join(c.name, seg.file()+suffix)
}

// ticksToDuration splits seconds off so that nothing overflows.
func ticksToDuration(ticks int64) time.Duration {
	return time.Duration(ticks/ticksPerSecond)*time.Second + time.Duration(ticks%ticksPerSecond)*time.Second/ticksPerSecond
}
