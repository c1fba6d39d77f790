package soak

import (
	"fmt"
	"slices"

	"github.com/segd/segd/internal/resident"
	"github.com/segd/segd/lab/internal/stats"
)

// Warm is the frame from which on resident memory should not grow.
const Warm = 2000

// rssSamples frames' resident memory has its median reported.
const rssSamples = 100

// Memory is the process' resident memory in a long run.
type Memory struct {
	WarmRSSMB    float64 `json:"rss_mb_at_2000"`
	RSSMB        float64 `json:"rss_mb_at_end"`
	RSSMBHighest float64 `json:"rss_mb_highest"` // from Warm on
	Ratio        float64 `json:"ratio"`          // RSSMB / WarmRSSMB
}

func checkFrames(n int) error {
	if n <= Warm {
		return fmt.Errorf("soak: %d frames; want more than %d", n, Warm)
	}
	return nil
}

// watched is the process' memory from frame to frame.
type watched struct {
	samples []float64 // of the latest frames
	memory  Memory
}

// note takes the memory after a frame, counted from 1.
func (r *watched) note(frame int) error {
	now, err := resident.MB()
	if err != nil {
		return fmt.Errorf("soak: %w", err)
	}
	if r.samples = append(r.samples, now); len(r.samples) > rssSamples {
		r.samples = slices.Delete(r.samples, 0, 1)
	}
	switch {
	case frame == Warm:
		r.memory.WarmRSSMB = stats.Median(r.samples)
	case frame > Warm:
		r.memory.RSSMBHighest = max(r.memory.RSSMBHighest, now)
	}
	return nil
}

// report is of a run of more than Warm frames.
func (r *watched) report() Memory {
	m := r.memory
	m.RSSMB = stats.Median(r.samples)
	m.Ratio = m.RSSMB / m.WarmRSSMB
	return m
}
