// Package guard turns panics into errors, so that what goes wrong in one place does not end the process.
package guard

import (
	"fmt"
	"runtime/debug"

	"github.com/segd/segd/features"
)

// Panic is a panic turned into an error.
type Panic struct {
	Value any
	Stack []byte
}

func (p *Panic) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// Call calls f and returns its error, or its panic as a *Panic.
func Call(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			p := &Panic{Value: v, Stack: debug.Stack()}
			if m, ok := v.(*features.Panic); ok { // of another goroutine
				p.Value, p.Stack = m.Value, m.Stack
			}
			err = p
		}
	}()
	return f()
}
