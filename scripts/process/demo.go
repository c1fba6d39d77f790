package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Demo is a segd demo on ports of its own.
type Demo struct {
	*Process
	// Page and NATS are URLs, the page's with a slash at the end.
	Page, NATS string
}

// demoLimit is how long the demo may take to its first mask; it compresses its clip first.
const demoLimit = 3 * time.Minute

// StartDemo runs the demo of the program segd; args are added to its command line.
func StartDemo(ctx context.Context, stderr io.Writer, segd string, args ...string) (*Demo, error) {
	addrs, err := FreeAddrs(ctx, 2)
	if err != nil {
		return nil, err
	}
	p, err := Run(ctx, stderr, segd, append([]string{"demo", "--addr", addrs[0], "--nats", addrs[1]}, args...)...)
	if err != nil {
		return nil, err
	}
	return &Demo{Process: p, Page: "http://" + addrs[0] + "/", NATS: "nats://" + addrs[1]}, nil
}

// Wait asks ready until it says that the demo does what is wanted of it.
func (d *Demo) Wait(ctx context.Context, ready func(context.Context) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, demoLimit, fmt.Errorf("the demo published nothing in %v", demoLimit))
	defer cancel()
	for !ready(ctx) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-d.Exited:
			return errors.New("the demo ended before it published anything; run bin/segd demo to see why")
		case <-time.After(200 * time.Millisecond):
		}
	}
	return nil
}
