package daemon

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/pipeline"
)

// line is what a camera has to say each second.
func line(elapsed time.Duration, s pipeline.Snapshot) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%4.0f s  %s  ", elapsed.Seconds(), s.Camera)
	if !s.Up {
		if s.Reason == "" {
			return b.String() + "waiting for the first frame"
		}
		fmt.Fprintf(&b, "down: %s  ", s.Reason)
	}
	fmt.Fprintf(&b, "in %d  dropped %d  out %d  %.1f fps  latency p50 %s  p95 %s",
		s.In, s.Dropped+s.Failed, s.Published, s.FPSOut, cli.MS(s.Recent.P50), cli.MS(s.Recent.P95))
	for _, o := range s.Objects {
		fmt.Fprintf(&b, "  %s %s", cli.ObjectName(o.ID, o.Label), o.State)
		if o.Area > 0 {
			fmt.Fprintf(&b, " %d px", o.Area)
		}
	}
	if s.Deinterlaced {
		b.WriteString("  deinterlaced")
	}
	if s.Reconnects > 0 {
		fmt.Fprintf(&b, "  reconnects %d", s.Reconnects)
	}
	return b.String()
}

// lines returns what openDaemon's tick prints.
func lines(w io.Writer, set func() []pipeline.Snapshot) func(time.Duration) {
	return func(elapsed time.Duration) {
		for _, s := range set() {
			fmt.Fprintln(w, cli.Printable(line(elapsed, s)))
		}
	}
}

// fps is the rate at which frames went out, from the first in to the last out.
func fps(s pipeline.Snapshot) float64 {
	if s.Span <= 0 {
		return 0
	}
	return float64(s.Published) / s.Span.Seconds()
}

// summary is the last word for people.
func summary(w io.Writer, elapsed time.Duration, s pipeline.Snapshot) {
	share := 0.0
	if s.In > 0 {
		share = 100 * float64(s.Published) / float64(s.In)
	}
	fmt.Fprintf(w, "%s after %.1f s: %d frames in, %d published (%.1f %%), %d dropped, %d failed\n",
		s.Camera, elapsed.Seconds(), s.In, s.Published, share, s.Dropped, s.Failed)
	fmt.Fprintf(w, "  %.1f fps, capture to publish: p50 %s, p95 %s, p99 %s\n",
		fps(s), cli.MS(s.Latency.P50), cli.MS(s.Latency.P95), cli.MS(s.Latency.P99))
	var missed uint64
	for _, n := range s.Missed {
		missed += n
	}
	if s.Reconnects+s.Restarts+s.PublishFailures+missed+s.Damaged > 0 {
		fmt.Fprintf(w, "  %d reconnects, %d restarts, %d publish failures, %d frames damaged, %d missed\n",
			s.Reconnects, s.Restarts, s.PublishFailures, s.Damaged, missed)
	}
	if len(s.Objects) == 0 {
		fmt.Fprintln(w, "  no objects")
	}
	for _, o := range s.Objects {
		fmt.Fprintf(w, "  %s: visible in %d frames, now %s\n",
			cli.Printable(cli.ObjectName(o.ID, o.Label)), o.VisibleFrames, o.State)
	}
}

// DemoReport is what `segd demo --json` prints. Its fields are stable.
type DemoReport struct {
	FramesIn        uint64         `json:"frames_in"`
	FramesDropped   uint64         `json:"frames_dropped"` // in and not published, for whatever reason
	FramesPublished uint64         `json:"frames_published"`
	FPS             float64        `json:"fps"`
	LatencyMS       latencyReport  `json:"latency_ms"` // capture to publish
	Objects         []objectReport `json:"objects"`
}

type latencyReport struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

type objectReport struct {
	ID            uint32 `json:"id"`
	Label         string `json:"label"`
	VisibleFrames uint64 `json:"visible_frames"`
}

func newReport(s pipeline.Snapshot) DemoReport {
	r := DemoReport{
		FramesIn: s.In, FramesDropped: s.Dropped + s.Failed, FramesPublished: s.Published,
		FPS:       round(fps(s)),
		LatencyMS: latencyReport{toMS(s.Latency.P50), toMS(s.Latency.P95), toMS(s.Latency.P99)},
		Objects:   []objectReport{},
	}
	for _, o := range s.Objects {
		r.Objects = append(r.Objects, objectReport{o.ID, o.Label, o.VisibleFrames})
	}
	return r
}

func toMS(d time.Duration) float64 { return round(float64(d) / float64(time.Millisecond)) }

// round keeps two decimals: more would only look exact.
func round(v float64) float64 { return math.Round(v*100) / 100 }
