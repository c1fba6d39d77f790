package browser

import (
	"context"
	"fmt"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// Point is a place in the window, in CSS pixels.
type Point struct{ X, Y float64 }

// Click presses the mouse's button at a place and lets it go.
func (p *Page) Click(ctx context.Context, at Point) error { return p.Drag(ctx, at) }

// ShiftClick is Click with the Shift key held.
func (p *Page) ShiftClick(ctx context.Context, at Point) error {
	return p.drag(ctx, chromedp.ModifierShift, at)
}

// Hover moves the mouse to a place.
func (p *Page) Hover(ctx context.Context, at Point) error {
	return p.do(ctx, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at.X, at.Y))
}

// Drag presses the mouse's button at the first point, moves through the others and
// lets it go.
func (p *Page) Drag(ctx context.Context, way ...Point) error {
	return p.drag(ctx, chromedp.ModifierNone, way...)
}

func (p *Page) drag(ctx context.Context, keys chromedp.Modifier, way ...Point) error {
	mouse := func(kind input.DispatchMouseEventType, at Point, button input.MouseButton, held int64) chromedp.Action[chromedp.Void] {
		return chromedp.MouseEvent(kind, at.X, at.Y, chromedp.ButtonType(button), chromedp.ClickCount(1), chromedp.ButtonModifiers(keys),
			func(e *input.DispatchMouseEventParams) { e.Buttons = held })
	}
	last := way[len(way)-1]
	actions := []chromedp.Action[chromedp.Void]{
		mouse(chromedp.MouseMoved, way[0], input.MouseButtonNone, 0),
		mouse(chromedp.MousePressed, way[0], input.MouseButtonLeft, 1),
	}
	for _, at := range way[1:] {
		actions = append(actions, mouse(chromedp.MouseMoved, at, input.MouseButtonLeft, 1))
	}
	return p.do(ctx, append(actions, mouse(chromedp.MouseReleased, last, input.MouseButtonLeft, 0))...)
}

// Touch puts down one finger for each way, all at once, moves them together through
// the points of their ways, which are equally many, and lifts them.
func (p *Page) Touch(ctx context.Context, ways ...[]Point) error {
	own, done := p.bound(ctx)
	defer done()
	send := func(kind input.DispatchTouchEventType, at int) error {
		points := []*input.TouchPoint{}
		for id, way := range ways {
			if at >= 0 {
				number := float64(id)
				points = append(points, &input.TouchPoint{X: way[at].X, Y: way[at].Y, ID: &number})
			}
		}
		_, err := chromedp.Call(own, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: kind, TouchPoints: points})
		return err
	}
	if err := send(input.DispatchTouchEventTypeTouchStart, 0); err != nil {
		return err
	}
	for at := 1; at < len(ways[0]); at++ {
		if err := send(input.DispatchTouchEventTypeTouchMove, at); err != nil {
			return err
		}
	}
	return send(input.DispatchTouchEventTypeTouchEnd, -1)
}

// Press presses keys one after the other and lets them go; package kb of chromedp has
// those that are no characters.
func (p *Page) Press(ctx context.Context, keys string) error {
	return p.do(ctx, chromedp.KeyEvent(keys))
}

// Type enters text where the focus is.
func (p *Page) Type(ctx context.Context, text string) error {
	own, done := p.bound(ctx)
	defer done()
	_, err := chromedp.Call(own, input.InsertText, input.InsertTextParams{Text: text})
	return err
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
