package mot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/features"
	"github.com/segd/segd/lab/internal/offline"
	"github.com/segd/segd/lab/internal/stats"
	"github.com/segd/segd/objects/marking"
	"github.com/segd/segd/tracker"
)

// Picture is a frame of a video. Its Truth is not looked at.
type Picture = offline.Picture

// Video shows every frame, from the first on, and returns at its end, or at once the
// error that show returned, wrapped or not. A picture is left alone while it is shown.
type Video = offline.Video

// Options say what to follow.
type Options struct {
	Video       Video
	Truth       *Truth
	First, Last int   // frames looked at, from 1; 0 means 1 and the truth's last
	Follow      []int // persons; nil means all that are to be seen in these frames
	Mark        Mark
	Boxes       Boxes // that figures are of
	Model       features.Model
	ModelName   string
	Features    features.Config
	Tracker     tracker.Config
	Progress    func(done, total int) // frames; nil: it is not called
}

// Report is the outcome, in the stable form `segd eval mot --json` prints.
type Report struct {
	Mode       string `json:"mode"`
	Model      string `json:"model"`
	Mark       string `json:"mark"`
	FirstFrame int    `json:"first_frame"`
	LastFrame  int    `json:"last_frame"`

	Ways            // of the boxes that count
	Counted  string `json:"boxes"` // which these are
	ByExtent Ways   `json:"by_extent"`
	ByMask   Ways   `json:"by_mask"`

	// Reliability is how many of the masks' boxes, alone and together, are right by the
	// masks' scores.
	Reliability []Bin `json:"reliability"`

	// Boxes are those of Together that were counted, frame by frame.
	Boxes []Found `json:"-"`
}

// Ways are the figures of both ways to follow. Alone: each person by a tracker that knows no one
// else. Together: all by one. What Alone counts is summed over the persons.
type Ways struct {
	Alone    Group `json:"alone"`
	Together Group `json:"together"`
}

// Bin is how many of the masks with a score in a tenth of 0…1 are right.
type Bin = stats.Bin

// Group are the figures of one way to follow. The frame in which a person is marked
// is not counted. What would be divided by 0 is null.
type Group struct {
	IDF1       *float64 `json:"idf1"`
	IDP        *float64 `json:"idp"`
	IDR        *float64 `json:"idr"`
	IDSwitches int      `json:"id_switches"`
	Strangers  *float64 `json:"strangers_per_thousand"` // of the frames after the last true boxes
	PerObject  []Object `json:"per_object"`
}

// Object counts frames after the one in which the person was marked.
type Object struct {
	ID      int `json:"id"`
	Marked  int `json:"marked"`  // the frame
	Present int `json:"present"` // the true box exists
	Right   int `json:"right"`   // of these, the person's own box has an IoU of 0.3 or more with it
	False   int `json:"false"`   // there is a box that is not right
	Missed  int `json:"missed"`  // of those present, there is no right box
	// Gone is how many frames there are more than a second after the last of its true boxes, and Strangers how many of
	// these have a box. In that second the picture's border cuts it, which the truth leaves out.
	Gone      int `json:"gone"`
	Strangers int `json:"strangers"`
}

// person is one that is followed.
type person struct {
	id     int
	number uint32 // in annotations
	mark   int    // frame
}

// maxPersons are as many as annotations can name.
const maxPersons = 255

// Run marks each person in the first of the frames in which it is whole and at least
// 60 pixels tall, or else in that of its tallest box, and follows it from there on,
// alone and together with the others. A frame's boxes use no later frame.
func Run(ctx context.Context, opt Options) (*Report, error) {
	if err := opt.frames(); err != nil {
		return nil, err
	}
	r := &run{opt: &opt}
	var err error
	if r.ids, err = opt.persons(); err != nil {
		return nil, err
	}
	if r.view, err = offline.NewView(opt.Model, opt.Features); err != nil {
		return nil, err
	}
	if r.together, err = r.view.Camera(opt.Tracker, marking.Config{}, nil); err != nil {
		return nil, err
	}
	if err := opt.play(ctx, r.show); err != nil {
		return nil, err
	}
	return r.report(), nil
}

// frames settles which are looked at.
func (opt *Options) frames() error {
	opt.First = cmp.Or(opt.First, 1)
	opt.Last = cmp.Or(opt.Last, opt.Truth.last)
	if opt.First < 1 || opt.Last < opt.First {
		return fmt.Errorf("mot: frames %d to %d; want the first from 1 on and the last not before it", opt.First, opt.Last)
	}
	return nil
}

// persons returns whom to follow.
func (opt *Options) persons() ([]int, error) {
	known := opt.Truth.IDs()
	ids := slices.Compact(slices.Sorted(slices.Values(opt.Follow)))
	if opt.Follow == nil {
		ids = slices.DeleteFunc(slices.Clone(known), func(id int) bool { return !opt.Truth.within(id, opt.First, opt.Last) })
	}
	for _, id := range ids {
		if !opt.Truth.within(id, opt.First, opt.Last) {
			return nil, fmt.Errorf("mot: the truth has no person %d in frames %d to %d; it has %d in all", id, opt.First, opt.Last, known)
		}
	}
	if len(ids) == 0 || len(ids) > maxPersons {
		return nil, fmt.Errorf("mot: %d persons in frames %d to %d; want 1 to %d", len(ids), opt.First, opt.Last, maxPersons)
	}
	return ids, nil
}

// errEnough ends the video.
var errEnough = errors.New("no more frames are wanted")

// play calls show with each frame that is looked at and its number, from 1.
func (opt *Options) play(ctx context.Context, show func(ctx context.Context, frame int, p *Picture) error) error {
	frame := 0
	err := opt.Video(ctx, func(p *Picture) error {
		if frame++; frame < opt.First {
			return ctx.Err()
		}
		if err := show(ctx, frame, p); err != nil {
			return fmt.Errorf("frame %d: %w", frame, err)
		}
		if opt.Progress != nil {
			opt.Progress(frame-opt.First+1, opt.Last-opt.First+1)
		}
		if frame == opt.Last {
			return errEnough
		}
		return ctx.Err()
	})
	switch {
	case err != nil && !errors.Is(err, errEnough):
		return fmt.Errorf("mot: %w", err)
	case frame < opt.Last:
		return fmt.Errorf("mot: the video ends with frame %d; want %d", frame, opt.Last)
	}
	return nil
}

// run is one pass over the video.
type run struct {
	opt      *Options
	ids      []int
	size     size
	persons  []person // from the first frame on
	view     *offline.View
	alone    []*offline.Camera // from the first frame on
	together *offline.Camera
	frame    int           // shown last, from 1
	first    time.Duration // stream time of the first frame
	second   int           // frames in one

	aloneTracks, togetherTracks [len(boxesNames)][]track // by Boxes and person
}

// show takes the next frame.
func (r *run) show(ctx context.Context, frame int, p *Picture) error {
	r.frame = frame
	if r.frame == r.opt.First {
		r.first = p.Time
		if err := r.begin(size{p.Width, p.Height}); err != nil {
			return err
		}
	}
	if passed := p.Time - r.first; passed > 0 {
		r.second = int(math.Round(float64(frame-r.opt.First) / passed.Seconds()))
	}
	if got := (size{p.Width, p.Height}); got != r.size {
		return fmt.Errorf("it has %d×%d pixels; want %d×%d as before", got.width, got.height, r.size.width, r.size.height)
	}
	return r.follow(ctx, p)
}

// begin decides where persons are marked, now that the pictures' size is known.
func (r *run) begin(s size) error {
	r.size = s
	for k, id := range r.ids {
		p := person{id: id, number: uint32(k + 1), mark: r.opt.Truth.markFrame(id, r.opt.First, r.opt.Last, s)}
		r.persons = append(r.persons, p)
		for b := range r.aloneTracks {
			r.aloneTracks[b] = append(r.aloneTracks[b], track{person: p, boxes: Boxes(b), truth: r.opt.Truth.boxes[id]})
		}
	}
	for b, tracks := range r.aloneTracks {
		r.togetherTracks[b] = slices.Clone(tracks)
	}
	for range r.persons {
		c, err := r.view.Camera(r.opt.Tracker, marking.Config{}, nil)
		if err != nil {
			return err
		}
		r.alone = append(r.alone, c)
	}
	return nil
}

// follow has all trackers step on a frame.
func (r *run) follow(ctx context.Context, p *Picture) error {
	// A tracker counts frames from 0, as a camera does.
	r.view.Look(r.frame-1, p)
	var marked []annotation.Object
	for k, person := range r.persons {
		if r.frame < person.mark { // a camera is watched before a user marks an object
			if _, err := r.alone[k].Follow(ctx, nil, false); err != nil {
				return fmt.Errorf("person %d alone: %w", person.id, err)
			}
			continue
		}
		var own []annotation.Object
		if r.frame == person.mark {
			o, err := r.opt.Mark.object(person, r.opt.Truth.boxes[person.id][r.frame].box, r.size)
			if err != nil {
				return err
			}
			own, marked = []annotation.Object{o}, append(marked, o)
		}
		if err := r.step(ctx, r.alone[k], own, r.aloneTracks[Extents][k:k+1], r.aloneTracks[Masks][k:k+1]); err != nil {
			return fmt.Errorf("person %d alone: %w", person.id, err)
		}
	}
	if err := r.step(ctx, r.together, marked, r.togetherTracks[:]...); err != nil {
		return fmt.Errorf("all together: %w", err)
	}
	return nil
}

// step has a camera look at the frame, in which some may be marked, and notes where
// it finds those of the tracks.
func (r *run) step(ctx context.Context, c *offline.Camera, marked []annotation.Object, tracks ...[]track) error {
	var ann *annotation.Annotation
	if len(marked) > 0 {
		ann = &annotation.Annotation{Width: r.size.width, Height: r.size.height, Objects: marked}
	}
	res, err := c.Follow(ctx, ann, false)
	if err != nil {
		return err
	}
	for _, of := range tracks {
		for k := range of {
			of[k].note(r.frame, res.Result)
		}
	}
	return nil
}

func (r *run) report() *Report {
	report := &Report{
		Mode: r.opt.Tracker.Mode.String(), Model: r.opt.ModelName, Mark: r.opt.Mark.String(),
		FirstFrame: r.opt.First, LastFrame: r.opt.Last, Counted: r.opt.Boxes.String(),
	}
	looked := make([]int, 0, r.opt.Last-r.opt.First+1)
	for n := r.opt.First; n <= r.opt.Last; n++ {
		looked = append(looked, n)
	}
	report.ByExtent, report.ByMask = r.ways(Extents, looked), r.ways(Masks, looked)
	if report.Ways = report.ByExtent; r.opt.Boxes == Masks {
		report.Ways = report.ByMask
	}
	var reliability stats.Reliability
	for _, tracks := range [][]track{r.aloneTracks[Masks], r.togetherTracks[Masks]} {
		for k := range tracks {
			tracks[k].rate(&reliability)
		}
	}
	report.Reliability = reliability.Bins()
	for _, n := range looked {
		for k := range r.persons {
			if f := r.togetherTracks[r.opt.Boxes][k].at(n); f != nil {
				report.Boxes = append(report.Boxes, *f)
			}
		}
	}
	return report
}

// ways are the figures of one kind of boxes.
func (r *run) ways(b Boxes, looked []int) Ways {
	alone, together := r.aloneTracks[b], r.togetherTracks[b]
	var sum counts
	for k := range alone {
		sum = sum.plus(score(sideBySide(alone[k:k+1], looked), followDistance))
	}
	return Ways{
		Alone:    group(sum, alone, looked, r.second),
		Together: group(score(sideBySide(together, looked), followDistance), together, looked, r.second),
	}
}
