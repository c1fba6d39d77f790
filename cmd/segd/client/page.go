package client

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/coder/websocket"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/outputs/draw"
)

// Pictures are not on NATS; the page's live connection has them, each with the
// masks of exactly that picture. Package web documents its messages.
const (
	liveWindow   = 2        // frames on their way at once
	maxLiveFrame = 64 << 20 // bytes
	maxAnswer    = 1 << 20  // likewise
)

// PageHandlers are called with what the page tells of a camera.
type PageHandlers struct {
	Frame   func(*segdv1.MaskFrame, []byte)
	Event   func(*segdv1.Event) // may be nil
	LeftOut func(error)         // of a frame whose objects are not all such as segd sends
}

// Watch tells what a page shows of a camera until ctx ends, of no more than fps frames a second unless that is 0.
func (f Page) Watch(ctx context.Context, camera string, fps int, on PageHandlers) error {
	base := f.url
	u, header, err := f.api("cameras", camera, "live")
	if err != nil {
		return err
	}
	u.RawQuery = fmt.Sprintf("window=%d", liveWindow)
	if fps > 0 {
		u.RawQuery += fmt.Sprintf("&fps=%d", fps)
	}
	conn, resp, err := websocket.Dial(ctx, u.String(), &websocket.DialOptions{HTTPHeader: header}) //nolint:bodyclose // Dial says that there is no need to
	if err != nil {
		return f.explainDial(camera, resp, err)
	}
	defer func() { _ = conn.CloseNow() }() // the way it ended is known already
	conn.SetReadLimit(maxLiveFrame)
	for {
		kind, message, err := conn.Read(ctx)
		if err != nil {
			return fmt.Errorf("the page at %s: %w", base, err)
		}
		if kind != websocket.MessageBinary {
			if on.Event == nil {
				continue
			}
			if e, err := parseNotice(message); err != nil {
				return err
			} else if e != nil {
				on.Event(e)
			}
			continue
		}
		masks, picture, err := parseLive(message)
		if errors.Is(err, bus.ErrObjects) {
			on.LeftOut(err)
		} else if err != nil {
			return err
		}
		on.Frame(masks, picture)
		if err := conn.Write(ctx, websocket.MessageText, []byte("ok")); err != nil {
			return fmt.Errorf("the page at %s: %w", base, err)
		}
	}
}

// api is the URL of something that the page's API has, and what is said there.
func (f Page) api(path ...string) (*url.URL, http.Header, error) {
	u, err := url.Parse(f.url)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, nil, cli.Usage(fmt.Errorf("--page %q; accepted: such as http://127.0.0.1:8080", f.url))
	}
	header := http.Header{}
	if f.token != "" {
		header.Set("Authorization", "Bearer "+f.token)
	}
	return u.JoinPath(append([]string{"api/v1"}, path...)...), header, nil
}

// ask asks the page's API, without a body, and returns the answer.
func (f Page) ask(ctx context.Context, method string, path ...string) ([]byte, error) {
	u, header, err := f.api(path...)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header = header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("the page at %s: %w", f.url, err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("the page at %s: %w", f.url, err)
	}
	var refused struct{ Detail string }
	switch {
	case resp.StatusCode == http.StatusOK:
		return answer, nil
	case resp.StatusCode == http.StatusUnauthorized:
		return nil, f.wantsToken()
	case json.Unmarshal(answer, &refused) != nil || refused.Detail == "":
		return nil, fmt.Errorf("segd at %s answers %s", f.url, resp.Status)
	}
	return nil, fmt.Errorf("%w: %s", bus.ErrRejected, refused.Detail)
}

func (f Page) wantsToken() error {
	return cli.Usage(fmt.Errorf("segd at %s wants its token; accepted: --token TOKEN", f.url))
}

// parseNotice returns the event of a text message; nil: it is a status.
func parseNotice(message []byte) (*segdv1.Event, error) {
	var notice struct{ Event json.RawMessage }
	err := json.Unmarshal(message, &notice)
	if err != nil || notice.Event == nil {
		return nil, err
	}
	e := new(segdv1.Event)
	if err := bus.Unmarshal(bus.TypeJSON, notice.Event, e); err != nil {
		return nil, fmt.Errorf("the page's event: %w", err)
	}
	return e, nil
}

func (f Page) explainDial(camera string, resp *http.Response, err error) error {
	if resp == nil {
		return fmt.Errorf("the page at %s: %w", f.url, err)
	}
	switch resp.StatusCode {
	case http.StatusNotFound:
		return cli.Usage(fmt.Errorf("segd at %s has no camera %q", f.url, camera))
	case http.StatusUnauthorized:
		return f.wantsToken()
	}
	return fmt.Errorf("segd at %s answers %s", f.url, resp.Status)
}

// parseLive takes a binary live message apart: the length of a JSON header,
// the header, a JPEG. With an error that wraps bus.ErrObjects there is all but some objects.
func parseLive(message []byte) (*segdv1.MaskFrame, []byte, error) {
	const prefix = 4
	if len(message) < prefix {
		return nil, nil, errors.New("the page sent less than a header's length")
	}
	n := uint64(binary.BigEndian.Uint32(message))
	if n > uint64(len(message)-prefix) {
		return nil, nil, fmt.Errorf("the page sent a header of %d bytes in a message of %d", n, len(message))
	}
	var header struct{ Frame json.RawMessage }
	if err := json.Unmarshal(message[prefix:prefix+n], &header); err != nil {
		return nil, nil, fmt.Errorf("the page's header: %w", err)
	}
	masks := new(segdv1.MaskFrame)
	if err := bus.Unmarshal(bus.TypeJSON, header.Frame, masks); err != nil {
		err = fmt.Errorf("the page's masks: %w", err)
		if !errors.Is(err, bus.ErrObjects) {
			return nil, nil, err
		}
		return masks, message[prefix+n:], err
	}
	return masks, message[prefix+n:], nil
}

// drawMasks returns a live frame's picture, a JPEG, with m's masks drawn on.
func drawMasks(m *segdv1.MaskFrame, picture []byte) (*image.RGBA, error) {
	// The size first: decoding takes as much memory as the header asks for.
	head, err := jpeg.DecodeConfig(bytes.NewReader(picture))
	if err != nil {
		return nil, fmt.Errorf("the picture: %w", err)
	}
	if head.Width != int(m.Width) || head.Height != int(m.Height) {
		return nil, fmt.Errorf("masks of %d×%d on a picture of %d×%d", m.Width, m.Height, head.Width, head.Height)
	}
	img, err := jpeg.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, fmt.Errorf("the picture: %w", err)
	}
	drawn := draw.Copy(img)
	return drawn, draw.RGBA(drawn).Masks(m)
}

// IsCamera tells a camera's name from a subject.
func IsCamera(target string) bool { return !strings.ContainsAny(target, ".*>") }
