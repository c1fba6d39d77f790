// Package browser drives a headless Chromium by chromedp, for what looks at the page as
// its users do.
//
// Calls take a context that bounds them alone; the browser and its pages live until End.
package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"sync"
	"syscall"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Browser is a headless Chromium.
type Browser struct {
	ctx context.Context //nolint:containedctx // chromedp's handle
	end func()

	mu         sync.Mutex // guards what follows
	complaints []string
}

// Start runs the Chromium called name, with a profile of its own and further flags such
// as use-fake-ui-for-media-stream. What it says goes to said. End must follow; the end of
// ctx does not end it.
func Start(ctx context.Context, said io.Writer, name string, flags ...string) (*Browser, error) {
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(name),
		chromedp.CombinedOutput(said),
		chromedp.DisableGPU,
		chromedp.Flag("disable-component-update", true),
		// A group of its own, so that Suspend stops all of it.
		chromedp.ModifyCmdFunc(func(cmd *exec.Cmd) {
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
		}),
	)
	for _, flag := range flags {
		options = append(options, chromedp.Flag(flag, true))
	}
	allocator, end := chromedp.NewExecAllocator(context.WithoutCancel(ctx), options...)
	own, cancel := chromedp.NewContext(allocator)
	stop := context.AfterFunc(ctx, cancel)
	err := chromedp.Do(own)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		cancel()
		end()
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	return &Browser{ctx: own, end: end}, nil
}

// Suspend stops the browser's processes where they are; nothing but End can be done
// with it then.
func (b *Browser) Suspend() error {
	return syscall.Kill(-chromedp.FromContext(b.ctx).Browser.Process().Pid, syscall.SIGSTOP)
}

// GiveWay gives the browser's processes the lowest priority.
func (b *Browser) GiveWay() error {
	return syscall.Setpriority(syscall.PRIO_PGRP, chromedp.FromContext(b.ctx).Browser.Process().Pid, 19)
}

// End ends the browser, removes its profile, and returns when that is done.
func (b *Browser) End() { b.end() }

// Faults is what the pages' consoles complained of.
func (b *Browser) Faults() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.complaints)
}

// heed collects what goes wrong on a page.
func (b *Browser) heed(event any) {
	if !complains(event) {
		return
	}
	text, err := json.Marshal(event)
	if err != nil {
		text = fmt.Append(nil, event)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.complaints = append(b.complaints, fmt.Sprintf("%T %s", event, text))
}

// complains tells whether an event says that something went wrong on the page.
func complains(event any) bool {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		return true
	case *network.EventLoadingFailed:
		// The page itself calls off a fetch when it wants something newer.
		return e.Type != network.ResourceTypeFetch || !e.Canceled
	case *runtime.EventConsoleAPICalled:
		return e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning
	case *log.EventEntryAdded:
		return e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning
	}
	return false
}

// Tab says how a page is shown.
type Tab struct {
	URL                  string
	Theme                string // light or dark
	Width, Height, Scale int    // CSS pixels, and device pixels per one of them
	Touch                bool   // fingers instead of a mouse
}

// Page is one tab.
type Page struct {
	ctx context.Context //nolint:containedctx // chromedp's handle
}

// Open opens a page, and does not wait until it is there.
func (b *Browser) Open(ctx context.Context, tab Tab) (*Page, error) {
	own, cancel := chromedp.NewContext(b.ctx, chromedp.WithListener(b.heed))
	stop := context.AfterFunc(ctx, cancel)
	err := chromedp.Do(own) // the tab lives as long as own
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	p := &Page{ctx: own}
	if err == nil {
		err = p.show(ctx, tab)
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("opening %s: %w", tab.URL, err)
	}
	return p, nil
}

func (p *Page) show(ctx context.Context, tab Tab) error {
	ctx, done := p.bound(ctx)
	defer done()
	if _, err := chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: int64(tab.Width), Height: int64(tab.Height), DeviceScaleFactor: float64(tab.Scale), Mobile: tab.Width < 600,
	}); err != nil {
		return err
	}
	// Every page believes that it is looked at, though only one can be in front.
	if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		return err
	}
	if _, err := chromedp.Call(ctx, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: tab.Touch, MaxTouchPoints: 5}); err != nil {
		return err
	}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: tab.Theme}},
	}); err != nil {
		return err
	}
	_, err := chromedp.Call(ctx, page.Navigate, page.NavigateParams{URL: tab.URL})
	return err
}

// bound is the page's context, ended with ctx as well. It must be called off.
func (p *Page) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	own, cancel := context.WithCancelCause(p.ctx)
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	return own, func() {
		stop()
		cancel(nil)
	}
}

// do runs actions on the page.
func (p *Page) do(ctx context.Context, actions ...chromedp.Action[chromedp.Void]) error {
	own, done := p.bound(ctx)
	defer done()
	err := chromedp.Do(own, actions...)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return err
}

// Evaluate runs an expression in the page, waits for it if it is a promise, and
// reads its value into result.
func (p *Page) Evaluate(ctx context.Context, expression string, result any) error {
	own, done := p.bound(ctx)
	defer done()
	value, err := chromedp.Run(own, chromedp.Evaluate[[]byte](expression, chromedp.EvalAwaitPromise))
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	if err != nil {
		return fmt.Errorf("in the page: %w", err)
	}
	return json.Unmarshal(value, result)
}

// Capture takes the picture, as PNG.
func (p *Page) Capture(ctx context.Context) ([]byte, error) {
	own, done := p.bound(ctx)
	defer done()
	return chromedp.Run(own, chromedp.CaptureScreenshot())
}
