//go:build !ffmpeg7

package codec

import (
	"fmt"

	"github.com/asticode/go-astiav"
)

// filterSource is where pictures enter a graph of filters, filterSink where they leave it.
type (
	filterSource struct{ *astiav.FilterContext }
	filterSink   struct{ *astiav.FilterContext }
)

func newFilterSource(g *astiav.FilterGraph, width, height int, format astiav.PixelFormat) (filterSource, error) {
	c, err := g.NewFilterContext(astiav.FindFilterByName("buffer"), "in", astiav.FilterArgs{
		"video_size": fmt.Sprintf("%dx%d", width, height), "pix_fmt": format.Name(), "time_base": filterTimeBase.String(),
	})
	return filterSource{c}, err
}

func newFilterSink(g *astiav.FilterGraph) (filterSink, error) {
	c, err := g.NewFilterContext(astiav.FindFilterByName("buffersink"), "out", nil)
	return filterSink{c}, err
}

// add puts a picture in; nil is the end.
func (s filterSource) add(f *astiav.Frame) error {
	return s.BuffersrcAddFrame(f, astiav.NewBuffersrcFlags())
}

func (s filterSink) get(f *astiav.Frame) error {
	return s.BuffersinkGetFrame(f, astiav.NewBuffersinkFlags())
}

// displayMatrix is how a stream says that its pictures are to be turned.
func displayMatrix(s *astiav.Stream) []byte {
	return s.SideData(astiav.PacketSideDataTypeDisplaymatrix)
}

func createFile(path string) (*astiav.IOContext, error) {
	return astiav.OpenIOContext("file:"+path, astiav.NewIOContextFlags(astiav.IOContextFlagWrite))
}

func hardwareContext(d Device, options *astiav.Dictionary) (*astiav.HardwareDeviceContext, error) {
	return astiav.CreateHardwareDeviceContext(astiav.FindHardwareDeviceTypeByName(string(d)), "", options)
}
