// Package coalesce logs a fault that may repeat with every packet or frame as one line a second, with a count.
package coalesce

import (
	"sync"
	"time"
)

// every is the least time between two lines about the same fault.
const every = time.Second

// Log is of one fault, for any goroutine. Write and Message must be set before its use.
type Log struct {
	Write   func(message string, args ...any) // such as a logger's Warn
	Message string

	mu    sync.Mutex
	count int
	err   error
	since time.Time // when the last line was written
}

// Add counts n faults, the newest being err, and writes a line if one is due.
func (l *Log) Add(n int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count += n
	l.err = err
	if time.Since(l.since) >= every {
		l.write()
	}
}

// Flush writes what was counted and not yet said.
func (l *Log) Flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write()
}

func (l *Log) write() {
	if l.count > 0 {
		l.Write(l.Message, "count", l.count, "error", l.err)
		l.count, l.since = 0, time.Now()
	}
}
