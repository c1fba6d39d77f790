package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// Progress shows how far long work is: a bar where a person looks on, one line
// where the output goes to a file.
type Progress struct{ bar *progressbar.ProgressBar }

// NewProgress begins what, shown on w.
func NewProgress(w io.Writer, what string) *Progress {
	if !IsTerminal(w) {
		fmt.Fprintln(w, what)
		return &Progress{}
	}
	return &Progress{progressbar.NewOptions(-1, progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(what),
		progressbar.OptionSetWidth(30), progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(),
		progressbar.OptionThrottle(50*time.Millisecond))}
}

// Step says that done of total are done.
func (p *Progress) Step(done, total int) {
	if p.bar != nil {
		p.bar.ChangeMax(total)
		_ = p.bar.Set(done) // a bar that cannot be drawn is no reason to stop
	}
}

// End takes the bar away.
func (p *Progress) End() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
