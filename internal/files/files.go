// Package files opens, and writes, files whose names come from outside: from the configuration, from a request, from a
// message. Such a name may lead to a pipe or a terminal, which cannot be read to its end, or to more than
// there is memory for. Its functions may be called from any goroutine.
//
// What is not covered: a file system of the network that does not answer holds who reads from it.
package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/segd/segd/internal/limit"
)

// Kind is what a file is for.
type Kind struct {
	name string
	most int64 // bytes; 0: it is read piece by piece, and may be of any size
}

// The kinds, each with the most bytes of a file.
var (
	Config      = Kind{"a configuration", 16 << 20}              // 10,000 cameras of 1.6 KiB: the largest fleet
	Annotation  = Kind{"an annotation", limit.MaxAnnotation}     // as one that is sent
	Picture     = Kind{"a picture", 128 << 20}                   // the largest that is decoded, 8192×4608, not compressed at all: 108 MiB
	Masks       = Kind{"masks of a picture", 16 << 20}           // a thousand objects of 16 KiB each
	Dataset     = Kind{"annotations of a data set", 1 << 30}     // a million objects, as COCO
	Names       = Kind{"names of classes", 1 << 20}              // a thousand times COCO's
	Password    = Kind{"a password", 4 << 10}                    // of a camera; a phrase is far shorter
	Model       = Kind{"a model", 2 << 30}                       // protobuf, which ONNX and Caffe are in, ends there
	Description = Kind{"a description of a model", 16 << 20}     // Caffe's, a text
	PEM         = Kind{"certificates or a key in PEM", 16 << 20} // all authorities of an operating system are 0.2 MiB
	Key         = Kind{"a key", 64 << 10}                        // of NATS or segd's own, and a JWT beside it
	Video       = Kind{"a video", 0}
	Library     = Kind{"a library", 0}
)

// ErrKind is wrapped by the errors of files that are none, or too large.
var ErrKind = errors.New("not a file to be read")

// Open opens a file for reading: a regular one, that is as large as its kind may be.
func Open(path string, kind Kind) (*os.File, error) { return open(os.Stat, os.OpenFile, path, kind) }

// OpenIn is Open of a file in a folder, which no link leads out of.
func OpenIn(dir *os.Root, path string, kind Kind) (*os.File, error) {
	return open(dir.Stat, dir.OpenFile, path, kind)
}

func open(
	stat func(string) (fs.FileInfo, error), openFile func(string, int, fs.FileMode) (*os.File, error), path string, kind Kind,
) (*os.File, error) {
	// To open some devices does something. That it is none is found out twice, since the file may be another by then.
	info, err := stat(path)
	if err == nil {
		err = kind.check(path, info)
	}
	if err != nil {
		return nil, err
	}
	// Without O_NONBLOCK a pipe is not open until there is a writer.
	f, err := openFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = kind.check(path, info)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// Check finds out whether Open would open a file, for what is then opened by a library.
func Check(path string, kind Kind) error {
	f, err := Open(path, kind)
	if err != nil {
		return err
	}
	return f.Close()
}

func (k Kind) check(path string, info fs.FileInfo) error {
	switch {
	case !info.Mode().IsRegular():
		return k.refuse(path, "is "+what(info.Mode()))
	case k.most > 0 && info.Size() > k.most:
		return k.refuse(path, fmt.Sprintf("has %d bytes", info.Size()))
	}
	return nil
}

func (k Kind) refuse(path, does string) error {
	size := ""
	if k.most > 0 {
		size = " of at most " + limit.Text(k.most)
	}
	return &fault{fmt.Sprintf("%s %s; accepted: a regular file%s with %s", path, does, size, k.name)}
}

// fault says all there is to say.
type fault struct{ text string }

func (f *fault) Error() string { return f.text }
func (f *fault) Unwrap() error { return ErrKind }

// what names what is no regular file.
func what(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "no regular file"
}

// Read returns all that is in a file, unless ctx ends before.
func Read(ctx context.Context, path string, kind Kind) ([]byte, error) {
	f, err := Open(path, kind)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	text := make([]byte, 0, info.Size()+1)
	for {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		const piece = 1 << 20 // bytes between two looks at ctx
		text = slices.Grow(text, 1)
		n, err := f.Read(text[len(text):min(cap(text), len(text)+piece)])
		text = text[:len(text)+n]
		if kind.most > 0 && int64(len(text)) > kind.most { // it grows, or tells no size
			return nil, kind.refuse(path, fmt.Sprintf("has more than %d bytes", kind.most))
		}
		if errors.Is(err, io.EOF) {
			return text, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// MaxEntries bounds a folder that is listed: ten hours of pictures, 25 a second.
const MaxEntries = 1_000_000

// List returns what is in a folder, sorted by name, unless ctx ends before.
func List(ctx context.Context, path string) ([]fs.DirEntry, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if errors.Is(err, syscall.ENOTDIR) {
		return nil, &fault{path + " is no folder; accepted: a folder"}
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []fs.DirEntry
	for {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("listing %s: %w", path, err)
		}
		some, err := f.ReadDir(4096)
		all = append(all, some...)
		if len(all) > MaxEntries {
			return nil, &fault{fmt.Sprintf("%s has more than %d entries; accepted: a folder of fewer", path, MaxEntries)}
		}
		if errors.Is(err, io.EOF) {
			slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
			return all, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
