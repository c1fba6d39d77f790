package daemon

import (
	"slices"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/objects/privacy"
	"github.com/segd/segd/outputs/restream"
	"github.com/segd/segd/web"
)

// openStreams makes ready for those who watch, and listens for RTSP if that is configured.
func (d *daemon) openStreams() (err error) {
	d.streams = restream.New(restream.Config{Viewers: d.cfg.HTTP.Viewers, Logger: d.log})
	d.whip.streams = d.streams
	d.meters.Streams(d.streams.Stats)
	if d.cfg.RTSP.Addr == "" {
		return nil
	}
	tokens := slices.DeleteFunc([]string{d.cfg.HTTP.Token, d.cfg.HTTP.ViewerToken}, func(t string) bool { return t == "" })
	d.rtsp, err = restream.Listen(restream.RTSPConfig{Addr: d.cfg.RTSP.Addr, Tokens: tokens, Elsewhere: d.boxOf, Logger: d.log}, d.streams)
	return err
}

// closeStreams sends away all who publish or watch.
func (d *daemon) closeStreams() {
	if d.streams != nil {
		d.streams.Close()
	}
	if d.rtsp != nil {
		d.rtsp.Close()
	}
	d.whip.shut()
}

// shown has what the page shows go to streams, too, and thumbnails be kept.
type shown struct {
	*web.Server
	streams *restream.Streams
	bus     *bus.Bus
	hides   string // bus.Picture's, of the camera
}

func (s shown) Thumbnail(m *segdv1.MaskFrame, p *privacy.Picture, object uint32) (at string, made, removed int) {
	if at, made, removed = s.Server.Thumbnail(m, p, object); made > 0 {
		s.keep(m.GetCamera(), at)
	}
	return at, made, removed
}

func (s shown) Publish(m *segdv1.MaskFrame, p *privacy.Picture) {
	s.Server.Publish(m, p)
	s.streams.Publish(m, func() []byte { return p.BGR(false) })
}
