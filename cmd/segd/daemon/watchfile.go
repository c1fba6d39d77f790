package daemon

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// SettleTime is how long the file has to stay as it is before it is read: editors write it in several
// pieces.
const SettleTime = 300 * time.Millisecond

// run reloads at SIGHUP and when the file has changed, until ctx ends. What counts is what the file holds,
// not what is done to it: the folder is watched, so that a file that takes its place is seen, as editors and
// Kubernetes make them.
func (r *reloader) run(ctx context.Context) {
	log := r.d.log
	var events <-chan fsnotify.Event
	var faults <-chan error
	follow := func() {}
	var settle <-chan time.Time
	if r.source.watch {
		watcher, err := fsnotify.NewWatcher()
		if err != nil {
			log.Warn("the configuration file is not watched; SIGHUP has it read again", "error", err)
		} else {
			defer func() { _ = watcher.Close() }()
			events, faults, follow = watcher.Events, watcher.Errors, func() { r.follow(watcher) }
			follow()
			settle = time.After(SettleTime) // it may have changed since the start
		}
	}
	last := r.known.Load()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.hangups:
			_, _ = r.reload(ctx, "SIGHUP") // which logs it
		case event := <-events:
			if settle == nil && event.Op != fsnotify.Chmod {
				settle = time.After(SettleTime)
			}
		case err := <-faults:
			log.Warn("watching the configuration file", "error", err)
			if settle == nil { // some events may be lost
				settle = time.After(SettleTime)
			}
		case <-settle:
			settle = nil
			follow()
			now, known := r.source.sum(ctx), r.known.Load()
			switch {
			case now == nil, known != nil && *now == *known: // gone for now, or nothing new
			case last == nil || *now != *last:
				settle = time.After(SettleTime) // it may still be written
			default:
				_, _ = r.reload(ctx, "the file has changed")
			}
			last = now
		}
	}
}

// follow watches the folder of the file, and that of what it is a link to by now.
func (r *reloader) follow(watcher *fsnotify.Watcher) {
	folders := []string{filepath.Dir(r.source.file)}
	if target, err := filepath.EvalSymlinks(r.source.file); err == nil {
		folders = append(folders, filepath.Dir(target))
	}
	for _, f := range watcher.WatchList() {
		if !slices.Contains(folders, f) {
			_ = watcher.Remove(f) // it may be gone
		}
	}
	for _, f := range folders {
		if !slices.Contains(watcher.WatchList(), f) {
			if err := watcher.Add(f); err != nil {
				r.d.log.Warn("the configuration file is not watched; SIGHUP has it read again", "folder", f, "error", err)
			}
		}
	}
}
