package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/segd/segd/e2e/browser"
	"github.com/segd/segd/e2e/process"
	"github.com/segd/segd/internal/freeport"
)

type options struct {
	segd, browser, ffmpeg, url, out, theme, hash, wait string
	width, height, frames, objects, scale              int
	after, rate, quality, dropped                      int
	fps                                                float64
	timeout, settle, record                            time.Duration
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "screenshot: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stderr io.Writer) error {
	opt, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, opt.timeout, fmt.Errorf("nothing to take after %v", opt.timeout))
	defer cancel()

	// The browser first: the demo is not to drop frames while that starts.
	chromium, err := browser.Start(ctx, io.Discard, opt.browser)
	if err != nil {
		return err
	}
	defer chromium.End()
	if opt.url == "" {
		if err := chromium.GiveWay(); err != nil { // a user has it on another machine
			return err
		}
		addrs, err := freeport.Addrs(2)
		if err != nil {
			return err
		}
		demo, err := process.Run(stderr, opt.segd, "demo", "--addr", addrs[0], "--nats", addrs[1])
		if err != nil {
			return err
		}
		defer demo.End()
		opt.url = "http://" + addrs[0] + "/"
		demoCtx, ended := context.WithCancelCause(ctx)
		defer ended(nil)
		ctx = demoCtx
		go func() {
			<-demo.Exited
			ended(fmt.Errorf("%s demo ended by itself, see above", opt.segd))
		}()
	}
	return take(ctx, chromium, opt, stderr)
}

func parse(args []string, stderr io.Writer) (options, error) {
	var opt options
	flags := flag.NewFlagSet("screenshot", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&opt.segd, "segd", "bin/segd", "program whose demo is shown")
	flags.StringVar(&opt.url, "url", "", "take a segd that already runs here, instead of a demo of our own")
	flags.StringVar(&opt.browser, "browser", "chromium", "Chromium to drive")
	flags.StringVar(&opt.out, "out", "docs/images/page.png", "file to write")
	flags.StringVar(&opt.theme, "theme", "light", "light or dark")
	flags.StringVar(&opt.hash, "camera", "", "camera to show large; empty: the first")
	flags.StringVar(&opt.wait, "wait", "", "state of the picture to wait for instead of live frames: stale, down or lost")
	flags.IntVar(&opt.width, "width", 1280, "width of the window in CSS pixels")
	flags.IntVar(&opt.height, "height", 800, "height of the window in CSS pixels")
	flags.IntVar(&opt.scale, "scale", 1, "device pixels per CSS pixel")
	flags.IntVar(&opt.frames, "frames", 20, "frames that must have been shown")
	flags.IntVar(&opt.after, "after", 0, "frames that the camera must have had before the page is opened")
	flags.IntVar(&opt.objects, "objects", 1, "objects that must be visible")
	flags.Float64Var(&opt.fps, "fps", 0, "frames a second that the page has to tell as published at least")
	flags.IntVar(&opt.dropped, "dropped", -1, "frames that it may tell as dropped at most; -1: any number")
	flags.DurationVar(&opt.settle, "settle", 1500*time.Millisecond, "how long to let figures settle once that is so")
	flags.DurationVar(&opt.record, "record", 0, "record for this long, as animated WebP, instead of one picture")
	flags.StringVar(&opt.ffmpeg, "ffmpeg", "ffmpeg", "FFmpeg that makes the WebP")
	flags.IntVar(&opt.rate, "rate", 8, "pictures a second of a recording")
	flags.IntVar(&opt.quality, "quality", 50, "of a recording, 0 to 100")
	flags.DurationVar(&opt.timeout, "timeout", 3*time.Minute, "give up after this")
	if err := flags.Parse(args); err != nil {
		return opt, err
	}
	if opt.theme != "light" && opt.theme != "dark" {
		return opt, fmt.Errorf("theme %q; accepts light or dark", opt.theme)
	}
	if opt.rate < 1 || opt.rate > 60 {
		return opt, fmt.Errorf("rate %d; accepts 1 to 60", opt.rate)
	}
	if flags.NArg() > 0 {
		return opt, fmt.Errorf("argument %q; accepts only options", flags.Arg(0))
	}
	return opt, nil
}

// take opens the page, waits, checks and writes the picture.
func take(ctx context.Context, b *browser.Browser, opt options, stderr io.Writer) error {
	if err := waitForServer(ctx, opt.url); err != nil {
		return err
	}
	url := opt.url
	if opt.hash != "" {
		url += "#" + opt.hash
	}
	// Nor is it to share the machine with the page for longer than it takes.
	if err := waitForFrames(ctx, opt); err != nil {
		return err
	}
	page, err := b.Open(ctx, browser.Tab{URL: url, Theme: opt.theme, Width: opt.width, Height: opt.height, Scale: opt.scale})
	if err != nil {
		return err
	}
	fmt.Fprintln(stderr, "screenshot: waiting for the page to show what is wanted")
	if err := waitForPage(ctx, page, opt); err != nil {
		return err
	}
	if err := pause(ctx, opt.settle); err != nil {
		return err
	}
	if opt.record > 0 {
		return errors.Join(record(ctx, page, opt, stderr), checkFigures(ctx, page, opt), complaints(b))
	}
	if err := complaints(b); err != nil && opt.wait == "" {
		return err
	}
	picture, err := page.Capture(ctx)
	if err != nil {
		return err
	}
	if err := checkFigures(ctx, page, opt); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(opt.out), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(opt.out, picture, 0o644); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "screenshot: wrote %s (%d kB)\n", opt.out, len(picture)/1000)
	return nil
}

// pause waits for d, or returns why ctx ended before.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// complaints is an error if the page's console has any.
func complaints(b *browser.Browser) error {
	if faults := b.Faults(); len(faults) > 0 {
		return fmt.Errorf("the page's console has %d complaints:\n%s", len(faults), strings.Join(faults, "\n"))
	}
	return nil
}

// waitForFrames returns when the camera has had as many frames as are wanted before the picture.
func waitForFrames(ctx context.Context, opt options) error {
	for opt.after > 0 {
		in, err := framesIn(ctx, opt)
		if err != nil {
			return err
		}
		if in >= opt.after {
			return nil
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("%w: the camera has had %d frames; wanted %d", err, in, opt.after)
		}
	}
	return nil
}

// framesIn is how many frames the camera that is shown has had.
func framesIn(ctx context.Context, opt options) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(opt.url, "/")+"/api/v1/cameras", http.NoBody)
	if err != nil {
		return 0, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	var told struct {
		Cameras []struct {
			Name   string
			Status struct {
				FramesIn int `json:",string"`
			}
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&told); err != nil {
		return 0, fmt.Errorf("%s: %s: %w", req.URL, res.Status, err)
	}
	for _, c := range told.Cameras {
		if opt.hash == "" || c.Name == opt.hash {
			return c.Status.FramesIn, nil
		}
	}
	return 0, nil // not yet
}

// waitForPage polls what the page says of itself on its body.
func waitForPage(ctx context.Context, page *browser.Page, opt options) error {
	for {
		var shown struct{ Frames, Objects, Kind string }
		err := page.Evaluate(ctx, `({...document.body?.dataset, kind: document.getElementById("picture")?.dataset.kind})`, &shown)
		if err != nil {
			return err
		}
		frames, _ := strconv.Atoi(shown.Frames) // a page without frames says 0
		objects, _ := strconv.Atoi(shown.Objects)
		if opt.wait != "" && shown.Kind == opt.wait || opt.wait == "" && frames >= opt.frames && objects >= opt.objects {
			return nil
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("%w: the page is %q, with %d frames and %d visible objects in the last; wanted %d and %d",
				err, shown.Kind, frames, objects, opt.frames, opt.objects)
		}
	}
}

// checkFigures is an error if the page tells of fewer frames a second than are wanted, or of more that were dropped: a picture of a
// busy machine says nothing of segd.
func checkFigures(ctx context.Context, page *browser.Page, opt options) error {
	var told struct{ FPS, Dropped string }
	err := page.Evaluate(ctx, `Object.fromEntries([["FPS", "Published/s"], ["Dropped", "Dropped"]].map(([key, name]) =>
		[key, [...document.querySelectorAll("#figures .figure")].find((f) => f.querySelector("dt").textContent === name)?.querySelector("dd").textContent]))`, &told)
	if err != nil {
		return err
	}
	if fps, err := strconv.ParseFloat(told.FPS, 64); opt.fps > 0 && !(err == nil && fps >= opt.fps) {
		return fmt.Errorf("the page tells of %q frames a second; wanted %g at least: try again on an idle machine", told.FPS, opt.fps)
	}
	if n, err := strconv.Atoi(strings.ReplaceAll(told.Dropped, ",", "")); opt.dropped >= 0 && !(err == nil && n <= opt.dropped) {
		return fmt.Errorf("the page tells of %q dropped frames; wanted %d at most: try again on an idle machine", told.Dropped, opt.dropped)
	}
	return nil
}

// waitForServer returns when something listens where the page should be.
func waitForServer(ctx context.Context, url string) error {
	host := strings.TrimPrefix(url, "http://")
	host, _, _ = strings.Cut(host, "/")
	var dialer net.Dialer
	for {
		conn, err := dialer.DialContext(ctx, "tcp", host)
		if err == nil {
			return conn.Close()
		}
		if stopped := pause(ctx, 100*time.Millisecond); stopped != nil {
			return fmt.Errorf("%w: %w", stopped, err)
		}
	}
}
