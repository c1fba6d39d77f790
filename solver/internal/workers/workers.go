// Package workers shares numbered pieces of work among goroutines, without
// allocating.
package workers

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Pool runs one call of Each at a time, on goroutines that live for that call.
// The zero value is ready; it must not be copied once used.
type Pool struct {
	run   func() // c.drain, bound once
	do    func(int)
	count int64
	next  atomic.Int64
	wait  sync.WaitGroup
}

// Each calls do for 0 … count−1, in no order, on at most workers goroutines, the
// caller's among them; 0 or less is GOMAXPROCS. It returns when all calls have.
func (c *Pool) Each(do func(int), count, workers int) {
	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, count)
	if workers <= 1 {
		for i := range count {
			do(i)
		}
		return
	}
	if c.run == nil {
		c.run = c.drain
	}
	c.do, c.count = do, int64(count)
	c.next.Store(0)
	c.wait.Add(workers)
	for range workers - 1 {
		go c.run()
	}
	c.drain()
	c.wait.Wait()
	c.do = nil
}

func (c *Pool) drain() {
	defer c.wait.Done()
	for i := c.next.Add(1) - 1; i < c.count; i = c.next.Add(1) - 1 {
		c.do(int(i))
	}
}
