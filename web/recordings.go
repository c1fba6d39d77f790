package web

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"time"

	"github.com/segd/segd/api"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/outputs/recording"
)

// Recordings has the video that was recorded, and its masks. It is called from several goroutines. Its errors are as those
// of Commands.
type Recordings interface {
	// State is what becomes of a camera's video now. The error says why its recordings are not shown.
	State(camera string) (recording.State, error)
	// Segments, Video and Masks are as those of recording.Store.
	Segments(camera string, from, to time.Time, limit int) (found []recording.Segment, more bool)
	Video(camera, name string) (*os.File, error)
	Masks(camera, name string, each func(*segdv1.MaskFrame) error) (found bool, err error)
}

const (
	recordingsPath = cameraPath + "/recordings"
	typeMP4        = "video/mp4"
	typeJSONLines  = "application/jsonl"

	// recordedLimit is how many recordings are listed unless a client asks for another number, up to mostRecorded: a day.
	recordedLimit = 240
	mostRecorded  = 2880
)

// recordedList is the answer of recordingsPath.
type recordedList struct {
	State    string            `json:"state"`
	Reason   string            `json:"reason,omitempty"` // why it is not recording
	Segments []recordedSegment `json:"segments"`
	More     bool              `json:"more"` // there are older ones
}

type recordedSegment struct {
	Name  string    `json:"name"`
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
	Bytes int64     `json:"bytes"`
}

// shown refuses where there are no recordings, or a camera's are not shown.
func (s *Server) shown(c *camera) (recording.State, error) {
	if s.cfg.Recordings == nil {
		return recording.State{}, &api.Refusal{Status: http.StatusNotFound, Detail: "this segd records nothing: recording.dir is not set"}
	}
	return s.cfg.Recordings.State(c.name)
}

func (s *Server) listRecordings(w http.ResponseWriter, r *http.Request, c *camera) error {
	p, from, to, limit := new(parameters), time.Time{}, time.Time{}, recordedLimit
	if err := p.read(r.URL.Query(), map[string]parameter{"from": p.time(&from), "to": p.time(&to), "limit": p.count(&limit, mostRecorded)}); err != nil {
		return err
	}
	if err := p.span(from, to); err != nil {
		return err
	}
	state, err := s.shown(c)
	if err != nil {
		return err
	}
	segments, more := s.cfg.Recordings.Segments(c.name, from, to, limit)
	list := recordedList{State: state.Is, Reason: state.Reason, More: more, Segments: make([]recordedSegment, len(segments))}
	for i, seg := range segments {
		list.Segments[i] = recordedSegment{seg.Name(), seg.Start, seg.End(), seg.Bytes}
	}
	return reply(w, list, nil)
}

func noRecording(c *camera, name string) error {
	return &api.Refusal{Status: http.StatusNotFound, Detail: fmt.Sprintf("camera %s has no recording %q; accepts the names that %s lists", c.name, name, recordingsPath)}
}

// showRecording answers with a file of video, or the ranges of it that are asked for.
func (s *Server) showRecording(w http.ResponseWriter, r *http.Request, c *camera) error {
	if _, err := s.shown(c); err != nil {
		return err
	}
	name := r.PathValue("name")
	f, err := s.cfg.Recordings.Video(c.name, name)
	if err != nil {
		return err
	}
	if f == nil {
		return noRecording(c, name)
	}
	defer f.Close()
	var info fs.FileInfo
	if info, err = f.Stat(); err != nil {
		return err
	}
	w.Header().Set("Content-Type", typeMP4)
	w.Header().Set("Content-Disposition", fmt.Sprintf(`inline; filename="%s-%s.mp4"`, c.name, name))
	http.ServeContent(&ranges{patientResponse: s.patient(w), size: info.Size()}, r, "", info.ModTime(), f)
	return nil
}

// ranges answers with a problem document where http.ServeContent says in plain text that there is no such range.
type ranges struct {
	patientResponse
	size    int64
	refused bool
}

func (p *ranges) WriteHeader(status int) {
	if status == http.StatusRequestedRangeNotSatisfiable {
		p.refused = true
		api.WriteProblem(p.ResponseWriter, status, fmt.Sprintf("no such range of the recording; it has %d bytes", p.size))
		return
	}
	p.ResponseWriter.WriteHeader(status)
}

func (p *ranges) Write(data []byte) (int, error) {
	if p.refused {
		return len(data), nil
	}
	return p.patientResponse.Write(data)
}

// showRecordedMasks answers with the masks of a file of video, each a line of JSON.
func (s *Server) showRecordedMasks(w http.ResponseWriter, r *http.Request, c *camera) error {
	if _, err := s.shown(c); err != nil {
		return err
	}
	name := r.PathValue("name")
	out := s.patient(w)
	begun := false
	found, err := s.cfg.Recordings.Masks(c.name, name, func(m *segdv1.MaskFrame) error {
		line, err := wire.Marshal(m)
		if err != nil {
			return err
		}
		if !begun {
			begun = true
			w.Header().Set("Content-Type", typeJSONLines)
		}
		_, err = out.Write(append(line, '\n')) // without Multiline there is none in it
		return err
	})
	switch {
	case begun && err != nil: // the answer has begun
		s.cfg.Logger.Debug("recorded masks are not sent whole", "camera", c.name, "error", err)
		return nil
	case err != nil:
		return err
	case !found:
		return noRecording(c, name)
	}
	w.Header().Set("Content-Type", typeJSONLines)
	return nil
}

// patientResponse gives each write a time limit of its own in place of the request's.
type patientResponse struct {
	http.ResponseWriter
	body *patientWriter
}

func (p patientResponse) Write(data []byte) (int, error) { return p.body.Write(data) }

// patient has w take as long as its client keeps reading.
func (s *Server) patient(w http.ResponseWriter) patientResponse {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // else the connection ends with the request's; httptest's recorder has none
	return patientResponse{w, &patientWriter{w, control, s.cfg.WriteTimeout}}
}
