package setup

import (
	"context"
	"fmt"
	"time"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/ingest/onvif"
	"github.com/segd/segd/internal/plain"
)

// discoverTimeout is how long cameras are looked for, while the user waits.
const discoverTimeout = 2 * time.Second

// look finds cameras and lists them with numbers. That none is found is no error.
func (i *initialiser) look(ctx context.Context) ([]onvif.Camera, error) {
	if i.discover == nil {
		return nil, nil
	}
	fmt.Fprintln(i.out, "looking for cameras")
	found, err := i.discover(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		fmt.Fprintln(i.out, plain.Error(err))
	case len(found) == 0:
		fmt.Fprintln(i.out, "no camera answered; segd camera discover says more")
	}
	for n, c := range found {
		fmt.Fprintf(i.out, "%3d  %s\n", n+1, cli.Printable(title(c)))
	}
	if len(found) > 0 {
		fmt.Fprintln(i.out, "Its number chooses one of these.")
	}
	return found, nil
}

// stream asks a camera that was found for the URL of the stream that suits segd best. If
// it does not tell, its address will have to do.
func (i *initialiser) stream(ctx context.Context, c *onvif.Camera) (string, error) {
	address := completeURL(c.Address)
	user, password := "", ""
	for {
		c.Ask(ctx, user, password, 0)
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if c.Err == nil {
			break
		}
		fmt.Fprintln(i.out, cli.Printable(c.Error))
		if !c.Unauthorized {
			return address, nil
		}
		var err error
		if user, password, err = i.login(); err != nil || user == "" {
			return address, err
		}
	}
	p := c.Picked()
	if p == nil {
		fmt.Fprintln(i.out, "none of its streams is H.264, H.265 or MJPEG over RTSP")
		return address, nil
	}
	fmt.Fprintf(i.out, "its stream %s, %s, %d×%d\n", cli.Printable(p.Name), cli.Printable(p.Encoding), p.Width, p.Height)
	return streamURL(p.URL, user, password, true), nil
}
