package ingest

import (
	"log/slog"
	"time"
)

// coalescer logs a fault that may repeat with every packet as one line a second
// with a count.
type coalescer struct {
	log   *slog.Logger
	msg   string
	count int
	err   error
	since time.Time // when the last line was written
}

// logEvery is the least time between two lines about the same fault.
const logEvery = time.Second

// add counts n faults, the newest being err, and writes a line if one is due.
func (c *coalescer) add(n int, err error) {
	c.count += n
	c.err = err
	if time.Since(c.since) >= logEvery {
		c.flush()
	}
}

// flush writes what was counted and not yet said.
func (c *coalescer) flush() {
	if c.count == 0 {
		return
	}
	c.log.Warn(c.msg, "count", c.count, "error", c.err)
	c.count = 0
	c.since = time.Now()
}
