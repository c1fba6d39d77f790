package bus

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
)

// tempDirs are the names of temporary folders. Their owners hold a lock on them, so
// one that can be locked is left over; others' names are not ours to judge.
const tempDirs = "segd-nats.*"

// tempDir is a temporary folder that is locked as long as its process lives.
type tempDir struct {
	path string
	lock *os.File
}

func newTempDir() (*tempDir, error) {
	for {
		path, err := os.MkdirTemp("", tempDirs)
		if err != nil {
			return nil, err
		}
		lock, err := lockDir(path)
		if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, fs.ErrNotExist) {
			continue // a segd that starts now took it for left over
		}
		if err != nil {
			return nil, errors.Join(err, os.Remove(path))
		}
		return &tempDir{path, lock}, nil
	}
}

// lockDir locks the folder that is at path then. Without it, or when it went before
// the lock was there, the error is fs.ErrNotExist; when another has the lock,
// EWOULDBLOCK.
func lockDir(path string) (_ *os.File, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
		}
	}()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	locked, err := f.Stat()
	if err != nil {
		return nil, err
	}
	there, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !os.SameFile(locked, there) {
		return nil, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	}
	return f, nil
}

func (d *tempDir) remove() error {
	return errors.Join(os.RemoveAll(d.path), d.lock.Close())
}

// removeLeftovers removes the temporary folders of processes that were killed.
func removeLeftovers(log *slog.Logger) {
	paths, _ := filepath.Glob(filepath.Join(os.TempDir(), tempDirs)) // the pattern is a good one
	removed := 0
	for _, path := range paths {
		lock, err := lockDir(path)
		if err != nil {
			continue // its owner lives, or it is another user's
		}
		info, err := lock.Stat()
		if err == nil && info.Sys().(*syscall.Stat_t).Uid == uint32(os.Geteuid()) {
			err = (&tempDir{path, lock}).remove()
			if err == nil {
				removed++
				continue
			}
			log.Warn("a temporary folder of an earlier segd cannot be removed", "err", err)
		}
		_ = lock.Close()
	}
	if removed > 0 {
		log.Info("temporary folders that a killed segd left are removed", "count", removed)
	}
}
