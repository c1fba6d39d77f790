package browser

import (
	"context"
	"fmt"
)

// Point is a place in the window, in CSS pixels.
type Point struct{ X, Y float64 }

func (p *Page) mouse(ctx context.Context, kind string, at Point, held bool) error {
	params := map[string]any{"type": kind, "x": at.X, "y": at.Y, "button": "left", "clickCount": 1, "buttons": 0}
	if kind == "mouseMoved" && !held {
		params["button"] = "none"
	}
	if held {
		params["buttons"] = 1
	}
	return p.browser.call(ctx, p.session, "Input.dispatchMouseEvent", params, nil)
}

// Click presses the mouse's button at a place and lets it go.
func (p *Page) Click(ctx context.Context, at Point) error { return p.Drag(ctx, at) }

// Drag presses the mouse's button at the first point, moves through the others and
// lets it go.
func (p *Page) Drag(ctx context.Context, way ...Point) error {
	if err := p.mouse(ctx, "mouseMoved", way[0], false); err != nil {
		return err
	}
	if err := p.mouse(ctx, "mousePressed", way[0], true); err != nil {
		return err
	}
	for _, at := range way[1:] {
		if err := p.mouse(ctx, "mouseMoved", at, true); err != nil {
			return err
		}
	}
	return p.mouse(ctx, "mouseReleased", way[len(way)-1], false)
}

// Touch puts down one finger for each way, all at once, moves them together through
// the points of their ways, which are equally many, and lifts them.
func (p *Page) Touch(ctx context.Context, ways ...[]Point) error {
	send := func(kind string, at int) error {
		points := []map[string]any{}
		for id, way := range ways {
			if at >= 0 {
				points = append(points, map[string]any{"x": way[at].X, "y": way[at].Y, "id": id})
			}
		}
		return p.browser.call(ctx, p.session, "Input.dispatchTouchEvent", map[string]any{"type": kind, "touchPoints": points}, nil)
	}
	if err := send("touchStart", 0); err != nil {
		return err
	}
	for at := 1; at < len(ways[0]); at++ {
		if err := send("touchMove", at); err != nil {
			return err
		}
	}
	return send("touchEnd", -1)
}

// Press presses a key, such as n, Enter or ArrowLeft, and lets it go.
func (p *Page) Press(ctx context.Context, key string) error {
	params := map[string]any{"key": key, "type": "keyDown"}
	switch {
	case len(key) == 1:
		params["text"] = key
	case key == "Enter":
		params["text"] = "\r"
	}
	if err := p.browser.call(ctx, p.session, "Input.dispatchKeyEvent", params, nil); err != nil {
		return err
	}
	return p.browser.call(ctx, p.session, "Input.dispatchKeyEvent", map[string]any{"key": key, "type": "keyUp"}, nil)
}

// Type enters text where the focus is.
func (p *Page) Type(ctx context.Context, text string) error {
	return p.browser.call(ctx, p.session, "Input.insertText", map[string]any{"text": text}, nil)
}

// Box is where an element is in the window.
type Box struct{ Left, Top, Width, Height float64 }

// Middle is the middle of b.
func (b Box) Middle() Point { return Point{b.Left + b.Width/2, b.Top + b.Height/2} }

// Find scrolls the first element that a selector finds into the window and returns
// where it is. One that is not shown is an error.
func (p *Page) Find(ctx context.Context, selector string) (Box, error) {
	var b Box
	err := p.Evaluate(ctx, fmt.Sprintf(`(() => {
  const e = document.querySelector(%q);
  if (!e) return { left: 0, top: 0, width: 0, height: 0 };
  e.scrollIntoView({ block: "nearest" });
  const { left, top, width, height } = e.getBoundingClientRect();
  return { left, top, width, height };
})()`, selector), &b)
	if err == nil && (b.Width == 0 || b.Height == 0) {
		err = fmt.Errorf("%s is not shown on the page", selector)
	}
	return b, err
}
