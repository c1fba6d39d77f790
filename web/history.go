package web

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/segd/segd/api"
	"github.com/segd/segd/bus/segdv1"
)

// History has the events that are kept, and their pictures. It is called from several goroutines. Its errors are as those of
// Commands.
type History interface {
	// Kept returns the events that are wanted, the one stored last first, and the Before of those before them, 0 if there are none.
	// There may be fewer than wanted, or none, and yet more before.
	Kept(ctx context.Context, q api.Kept) (events []*segdv1.Event, next uint64, err error)
	// Picture returns the thumbnail of that name that is kept of a camera; nil if there is none, or if it shows what is hidden now.
	Picture(ctx context.Context, camera, name string) ([]byte, error)
}

const (
	// keptLimit is how many events are listed unless a client asks for another number.
	keptLimit = 50
	// exportLimit is how many are exported at most, and exportTimeout how long that may take.
	exportLimit   = 2000
	exportTimeout = time.Minute
	// maxFilter is how many characters a text that events are to have may have: those of a label.
	maxFilter   = 100
	retryExport = 10 // seconds
)

var noHistory = &api.Refusal{Status: http.StatusNotFound, Detail: "this segd keeps no events"}

// keptList is the answer of /api/v1/history.
type keptList struct {
	Events []json.RawMessage `json:"events"`         // segd.v1.Event in protobuf's JSON mapping
	Next   string            `json:"next,omitempty"` // the before of the request for those before them; absent if there are none
}

func (s *Server) listKept(w http.ResponseWriter, r *http.Request) error {
	q, err := parseKept(r.URL.Query(), keptLimit, api.MostKept)
	if err != nil {
		return err
	}
	if s.cfg.History == nil {
		return noHistory
	}
	events, next, err := s.cfg.History.Kept(r.Context(), q)
	if err != nil {
		return err
	}
	list := keptList{Events: make([]json.RawMessage, len(events))}
	for i, ev := range events {
		if list.Events[i], err = wire.Marshal(ev); err != nil {
			return err
		}
	}
	if next > 0 {
		list.Next = strconv.FormatUint(next, 10)
	}
	return reply(w, list, nil)
}

// parseKept reads which events are wanted, and names all that is wrong.
func parseKept(query url.Values, limit, most int) (q api.Kept, err error) {
	p := new(parameters)
	q.Limit = limit
	_ = p.read(query, map[string]parameter{
		"class": p.text(&q.Class), "zone": p.text(&q.Zone), "object": p.text(&q.Object), "from": p.time(&q.From), "to": p.time(&q.To), "limit": p.count(&q.Limit, most),
		"camera": func(name, value string) {
			if q.Camera = value; !plainName.MatchString(value) {
				p.bad(name, "%q; accepts the name of a camera", value)
			}
		},
		"kind": func(name, value string) {
			if kinds := segdv1.KindNames(); !slices.Contains(kinds, value) {
				p.bad(name, "%q; accepts %s", value, strings.Join(kinds, ", "))
			}
			q.Kind = value
		},
		"before": func(name, value string) {
			var fault error
			if q.Before, fault = strconv.ParseUint(value, 10, 64); fault != nil || q.Before == 0 {
				p.bad(name, "%q; accepts the next of an answer", value)
			}
		},
	})
	return q, p.span(q.From, q.To) // with the faults before
}

// thumbnail is that of a name, of the newest ones or kept; nil if there is none.
func (s *Server) thumbnail(ctx context.Context, camera, name string) (picture []byte, err error) {
	if c := s.camera(camera); c != nil {
		picture = c.thumbnails.Get(name)
	}
	if picture == nil && s.cfg.History != nil {
		picture, err = s.cfg.History.Picture(ctx, camera, name)
	}
	return picture, err
}

// exportKept answers with a ZIP file of the events that are wanted, one a line as JSON, and their thumbnails. One that breaks off
// has no directory, by which programs see that it is not whole.
func (s *Server) exportKept(w http.ResponseWriter, r *http.Request) error {
	q, err := parseKept(r.URL.Query(), exportLimit, exportLimit)
	if err != nil {
		return err
	}
	if s.cfg.History == nil {
		return noHistory
	}
	select {
	case s.exports <- struct{}{}:
		defer func() { <-s.exports }()
	default:
		return &api.Refusal{Status: http.StatusTooManyRequests, Retry: retryExport, Detail: fmt.Sprintf("events are exported already; try again in %d s", retryExport)}
	}
	ctx, cancel := context.WithTimeout(r.Context(), exportTimeout)
	defer cancel()
	left := q.Limit
	page := func() (events []*segdv1.Event, more bool, err error) {
		q.Limit = min(left, api.MostKept)
		events, q.Before, err = s.cfg.History.Kept(ctx, q)
		left -= len(events)
		return events, q.Before > 0 && left > 0, err
	}
	events, more, err := page() // while a refusal can be answered
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/zip")
	w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="segd-events-%s.zip"`, time.Now().UTC().Format("20060102T150405Z")))
	out := zip.NewWriter(s.patient(w))
	var lines bytes.Buffer
	there := map[string]bool{}
	for {
		for _, ev := range events {
			if err = s.exportEvent(ctx, out, &lines, there, ev); err != nil {
				break
			}
		}
		if err != nil || !more {
			break
		}
		if events, more, err = page(); err != nil {
			break
		}
	}
	if err == nil {
		err = addFile(out, "events.jsonl", time.Now(), lines.Bytes(), zip.Deflate)
	}
	if err == nil {
		err = out.Close()
	}
	if err != nil { // the answer has begun
		s.cfg.Logger.Warn("an export of events is not whole", "remote", r.RemoteAddr, "error", err)
	}
	return nil
}

// exportEvent adds an event to lines, and its thumbnail to out unless it is there.
func (s *Server) exportEvent(ctx context.Context, out *zip.Writer, lines *bytes.Buffer, there map[string]bool, ev *segdv1.Event) error {
	text, err := wire.Marshal(ev)
	if err == nil {
		err = json.Compact(lines, text) // protojson's spaces differ from one program to another
	}
	if err != nil {
		return err
	}
	lines.WriteByte('\n')
	if ev.GetThumbnail() == "" {
		return ctx.Err()
	}
	name := path.Base(ev.GetThumbnail())
	file := path.Join("pictures", ev.GetCamera(), name)
	if there[file] {
		return nil
	}
	there[file] = true
	picture, err := s.thumbnail(ctx, ev.GetCamera(), name)
	if err != nil || picture == nil {
		return err
	}
	return addFile(out, file, ev.GetTime().AsTime(), picture, zip.Store)
}

func addFile(out *zip.Writer, name string, at time.Time, data []byte, method uint16) error {
	file, err := out.CreateHeader(&zip.FileHeader{Name: name, Method: method, Modified: at})
	if err == nil {
		_, err = file.Write(data)
	}
	return err
}

// patientWriter gives each write a time limit of its own in place of the request's.
type patientWriter struct {
	io.Writer
	control *http.ResponseController
	timeout time.Duration
}

func (p *patientWriter) Write(data []byte) (int, error) {
	_ = p.control.SetWriteDeadline(time.Now().Add(p.timeout)) // likewise
	return p.Writer.Write(data)
}
