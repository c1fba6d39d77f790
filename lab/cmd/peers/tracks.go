package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/segd/segd/lab/mot"
)

// trackReport holds each side's figures of the persons of a video.
type trackReport struct {
	Segd        *mot.Figures `json:"segd,omitempty"`
	Sort        mot.Figures  `json:"sort"`
	SortSparse  mot.Figures  `json:"sort_sparse"`
	SortBetween mot.Figures  `json:"sort_between"`
}

// sortSides are SORT on the detections of every frame, and twice on those of one frame in
// a number of them: as it is, which takes the frames between for ones in which no one was
// detected, and so that those do not count and tracks are reported in them where they are
// predicted to be. That this says where a person is after two matches, not three, is better
// for it: its looks are far apart.
var sortSides = []struct {
	name            string
	sparse, between bool
	minHits         int
	of              func(*trackReport) *mot.Figures
}{
	{"sort", false, false, sortMinHits, func(r *trackReport) *mot.Figures { return &r.Sort }},
	{"sort_sparse", true, false, sortMinHits, func(r *trackReport) *mot.Figures { return &r.SortSparse }},
	{"sort_between", true, true, 2, func(r *trackReport) *mot.Figures { return &r.SortBetween }},
}

// frameRange is A-B; the zero value is all frames.
type frameRange struct{ first, last int }

func (r *frameRange) String() string { return fmt.Sprintf("%d-%d", r.first, r.last) }

func (r *frameRange) Set(s string) error {
	var rest string
	if n, _ := fmt.Sscanf(s, "%d-%d%s", &r.first, &r.last, &rest); n != 2 || r.first < 1 || r.last < r.first {
		return errors.New("want A-B, whole numbers from 1 on, B not below A")
	}
	return nil
}

func readBoxes[T any](path string, parse func(io.Reader, string) (T, error)) (boxes T, err error) {
	f, err := os.Open(path)
	if err != nil {
		return boxes, err
	}
	defer f.Close()
	return parse(f, path)
}

// sortTracks runs SORT on detections of frames first to last, of one frame in every.
func sortTracks(s sorter, detections map[int][]mot.Found, first, last, every int, between bool) (found []mot.Found) {
	for n := first; n <= last; n++ {
		if (n-first)%every == 0 {
			found = append(found, s.step(n, true, detections[n])...)
		} else {
			found = append(found, s.step(n, !between, nil)...)
		}
	}
	return found
}

// compareTracks returns nil if there are no detections.
func compareTracks(opt options, stderr io.Writer) (*trackReport, error) {
	if opt.detections == "" || opt.truth == "" {
		if opt.only == "tracks" {
			return nil, errors.New("tracks: want -detections and -truth")
		}
		fmt.Fprintln(stderr, "tracks: left out, no -detections and -truth")
		return nil, nil
	}
	truth, err := readBoxes(opt.truth, mot.ParseTruth)
	if err != nil {
		return nil, err
	}
	all, err := readBoxes(opt.detections, mot.ParseDetections)
	if err != nil {
		return nil, err
	}
	first, last := max(opt.frames.first, 1), opt.frames.last
	if last == 0 {
		for _, d := range all {
			last = max(last, d.Frame)
		}
	}
	detections := map[int][]mot.Found{}
	for _, d := range all {
		if d.Score >= opt.score {
			detections[d.Frame] = append(detections[d.Frame], d)
		}
	}
	r := &trackReport{}
	w := tabwriter.NewWriter(stderr, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "tracks, detections from a score of %g on, sparse: of one frame in %d\tMOTA\tIDF1\tswitches\tfragmentations\trecall\tprecision\n", opt.score, opt.every)
	side := func(name string, found []mot.Found) mot.Figures {
		f := mot.Score(truth, found, first, last)
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\t%s\n", name, figure(f.MOTA), figure(f.IDF1), f.IDSwitches, f.Fragmentations, figure(f.Recall), figure(f.Precision))
		return f
	}
	if opt.result != "" {
		found, err := readBoxes(opt.result, mot.ParseResult)
		if err != nil {
			return nil, err
		}
		segd := side("segd", found)
		r.Segd = &segd
	}
	for _, s := range sortSides {
		every := 1
		if s.sparse {
			every = opt.every
		}
		found := sortTracks(sorter{minHits: s.minHits}, detections, first, last, every, s.between)
		if opt.out != "" {
			if err := writeResult(filepath.Join(opt.out, s.name+".txt"), found); err != nil {
				return nil, err
			}
		}
		*s.of(r) = side(s.name, found)
	}
	return r, w.Flush()
}

func writeResult(path string, found []mot.Found) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return mot.WriteBoxes(f, found)
}

func figure(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.3f", *v)
}
