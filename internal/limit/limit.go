// Package limit is what others may ask of segd, over HTTP, NATS and RTSP alike: how much
// in one request, how often, and how many connections. A Limiter may be used from any goroutine.
package limit

import (
	"fmt"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Sizes of requests, in bytes.
const (
	MaxAnnotation = 16 << 20
	MaxLayout     = 256 << 10 // zones and lines, each as many as may be, with all of their digits
	MaxBody       = 16 << 10  // of any other request
)

// Who asks gains allowance all the time, up to Burst, and every request spends some.
const (
	PerSecond = 100
	Burst     = 200
)

// What requests cost: those that make the cameras or the processor work are dearer.
const (
	CostRead  = 1
	CostWork  = 5
	CostLarge = 10
)

// MaxKeys bounds how many that ask are told apart.
const MaxKeys = 4096

// Client is the network that a request comes from, by which clients are told apart: an IPv4 address, or the /64 of an IPv6
// one, since who has one such address has them all. Of an address that is none it is empty.
func Client(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap()
	prefix, _ := addr.Prefix(min(addr.BitLen(), 64))
	return prefix
}

// Limiter keeps one that asks from taking what others need: the cameras' time and the
// processor.
type Limiter[K comparable] struct {
	mu   sync.Mutex
	keys map[K]*rate.Limiter // at most MaxKeys
}

// New returns a Limiter that has seen no client.
func New[K comparable]() *Limiter[K] { return &Limiter[K]{keys: map[K]*rate.Limiter{}} }

// Spend takes cost from key's allowance. If it has too little, nothing is taken and
// wait is how many seconds it takes to have enough.
func (l *Limiter[K]) Spend(key K, cost int) (wait int, ok bool) {
	now := time.Now()
	allowance := l.of(key, now)
	if allowance.AllowN(now, cost) {
		return 0, true
	}
	return int(float64(cost)-allowance.TokensAt(now))/PerSecond + 1, false
}

// Len is how many are told apart now.
func (l *Limiter[K]) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.keys)
}

func (l *Limiter[K]) of(key K, now time.Time) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := l.keys[key]
	if found == nil {
		l.makeRoom(now)
		found = rate.NewLimiter(PerSecond, Burst)
		l.keys[key] = found
	}
	return found
}

// makeRoom forgets those that have their whole allowance, and all of them if none has:
// they begin anew, which costs less than memory without end.
func (l *Limiter[K]) makeRoom(now time.Time) {
	if len(l.keys) < MaxKeys {
		return
	}
	for key, a := range l.keys {
		if a.TokensAt(now) >= Burst {
			delete(l.keys, key)
		}
	}
	if len(l.keys) >= MaxKeys {
		clear(l.keys)
	}
}

// Text is a size for people.
func Text(n int64) string {
	if n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}
