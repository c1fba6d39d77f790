package offline

import (
	"context"
	"fmt"
	"os"

	"github.com/segd/segd/ingest"
)

// Play shows every frame of a video file, or every picture of a folder, fps a second (0: 25), over and over if
// it loops. One that cannot be decoded is an error: the numbers of those after it would be wrong.
func Play(path string, fps float64, loop bool) Video {
	scheme := "file:"
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		scheme = "dir:"
	}
	return func(ctx context.Context, show func(*Picture) error) error {
		playing, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		var last uint64
		source, err := ingest.Open(ingest.Config{
			Camera: "video", URL: scheme + path, FPS: fps, AsFast: true, Loop: loop,
			Observer: ingest.Observer{Missed: func(why ingest.Miss, _ int) {
				stop(fmt.Errorf("%s: the frame after frame %d is missing (%v); want a video of which every frame can be decoded", path, last, why))
			}},
		})
		if err != nil {
			return err
		}
		err = source.Run(playing, func(f *ingest.Frame) {
			defer f.Release()
			if playing.Err() != nil {
				return
			}
			last = f.Seq + 1
			if err := show(&Picture{Width: f.Width, Height: f.Height, BGR: f.Pix, Time: f.PTS}); err != nil {
				stop(err)
			}
		})
		if cause := context.Cause(playing); cause != nil {
			return cause
		}
		return err
	}
}
