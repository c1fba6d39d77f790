package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/internal/pause"
)

// Saving says which of a camera's pictures are saved, and how.
type Saving struct {
	To     string // for people
	FPS    int    // how many pictures a second the page is asked for; 0: all
	Queue  int    // how many pictures may wait for the disk; 0: some seconds of a camera
	Choose func(*segdv1.MaskFrame) bool
	All    bool // Write also gets what is not chosen
	Event  func(*segdv1.Event)
	Write  func(Picture) error
	End    func() error // after the last Write
}

// Save saves what the page shows of a camera until ctx ends. A page that goes away is waited for.
func (f Page) Save(ctx context.Context, std cli.Streams, camera string, s Saving) (err error) {
	say := func(line string) { fmt.Fprintln(std.Err, cli.Printable(line)) }
	to := newSaver(s.To, cmp.Or(s.Queue, saveQueue), s.Write, say, s.End)
	faulty := leftOut{say: say}
	defer func() {
		faulty.sum()
		err = errors.Join(err, to.close())
	}()
	return watchAgain(ctx, f, camera, s.FPS, say, pageHandlers{
		frame: func(m *segdv1.MaskFrame, picture []byte) {
			if chosen := s.Choose(m); chosen || s.All {
				to.offer(Picture{m, picture, chosen})
			}
		},
		event:   s.Event,
		leftOut: faulty.add,
	})
}

// How long to wait for a page that went away, at first and at most.
const (
	pageAgain     = time.Second
	pageAgainMost = 15 * time.Second
)

// watchAgain is watchPage that tries again when the page goes away, and says so once; it returns when ctx ends,
// or with an error of the command line.
func watchAgain(ctx context.Context, page Page, camera string, fps int, say func(string), on pageHandlers) error {
	pauses := pause.Growing(pageAgain, pageAgainMost)
	came, away := false, false
	frame := on.frame
	on.frame = func(m *segdv1.MaskFrame, picture []byte) {
		if away {
			say(fmt.Sprintf("pictures again, from frame %d on", m.GetSequence()))
		}
		came, away = true, false
		pauses.Reset()
		frame(m, picture)
	}
	for {
		err := watchPage(ctx, page, camera, fps, on)
		switch {
		case ctx.Err() != nil:
			return nil // ended by its caller
		case cli.Status(err) == cli.ExitUsage && !came: // later it may be a segd that has not found its cameras yet
			return err
		case !away:
			say(fmt.Sprintf("%v; trying again", err))
			away = true
		}
		if pause.For(ctx, pauses.NextBackOff()) != nil {
			return nil
		}
	}
}
