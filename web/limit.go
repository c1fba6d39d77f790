package web

import (
	"net"
	"net/http"
	"net/netip"
	"strconv"

	"github.com/segd/segd/internal/limit"
)

// limiter has every request of the API spend some of its client's allowance. Clients
// are told apart by address, those with IPv6 by network.
type limiter struct{ clients *limit.Limiter[netip.Prefix] }

func newLimiter() *limiter { return &limiter{limit.New[netip.Prefix]()} }

// spend answers 429 to a client that asks too often.
func (l *limiter) spend(cost int, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		wait, ok := l.clients.Spend(clientOf(r), cost)
		if ok {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Retry-After", strconv.Itoa(wait))
		problem(w, http.StatusTooManyRequests, "too many requests from this address; try again in "+strconv.Itoa(wait)+" s")
	})
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
