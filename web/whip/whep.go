package whip

import (
	"net/http"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v3"

	"github.com/segd/segd/outputs/restream"
)

// viewer is one who watches a stream, from its offer to its end.
type viewer struct {
	connection
	camera string
	track  *webrtc.TrackLocalStaticRTP
	stream *restream.Viewer // nil: the stream did not let it in
}

// watchEndpoint answers for the stream at the path below /whep/.
func (s *Server) watchEndpoint(below string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		camera := r.PathValue("camera")
		if err := s.cfg.Streams.Check(camera + below); err != nil {
			refuse(w, err)
			return
		}
		s.toEndpoint(w, r, func() { s.watch(w, r, camera, below) })
	}
}

// watch answers the offer of a viewer.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, camera, below string) {
	body, ok := readBody(w, r, typeSDP, "Accept-Post", maxOffer)
	if !ok {
		return
	}
	offer, err := parseOffer(body, takesVideo)
	if err != nil {
		refuse(w, err)
		return
	}
	v := &viewer{connection: newConnection(s.cfg.Logger.With("camera", camera)), camera: camera}
	if v.track, err = webrtc.NewTrackLocalStaticRTP(webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeH264}, "video", "segd"); err == nil {
		v.stream, err = s.cfg.Streams.Watch(restream.WHEPProtocol, camera+below, v.write, v.fail)
	}
	if err != nil {
		refuse(w, err)
		return
	}
	v.setUp, v.late = v.send, errNotConnected
	v.over = func() {
		v.stream.Leave()
		s.forget(v)
		v.log.Debug("viewer ended", "reason", v.why())
	}
	s.mu.Lock()
	s.viewers[v.id] = v
	s.mu.Unlock()
	s.connect(w, r, s.viewing, &v.connection, offer, "/whep/"+camera)
}

// send makes the video go to the viewer, once there is a connection.
func (v *viewer) send(pc *webrtc.PeerConnection) error {
	sender, err := pc.AddTrack(v.track)
	if err != nil {
		return err
	}
	v.joined.Go(func() {
		// It waits for the connection; what is sent before is lost.
		if err := sender.SetReadDeadline(time.Time{}); err != nil {
			return
		}
		close(v.began)
		v.stream.Start()
		v.readReports(sender)
	})
	return nil
}

// write is called with each packet.
func (v *viewer) write(p *rtp.Packet, _ time.Time) error { return v.track.WriteRTP(p) }

// readReports has a key frame be sent where the viewer asks for one.
func (v *viewer) readReports(sender *webrtc.RTPSender) {
	for {
		packets, _, err := sender.ReadRTCP() // it has what pion answers by itself be answered, too
		if err != nil {
			return
		}
		for _, p := range packets {
			switch p.(type) {
			case *rtcp.PictureLossIndication, *rtcp.FullIntraRequest:
				v.stream.KeyFrame()
			}
		}
	}
}

// watchResource answers for a viewer's session.
func (s *Server) watchResource(w http.ResponseWriter, r *http.Request) {
	s.toResource(w, r, func() (*connection, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		v := s.viewers[r.PathValue("id")]
		if v == nil || v.camera != r.PathValue("camera") {
			return nil, errNoSession
		}
		return &v.connection, nil
	})
}

func (s *Server) forget(v *viewer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.viewers, v.id)
}
