package files

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// WriteWhole writes a file, all of it or none; after a power cut too, once it has returned. What was there is replaced, if it
// was a regular file, and who could not read it then cannot now. Mode is as of os.OpenFile.
func WriteWhole(path string, mode fs.FileMode, content []byte) error {
	return onDisk.writeWhole(path, mode, content)
}

// disk is what makes a file last.
type disk struct {
	sync   func(*os.File) error
	rename func(from, to string) error
}

var onDisk = disk{(*os.File).Sync, os.Rename}

func (d disk) writeWhole(path string, mode fs.FileMode, content []byte) error {
	if info, err := os.Stat(path); err == nil {
		if !info.Mode().IsRegular() {
			return &fault{fmt.Sprintf("%s is %s; accepted: a regular file, or none yet", path, what(info.Mode()))}
		}
		mode &= info.Mode().Perm()
	}
	if at, err := filepath.EvalSymlinks(path); err == nil { // the link stays
		path = at
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	// Unlike a file of os.CreateTemp it has the mode that the umask leaves.
	part := filepath.Join(filepath.Dir(path), ".segd-"+rand.Text())
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_CLOEXEC, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = d.sync(f)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = d.rename(part, path)
	}
	if err != nil {
		_ = os.Remove(part)
		return err
	}
	// Some file systems of networks cannot, and say that it makes no sense to them.
	if err := d.sync(dir); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
