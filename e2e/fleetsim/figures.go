package fleetsim

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
)

// figures are what a run says.
type figures struct {
	Boxes    int     `json:"boxes"`
	Cameras  int     `json:"cameras"`
	Seconds  float64 `json:"seconds"`
	TTL      float64 `json:"ttl_s"`
	Crashes  int     `json:"crashes"`
	Joins    int     `json:"joins"`
	Start    float64 `json:"start_s"`  // from the first box's start until all cameras run
	Settle   float64 `json:"settle_s"` // and until none changes boxes any more
	Placed   bool    `json:"placed"`   // after each crash and at the end
	Unplaced int     `json:"unplaced"` // cameras without a box at the end
	// Failover is, for each crash, how long it took until all of the box's cameras had another;
	// FailoverEach is of each camera.
	Failover     spread `json:"failover_ms"`
	FailoverEach spread `json:"failover_each_ms"`
	// Imbalance is by how much the fullest box is fuller than all together, before each event and
	// at the end.
	Imbalance spread `json:"imbalance"`
	// MovesPerCrash are the leases that changed boxes from a crash until the next event, over those
	// that the box had. MovesPerJoin are those from a join until the next event, and after that those to the
	// box until it is about as full as the others, over what it has then.
	MovesPerCrash spread `json:"moves_per_crash"`
	MovesPerJoin  spread `json:"moves_per_join"`
	// DoubleHeld counts cameras that two boxes might publish at one moment, TokensFell leases that
	// were valid after one with a higher token.
	DoubleHeld int `json:"double_held"`
	TokensFell int `json:"tokens_fell"`
	// Fenced counts sessions that other boxes ended, Lapsed boxes that could not publish for a time.
	// A crash gives one of each.
	Fenced   int64    `json:"fenced"`
	Lapsed   int64    `json:"lapsed"`
	Messages messages `json:"messages_per_s"`
	Bytes    messages `json:"bytes_per_s"`
	CPU      cpu      `json:"cpu_cores"`
	Exponent *growth  `json:"exponent,omitempty"`
}

// messages are a second, into the server and out of it, in a quiet stretch and over the whole run.
type messages struct {
	QuietIn  float64 `json:"quiet_in"`
	QuietOut float64 `json:"quiet_out"`
	In       float64 `json:"in"`
	Out      float64 `json:"out"`
}

// cpu is how many cores were busy.
type cpu struct {
	QuietServer float64 `json:"quiet_server"`
	QuietBoxes  float64 `json:"quiet_boxes"` // all of them
	Server      float64 `json:"server"`
	Boxes       float64 `json:"boxes"`
}

// growth is how the messages of a quiet fleet grow with it.
type growth struct {
	// In and Out are the exponents of messages a second over cameras.
	In    float64 `json:"in"`
	Out   float64 `json:"out"`
	Sizes []size  `json:"sizes"`
}

type size struct {
	Cameras  int     `json:"cameras"`
	Boxes    int     `json:"boxes"`
	In       float64 `json:"quiet_in"`
	Out      float64 `json:"quiet_out"`
	BytesOut float64 `json:"bytes_out"`
	Start    float64 `json:"start_s"`
}

// spread is of several values.
type spread struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	Max  float64 `json:"max"`
}

func spreadOf(values []float64) (s spread) {
	if len(values) == 0 {
		return s
	}
	v := slices.Sorted(slices.Values(values))
	at := func(share float64) float64 { return v[int(math.Ceil(share*float64(len(v))))-1] }
	for _, x := range v {
		s.Mean += x / float64(len(v))
	}
	s.P50, s.P95, s.Max = at(0.5), at(0.95), v[len(v)-1]
	return s
}

// exponent is the b of y = a x^b by least squares of the logarithms.
func exponent(x, y []float64) float64 {
	var mx, my, xy, xx float64
	n := float64(len(x))
	for i := range x {
		mx += math.Log(x[i]) / n
		my += math.Log(y[i]) / n
	}
	for i := range x {
		dx := math.Log(x[i]) - mx
		xy += dx * (math.Log(y[i]) - my)
		xx += dx * dx
	}
	return xy / xx
}

// faults are the bounds that f is out of.
func (f *figures) faults() (list []string) {
	say := func(is bool, format string, args ...any) {
		if is {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	say(!f.Placed, "a camera was without a box at the next event or at the end (%d at the end); want none", f.Unplaced)
	say(f.DoubleHeld > 0, "two boxes held one camera %d times; want never", f.DoubleHeld)
	say(f.TokensFell > 0, "a token was lower than one before %d times; want never", f.TokensFell)
	say(f.Imbalance.Max > mostImbalance, "the fullest box is by %.3f fuller than all together; want %.2f or less", f.Imbalance.Max, mostImbalance)
	say(f.MovesPerCrash.Max > mostMoves, "%.2f leases changed boxes for each of a box that crashed; want %.1f or fewer", f.MovesPerCrash.Max, mostMoves)
	return list
}

const (
	mostImbalance = 0.10
	mostMoves     = 1.2
)

// table writes what people read.
func (f *figures) table(w io.Writer) {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(what, format string, args ...any) {
		_, _ = fmt.Fprintf(tab, "%s\t%s\n", what, fmt.Sprintf(format, args...))
	}
	row("boxes, cameras, crashes, joins", "%d, %d, %d, %d", f.Boxes, f.Cameras, f.Crashes, f.Joins)
	row("time to live of a silent box", "%.1f s", f.TTL)
	row("from the start until all run; until none moves", "%.1f s; %.1f s", f.Start, f.Settle)
	row("all placed after each crash and at the end", "%v", f.Placed)
	row("time until all cameras of a box run again, p50 / p95 / max", "%.0f / %.0f / %.0f ms", f.Failover.P50, f.Failover.P95, f.Failover.Max)
	row("time until a camera runs again, p50 / p95 / max", "%.0f / %.0f / %.0f ms", f.FailoverEach.P50, f.FailoverEach.P95, f.FailoverEach.Max)
	row("imbalance, p50 / max", "%.3f / %.3f", f.Imbalance.P50, f.Imbalance.Max)
	row("moves for each camera of a box that crashed, mean / max", "%.2f / %.2f", f.MovesPerCrash.Mean, f.MovesPerCrash.Max)
	row("moves for each camera of a box that joined, mean / max", "%.2f / %.2f", f.MovesPerJoin.Mean, f.MovesPerJoin.Max)
	row("cameras that two boxes held; tokens that fell", "%d; %d", f.DoubleHeld, f.TokensFell)
	row("sessions that were ended; lapses", "%d; %d", f.Fenced, f.Lapsed)
	row("messages a second into / out of the server, quiet", "%.0f / %.0f", f.Messages.QuietIn, f.Messages.QuietOut)
	row("the same, the whole run", "%.0f / %.0f", f.Messages.In, f.Messages.Out)
	row("kB a second into / out of the server, quiet", "%.0f / %.0f", f.Bytes.QuietIn/1e3, f.Bytes.QuietOut/1e3)
	row("the same, the whole run", "%.0f / %.0f", f.Bytes.In/1e3, f.Bytes.Out/1e3)
	row("cores busy with the server / all boxes, quiet", "%.2f / %.2f", f.CPU.QuietServer, f.CPU.QuietBoxes)
	row("the same, the whole run", "%.2f / %.2f", f.CPU.Server, f.CPU.Boxes)
	if g := f.Exponent; g != nil {
		for _, s := range g.Sizes {
			row(fmt.Sprintf("%d cameras, %d boxes: messages a second, quiet", s.Cameras, s.Boxes), "%.0f / %.0f", s.In, s.Out)
		}
		row("they grow by cameras to the power of", "%.2f / %.2f", g.In, g.Out)
	}
	_ = tab.Flush()
}
