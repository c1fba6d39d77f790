//go:build ffmpeg7

package codec

import (
	"errors"

	"github.com/asticode/go-astiav"
)

// filterSource is where pictures enter a graph of filters, filterSink where they leave it.
type (
	filterSource struct {
		*astiav.FilterContext
		of *astiav.BuffersrcFilterContext
	}
	filterSink struct {
		*astiav.FilterContext
		of *astiav.BuffersinkFilterContext
	}
)

func newFilterSource(g *astiav.FilterGraph, width, height int, format astiav.PixelFormat) (filterSource, error) {
	c, err := g.NewBuffersrcFilterContext(astiav.FindFilterByName("buffer"), "in")
	if err != nil {
		return filterSource{}, err
	}
	p := astiav.AllocBuffersrcFilterContextParameters()
	defer p.Free()
	p.SetWidth(width)
	p.SetHeight(height)
	p.SetPixelFormat(format)
	p.SetTimeBase(filterTimeBase)
	return filterSource{c.FilterContext(), c}, errors.Join(c.SetParameters(p), c.Initialize(nil))
}

func newFilterSink(g *astiav.FilterGraph) (filterSink, error) {
	c, err := g.NewBuffersinkFilterContext(astiav.FindFilterByName("buffersink"), "out")
	if err != nil {
		return filterSink{}, err
	}
	return filterSink{c.FilterContext(), c}, nil
}

// add puts a picture in; nil is the end.
func (s filterSource) add(f *astiav.Frame) error { return s.of.AddFrame(f, astiav.NewBuffersrcFlags()) }

func (s filterSink) get(f *astiav.Frame) error { return s.of.GetFrame(f, astiav.NewBuffersinkFlags()) }

// displayMatrix is how a stream says that its pictures are to be turned.
func displayMatrix(s *astiav.Stream) []byte {
	return s.CodecParameters().SideData().Get(astiav.PacketSideDataTypeDisplaymatrix)
}

func createFile(path string) (*astiav.IOContext, error) {
	return astiav.OpenIOContext("file:"+path, astiav.NewIOContextFlags(astiav.IOContextFlagWrite), nil, nil)
}

func hardwareContext(d Device, options *astiav.Dictionary) (*astiav.HardwareDeviceContext, error) {
	return astiav.CreateHardwareDeviceContext(astiav.FindHardwareDeviceTypeByName(string(d)), "", options, 0)
}
