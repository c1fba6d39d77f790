package dataset

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/segd/segd/internal/files"
)

// A set is what is written in one of the formats.
type set struct {
	out      *os.Root
	pictures []picture
	classes  []string // in the order of their numbers
	splits   []string
}

// formats write what is beside the pictures.
var formats = map[string]func(*set) error{"coco": coco, "yolo-seg": yolo, "cvat": cvat, "mask-png": masks}

// Formats are the names of the formats.
func Formats() []string { return slices.Sorted(maps.Keys(formats)) }

// splitNames are the parts of a data set, in the order of their time.
var splitNames = []string{"train", "val", "test"}

// Exported is what Export wrote.
type Exported struct {
	Pictures, Objects int
	Classes           []string
	LeftOut           []error // why others were not
}

// Export writes the pictures and masks of a recording to a folder that must not be there yet. Each camera's are
// parted by time, by so many hundredths to train, val and test. With an error there is no such folder.
func Export(from, to, format string, percent []int) (_ *Exported, err error) {
	write := formats[format]
	if write == nil {
		return nil, fmt.Errorf("format %q; accepted: %s", format, strings.Join(Formats(), ", "))
	}
	dir, err := os.OpenRoot(from)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	pictures, leftOut, err := readFolder(dir)
	if err != nil {
		return nil, err
	}
	if len(pictures) == 0 {
		return nil, errors.Join(append([]error{fmt.Errorf("%s has no picture with masks; accepted: a folder that segd record has written to", from)}, leftOut[:min(1, len(leftOut))]...)...)
	}
	if err := os.Mkdir(to, 0o755); errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s is there already; accepted: a folder that is not", to)
	} else if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(to))
		}
	}()
	out, err := os.OpenRoot(to)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	split(pictures, percent)
	s := &set{out: out, splits: splitNames[:len(percent)]}
	result := &Exported{LeftOut: leftOut}
	for _, p := range pictures {
		err := s.take(dir, p, imageFolder(format, p))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile, as the oldest
		}
		if err != nil {
			return nil, err
		}
		s.pictures = append(s.pictures, p)
		result.Pictures, result.Objects = result.Pictures+1, result.Objects+len(p.objects)
		for _, o := range p.objects {
			if i, found := slices.BinarySearch(s.classes, o.class); !found {
				s.classes = slices.Insert(s.classes, i, o.class)
			}
		}
	}
	result.Classes = s.classes
	return result, write(s)
}

// split gives each picture its part. Those of a camera are one after the other, by time.
func split(pictures []picture, percent []int) {
	for from := 0; from < len(pictures); {
		to := from
		for to < len(pictures) && pictures[to].camera == pictures[from].camera {
			to++
		}
		for i := from; i < to; i++ {
			part, end := 0, percent[0]
			for part+1 < len(percent) && 100*(i-from) >= end*(to-from) {
				part++
				end += percent[part]
			}
			pictures[i].split = splitNames[part]
		}
		from = to
	}
}

// imageFolder is where a format has its pictures; CVAT's users upload all of them at once.
func imageFolder(format string, p picture) string {
	if format == "cvat" {
		return "images"
	}
	return path.Join("images", p.split)
}

// take puts a picture into a folder, as a second name of the file where the file system can.
func (s *set) take(dir *os.Root, p picture, folder string) error {
	if err := s.out.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	file := p.String() + extPicture
	err := os.Link(filepath.Join(dir.Name(), file), filepath.Join(s.out.Name(), folder, file))
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	from, err := files.OpenIn(dir, file, files.Picture)
	if err != nil {
		return err
	}
	defer from.Close()
	return s.write(path.Join(folder, file), func(w io.Writer) error { _, err := io.Copy(w, from); return err })
}

// write makes a file, and its folder.
func (s *set) write(name string, do func(io.Writer) error) error {
	if err := s.out.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := s.out.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	return errors.Join(do(w), w.Flush(), f.Close())
}

// class is a class' number, from 0.
func (s *set) class(o object) int {
	i, _ := slices.BinarySearch(s.classes, o.class)
	return i
}

// of are the pictures of a part.
func (s *set) of(split string) (list []picture) {
	for _, p := range s.pictures {
		if p.split == split {
			list = append(list, p)
		}
	}
	return list
}
