package codec

//#include "scale.h"
import "C"

import (
	"errors"
	"fmt"

	"github.com/asticode/go-astiav"
)

// Deinterlace says which pictures are made of two fields, of which one picture at one time is to be made.
type Deinterlace string

const (
	// DeinterlaceAuto stands for those that their stream calls interlaced.
	DeinterlaceAuto Deinterlace = "auto"
	// DeinterlaceOn stands for all.
	DeinterlaceOn Deinterlace = "on"
	// DeinterlaceOff stands for none.
	DeinterlaceOff Deinterlace = "off"
)

// deinterlacer makes progressive pictures of interlaced ones, one of each, by FFmpeg's bwdif. That takes the picture
// after it, so that each comes when the next one does. Before the first interlaced picture it does nothing and delays
// nothing. The zero value is ready, and deinterlaces what its stream calls interlaced.
type deinterlacer struct {
	mode   Deinterlace
	graph  *astiav.FilterGraph // nil before the first interlaced picture
	source filterSource
	sink   filterSink
	size   size
	format astiav.PixelFormat
	failed bool          // nothing can be made of this size and format
	now    bool          // the newest picture was interlaced
	passed bool          // it is as it was pushed
	next   *astiav.Frame // of another size, when those before it are out
}

// push takes the picture in f, which pull then hands out, or another.
func (d *deinterlacer) push(f *astiav.Frame) error {
	d.now = d.mode == DeinterlaceOn || d.mode != DeinterlaceOff && C.segd_frame_interlaced(cFrame(f)) != 0
	if is := (size{f.Width(), f.Height()}); is != d.size || f.PixelFormat() != d.format {
		if d.graph != nil {
			d.next = astiav.AllocFrame()
			d.next.MoveRef(f)
			return d.end()
		}
		d.size, d.format, d.failed = is, f.PixelFormat(), false
	}
	if d.graph == nil && d.now && !d.failed {
		d.failed = d.open(f) != nil // a picture of a few lines, or a format that cannot be converted
	}
	d.now = d.now && !d.failed
	if d.graph == nil {
		d.passed = true
		return nil
	}
	if err := d.source.add(f); err != nil {
		return fmt.Errorf("deinterlacing: %w", err)
	}
	return nil
}

// pull tells whether a picture is ready, which is then in f.
func (d *deinterlacer) pull(f *astiav.Frame) (bool, error) {
	for d.graph != nil {
		f.Unref()
		err := d.sink.get(f)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, astiav.ErrEagain):
			return false, nil
		case !errors.Is(err, astiav.ErrEof):
			return false, fmt.Errorf("deinterlacing: %w", err)
		}
		next := d.next
		d.next = nil
		d.close()
		if next == nil {
			return false, nil
		}
		f.MoveRef(next)
		next.Free()
		if err := d.push(f); err != nil {
			return false, err
		}
	}
	ready := d.passed
	d.passed = false
	return ready, nil
}

// end says that no picture follows: pull hands out the one that waits for the next.
func (d *deinterlacer) end() error {
	if d.graph == nil {
		return nil
	}
	if err := d.source.add(nil); err != nil {
		return fmt.Errorf("deinterlacing: %w", err)
	}
	return nil
}

// filterTimeBase is the clock of what is filtered, though no more than its order matters.
var filterTimeBase = astiav.NewRational(1, 90000)

// open makes the filter for pictures like f.
func (d *deinterlacer) open(f *astiav.Frame) (err error) {
	if d.graph = astiav.AllocFilterGraph(); d.graph == nil {
		return errors.New("no libavfilter") // filters.c loads it
	}
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	d.graph.SetThreadCount(1)
	if d.source, err = newFilterSource(d.graph, f.Width(), f.Height(), f.PixelFormat()); err != nil {
		return err
	}
	if d.sink, err = newFilterSink(d.graph); err != nil {
		return err
	}
	from, to := astiav.AllocFilterInOut(), astiav.AllocFilterInOut()
	defer from.Free()
	defer to.Free()
	from.SetName("in")
	from.SetFilterContext(d.source.FilterContext)
	to.SetName("out")
	to.SetFilterContext(d.sink.FilterContext)
	which := "interlaced"
	if d.mode == DeinterlaceOn {
		which = "all"
	}
	if err := d.graph.Parse("[in]bwdif=mode=send_frame:parity=auto:deint="+which+"[out]", to, from); err != nil {
		return err
	}
	return d.graph.Configure()
}

// close forgets the pictures that wait and frees the filter.
func (d *deinterlacer) close() {
	free(&d.next)
	if d.graph == nil {
		return
	}
	for _, c := range []*astiav.FilterContext{d.source.FilterContext, d.sink.FilterContext} {
		if c != nil {
			c.Free()
		}
	}
	d.graph.Free()
	d.graph, d.source, d.sink = nil, filterSource{}, filterSink{}
}
