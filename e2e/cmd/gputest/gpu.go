package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	gpuEvery   = time.Second
	gpuTimeout = 10 * time.Second // of nvidia-smi, which takes seconds where nothing keeps the driver loaded
)

// gpuSample is how busy a card is. What nvidia-smi does not know of it is NaN.
type gpuSample struct {
	at          time.Time
	utilization float64 // percent of the time in which it computed anything
	memory      float64 // MiB in use, by anybody
}

// askGPU asks nvidia-smi about the card that it knows by this number or UUID.
func askGPU(ctx context.Context, gpu string) (gpuSample, error) {
	ctx, cancel := context.WithTimeout(ctx, gpuTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "nvidia-smi", "--id="+gpu, "--query-gpu=utilization.gpu,memory.used", "--format=csv,noheader,nounits")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return gpuSample{}, fmt.Errorf("nvidia-smi: %w", ctx.Err())
	}
	if err != nil {
		return gpuSample{}, fmt.Errorf("nvidia-smi: %w: %q", err, strings.TrimSpace(string(out)))
	}
	s, err := parseGPU(string(out))
	s.at = time.Now()
	return s, err
}

// parseGPU reads what nvidia-smi says of a card: "37, 1024", or "[N/A], 1024" where it does not know.
func parseGPU(text string) (s gpuSample, err error) {
	fields := strings.Split(strings.TrimSpace(text), ",")
	if len(fields) != 2 || strings.Contains(text, "\n") && strings.Count(strings.TrimSpace(text), "\n") > 0 {
		return s, fmt.Errorf("nvidia-smi says %q; want percent and MiB of one card, such as \"37, 1024\"", text)
	}
	var values [2]float64
	for i, f := range fields {
		f = strings.TrimSpace(f)
		if f == "[N/A]" || f == "[Not Supported]" || f == "N/A" {
			values[i] = math.NaN()
			continue
		}
		if values[i], err = strconv.ParseFloat(f, 64); err != nil || !(values[i] >= 0) {
			return s, fmt.Errorf("nvidia-smi says %q; want percent and MiB of one card, such as \"37, 1024\"", text)
		}
	}
	return gpuSample{utilization: values[0], memory: values[1]}, nil
}

// gpuUse is what samples say. What is nil was never known.
type gpuUse struct {
	UtilizationMean *float64 `json:"utilization_mean_percent,omitempty"`
	UtilizationMax  *float64 `json:"utilization_max_percent,omitempty"`
	MemoryMean      *float64 `json:"memory_mean_mib,omitempty"`
	MemoryMax       *float64 `json:"memory_max_mib,omitempty"`
	Samples         int      `json:"samples"`
}

// useOf sums samples up that were taken from one time to another.
func useOf(samples []gpuSample, from, to time.Time) *gpuUse {
	var utilization, memory []float64
	u := new(gpuUse)
	for _, s := range samples {
		if s.at.Before(from) || s.at.After(to) {
			continue
		}
		u.Samples++
		if !math.IsNaN(s.utilization) {
			utilization = append(utilization, s.utilization)
		}
		if !math.IsNaN(s.memory) {
			memory = append(memory, s.memory)
		}
	}
	u.UtilizationMean, u.UtilizationMax = meanAndMax(utilization)
	u.MemoryMean, u.MemoryMax = meanAndMax(memory)
	return u
}

func meanAndMax(values []float64) (mean, most *float64) {
	if len(values) == 0 {
		return nil, nil
	}
	sum, largest := 0.0, values[0]
	for _, v := range values {
		sum, largest = sum+v, max(largest, v)
	}
	return new(sum / float64(len(values))), new(largest)
}

// gpuWatch asks nvidia-smi once a second.
type gpuWatch struct {
	cancel  context.CancelFunc
	done    sync.WaitGroup
	samples []gpuSample
	err     error
}

// watchGPU begins to watch; end must follow.
func watchGPU(ctx context.Context, gpu string) *gpuWatch {
	ctx, cancel := context.WithCancel(ctx)
	w := &gpuWatch{cancel: cancel}
	w.done.Go(func() {
		tick := time.NewTicker(gpuEvery)
		defer tick.Stop()
		for {
			s, err := askGPU(ctx, gpu)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				w.err = err
				return
			}
			w.samples = append(w.samples, s)
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return w
}

// end returns what was seen.
func (w *gpuWatch) end() ([]gpuSample, error) {
	w.cancel()
	w.done.Wait()
	return w.samples, w.err
}

// usedMemory is the card's memory in use, in MiB.
func usedMemory(ctx context.Context, gpu string) (float64, error) {
	s, err := askGPU(ctx, gpu)
	if err == nil && math.IsNaN(s.memory) {
		err = errors.New("nvidia-smi does not know how much of the card's memory is in use")
	}
	return s.memory, err
}

// figure prints what may be unknown.
func figure(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.0f", *v)
}
