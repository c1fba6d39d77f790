package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"image/jpeg"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/internal/files"
	"github.com/segd/segd/mask"
)

// picture is a frame of a recording.
type picture struct {
	name
	masks   *segdv1.MaskFrame
	split   string
	objects []object
}

// object is one that has a mask in a picture.
type object struct {
	*segdv1.Object
	class string
	track int // from 1: those of one camera, one epoch and one id
}

// mask is the object's in p, which has been checked.
func (p picture) mask(o object) (mask.RLE, error) {
	return mask.Parse(o.GetCounts(), int(p.masks.GetWidth()), int(p.masks.GetHeight()))
}

// readFolder returns the frames of a recording by camera and time, and why others are left out.
func readFolder(dir *os.Root) (pictures []picture, leftOut []error, err error) {
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return nil, nil, err
	}
	for _, f := range entries {
		n, ext, ok := parseName(f.Name())
		if !ok || ext != extMasks {
			continue
		}
		masks, err := readMasks(dir, n)
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile, as the oldest
		case err != nil:
			leftOut = append(leftOut, fmt.Errorf("%s: %w", f.Name(), err))
		default:
			pictures = append(pictures, picture{name: n, masks: masks})
		}
	}
	slices.SortFunc(pictures, func(a, b picture) int { return a.name.compare(b.name) })
	number(pictures)
	return pictures, leftOut, nil
}

// readMasks reads the masks of a frame, whose picture must be there.
func readMasks(dir *os.Root, n name) (*segdv1.MaskFrame, error) {
	f, err := files.OpenIn(dir, n.String()+extMasks, files.Masks)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	m := new(segdv1.MaskFrame)
	if err := bus.Unmarshal(bus.TypeJSON, text, m); err != nil {
		return nil, err
	}
	if nameOf(m) != n {
		return nil, fmt.Errorf("it has the masks of %s", nameOf(m))
	}
	p, err := files.OpenIn(dir, n.String()+extPicture, files.Picture)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	head, err := jpeg.DecodeConfig(p)
	if err == nil && (head.Width != int(m.GetWidth()) || head.Height != int(m.GetHeight())) {
		err = fmt.Errorf("masks of %d×%d on a picture of %d×%d", m.GetWidth(), m.GetHeight(), head.Width, head.Height)
	}
	return m, err
}

// number gives the pictures the objects that they have masks of.
func number(pictures []picture) {
	type track struct {
		camera string
		epoch  uint64
		id     uint32
	}
	tracks := map[track]int{}
	for i := range pictures {
		p := &pictures[i]
		for _, o := range p.masks.GetObjects() {
			if o.GetArea() == 0 {
				continue
			}
			key := track{p.camera, p.epoch, o.GetId()}
			if tracks[key] == 0 {
				tracks[key] = len(tracks) + 1
			}
			p.objects = append(p.objects, object{o, cmp.Or(o.GetClass(), o.GetLabel(), "object"), tracks[key]})
		}
	}
}
