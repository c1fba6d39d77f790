package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/segd/segd/features/dnn"
)

// test is one run of all parts.
type test struct {
	options options
	stderr  io.Writer
	report  report
	// found are the ways that compute right, the processor's first, each with how it fared.
	found []found
	// there says that there is a card, by its driver or because something computed on it.
	there bool
}

type found struct {
	way
	features *featureReport
}

const (
	cardLimit = time.Minute
	// featuresLimit is that of a way: TensorRT builds its engines first, which takes minutes.
	featuresLimit = 30 * time.Minute
)

// failed notes what failed, notDone why something could not be done; end tells both.
func (t *test) failed(part, name string, faults ...string) {
	note(&t.report.Failed, part, name, faults)
}

func (t *test) notDone(part, name string, why ...string) {
	note(&t.report.NotDone, part, name, why)
}

func note(list *[]string, part, name string, texts []string) {
	for _, text := range texts {
		if name != "" {
			text = name + ": " + text
		}
		*list = append(*list, part+": "+text)
	}
}

func (t *test) request(part string, w way) request {
	clip, err := filepath.Abs(t.options.clip)
	if err != nil {
		clip = t.options.clip
	}
	return request{Part: part, Way: w, Library: t.options.library, Clip: clip, GPU: t.options.gpu, Frames: t.options.frames}
}

// all does the parts that are wanted, as far as there is a card for them.
func (t *test) all(ctx context.Context) {
	a, err := ask(ctx, t.request(partCard, way{}), cardLimit)
	if err == nil {
		t.report.Card, t.there = a.Card, true
		fmt.Fprintf(t.stderr, "card: %s, %.0f MiB, the first of %d; the driver knows CUDA %d.%d\n", a.Card.Name, a.Card.Memory, a.Card.Cards, a.Card.CUDA/1000, a.Card.CUDA%1000/10)
	} else {
		fmt.Fprintf(t.stderr, "card: none: %v\n", err)
	}
	t.features(ctx)
	for _, part := range []struct {
		name string
		do   func(context.Context)
	}{
		{partDavis, t.davis}, {partCameras, t.cameras}, {partMemory, t.memory}, {partFallAway, t.fallAway},
	} {
		if t.options.only.want(part.name) && ctx.Err() == nil {
			part.do(ctx)
		}
	}
	if err := ctx.Err(); err != nil {
		t.failed("all", "", err.Error())
	}
}

// tell ends a table.
func (t *test) tell(err error) {
	fmt.Fprintln(t.stderr)
	if err != nil {
		t.failed("all", "", err.Error())
	}
}

// features finds out which ways there are and how they fare.
func (t *test) features(ctx context.Context) {
	type refused struct {
		way
		why error
	}
	var all []refused
	for _, w := range ways {
		if w.card() && !t.options.ways.want(w.Name) || ctx.Err() != nil {
			continue
		}
		fmt.Fprintf(t.stderr, "features: %s\n", w.Name)
		a, err := ask(ctx, t.request(partFeatures, w), featuresLimit)
		if _, ok := errors.AsType[refusal](err); ok {
			all = append(all, refused{w, err})
			continue
		}
		t.there = t.there || w.card() && err == nil
		if err != nil {
			t.failed(partFeatures, w.Name, err.Error())
			continue
		}
		t.report.Features = append(t.report.Features, a.Features)
		faults := a.Features.faults(w)
		t.failed(partFeatures, w.Name, faults...)
		if len(faults) == 0 {
			t.found = append(t.found, found{w, a.Features})
		}
	}
	t.tell(tellFeatures(t.stderr, t.report.Features))
	// Whether a way had to be there is known only now.
	for _, r := range all {
		why := r.absent(t.report.OpenCV.CUDA, libraryFolders(t.options.library), r.why.Error())
		switch {
		case r.card() && !t.there:
			t.notDone(partFeatures, r.Name, r.why.Error())
		case why == "" || len(t.options.ways.chosen) > 0:
			t.failed(partFeatures, r.Name, r.why.Error())
		default:
			t.notDone(partFeatures, r.Name, why)
		}
	}
}

// by are the found ways of the card or of the processor.
func (t *test) by(card bool) (list []found) {
	for _, f := range t.found {
		if f.card() == card {
			list = append(list, f)
		}
	}
	return list
}

// fastest is the way that computes most images a second; ok is false if there are none.
func fastest(list []found) (w way, ok bool) {
	most := 0.0
	for _, f := range list {
		if f.features.ImagesPerSecond > most {
			w, most, ok = f.way, f.features.ImagesPerSecond, true
		}
	}
	return w, ok
}

// noCardLeft says why a part is not done on a card; nothing was found that computes on it.
func (t *test) noCardLeft() string {
	if t.there {
		return "no way to the card is there and computes right"
	}
	return "there is no card"
}

// davis follows the sequences by the card and by the processor, or without a card by both of the processor's ways.
func (t *test) davis(ctx context.Context) {
	cards := t.by(true)
	switch {
	case len(cards) == 0 && !t.options.davisGiven:
		t.notDone(partDavis, "", t.noCardLeft()+"; -davis ROOT has the processor's ways compared")
		return
	case !isThere(t.options.davis) && !t.options.davisGiven:
		t.notDone(partDavis, "", "no sequences in "+t.options.davis+"; -davis wants a folder with JPEGImages/480p and Annotations/480p")
		return
	}
	first, ok := fastest(t.by(false))
	if !ok {
		t.failed(partDavis, "", "no way of the processor's computes right; want one to compare with")
		return
	}
	others := cards
	if len(cards) == 0 {
		t.notDone(partDavis, "", "by a card: "+t.noCardLeft())
		others = t.by(false)
	}
	list := []way{first}
	for _, f := range others {
		if f.way != first {
			list = append(list, f.way)
		}
	}
	if len(list) == 1 {
		t.failed(partDavis, "", "one way computes right, "+first.Name+"; want two to compare")
		return
	}
	for _, w := range list {
		fmt.Fprintf(t.stderr, "davis: %s\n", w.Name)
		r, watched, err := measureDavis(ctx, t.options, w)
		t.watched(partDavis, w.Name, watched)
		if err != nil {
			t.failed(partDavis, w.Name, err.Error())
			if w == first {
				return
			}
			continue
		}
		t.report.Davis = append(t.report.Davis, r)
		if w == first {
			continue
		}
		if err := r.compare(t.report.Davis[0]); err != nil {
			t.failed(partDavis, w.Name, err.Error())
			continue
		}
		t.failed(partDavis, w.Name, r.faults(w, first.Name)...)
	}
	t.tell(tellDavis(t.stderr, t.report.Davis))
}

// watched notes that the card could not be watched.
func (t *test) watched(part, name string, err error) {
	if err != nil {
		t.notDone(part, name, "watching the card: "+err.Error())
	}
}

// cameras finds out how many cameras the card holds, or has the processor follow one.
func (t *test) cameras(ctx context.Context) {
	numbers, measured, gpu := t.options.cameras, t.options.measured, t.options.gpu
	w, ok := fastest(t.by(true))
	if !ok {
		t.notDone(partCameras, "", "by a card: "+t.noCardLeft())
		numbers, measured, gpu = []int{1}, processorTime, ""
		if w, ok = fastest(t.by(false)); !ok {
			t.failed(partCameras, "", "no way computes right; want one")
			return
		}
	}
	t.report.CamerasWay = w.Name
	for _, n := range numbers {
		fmt.Fprintf(t.stderr, "cameras: %d by %s\n", n, w.Name)
		r, watched, err := measureCameras(ctx, t.options, w, n, measured, gpu)
		t.watched(partCameras, w.Name, watched)
		if err != nil {
			t.failed(partCameras, fmt.Sprint(n), err.Error())
			break
		}
		t.report.Cameras = append(t.report.Cameras, r)
		t.failed(partCameras, fmt.Sprint(n), r.faults(n)...)
		if r.Dropped > mostDropped {
			fmt.Fprintf(t.stderr, "cameras: of %d more than %d %% of the frames are dropped; no more are tried\n", n, mostDropped)
			break
		}
	}
	t.tell(tellCameras(t.stderr, w.Name, t.report.Cameras))
}

// memory looks whether it grows, by each way to the card in single precision, or by the processor.
func (t *test) memory(ctx context.Context) {
	var list []way
	for _, f := range t.by(true) {
		if !f.FP16 {
			list = append(list, f.way)
		}
	}
	forwards := t.options.frames
	if len(list) == 0 {
		t.notDone(partMemory, "", "on a card: "+t.noSingle())
		w, ok := fastest(t.by(false))
		if !ok {
			t.failed(partMemory, "", "no way computes right; want one")
			return
		}
		list, forwards = []way{w}, min(forwards, processorForwards)
	}
	for _, w := range list {
		fmt.Fprintf(t.stderr, "memory: %d forwards by %s\n", forwards, w.Name)
		q := t.request(partMemory, w)
		q.Frames = forwards
		a, err := ask(ctx, q, memoryLimit(forwards))
		if err != nil {
			t.failed(partMemory, w.Name, err.Error())
			continue
		}
		t.report.Memory = append(t.report.Memory, a.Memory)
		t.failed(partMemory, w.Name, a.Memory.faults()...)
	}
	t.tell(tellMemory(t.stderr, t.report.Memory))
}

// noSingle says why there is no way to the card in single precision.
func (t *test) noSingle() string {
	if len(t.by(true)) > 0 {
		return "-ways names none in single precision"
	}
	return t.noCardLeft()
}

// fallAway has the card fail, by each way of CUDA in single precision. TensorRT is left out: it may have all its
// memory from the start.
func (t *test) fallAway(ctx context.Context) {
	var list []way
	for _, f := range t.by(true) {
		if !f.FP16 && f.Device == dnn.DeviceCUDA {
			list = append(list, f.way)
		}
	}
	if len(list) == 0 {
		t.notDone(partFallAway, "", "wants CUDA in single precision: "+t.noSingle())
		return
	}
	if t.report.Card != nil && t.report.Card.Integrated {
		t.notDone(partFallAway, "", "the card's memory is the machine's, which is not to be filled")
		return
	}
	for _, w := range list {
		fmt.Fprintf(t.stderr, "fallaway: %s\n", w.Name)
		a, err := ask(ctx, t.request(partFallAway, w), awayLimit)
		if err != nil {
			t.failed(partFallAway, w.Name, err.Error())
			continue
		}
		t.report.FallAway = append(t.report.FallAway, a.FallAway)
	}
	t.tell(tellFallAway(t.stderr, t.report.FallAway))
}

// end sums up, and returns the exit status.
func (t *test) end() int {
	r := &t.report
	for _, list := range []struct {
		what  string
		lines []string
	}{{"not done", r.NotDone}, {"failed", r.Failed}} {
		for _, line := range list.lines {
			fmt.Fprintf(t.stderr, "%s: %s\n", list.what, line)
		}
	}
	status := statusPassed
	switch {
	case len(r.Failed) > 0:
		r.Status, status = "failed", statusFailed
	case len(t.by(true)) == 0:
		r.Status, status = "not on a card", statusNoCard
	default:
		r.Status = "passed"
	}
	fmt.Fprintf(t.stderr, "gputest: %s, %d failed, %d not done; exit status %d\n", r.Status, len(r.Failed), len(r.NotDone), status)
	return status
}
