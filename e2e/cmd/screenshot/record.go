package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/segd/segd/e2e/browser"
)

// maxRecording is what a page of documentation should ask of its reader.
const maxRecording = 2 << 20 // bytes

// record writes what the page shows for opt.record as an animated WebP, which FFmpeg
// makes of pictures taken at a steady rate. Where taking one takes longer than its
// turn, the one before stands in, so that the recording keeps time.
func record(ctx context.Context, page *browser.Page, opt options, stderr io.Writer) (err error) {
	ffmpeg := exec.CommandContext(ctx, opt.ffmpeg, "-hide_banner", "-loglevel", "error", "-y",
		"-f", "image2pipe", "-framerate", strconv.Itoa(opt.rate), "-c:v", "png", "-i", "-",
		"-c:v", "libwebp_anim", "-quality", strconv.Itoa(opt.quality), "-loop", "0", opt.out)
	ffmpeg.Stdout, ffmpeg.Stderr = stderr, stderr
	in, err := ffmpeg.StdinPipe()
	if err != nil {
		return err
	}
	if err := ffmpeg.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", opt.ffmpeg, err)
	}
	distinct, turns, err := feed(ctx, in, page, opt)
	if err := errors.Join(err, in.Close(), ffmpeg.Wait()); err != nil {
		return fmt.Errorf("recording to %s: %w", opt.out, err)
	}
	info, err := os.Stat(opt.out)
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "screenshot: wrote %s (%d kB, %d different pictures in %d turns of 1/%d s)\n", opt.out, info.Size()/1000, distinct, turns, opt.rate)
	if info.Size() > maxRecording {
		return fmt.Errorf("%s has %d bytes; want %d at most: record for less than %v, or with less than -quality %d",
			opt.out, info.Size(), maxRecording, opt.record, opt.quality)
	}
	if distinct < turns/2 {
		return fmt.Errorf("%s jerks: %d different pictures in %d turns; record while the machine has nothing else to do, or with less than -rate %d",
			opt.out, distinct, turns, opt.rate)
	}
	return nil
}

// feed writes pictures of the page to w, and returns how many of how many differ from
// the one before.
func feed(ctx context.Context, w io.Writer, page *browser.Page, opt options) (distinct, written int, err error) {
	turn := time.Second / time.Duration(opt.rate)
	turns := int(opt.record / turn)
	var last []byte
	for start := time.Now(); written < turns; {
		picture, err := page.Capture(ctx)
		if err != nil {
			return distinct, written, err
		}
		if !bytes.Equal(picture, last) {
			distinct++
		}
		last = picture
		for due := int(time.Since(start)/turn) + 1; written < min(due, turns); written++ {
			if _, err := w.Write(picture); err != nil {
				return distinct, written, err
			}
		}
		if err := pause(ctx, time.Until(start.Add(time.Duration(written)*turn))); err != nil {
			return distinct, written, err
		}
	}
	return distinct, written, nil
}
