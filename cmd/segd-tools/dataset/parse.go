package dataset

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/ingest/codec"
)

// What a file may make segd keep: it is read piece by piece, and may itself be of any size.
const (
	maxItem     = 2 << 20 // bytes of one element of XML without those inside, or of one entry of a list in JSON
	maxDepth    = 100     // elements or lists inside one another
	maxPictures = 200_000 // of one camera, in COCO's
	maxClasses  = 10_000  // in COCO's
	maxRuns     = 100_000 // of one mask: twenty in each row of the highest picture
	maxNamed    = 10      // marks that are left out, or other cameras, that are named
)

// Marked is a picture of a recording, and what was marked on it elsewhere.
type Marked struct {
	Camera          string
	Epoch, Sequence uint64
	File            string // the picture's, without folders
	Width, Height   int

	objects []layer
	left    LeftOut
	fault   error // of all of it
}

// LeftOut are marks of a picture that nothing can be made of.
type LeftOut struct {
	Count  int
	Faults []error // of the first ones
}

func (l *LeftOut) add(where string, err error) {
	if l.Count++; l.Count <= maxNamed {
		l.Faults = append(l.Faults, fmt.Errorf("%s: %w", where, err))
	}
}

// layer is an object, how far up it is, and which mark of the file it is.
type layer struct {
	annotation.Object
	z     int
	where string
}

// Before tells whether c was taken before o, of the same camera.
func (c *Marked) Before(o *Marked) bool {
	return name{"", c.Epoch, c.Sequence}.compare(name{"", o.Epoch, o.Sequence}) < 0
}

// Find reads a file of CVAT's ("CVAT for images 1.1", annotations.xml) or COCO's (instances, JSON), and returns the
// newest picture in it that is of a camera's recording and has marks, or the one of that name if it is not "".
func Find(ctx context.Context, file io.ReadSeeker, camera, picture string) (*Marked, error) {
	s := &search{ctx: ctx, file: file, camera: camera, picture: picture}
	begin := bufio.NewReader(s.source())
	if mark, _ := begin.Peek(3); string(mark) == "\ufeff" {
		s.begin = 3
		_, _ = begin.Discard(3)
	}
	text := make([]byte, 0, 20)
	for len(text) < cap(text) {
		c, err := begin.ReadByte()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if err != nil {
			break
		}
		if len(text) > 0 || !bytes.ContainsRune([]byte(" \t\r\n"), rune(c)) {
			text = append(text, c)
		}
	}
	var err error
	switch {
	case bytes.HasPrefix(text, []byte("<")):
		err = s.readCVAT()
	case bytes.HasPrefix(text, []byte("{")):
		err = s.readCOCO()
	case bytes.HasPrefix(text, []byte("PK")):
		err = errors.New("a ZIP archive; accepted: the annotations.xml or instances_….json that it holds")
	default:
		err = fmt.Errorf("it begins with %q; accepted: XML (CVAT for images 1.1) or JSON (COCO)", text)
	}
	if err != nil {
		return nil, err
	}
	return s.found()
}

// search looks for a picture.
type search struct {
	ctx             context.Context
	file            io.ReadSeeker
	begin           int64 // of the text in file
	camera, picture string

	best    *Marked  // the newest so far that has marks
	cameras []string // of pictures that there are
	other   string   // a picture that is of no recording
}

// source reads a file from its begin while ctx lasts, and no more than maxItem from one call of next to another.
type source struct {
	s    *search
	left int64
}

// source begins to read the file.
func (s *search) source() *source {
	if _, err := s.file.Seek(s.begin, io.SeekStart); err != nil {
		return &source{s: s} // which reads nothing
	}
	return &source{s, maxItem}
}

func (r *source) next() { r.left = maxItem }

func (r *source) Read(p []byte) (int, error) {
	if err := r.s.ctx.Err(); err != nil {
		return 0, err
	}
	if r.left <= 0 {
		return 0, fmt.Errorf("an element of more than %d bytes; accepted: as many", maxItem)
	}
	n, err := r.s.file.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	return n, err
}

// named is a picture by its file's name; nil: it is not looked for.
func (s *search) named(file string, width, height int) *Marked {
	base := path.Base(strings.ReplaceAll(file, `\`, "/"))
	n, _, ok := parseName(base)
	if !ok {
		s.other = file
		return nil
	}
	if !slices.Contains(s.cameras, n.camera) && (n.camera == s.camera || len(s.cameras) < maxNamed) {
		s.cameras = append(s.cameras, n.camera)
	}
	if n.camera != s.camera || s.picture != "" && s.picture != base {
		return nil
	}
	return &Marked{Camera: n.camera, Epoch: n.epoch, Sequence: n.sequence, File: base, Width: width, Height: height}
}

// mark takes what is marked on a picture, if that is the newest so far: read makes an object of it, and where names it.
func (s *search) mark(on *Marked, where func() string, read func(o *layer, width, height int) error) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	if s.best == nil || s.best.Before(on) {
		s.best = on
		if err := codec.CheckSize(on.Width, on.Height); err != nil { // before there is memory for masks of that
			on.fault = err
		}
	}
	if s.best.File != on.File || s.best.fault != nil {
		return nil //nolint:nilerr // the best one keeps its fault
	}
	on = s.best
	var o layer
	err := read(&o, on.Width, on.Height)
	if err == nil {
		err = on.check(o.Object)
	}
	if s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	switch {
	case err != nil:
		on.left.add(where(), err)
	case len(on.objects) == annotation.MaxFollowed:
		on.fault = fmt.Errorf("more than %d objects; accepted: as many", annotation.MaxFollowed)
	default:
		o.where = where()
		on.objects = append(on.objects, o)
	}
	return nil
}

// check tells what is wrong with an object by itself, but for its label.
func (c *Marked) check(o annotation.Object) error {
	if o.Polygon == nil && o.Box == nil {
		return errNothing
	}
	o.ID, o.Label = 1, ""
	a := annotation.Annotation{Width: c.Width, Height: c.Height, Objects: []annotation.Object{o}}
	if err := a.Validate(); err != nil {
		if fault, ok := errors.AsType[*annotation.Fault](err); ok {
			return fmt.Errorf("%s: %s", strings.TrimPrefix(fault.Field, "objects[0]."), fault.Detail)
		}
		return err
	}
	pixels := 0
	a.Inside(0, func(int) { pixels++ })
	if pixels == 0 {
		return errNothing
	}
	return nil
}

var errNothing = errors.New("it marks no pixel of the picture")

// found is the picture that was looked for.
func (s *search) found() (*Marked, error) {
	slices.Sort(s.cameras)
	switch {
	case s.best != nil:
		return s.best, nil
	case slices.Contains(s.cameras, s.camera) && s.picture != "":
		return nil, fmt.Errorf("nothing is marked on a picture %s; accepted: one of the file", s.picture)
	case len(s.cameras) > 0 && !slices.Contains(s.cameras, s.camera):
		return nil, fmt.Errorf("its pictures are of camera %s; accepted: those of %s", strings.Join(s.cameras, ", "), s.camera)
	case len(s.cameras) == 0 && s.other != "":
		return nil, fmt.Errorf("it has pictures such as %.100q; accepted: those of segd record, such as %s-1795294724651-000001234.jpg", s.other, s.camera)
	}
	return nil, errors.New("nothing is marked on any picture in it")
}

// Annotation is what is marked as an annotation of the picture's size, what is further up later. Objects keep segd's
// numbers if no larger than most, and are not given another name if they are in known, by these numbers; others get
// numbers of their own.
func (c *Marked) Annotation(most uint32, known map[uint32]bool) (*annotation.Annotation, LeftOut, error) {
	if c.fault != nil {
		return nil, c.left, fmt.Errorf("%s: %w", c.File, c.fault)
	}
	slices.SortStableFunc(c.objects, func(a, b layer) int { return a.z - b.z })
	left := LeftOut{c.left.Count, slices.Clone(c.left.Faults)}
	var objects []annotation.Object
	taken := map[uint32]bool{}
	for _, o := range c.objects {
		if taken[o.ID] || o.ID > most {
			o.ID = 0
		}
		if known[o.ID] {
			o.Label = ""
		}
		if err := annotation.CheckLabel("label", o.Label); err != nil {
			left.add(o.where, err)
			continue
		}
		taken[o.ID] = true
		objects = append(objects, o.Object)
	}
	if len(objects) == 0 {
		return nil, left, fmt.Errorf("%s: nothing can be made of what is marked on it", c.File)
	}
	next := uint32(1)
	for i := range objects {
		for ; objects[i].ID == 0; next++ {
			if !taken[next] && !known[next] {
				objects[i].ID = next
			}
		}
	}
	a := &annotation.Annotation{Width: c.Width, Height: c.Height, Objects: objects}
	if err := a.Validate(); err != nil {
		return nil, left, fmt.Errorf("%s: %w", c.File, err)
	}
	return a, left, nil
}

// objectID is segd's number of an object by an attribute's value; 0: none.
func objectID(value string) uint32 {
	id, _ := strconv.ParseUint(strings.TrimSpace(value), 10, 32)
	return uint32(id)
}
