package mot

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/lab/internal/offline"
	"github.com/segd/segd/objects/marking"
)

// What a meeting is, and for how long its persons are followed.
const (
	meetIoU   = 0.3 // of the true boxes, at least
	meetStay  = 50  // frames after which both are still there, and apart
	maxFollow = 200 // frames for which they are followed at most
)

// Meeting is how two persons were followed that were marked where one hid most of the other.
type Meeting struct {
	IDs    [2]int  `json:"ids"`
	Marked int     `json:"marked"` // the frame
	IoU    float64 `json:"iou"`    // of their true boxes in it
	// ByExtent and ByMask are of the frames after that.
	ByExtent Group `json:"by_extent"`
	ByMask   Group `json:"by_mask"`

	persons [2]person
	camera  *offline.Camera
	tracks  [len(boxesNames)][]track // by Boxes
	looked  []int
}

// MeetingsReport is the outcome, in the stable form `segd eval mot --crossings --json` prints.
type MeetingsReport struct {
	Mark     string       `json:"mark"`
	Meetings []*Meeting   `json:"crossings"`
	ByExtent MeetingMeans `json:"by_extent"`
	ByMask   MeetingMeans `json:"by_mask"`
}

// MeetingMeans are means over crossings: of IDF1, and of the share of the persons' true boxes where their own box is right.
type MeetingMeans struct {
	IDF1  float64 `json:"idf1"`
	Right float64 `json:"right"`
}

// meetings returns the meetings in the frames from first to last of a video with pictures of size s. A meeting is a run of
// frames in which the true boxes of two persons overlap. In one of them at least, both boxes are whole, markHeight tall or
// taller, and have an IoU of meetIoU or more; of these frames, the persons are marked in the one with the largest IoU.
// meetStay frames after that one both are in the picture and their boxes do not overlap.
func (t *Truth) meetings(first, last int, s size) (all []*Meeting) {
	for i, a := range t.IDs() {
		for _, b := range t.IDs()[i+1:] {
			overlap := func(n int) (iou float64, markable bool) {
				x, y := t.boxes[a][n], t.boxes[b][n]
				if x.ignored || y.ignored || x.box.Height == 0 || y.box.Height == 0 {
					return -1, false
				}
				return 1 - x.box.Distance(y.box), min(x.box.Height, y.box.Height) >= markHeight && s.holds(x.box) && s.holds(y.box)
			}
			best := Meeting{IDs: [2]int{a, b}, IoU: meetIoU}
			for n := first; n <= last; n++ {
				iou, markable := overlap(n)
				if markable && iou >= best.IoU {
					best.IoU, best.Marked = iou, n
				}
				if later := best.Marked + meetStay; iou <= 0 && best.Marked > 0 {
					if iou, _ := overlap(later); later <= last && iou == 0 {
						all = append(all, new(best))
					}
					best.IoU, best.Marked = meetIoU, 0
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *Meeting) int { return cmp.Compare(a.Marked, b.Marked) })
	return all
}

// RunMeetings marks the persons of each meeting, and follows them with a tracker of their own. Opt's Follow and Boxes are not looked at. A frame's boxes use no later frame.
func RunMeetings(ctx context.Context, opt Options) (*MeetingsReport, error) {
	if err := opt.frames(); err != nil {
		return nil, err
	}
	view, err := offline.NewView(opt.Model, opt.Features)
	if err != nil {
		return nil, err
	}
	report := &MeetingsReport{Mark: opt.Mark.String()}
	err = opt.play(ctx, func(ctx context.Context, frame int, p *Picture) error {
		if frame == opt.First {
			report.Meetings = opt.Truth.meetings(opt.First, opt.Last, size{p.Width, p.Height})
			if len(report.Meetings) == 0 {
				return errors.New("the truth has no two persons that cross in these frames")
			}
			for _, m := range report.Meetings {
				if err := m.begin(view, &opt); err != nil {
					return err
				}
			}
		}
		view.Look(frame-1, p)
		for _, m := range report.Meetings {
			if frame <= m.Marked+maxFollow {
				if err := m.show(ctx, frame, p, &opt); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, m := range report.Meetings {
		for b, to := range []*Group{Extents: &m.ByExtent, Masks: &m.ByMask} {
			*to = group(score(sideBySide(m.tracks[b], m.looked), followDistance), m.tracks[b], m.looked, 0)
		}
		report.ByExtent.add(m.ByExtent.Means(), len(report.Meetings))
		report.ByMask.add(m.ByMask.Means(), len(report.Meetings))
	}
	return report, nil
}

// Means are those of one crossing.
func (g *Group) Means() (m MeetingMeans) {
	right, present := 0, 0
	for _, o := range g.PerObject {
		right, present = right+o.Right, present+o.Present
	}
	if g.IDF1 != nil {
		m.IDF1 = *g.IDF1
	}
	m.Right = float64(right) / float64(max(1, present))
	return m
}

// add takes in one of n.
func (m *MeetingMeans) add(one MeetingMeans, n int) {
	m.IDF1 += one.IDF1 / float64(n)
	m.Right += one.Right / float64(n)
}

func (m *Meeting) begin(view *offline.View, opt *Options) (err error) {
	for k, id := range m.IDs {
		m.persons[k] = person{id: id, number: uint32(k + 1), mark: m.Marked}
		for b := range m.tracks {
			m.tracks[b] = append(m.tracks[b], track{person: m.persons[k], boxes: Boxes(b), truth: opt.Truth.boxes[id]})
		}
	}
	m.camera, err = view.Camera(opt.Tracker, marking.Config{}, nil)
	return err
}

// show has the meeting's tracker follow the next frame, also before the persons are marked: a camera runs before an object
// is marked in it.
func (m *Meeting) show(ctx context.Context, frame int, p *Picture, opt *Options) error {
	var ann *annotation.Annotation
	if frame == m.Marked {
		ann = &annotation.Annotation{Width: p.Width, Height: p.Height}
		for _, person := range m.persons {
			o, err := opt.Mark.object(person, opt.Truth.boxes[person.id][frame].box, size{p.Width, p.Height})
			if err != nil {
				return err
			}
			ann.Objects = append(ann.Objects, o)
		}
	}
	res, err := m.camera.Follow(ctx, ann, false)
	if err != nil {
		return err
	}
	if m.looked = append(m.looked, frame); frame <= m.Marked {
		m.looked = m.looked[:0]
	}
	for b := range m.tracks {
		for k := range m.tracks[b] {
			m.tracks[b][k].note(frame, res.Result)
		}
	}
	return nil
}
