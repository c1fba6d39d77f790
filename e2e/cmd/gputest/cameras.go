package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"
)

// camerasReport is `segd bench pipeline` with so many cameras, and the card meanwhile.
type camerasReport struct {
	pipelineFigures
	GPU *gpuUse `json:"gpu,omitempty"`
}

// pipelineFigures are those of `segd bench pipeline --json` that are read.
type pipelineFigures struct {
	Cameras int     `json:"cameras"`
	FPS     float64 `json:"fps"` // of one camera
	Dropped float64 `json:"dropped_percent"`
	Latency struct {
		P50 float64 `json:"p50"`
		P95 float64 `json:"p95"`
		P99 float64 `json:"p99"`
	} `json:"latency_ms"`
	CPU      float64 `json:"cpu_percent"`
	RSS      float64 `json:"rss_mb"`
	Batch    float64 `json:"images_per_run"`
	Failures float64 `json:"device_failures"`
}

const (
	camerasFPS = 25
	// mostDropped is the percent of the frames from which on more cameras are not tried.
	mostDropped = 50
	// processorTime is how long one camera is measured where there is no card.
	processorTime = 5 * time.Second
)

// measureCameras measures so many cameras by a way for a time. gpu is the card to be watched, if any.
func measureCameras(ctx context.Context, opt options, w way, cameras int, measured time.Duration, gpu string) (r *camerasReport, watched, err error) {
	args := append([]string{"bench", "pipeline", "--cameras", strconv.Itoa(cameras), "--fps", strconv.Itoa(camerasFPS),
		"--for", measured.String(), "--clip", opt.clip, "--json"}, w.flags(opt.library)...)
	// segd waits 30 s for the first masks of a camera, and as long for its objects.
	limit := measured + 3*time.Minute + time.Duration(cameras)*time.Minute
	r = new(camerasReport)
	r.GPU, watched, err = segd(ctx, opt.segd, args, limit, gpu, measured, &r.pipelineFigures)
	return r, watched, err
}

// faults are what is wrong with the figures of so many cameras.
func (r *camerasReport) faults(cameras int) (faults []string) {
	if r.Cameras != cameras || !(r.FPS > 0) {
		faults = append(faults, fmt.Sprintf("segd bench pipeline tells of %d cameras with %g frames a second; want %d and some", r.Cameras, r.FPS, cameras))
	}
	if r.Failures > 0 {
		faults = append(faults, fmt.Sprintf("the card failed %.0f times; want none", r.Failures))
	}
	return faults
}

func tellCameras(w io.Writer, name string, rows []*camerasReport) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "cameras, %s\tframes/s each\tdropped %%\tms\tin 95 %%\tin 99 %%\tCPU %%\tMiB\timages/run\tcard %%, mean\tmost\tcard MiB, mean\tmost\n", name)
	for _, r := range rows {
		use := new(gpuUse)
		if r.GPU != nil {
			use = r.GPU
		}
		fmt.Fprintf(t, "%d\t%.1f\t%.1f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.2f\t%s\t%s\t%s\t%s\n", r.Cameras, r.FPS, r.Dropped,
			r.Latency.P50, r.Latency.P95, r.Latency.P99, r.CPU, r.RSS, r.Batch,
			figure(use.UtilizationMean), figure(use.UtilizationMax), figure(use.MemoryMean), figure(use.MemoryMax))
	}
	return t.Flush()
}
