package web

import (
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// A client gains allowance all the time, up to a burst, and every request of the API
// spends some of it.
const (
	allowancePerSecond = 100
	allowanceBurst     = 200
	maxClients         = 4096
)

// limiter keeps one client from taking what others need: the cameras' time and the
// processor. Clients are told apart by address, those with IPv6 by network.
type limiter struct {
	mu      sync.Mutex
	clients map[netip.Prefix]*rate.Limiter // at most maxClients
}

func newLimiter() *limiter { return &limiter{clients: map[netip.Prefix]*rate.Limiter{}} }

// spend answers 429 to a client that asks too often.
func (l *limiter) spend(cost int, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := time.Now()
		client := l.of(clientOf(r), now)
		if client.AllowN(now, cost) {
			next.ServeHTTP(w, r)
			return
		}
		wait := int(float64(cost)-client.TokensAt(now))/allowancePerSecond + 1
		w.Header().Set("Retry-After", strconv.Itoa(wait))
		problem(w, http.StatusTooManyRequests, "too many requests from this address; try again in "+strconv.Itoa(wait)+" s")
	})
}

func (l *limiter) of(client netip.Prefix, now time.Time) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := l.clients[client]
	if found == nil {
		l.makeRoom(now)
		found = rate.NewLimiter(allowancePerSecond, allowanceBurst)
		l.clients[client] = found
	}
	return found
}

// makeRoom forgets the clients that have their whole allowance, and all of them if
// none has: they begin anew, which costs less than memory without end.
func (l *limiter) makeRoom(now time.Time) {
	if len(l.clients) < maxClients {
		return
	}
	for client, a := range l.clients {
		if a.TokensAt(now) >= allowanceBurst {
			delete(l.clients, client)
		}
	}
	if len(l.clients) >= maxClients {
		clear(l.clients)
	}
}

// clientOf is the network a request comes from: an IPv4 address, or the /64 of an
// IPv6 one, since who has one such address has them all.
func clientOf(r *http.Request) netip.Prefix {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Prefix{}
	}
	addr = addr.Unmap().WithZone("")
	bits := 64
	if addr.Is4() {
		bits = 32
	}
	prefix, err := addr.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return prefix
}
