package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/segd/segd/api"
	"github.com/segd/segd/internal/limit"
	"github.com/segd/segd/objects/zones"
)

// layoutInfo is a camera's zones and lines, with the names and values of the configuration.
type (
	layoutInfo struct {
		Zones []zoneInfo `json:"zones"` // never null
		Lines []lineInfo `json:"lines"` // never null
	}
	zoneInfo struct {
		Name    string      `json:"name"`
		Polygon [][]float64 `json:"polygon"`
		By      zones.By    `json:"by"`
		Share   float64     `json:"share"`
		Dwell   string      `json:"dwell"` // empty: none
	}
	lineInfo struct {
		Name   string      `json:"name"`
		Points [][]float64 `json:"points"`
	}
)

func newLayoutInfo(l zones.Layout) layoutInfo {
	info := layoutInfo{[]zoneInfo{}, []lineInfo{}}
	for _, z := range l.Zones {
		out := zoneInfo{Name: z.Name, Polygon: pairs(z.Polygon), By: z.By, Share: z.Share}
		if z.Dwell > 0 {
			out.Dwell = z.Dwell.String()
		}
		info.Zones = append(info.Zones, out)
	}
	for _, line := range l.Lines {
		info.Lines = append(info.Lines, lineInfo{line.Name, pairs(line.Points)})
	}
	return info
}

func pairs(points []zones.Point) [][]float64 {
	all := make([][]float64, len(points))
	for i, p := range points {
		all[i] = p[:]
	}
	return all
}

// setZones puts other zones and lines in place of all that a camera has.
func setZones(w http.ResponseWriter, r *http.Request, c Camera) error {
	layout, err := readLayout(w, r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), commandTimeout)
	defer cancel()
	layout, err = c.SetZones(ctx, layout)
	return reply(w, newLayoutInfo(layout), err)
}

// readLayout reads zones and lines as newLayoutInfo writes them; what has a default may be
// left out. A Refusal names the first part of another form, or else all that is wrong.
func readLayout(w http.ResponseWriter, r *http.Request) (zones.Layout, error) {
	var body struct {
		Zones []json.RawMessage `json:"zones"`
		Lines []json.RawMessage `json:"lines"`
	}
	if err := readJSON(w, r, limit.MaxLayout, &body); err != nil {
		return zones.Layout{}, err
	}
	var p layoutParts
	if body.Zones == nil {
		p.bad("zones", "it is missing; accepts a list, which may be empty")
	}
	if body.Lines == nil {
		p.bad("lines", "it is missing; accepts a list, which may be empty")
	}
	var layout zones.Layout
	for i, part := range body.Zones {
		at := fmt.Sprintf("zones[%d]", i)
		var z zoneInfo
		if err := decodePart(at, part, &z); err != nil {
			return layout, err
		}
		layout.Zones = append(layout.Zones, zones.Zone{
			Name: z.Name, Polygon: p.points(at+".polygon", z.Polygon), By: z.By, Share: z.Share, Dwell: p.duration(at+".dwell", z.Dwell),
		})
	}
	for i, part := range body.Lines {
		at := fmt.Sprintf("lines[%d]", i)
		var line lineInfo
		if err := decodePart(at, part, &line); err != nil {
			return layout, err
		}
		layout.Lines = append(layout.Lines, zones.Line{Name: line.Name, Points: p.points(at+".points", line.Points)})
	}
	if len(p.faults) == 0 { // of another form it cannot be judged
		p.faults = layout.Faults()
	}
	return layout, p.refusal()
}

// layoutParts gathers what is wrong with the parts of a layout.
type layoutParts struct{ faults []*zones.Fault }

func (p *layoutParts) bad(field, format string, args ...any) {
	p.faults = append(p.faults, &zones.Fault{Field: field, Detail: fmt.Sprintf(format, args...)})
}

func (p *layoutParts) points(field string, given [][]float64) []zones.Point {
	points := make([]zones.Point, len(given))
	for i, pair := range given {
		if len(pair) != len(points[i]) {
			p.bad(fmt.Sprintf("%s[%d]", field, i), "%d numbers; accepts two, [x, y]", len(pair))
			continue
		}
		points[i] = zones.Point(pair)
	}
	return points
}

func (p *layoutParts) duration(field, given string) time.Duration {
	if given == "" {
		return 0
	}
	d, err := time.ParseDuration(given)
	if err != nil || d < zones.MinDwell {
		p.bad(field, "%.40q; accepts a duration of %v or more, such as 10s", given, zones.MinDwell)
	}
	return d
}

// refusal is nil if nothing is wrong.
func (p *layoutParts) refusal() error {
	if len(p.faults) == 0 {
		return nil
	}
	r := &api.Refusal{Status: http.StatusBadRequest, Detail: fmt.Sprintf("%s: %s", p.faults[0].Field, p.faults[0].Detail)}
	if more := len(p.faults) - 1; more > 0 {
		r.Detail += fmt.Sprintf("; and %d more", more)
	}
	for _, f := range p.faults {
		r.Fields = append(r.Fields, api.Field{Pointer: api.Pointer(f.Field), Detail: f.Detail})
	}
	return r
}

// decodePart is decode of the part of a body that is at a field, which its refusal names.
func decodePart(field string, part json.RawMessage, v any) error {
	err := decode("it", part, v)
	var refusal *api.Refusal
	if !errors.As(err, &refusal) {
		return err
	}
	f := api.Field{Pointer: api.Pointer(field), Detail: refusal.Detail}
	if len(refusal.Fields) > 0 {
		f = refusal.Fields[0]
		f.Pointer = api.Pointer(field) + f.Pointer
	}
	return badField(f)
}
