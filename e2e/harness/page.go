package harness

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/segd/segd/e2e/browser"
)

// World is a test, or a step of one, of a segd with users.
type World struct {
	*testing.T
	Segd  *Segd
	Token string        // of an operator
	Limit time.Duration // of all that is waited for
}

// Until waits until something is so.
func (w *World) Until(what string, ok func() bool) {
	w.Helper()
	Until(w, w.Limit, what, func(context.Context) error {
		if !ok() {
			return errors.New("not yet")
		}
		return nil
	})
}

// Ask is a request of the user with that token. One for which they have no allowance left is made again.
func (w *World) Ask(path, as string) (status int, body []byte, err error) {
	for {
		if status, body, err = AskAs(w.Context(), w.Segd.Page+strings.TrimPrefix(path, "/"), as); status != http.StatusTooManyRequests || Pause(w.Context(), time.Second) != nil {
			return status, body, err
		}
	}
}

// Metrics are those that the operator is told.
func (w *World) Metrics() Metrics {
	w.Helper()
	status, text, err := w.Ask("metrics", w.Token)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d", status)
	}
	if err != nil {
		w.Fatalf("/metrics: %v", err)
	}
	now, err := ParseMetrics(text)
	if err != nil {
		w.Fatal(err)
	}
	return now
}

// Metric is the sum of a metric's values with these labels.
func (w *World) Metric(name string, labels ...string) int {
	w.Helper()
	return int(w.Metrics().Sum(name, labels...))
}

// Tab is one page in Chromium, in a test of it.
type Tab struct {
	*World
	*browser.Page
	Step     context.Context //nolint:containedctx // of the step
	Patience time.Duration   // for what the page becomes
}

// eval tells whether an expression is true in the page.
func (t *Tab) eval(expression string) (is bool, err error) {
	err = t.Evaluate(t.Step, "Promise.resolve("+expression+").then(Boolean)", &is)
	return is, err
}

// Is checks that an expression is true in the page.
func (t *Tab) Is(what, expression string) {
	t.Helper()
	if is, err := t.eval(expression); err != nil || !is {
		t.Errorf("%s: %v", what, err)
	}
}

// Becomes waits until an expression is true. It may fail while a page is loaded.
func (t *Tab) Becomes(what, expression string) {
	t.Helper()
	err := Wait(t.Step, t.Patience, what, func(context.Context) error {
		is, err := t.eval(expression)
		if err == nil && !is {
			err = errors.New("not yet")
		}
		return err
	})
	if err != nil {
		t.Picture("failed")
		t.Fatal(err)
	}
}

// Do runs statements in the page.
func (t *Tab) Do(code string) {
	t.Helper()
	if _, err := t.eval("(() => {" + code + "; return true; })()"); err != nil {
		t.Fatal(err)
	}
}

// ClickOn clicks, or taps, on what a selector finds.
func (t *Tab) ClickOn(selector string) {
	t.Helper()
	box, err := t.Find(t.Step, selector)
	if err == nil {
		err = t.Click(t.Step, box.Middle())
	}
	if err != nil {
		t.Picture("failed")
		t.Fatal(err)
	}
}

// Picture keeps one of the page with the test's artifacts.
func (t *Tab) Picture(name string) {
	t.Helper()
	png, err := t.Capture(t.Step)
	if err == nil {
		err = os.WriteFile(filepath.Join(t.ArtifactDir(), name+".png"), png, 0o644)
	}
	if err != nil {
		t.Error(err)
	}
}
