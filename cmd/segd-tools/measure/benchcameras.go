package measure

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/ingest/demo"
)

// The cameras of `segd bench ingest` send so many frames a second, ten seconds in a loop.
const (
	benchFPS    = 25
	benchFrames = 10 * benchFPS
)

// benchCamerasCommand is the process that `segd bench ingest` starts, so that the
// cameras' own work is not counted. It writes {"urls": […]}, serves until a line
// comes on standard input, stops sending, writes {"sent": […]}, and ends with its
// standard input.
func benchCamerasCommand(std cli.Streams) *cobra.Command {
	var n int
	var clip string
	var shape demo.Shape
	cmd := &cobra.Command{
		Use:    "cameras",
		Hidden: true,
		Args:   cli.Args,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serveBenchCameras(cmd.Context(), std, n, clip, shape)
		},
	}
	cmd.Flags().IntVar(&n, "cameras", 1, "how many")
	cmd.Flags().StringVar(&clip, "clip", demo.FindClip(), "video to play")
	for _, flag := range shapeFlags(&shape) {
		cmd.Flags().IntVar(flag.value, flag.name, *flag.value, "of the clip as it is played")
	}
	return cmd
}

// camerasSay is what the cameras' process writes, a line each time.
type camerasSay struct {
	URLs []string `json:"urls,omitempty"`
	Sent []int64  `json:"sent,omitempty"` // frames of each
}

// shapeFlag is one of demo.Shape's fields as that process is told it.
type shapeFlag struct {
	name  string
	value *int
}

func shapeFlags(s *demo.Shape) []shapeFlag {
	return []shapeFlag{{"width", &s.Width}, {"height", &s.Height}, {"fps", &s.FPS}, {"frames", &s.Frames}, {"start", &s.Start}}
}

func serveBenchCameras(ctx context.Context, std cli.Streams, n int, path string, shape demo.Shape) error {
	bar := cli.NewProgress(std.Err, "preparing the clip")
	clip, err := demo.Prepare(ctx, path, shape, bar.Step)
	bar.End()
	if err != nil {
		return err
	}
	var servers []*demo.Server
	var say camerasSay
	for range n {
		s, err := demo.NewServer(clip, demo.Config{})
		if err != nil {
			return err
		}
		if err := s.Start(); err != nil {
			return err
		}
		defer s.Close()
		servers = append(servers, s)
		say.URLs = append(say.URLs, s.URL())
	}
	out, in := json.NewEncoder(std.Out), bufio.NewReader(std.In)
	if err := out.Encode(say); err != nil {
		return err
	}
	if _, err := in.ReadString('\n'); err != nil {
		return nil // the parent is gone
	}
	say = camerasSay{}
	for _, s := range servers {
		say.Sent = append(say.Sent, s.Stop())
	}
	if err := out.Encode(say); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in)
	return err
}

// benchCameras is that process as the one that started it sees it.
type benchCameras struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *json.Decoder
	urls []string
}

// startBenchCameras starts n cameras that play the video at clip in that shape. end must
// follow.
func startBenchCameras(ctx context.Context, stderr io.Writer, n int, clip string, shape demo.Shape) (_ *benchCameras, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"bench", "cameras", "--cameras", strconv.Itoa(n), "--clip", clip}
	for _, flag := range shapeFlags(&shape) {
		args = append(args, "--"+flag.name, strconv.Itoa(*flag.value))
	}
	c := &benchCameras{cmd: exec.CommandContext(ctx, self, args...)}
	c.cmd.Stderr = stderr
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	c.out = json.NewDecoder(out)
	say, err := c.hear(ctx)
	if err == nil && len(say.URLs) != n {
		err = fmt.Errorf("asked for %d cameras, got %d", n, len(say.URLs))
	}
	if err != nil {
		return nil, errors.Join(err, c.end())
	}
	c.urls = say.URLs
	return c, nil
}

// hear reads what the process says next.
func (c *benchCameras) hear(ctx context.Context) (camerasSay, error) {
	var say camerasSay
	err := c.out.Decode(&say)
	switch {
	case ctx.Err() != nil:
		return say, ctx.Err()
	case errors.Is(err, io.EOF):
		return say, errors.New("the cameras' process ended, see above")
	}
	return say, err
}

// stop ends the sending and returns how many frames each camera sent.
func (c *benchCameras) stop(ctx context.Context) ([]int64, error) {
	if _, err := io.WriteString(c.in, "stop\n"); err != nil {
		return nil, err
	}
	say, err := c.hear(ctx)
	if err == nil && len(say.Sent) != len(c.urls) {
		err = fmt.Errorf("%d cameras counted what they sent, of %d", len(say.Sent), len(c.urls))
	}
	return say.Sent, err
}

// end ends the process and waits for it.
func (c *benchCameras) end() error {
	_ = c.in.Close()
	return c.cmd.Wait()
}
