// Package freeport hands out addresses to tests of what must be told where to listen before it does.
//
// A port that the system gave for port 0, and that was closed again, is soon anybody's:
// the system gives it to the next who asks for any, and to connections. Those handed
// out here are outside the range that the system gives from
// (net.ipv4.ip_local_port_range of Linux' ip(7)), and of each process that asks
// there are others, so that tests that run at the same time do not take each other's.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"testing"
)

// The ports are between these, in blocks of which a process has one.
const (
	lowest    = 10000
	highest   = 32768
	blockSize = 256
)

// block is a process's: the ports after first. It listens at first for as long as the
// process lives, which keeps others out.
type block struct {
	lock  net.Listener
	first int

	mu   sync.Mutex
	next int // the port handed out next, counted from first
}

var own = sync.OnceValues(func() (*block, error) { return reserve(highestOf(localPortRange)) })

// Addrs returns n addresses, host:port on 127.0.0.1, at which nothing listens. A process is handed one
// again when it has had all others of its block.
func Addrs(n int) ([]string, error) {
	b, err := own()
	if err != nil {
		return nil, err
	}
	addrs := make([]string, n)
	for i := range addrs {
		if addrs[i], err = b.take(); err != nil {
			return nil, err
		}
	}
	return addrs, nil
}

// Addr is Addrs of one, for a test, which fails where there is none.
func Addr(tb testing.TB) string {
	tb.Helper()
	addrs, err := Addrs(1)
	if err != nil {
		tb.Fatal(err)
	}
	return addrs[0]
}

const localPortRange = "/proc/sys/net/ipv4/ip_local_port_range"

// highestOf is below which port the blocks are: all of them below what the system
// gives from, which it says in file, if one has room there.
func highestOf(file string) int {
	text, err := os.ReadFile(file)
	var from, to int
	if err != nil {
		return highest // not Linux
	}
	if _, err := fmt.Sscan(string(text), &from, &to); err != nil || from < lowest+blockSize {
		return highest
	}
	return min(from, highest)
}

// reserve takes a block below a port that no other process has.
func reserve(below int) (*block, error) {
	blocks := (below - lowest) / blockSize
	var last error
	for _, k := range rand.Perm(blocks) {
		first := lowest + k*blockSize
		lock, err := net.Listen("tcp", loopback(first))
		if err == nil {
			return &block{lock: lock, first: first, next: 1}, nil
		}
		last = err
	}
	return nil, fmt.Errorf("none of %d blocks of ports from %d to %d is free: %w", blocks, lowest, below, last)
}

// take hands out the next port at which nothing listens.
func (b *block) take() (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range blockSize {
		addr := loopback(b.first + b.next)
		b.next = b.next%(blockSize-1) + 1
		if l, err := net.Listen("tcp", addr); err == nil {
			return addr, l.Close()
		}
	}
	return "", fmt.Errorf("all %d ports after %d are taken", blockSize-1, b.first)
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
