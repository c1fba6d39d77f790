package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/client"
	"github.com/segd/segd/internal/pause"
)

// saving says which of a camera's pictures are saved, and how.
type saving struct {
	to     string // for people
	fps    int    // how many pictures a second the page is asked for; 0: all
	queue  int    // how many pictures may wait for the disk; 0: some seconds of a camera
	choose func(*segdv1.MaskFrame) bool
	all    bool // write also gets what is not chosen
	event  func(*segdv1.Event)
	write  func(client.Picture) error
	end    func() error // after the last write
}

// run saves what the page shows of a camera until ctx ends. A page that goes away is waited for.
func (s saving) run(ctx context.Context, std cli.Streams, page client.Page, camera string) (err error) {
	say := func(line string) { fmt.Fprintln(std.Err, cli.Printable(line)) }
	to := client.NewSaver(s.to, cmp.Or(s.queue, client.SaveQueue), s.write, say, s.end)
	faulty := client.LeftOut{Say: say}
	defer func() {
		faulty.Sum()
		err = errors.Join(err, to.Close())
	}()
	return watchAgain(ctx, page, camera, s.fps, say, client.PageHandlers{
		Frame: func(m *segdv1.MaskFrame, picture []byte) {
			if chosen := s.choose(m); chosen || s.all {
				to.Offer(client.Picture{Masks: m, JPEG: picture, Chosen: chosen})
			}
		},
		Event:   s.event,
		LeftOut: faulty.Add,
	})
}

// How long to wait for a page that went away, at first and at most.
const (
	pageAgain     = time.Second
	pageAgainMost = 15 * time.Second
)

// watchAgain is Page.Watch that tries again when the page goes away, and says so once; it returns when ctx ends,
// or with an error of the command line.
func watchAgain(ctx context.Context, page client.Page, camera string, fps int, say func(string), on client.PageHandlers) error {
	pauses := pause.Growing(pageAgain, pageAgainMost)
	came, away := false, false
	frame := on.Frame
	on.Frame = func(m *segdv1.MaskFrame, picture []byte) {
		if away {
			say(fmt.Sprintf("pictures again, from frame %d on", m.GetSequence()))
		}
		came, away = true, false
		pauses.Reset()
		frame(m, picture)
	}
	for {
		err := page.Watch(ctx, camera, fps, on)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // ended by its caller
		case cli.Status(err) == cli.ExitUsage && !came: // later it may be a segd that has not found its cameras yet
			return err
		case !away:
			say(fmt.Sprintf("%v; trying again", err))
			away = true
		}
		if pause.For(ctx, pauses.NextBackOff()) != nil {
			return nil //nolint:nilerr // likewise
		}
	}
}
