package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/segd/segd/e2e/process"
	"github.com/segd/segd/features"
	"github.com/segd/segd/internal/pause"
)

// awayReport is how a card that had no memory left failed, and how it came back.
type awayReport struct {
	Way string `json:"way"`
	// Taken is how much memory of the card another process took.
	Taken float64 `json:"taken_mib"`
	// Sizes is how many sizes of pictures the network was asked for until the card failed.
	Sizes int    `json:"sizes"`
	Why   string `json:"why"` // what the card said
	// Back is how long it took the card to compute again, once there was memory.
	Back float64 `json:"back_after_seconds"`
	// Relative is the largest difference from what the processor makes, of all pictures, by the norm.
	Relative float64 `json:"relative_difference"`
}

const (
	awaySizes = 24
	// backWithin is how long a card may take to compute again; segd tries it every 5 s at first.
	backWithin = 30 * time.Second
	// backEvery is how often a picture is asked for meanwhile.
	backEvery = 100 * time.Millisecond
	// fillWithin is how long it may take to fill a card, and fillFor how long it is held at most.
	fillWithin, fillFor = time.Minute, 10 * time.Minute
	// awayLimit is how long all of it may take.
	awayLimit = 10 * time.Minute
)

// told is what OnDevice was told.
type told struct {
	mu    sync.Mutex
	calls []call
}

type call struct {
	device string
	why    error
}

func (t *told) onDevice(_, device string, why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls = append(t.calls, call{device, why})
}

// after returns call number n, or an error if that is not the last one.
func (t *told) after(n int) (call, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.calls) != n+1 {
		return call{}, fmt.Errorf("OnDevice was called %d times; want %d", len(t.calls), n+1)
	}
	return t.calls[n], nil
}

// taking has another process take the card's memory: how much it got, and what has it end.
type taking func(ctx context.Context) (taken float64, end func() error, err error)

// tryFallAway is done by a child.
func tryFallAway(ctx context.Context, q request) (r *awayReport, err error) {
	pictures, err := readPictures(q.Clip, 1)
	if err != nil {
		return nil, err
	}
	processor, err := q.open(ways[0], 1, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, processor.Close()) }()
	t := new(told)
	card, err := q.open(q.Way, 1, t.onDevice)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, card.Close()) }()
	return fallAway(ctx, q.Way, pictures[0], card, processor, t, takeMemory)
}

// fallAway takes the card's memory while the network is asked for larger and larger pictures, until the card fails; then it
// gives the memory back and waits for the card.
func fallAway(ctx context.Context, w way, p picture, card, processor network, t *told, take taking) (r *awayReport, err error) {
	r = &awayReport{Way: w.Name}
	var made, want features.Sight
	ask := func(size int) error {
		v := features.View{Scale: 1 + float64(size)/8}
		var err error
		if made, err = card.Features(made, p.bgr, p.width, p.height, v); err != nil {
			return err
		}
		if want, err = processor.Features(want, p.bgr, p.width, p.height, v); err != nil {
			return fmt.Errorf("the processor: %w", err)
		}
		d, err := differenceOf(want.Maps, made.Maps)
		if err != nil {
			return err
		}
		if r.Relative = max(r.Relative, d.relative); !(d.relative <= w.mostApart()) {
			return fmt.Errorf("at %g of its size a picture's features differ from what the processor makes by %.2g of their norm; want %g at most", v.Scale, d.relative, w.mostApart())
		}
		return ctx.Err()
	}
	if err := ask(0); err != nil {
		return nil, fmt.Errorf("before the card's memory is taken: %w", err)
	}
	if s := card.Status(); s.Failed || s.Failures > 0 || s.Work[w.Device].Images == 0 {
		return nil, fmt.Errorf("before its memory is taken the card has failed %d times and computed %d images; want 0, and 1", s.Failures, s.Work[w.Device].Images)
	}

	taken, end, err := take(ctx)
	if err != nil {
		return nil, fmt.Errorf("taking the card's memory: %w", err)
	}
	ended := false
	defer func() {
		if !ended {
			err = errors.Join(err, end())
		}
	}()
	r.Taken = taken
	for !card.Status().Failed {
		if r.Sizes++; r.Sizes > awaySizes {
			return nil, fmt.Errorf("with %.0f MiB of the card's memory taken it computed %d sizes up to %g times a picture's; want it to fail", taken, awaySizes, 1+awaySizes/8.)
		}
		if err := ask(r.Sizes); err != nil {
			return nil, fmt.Errorf("while the card's memory is taken: %w", err)
		}
	}
	c, err := t.after(0)
	if err != nil {
		return nil, fmt.Errorf("when the card failed: %w", err)
	}
	if c.why == nil || c.device == w.Device {
		return nil, fmt.Errorf("when the card failed OnDevice was called with %s and error %s; want another device than %s, and an error", c.device, fmt.Sprint(c.why), w.Device)
	}
	r.Why = c.why.Error()
	computed := card.Status().Work[w.Device].Images

	ended = true
	if err := end(); err != nil {
		return nil, fmt.Errorf("giving the card's memory back: %w", err)
	}
	begin := time.Now()
	for card.Status().Failed {
		if time.Since(begin) > backWithin {
			return nil, fmt.Errorf("%v after there was memory again the card does not compute; want it to", backWithin)
		}
		if err := pause.For(ctx, backEvery); err != nil {
			return nil, err
		}
		if err := ask(0); err != nil {
			return nil, fmt.Errorf("after there was memory again: %w", err)
		}
	}
	r.Back = time.Since(begin).Seconds()
	if c, err = t.after(1); err != nil {
		return nil, fmt.Errorf("when the card was back: %w", err)
	}
	if s := card.Status(); c.why != nil || c.device != w.Device || s.Device != w.Device || s.Work[w.Device].Images <= computed {
		return nil, fmt.Errorf("when the card was back OnDevice was called with %s and error %s, and Status says that %s computes, the card %d images after %d; want %s, no error, and more",
			c.device, fmt.Sprint(c.why), s.Device, s.Work[w.Device].Images, computed, w.Device)
	}
	return r, nil
}

// takeMemory starts a child that takes the card's memory until it is told to end.
func takeMemory(ctx context.Context) (taken float64, end func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, nil, err
	}
	cmd := exec.Command(self, fillArgument)
	said := new(words)
	cmd.Stderr = said
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, nil, err
	}
	out, toUs, err := os.Pipe()
	if err != nil {
		return 0, nil, errors.Join(err, in.Close())
	}
	defer out.Close()
	cmd.Stdout = toUs
	p, err := process.Start(cmd)
	_ = toUs.Close() // the child has it
	if err != nil {
		return 0, nil, errors.Join(err, in.Close())
	}
	end = func() error {
		_ = in.Close() // if that fails it is gone already
		select {
		case <-p.Exited:
		case <-time.After(fillWithin):
			p.Kill()
			return fmt.Errorf("the process that has it does not end within %v", fillWithin)
		}
		if err := p.Err(); err != nil {
			return fmt.Errorf("the process that has it ended with %w: %s", err, said.last())
		}
		return nil
	}
	stop := context.AfterFunc(ctx, p.Kill)
	defer stop()
	_ = out.SetReadDeadline(time.Now().Add(fillWithin)) // a pipe of the system's takes one
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		taken, err = strconv.ParseFloat(strings.TrimSpace(line), 64)
	}
	if err != nil {
		p.Kill()
		return 0, nil, fmt.Errorf("it told not how much it took, but %q: %w; its last words: %s", line, err, said.last())
	}
	return taken, end, nil
}

// fill takes the card's memory and tells how much in MiB, until in ends, or for 10 minutes.
func fill(in io.Reader, out io.Writer) error {
	taken, err := fillCard()
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "%.3f\n", taken); err != nil {
		return err
	}
	give := time.AfterFunc(fillFor, func() { os.Exit(1) })
	defer give.Stop()
	_, err = io.Copy(io.Discard, in)
	return err
}

func tellFallAway(w io.Writer, rows []*awayReport) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "fallaway\tMiB taken\tfailed at size\tback after s\trelative difference\tthe card said\n")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%.0f\t%d\t%.1f\t%.2g\t%s\n", r.Way, r.Taken, r.Sizes, r.Back, r.Relative, r.Why)
	}
	return t.Flush()
}
