package main

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress shows how far long work is: a bar where a person looks on, one line
// where the output goes to a file.
type progress struct{ bar *progressbar.ProgressBar }

func newProgress(w io.Writer, what string) *progress {
	if !isTerminal(w) {
		fmt.Fprintln(w, what)
		return &progress{}
	}
	return &progress{progressbar.NewOptions(-1, progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(what),
		progressbar.OptionSetWidth(30), progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(),
		progressbar.OptionThrottle(50*time.Millisecond))}
}

func (p *progress) step(done, total int) {
	if p.bar != nil {
		p.bar.ChangeMax(total)
		_ = p.bar.Set(done) // a bar that cannot be drawn is no reason to stop
	}
}

func (p *progress) end() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
