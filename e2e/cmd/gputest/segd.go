package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"time"
)

// output is what a command of segd's prints, and when it began to. That the buffer is not embedded has io.Copy call
// Write.
type output struct {
	text bytes.Buffer
	at   time.Time
}

func (o *output) Write(p []byte) (int, error) {
	if o.text.Len() == 0 {
		o.at = time.Now()
	}
	return o.text.Write(p)
}

// segd runs one of its commands, for limit at most, and reads the JSON object that it prints. Where gpu is
// not empty that card is watched; its use is of the last part of the time until the object was printed, all of it
// if last is 0. An error of watching is watched, not err.
func segd(ctx context.Context, program string, args []string, limit time.Duration, gpu string, last time.Duration, into any) (use *gpuUse, watched, err error) {
	begin := time.Now()
	var watch *gpuWatch
	if gpu != "" {
		watch = watchGPU(ctx, gpu)
	}
	out := new(output)
	cmd := exec.Command(program, args...)
	cmd.Stdout = out
	err = finish(ctx, cmd, limit)
	var samples []gpuSample
	if watch != nil {
		samples, watched = watch.end()
	}
	if err != nil {
		return nil, watched, err
	}
	if err := json.Unmarshal(out.text.Bytes(), into); err != nil {
		return nil, watched, fmt.Errorf("%s printed %.80q; want a JSON object: %w", program, out.text.Bytes(), err)
	}
	if watch != nil && watched == nil {
		from := begin
		if last > 0 {
			from = out.at.Add(-last)
		}
		use = useOf(samples, from, out.at)
	}
	return use, watched, nil
}
