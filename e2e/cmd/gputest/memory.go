package main

// #include <malloc.h>
import "C"

import (
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/segd/segd/features"
)

// memoryReport is what is in use after a fifth of the forwards, and after all.
type memoryReport struct {
	Way      string `json:"way"`
	Forwards int    `json:"forwards"`
	Early    used   `json:"early"`
	Late     used   `json:"late"`
	Failures uint64 `json:"device_failures"`
	// ImagesPerSecond is of the rest, in which the sizes change all the time.
	ImagesPerSecond float64 `json:"images_per_second"`
}

// used is memory in MiB: resident memory of the process, and the card's by anybody.
type used struct {
	Resident float64  `json:"resident_mib"`
	Card     *float64 `json:"card_mib,omitempty"`
}

const (
	// mostGrowth is how much memory may grow, in MiB.
	mostGrowth = 64
	// memoryAskers ask at once.
	memoryAskers = 4
	// settleShare is the part of the forwards after which all that is kept is there.
	settleShare = 5
	// leastForwards has each of the views asked for before it is first looked at memory.
	leastForwards = settleShare * memoryViews
	// memoryViews is how many views there are.
	memoryViews = 48
	// processorForwards are enough to be tried where there is no card.
	processorForwards = 500
)

// memoryLimit is how long so many forwards may take: OpenCV lays the network out anew for most of them.
func memoryLimit(forwards int) time.Duration {
	return 5*time.Minute + time.Duration(forwards)*time.Second/4
}

// views are the whole picture, smaller and larger, and crops of it.
func views(n, width, height int) []features.View {
	random := rand.New(rand.NewPCG(1, 1))
	list := make([]features.View, n)
	for i := range list {
		list[i].Scale = []float64{0.5, 0.75, 1, 1.25, 1.5}[random.IntN(5)]
		if i%4 == 0 {
			continue
		}
		w, h := width/8+random.IntN(width/2), height/8+random.IntN(height/2)
		x, y := random.IntN(width-w), random.IntN(height-h)
		list[i].Rectangle = image.Rect(x, y, x+w, y+h)
	}
	return list
}

// measureMemory is done by a child.
func measureMemory(ctx context.Context, q request) (r *memoryReport, err error) {
	pictures, err := readPictures(q.Clip, 1)
	if err != nil {
		return nil, err
	}
	m, err := q.open(q.Way, 0, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	r = &memoryReport{Way: q.Way.Name, Forwards: q.Frames}
	list := views(memoryViews, pictures[0].width, pictures[0].height)
	early := q.Frames / settleShare
	if err := askForViews(ctx, m, pictures[0], list, memoryAskers, 0, early); err != nil {
		return nil, err
	}
	if r.Early, err = q.used(ctx, m, pictures[0], list); err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := askForViews(ctx, m, pictures[0], list, memoryAskers, early, q.Frames); err != nil {
		return nil, err
	}
	r.ImagesPerSecond = float64(q.Frames-early) / time.Since(begin).Seconds()
	if r.Late, err = q.used(ctx, m, pictures[0], list); err != nil {
		return nil, err
	}
	r.Failures = m.Status().Failures
	return r, nil
}

// askForViews has so many ask for views of a picture at once, from one number to another.
func askForViews(ctx context.Context, m network, p picture, list []features.View, askers, from, to int) error {
	return together(askers, func(i int) error {
		var made features.Sight
		for k := from + i; k < to; k += askers {
			if err := ctx.Err(); err != nil {
				return err
			}
			var err error
			// 29 and the number of views have no divisor in common, so that each has its turn.
			if made, err = m.Features(made, p.bgr, p.width, p.height, list[29*k%len(list)]); err != nil {
				return err
			}
		}
		return nil
	})
}

// used is what is in use once each view was asked for in turn, so that the model keeps the same each time, and what is
// free was given back.
func (q request) used(ctx context.Context, m network, p picture, list []features.View) (u used, err error) {
	if err := askForViews(ctx, m, p, list, 1, 0, len(list)); err != nil {
		return u, err
	}
	debug.FreeOSMemory()
	C.malloc_trim(0)
	if u.Resident, err = resident(); err != nil || !q.Way.card() {
		return u, err
	}
	memory, err := usedMemory(ctx, q.GPU)
	u.Card = &memory
	return u, err
}

// resident is this process' memory in MiB.
func resident() (float64, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, fmt.Errorf("/proc/self/statm is %q; want numbers of pages", text)
	}
	pages, err := strconv.Atoi(fields[1])
	return float64(pages) * float64(os.Getpagesize()) / mib, err
}

// faults are what is wrong with how memory fared.
func (r *memoryReport) faults() (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	grown := func(whose string, early, late float64) {
		if !(late-early <= mostGrowth) {
			fault("%s memory grew from %.0f to %.0f MiB; want %d more at most", whose, early, late, mostGrowth)
		}
	}
	grown("the process'", r.Early.Resident, r.Late.Resident)
	if r.Early.Card != nil && r.Late.Card != nil {
		grown("the card's", *r.Early.Card, *r.Late.Card)
	}
	if r.Failures > 0 {
		fault("the card failed %d times; want none", r.Failures)
	}
	return faults
}

func tellMemory(w io.Writer, rows []*memoryReport) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "memory\tforwards\timages/s\tMiB early\tMiB late\tcard MiB early\tcard MiB late\n")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%d\t%.1f\t%.0f\t%.0f\t%s\t%s\n", r.Way, r.Forwards, r.ImagesPerSecond,
			r.Early.Resident, r.Late.Resident, figure(r.Early.Card), figure(r.Late.Card))
	}
	return t.Flush()
}
